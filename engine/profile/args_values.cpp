#include "engine/profile/args_values.h"

#include <fmt/format.h>

#include "engine/profile/plugin_args.h"
#include "objects/pod_resources.h"

namespace headroom {

void read_type(const ConfigValue& value, std::string_view expected) {
  if (value.text() != expected) {
    value.fail(ErrorCode::kUnsupported,
               fmt::format("{} is not supported; accepted: {}", value.shown(), expected));
  }
}

std::function<void(const ConfigValue&)> read_api_version() {
  return [](const ConfigValue& value) { read_type(value, kSchedulerConfigVersion); };
}
std::function<void(const ConfigValue&)> read_kind(PluginId plugin) {
  return [kind = std::string(to_string(plugin)) + "Args"](const ConfigValue& value) {
    read_type(value, kind);
  };
}

void check_resource(const ConfigValue& value, std::string_view name) {
  if (is_counted_resource(name)) {
    return;
  }
  value.fail(ErrorCode::kInvalid,
             fmt::format("\"{}\" is no resource that is counted; accepted: cpu, memory, "
                         "ephemeral-storage, hugepages-SIZE, attachable-volumes-NAME, or an "
                         "extended resource DOMAIN/NAME",
                         name));
}

std::vector<ResourceWeight> read_resource_weights(const ConfigValue& value,
                                                  std::int64_t weight_max) {
  std::vector<ResourceWeight> resources;
  value.items([&](const ConfigValue& item) {
    ResourceWeight resource;
    item.fields({{"name",
                  [&](const ConfigValue& name) {
                    resource.name = name.text();
                    check_resource(name, resource.name);
                  }},
                 {"weight", [&](const ConfigValue& weight) {
                    resource.weight = std::max<std::int64_t>(1, weight.integer(0, weight_max));
                  }}});
    if (resource.name.empty()) item.fail(ErrorCode::kInvalid, "has no name");
    if (std::any_of(resources.begin(), resources.end(),
                    [&](const ResourceWeight& other) { return other.name == resource.name; })) {
      item.fail(ErrorCode::kInvalid, fmt::format("\"{}\" is listed twice", resource.name));
    }
    resources.push_back(std::move(resource));
  });
  return resources;
}

std::vector<NodeResourcesFitArgs::ShapePoint> read_shape(const ConfigValue& value) {
  std::vector<NodeResourcesFitArgs::ShapePoint> shape;
  value.items([&](const ConfigValue& item) {
    NodeResourcesFitArgs::ShapePoint point;
    item.fields(
        {{"utilization",
          [&](const ConfigValue& v) { point.utilization = v.integer(0, kPercentMax); }},
         {"score", [&](const ConfigValue& v) { point.score = v.integer(0, kShapeScoreMax); }}});
    if (!shape.empty() && point.utilization <= shape.back().utilization) {
      item.fail(ErrorCode::kInvalid,
                fmt::format("utilization {} does not follow {}; points must be "
                            "in strictly increasing order",
                            point.utilization, shape.back().utilization));
    }
    shape.push_back(point);
  });
  return shape;
}

}  // namespace headroom
