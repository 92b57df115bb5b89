// What the arguments of several plugins are made of, read from a configuration.
//
// Each reports what is wrong into the value's ConfigErrors, and its answer means nothing then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/profile/config_value.h"
#include "engine/profile/profile.h"

namespace headroom {

// The readers of apiVersion and kind, which the arguments of every plugin may carry.
std::function<void(const ConfigValue&)> read_api_version();
std::function<void(const ConfigValue&)> read_kind(PluginId plugin);

// The one text that is accepted here.
void read_type(const ConfigValue& value, std::string_view expected);

// A resource that is counted.
void check_resource(const ConfigValue& value, std::string_view name);

// An object of integers in [min, max] by resource.
template <typename Map>
Map read_by_resource(const ConfigValue& value, std::int64_t min, std::int64_t max) {
  Map map;
  value.entries([&](const std::string& resource, const ConfigValue& number) {
    check_resource(number, resource);
    map[resource] = number.integer(min, max);
  });
  return map;
}

// [{name, weight}]; no weight and weight 0 are 1.
std::vector<ResourceWeight> read_resource_weights(const ConfigValue& value,
                                                  std::int64_t weight_max);

// [{utilization, score}], at least one, in strictly increasing order.
std::vector<NodeResourcesFitArgs::ShapePoint> read_shape(const ConfigValue& value);

}  // namespace headroom
