#include "engine/profile/args/args_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "objects/objects.h"
#include "objects/pod_resources.h"

namespace headroom {

void read_type(const ConfigValue& value, std::string_view expected) {
  if (value.text() != expected) {
    value.fail(ErrorCode::kUnsupported,
               fmt::format("{} is not supported; accepted: {}", value.shown(), expected));
  }
}

bool read_choice(const ConfigValue& value, std::string_view one, std::string_view other) {
  const std::string text = value.text();
  if (text != one && text != other) {
    value.fail(ErrorCode::kInvalid,
               fmt::format("\"{}\" is not known; accepted: {}, {}", text, one, other));
  }
  return text == one;
}

void read_fields(const ConfigValue& value, PluginId plugin,
                 std::initializer_list<ConfigValue::Field> accepted) {
  const std::string kind = std::string(to_string(plugin)) + "Args";
  std::vector<ConfigValue::Field> fields(accepted);
  fields.push_back(
      {"apiVersion", [](const ConfigValue& v) { read_type(v, kSchedulerConfigVersion); }});
  fields.push_back({"kind", [&kind](const ConfigValue& v) { read_type(v, kind); }});
  value.fields(fields);
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

ResourcePercents read_by_resource(const ConfigValue& value, std::int64_t min, std::int64_t max) {
  ResourcePercents by_resource;
  value.entries([&](const std::string& resource, const ConfigValue& number) {
    check_resource(number, resource);
    by_resource[resource] = number.integer(min, max);
  });
  return by_resource;
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

void ResourceCheck::add(const std::vector<ResourceWeight>& resources, const char* field) {
  std::set<std::string> seen;
  for (const ResourceWeight& resource : resources) {
    if (!weights) return;
    if (resource.name.empty() || resource.name == "pods" || !seen.insert(resource.name).second) {
      weights = fail(
          ErrorCode::kInvalid,
          fmt::format("{}: resource \"{}\" is empty, pods, or listed twice", field, resource.name));
    } else if (resource.weight < 1 || resource.weight > kResourceWeightMax) {
      weights = fail(ErrorCode::kInvalid,
                     fmt::format("{}: {}: weight {} is not in [1, {}]", field, resource.name,
                                 resource.weight, kResourceWeightMax));
    }
  }
  names.merge(seen);
}

void ResourceCheck::add(const ResourcePercents& by_resource) {
  for (const auto& [name, value] : by_resource) {
    names.insert(name);
  }
}

std::vector<ShapePoint> read_shape(const ConfigValue& value) {
  std::vector<ShapePoint> shape;
  value.items([&](const ConfigValue& item) {
    ShapePoint point;
    item.fields({{"utilization", into(point.utilization, &ConfigValue::integer, 0, kPercentMax)},
                 {"score", into(point.score, &ConfigValue::integer, 0, kShapeScoreMax)}});
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

Result<void> check_shape(const std::vector<ShapePoint>& shape, const char* field) {
  std::int64_t below = -1;
  for (const ShapePoint& point : shape) {
    if (point.utilization <= below || point.utilization > kPercentMax) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("{}: utilization {} after {}; points must be in strictly increasing "
                              "order, in [0, {}]",
                              field, point.utilization, below, kPercentMax));
    }
    if (point.score < 0 || point.score > kShapeScoreMax) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: score {} is not in [0, {}]", field,
                                                   point.score, kShapeScoreMax));
    }
    below = point.utilization;
  }
  return {};
}

Result<void> check_term_weight(std::int64_t weight, std::int64_t most, const char* field) {
  if (weight >= 0 && weight <= most) return {};
  return fail(ErrorCode::kInvalid, fmt::format("{}: {} is not in [0, {}]", field, weight, most));
}

}  // namespace headroom
