#include "simulation/report/autoscaler_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "objects/text/time_text.h"
#include "simulation/figures/ranks.h"
#include "simulation/scale_up_json.h"
#include "simulation/text/resource_text.h"
#include "simulation/text/table.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kLimitsShownMax = 20;
constexpr std::size_t kTemplatesNamedMax = 5;  // of those with the same reasons
// The two largest units: "3d 4h", "12m 5s", "0s".
std::string duration_text(std::int64_t duration_us) {
  struct Unit {
    std::int64_t seconds;
    char name;
  };
  constexpr Unit kUnits[] = {{86'400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
  std::int64_t seconds = duration_us / kMicrosPerSecond;
  std::string text;
  int shown = 0;
  for (const Unit& unit : kUnits) {
    const std::int64_t count = seconds / unit.seconds;
    seconds %= unit.seconds;
    if (shown == 0 && count == 0 && unit.seconds > 1) continue;
    if (shown == 1 && count > 0) text += ' ';
    if (shown == 0 || count > 0) text += fmt::format("{}{}", count, unit.name);
    if (++shown == 2) break;
  }
  return text;
}

std::int64_t seconds_of(std::int64_t duration_us) { return duration_us / kMicrosPerSecond; }

// "c32, c64: Insufficient cpu; v100 and 7 more: Insufficient memory".
std::string reasons_text(const NoTemplate& pod) {
  std::vector<std::pair<std::string, std::vector<std::string>>> names_by_reasons;
  for (const auto& [name, reasons] : pod.reasons) {
    std::string text = fmt::format("{}", fmt::join(reasons, ", "));
    auto same = std::find_if(names_by_reasons.begin(), names_by_reasons.end(),
                             [&](const auto& entry) { return entry.first == text; });
    if (same == names_by_reasons.end()) {
      same = names_by_reasons.insert(same, {std::move(text), {}});
    }
    same->second.push_back(name);
  }
  std::string text;
  for (auto& [reasons, names] : names_by_reasons) {
    const std::size_t more =
        names.size() > kTemplatesNamedMax ? names.size() - kTemplatesNamedMax : 0;
    names.resize(names.size() - more);
    if (!text.empty()) text += "; ";
    text += fmt::format("{}", fmt::join(names, ", "));
    if (more > 0) text += fmt::format(" and {} more", more);
    text += ": " + reasons;
  }
  return text;
}

void print_nodes(std::FILE* file, const GrowthReport& growth) {
  Table table;
  table.row({"", "nodes", "first came", "last came"});
  for (const TemplateReport& at : growth.autoscaler.templates) {
    if (at.nodes == 0) {
      table.row({at.name, "0"});
    } else {
      table.row({at.name, grouped(at.nodes), second_text(at.first_us), second_text(at.last_us)});
    }
  }
  fmt::print(file, "\nnodes added, by template\n{}", table.text());
}

void print_waits(std::FILE* file, const GrowthReport& growth) {
  if (growth.waited == 0) return;
  Table table;
  table.row({"pods that waited", grouped(growth.waited)});
  table.row({"  found a place", grouped(growth.waits_us.size())});
  if (!growth.waits_us.empty()) {
    table.row({"    half of them after", duration_text(at_permille(growth.waits_us, 500))});
    table.row({"    99 % of them after", duration_text(at_permille(growth.waits_us, 990))});
    table.row({"    the last one after", duration_text(growth.waits_us.back())});
  }
  table.row({"  waiting at the end", grouped(growth.waiting_at_end)});
  const AutoscalerReport& autoscaler = growth.autoscaler;
  if (autoscaler.pods_without_template > 0) {
    table.row({"  that no template takes", grouped(autoscaler.pods_without_template)});
  }
  if (autoscaler.pods_given_up > 0) {
    table.row({"  whose nodes came in vain", grouped(autoscaler.pods_given_up)});
  }
  fmt::print(file, "\nwaiting\n{}", table.text());
  if (autoscaler.pods_without_template > 0) {
    const NoTemplate& first = autoscaler.first_without_template;
    fmt::print(file, "  no template takes {}: {}\n", first.pod, reasons_text(first));
  }
}

struct LimitOfQuota {
  const CapacityQuotaReport* quota;
  const LimitReport* limit;
};

void print_capacity_quotas(std::FILE* file, const GrowthReport& growth) {
  std::vector<LimitOfQuota> limits;
  for (const CapacityQuotaReport& quota : growth.autoscaler.quotas) {
    for (const LimitReport& limit : quota.limits) limits.push_back({&quota, &limit});
  }
  // Those that blocked longest.
  const std::vector<std::size_t> shown =
      highest(limits.size(), kLimitsShownMax,
              [&](std::size_t l) { return limits[l].limit->block.blocked_us; });
  if (!shown.empty()) {
    Table table;
    table.row({"", "limit", "at the start", "at the end", "blocked for", "", "pods waited",
               "nodes refused"});
    const CapacityQuotaReport* last = nullptr;
    for (const std::size_t l : shown) {
      const CapacityQuotaReport* quota = limits[l].quota;
      const LimitReport* limit = limits[l].limit;
      if (quota != last) table.row({quota->id});
      last = quota;
      const auto text = [limit](Int128 amount) { return tenths_text(limit->resource, amount); };
      std::vector<std::string> row = {"  " + resource_label(limit->resource), text(limit->limit),
                                      text(limit->used_at_start), text(limit->used)};
      const CapacityQuotaBlock& block = limit->block;
      if (block.stretches > 0) {
        row.push_back(duration_text(block.blocked_us));
        row.push_back(share_text(block.blocked_us, growth.end_us - growth.begin_us));
        row.push_back(grouped(block.pods));
        std::vector<std::string> nodes;
        for (const auto& [index, refused] : block.nodes) {
          nodes.push_back(grouped(refused) + ' ' + growth.autoscaler.templates[index].name);
        }
        row.push_back(fmt::format("{}", fmt::join(nodes, " or ")));
      }
      table.row(std::move(row));
    }
    fmt::print(file, "\ncapacity quotas\n{}", table.text());
    if (limits.size() > shown.size()) {
      fmt::print(file, "  and {} more; --json has them all\n",
                 grouped(limits.size() - shown.size()));
    }
  }
  for (const CapacityQuotaReport& quota : growth.autoscaler.quotas) {
    if (!quota.skipped.empty()) {
      fmt::print(file, "  skipped, so that it limits nothing: {}: {}\n", quota.id, quota.skipped);
    }
  }
}

ordered_json limit_json(const GrowthReport& growth, const LimitReport& limit) {
  ordered_json json = {{"name", limit.resource},
                       {"unit", unit_of(limit.resource)},
                       {"limit", saturated(limit.limit)},
                       {"used_at_start", saturated(limit.used_at_start)},
                       {"used", saturated(limit.used)},
                       {"reserved", saturated(limit.reserved)},
                       {"blocked_seconds", seconds_of(limit.block.blocked_us)}};
  if (limit.block.stretches == 0) return json;
  json["blocked_stretches"] = limit.block.stretches;
  json["blocked_from"] = second_text(limit.block.first_us);
  json["blocked_to"] = second_text(limit.block.last_us);
  json["pods_waited"] = limit.block.pods;
  json["nodes_refused"] = ordered_json::object();
  for (const auto& [index, nodes] : limit.block.nodes) {
    json["nodes_refused"][growth.autoscaler.templates[index].name] = nodes;
  }
  return json;
}

}  // namespace

void print_growth(std::FILE* file, const GrowthReport& growth) {
  print_nodes(file, growth);
  print_waits(file, growth);
  print_capacity_quotas(file, growth);
}

ordered_json growth_json(const GrowthReport& growth) {
  const AutoscalerReport& autoscaler = growth.autoscaler;
  ordered_json json = {{"from", second_text(growth.begin_us)}, {"to", second_text(growth.end_us)}};
  json["templates"] = ordered_json::array();
  for (const TemplateReport& at : autoscaler.templates) {
    ordered_json entry = {{"name", at.name}, {"nodes", at.nodes}};
    if (at.nodes > 0) {
      entry["first_came"] = second_text(at.first_us);
      entry["last_came"] = second_text(at.last_us);
    }
    json["templates"].push_back(std::move(entry));
  }
  json["scale_ups"] = ordered_json::array();
  for (const ScaleUp& scale_up : autoscaler.scale_ups) {
    json["scale_ups"].push_back(scale_up_json(scale_up));
  }
  json["waited"] = growth.waited;
  json["found_a_place"] = growth.waits_us.size();
  json["wait_seconds_p50"] = seconds_of(at_permille(growth.waits_us, 500));
  json["wait_seconds_p99"] = seconds_of(at_permille(growth.waits_us, 990));
  json["wait_seconds_max"] = seconds_of(at_permille(growth.waits_us, 1000));
  json["waiting_at_end"] = growth.waiting_at_end;
  json["without_template"] = autoscaler.pods_without_template;
  if (autoscaler.pods_without_template > 0) {
    json["first_without_template"] = no_template_json(autoscaler.first_without_template);
  }
  json["nodes_came_in_vain"] = autoscaler.pods_given_up;
  json["capacity_quotas"] = ordered_json::array();
  for (const CapacityQuotaReport& quota : autoscaler.quotas) {
    ordered_json entry = {{"id", quota.id}};
    if (!quota.skipped.empty()) entry["skipped"] = quota.skipped;
    entry["resources"] = ordered_json::array();
    for (const LimitReport& limit : quota.limits) {
      entry["resources"].push_back(limit_json(growth, limit));
    }
    json["capacity_quotas"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace headroom
