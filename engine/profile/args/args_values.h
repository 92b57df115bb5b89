// What the arguments of several plugins are made of: read from a configuration, and checked.
//
// What is read wrongly is reported into the value's ConfigErrors, and the answer means nothing
// then. A check's message begins with `field`.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/profile/args/args.h"
#include "engine/profile/config_value.h"
#include "engine/profile/plugins.h"

namespace headroom {

inline constexpr std::string_view kSchedulerConfigVersion = "kubescheduler.config.k8s.io/v1";

// These fields, and apiVersion and kind, which the arguments of every plugin may carry.
void read_fields(const ConfigValue& value, PluginId plugin,
                 std::initializer_list<ConfigValue::Field> accepted);

// For fields that are read into a member: what read(value, more...) gives.
auto into(auto& member, auto read, auto... more) {
  return [=, &member](const ConfigValue& value) { member = std::invoke(read, value, more...); };
}
auto into_unless_empty(auto& member, auto read, auto... more) {
  return [=, &member](const ConfigValue& value) {
    auto list = std::invoke(read, value, more...);
    if (!list.empty()) member = std::move(list);
  };
}

// The one text that is accepted here.
void read_type(const ConfigValue& value, std::string_view expected);

// Whether the text is the first of the two that are accepted here.
bool read_choice(const ConfigValue& value, std::string_view one, std::string_view other);

// A resource that is counted.
void check_resource(const ConfigValue& value, std::string_view name);

// An object of integers in [min, max] by resource.
ResourcePercents read_by_resource(const ConfigValue& value, std::int64_t min, std::int64_t max);

// [{name, weight}]; no weight and weight 0 are 1.
std::vector<ResourceWeight> read_resource_weights(const ConfigValue& value,
                                                  std::int64_t weight_max);

// [{utilization, score}], in strictly increasing order.
std::vector<ShapePoint> read_shape(const ConfigValue& value);
Result<void> check_shape(const std::vector<ShapePoint>& shape, const char* field);

Result<void> check_term_weight(std::int64_t weight, std::int64_t most, const char* field);

}  // namespace headroom
