#include "simulation/scale_up_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "objects/text/time_text.h"

namespace headroom {

using nlohmann::ordered_json;

ordered_json scale_up_json(const ScaleUp& scale_up) {
  ordered_json json = {{"time", second_text(scale_up.time_us)},
                       {"template", scale_up.node_template},
                       {"asked", scale_up.asked},
                       {"nodes", scale_up.allowed}};
  if (scale_up.allowed > 0) json["ready"] = second_text(scale_up.ready_us);
  if (scale_up.binding.empty()) return json;
  json["binding"] = ordered_json::array();
  for (const ScaleUp::Binding& row : scale_up.binding) {
    json["binding"].push_back({{"quota", row.quota},
                               {"resource", row.resource},
                               {"limit", saturated(row.limit)},
                               {"used", saturated(row.used)},
                               {"reserved", saturated(row.reserved)},
                               {"need", saturated(row.need)},
                               {"headroom", saturated(row.headroom)},
                               {"shortfall", saturated(row.shortfall)}});
  }
  return json;
}

ordered_json no_template_json(const NoTemplate& pod) {
  ordered_json templates = ordered_json::object();
  for (const auto& [name, reasons] : pod.reasons) templates[name] = reasons;
  return {{"pod", pod.pod}, {"templates", std::move(templates)}};
}

std::string scale_up_line(const ScaleUp& scale_up) {
  const ordered_json line = {{"scale_up", scale_up_json(scale_up)}};
  return line.dump() + '\n';
}

std::string no_template_line(std::int64_t time_us, const NoTemplate& pod) {
  ordered_json json = {{"time", second_text(time_us)}};
  json.update(no_template_json(pod));
  const ordered_json line = {{"no_template", std::move(json)}};
  return line.dump() + '\n';
}

}  // namespace headroom
