// Arguments: what a configuration says to one plugin. Each plugin's have a header and a .cpp here,
// named after their struct; each_args() in profile.h lists them. Of a struct XArgs there stand:
//
// - the struct: a plain value; defaults, ranges and names are those of the plugin's implementation
// - fields(state, args): its members, in the order of their bytes in the hash of state files; a
//   struct that gains one does not compile until it has its place there, and kStateVersion grows
// - read_args(value, profile, args): reads its v1 form (pluginConfig[].args) over the defaults, by
//   the profile's mode and version; `args` means nothing once the value has failed
// - check_args(args, profile, resources): the first mistake of an embedder who filled it; adds the
//   resources that it names, whose weights are checked before all else
//
// What is refused beyond the implementation (a resource listed twice, a name that is none) could
// only be a slip. A bad ratio or threshold is refused in mode Proposal; in mode Upstream it is
// carried as the implementation carries it. Pure functions. Cost: a pass over them, once an engine.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "objects/error.h"

namespace headroom {

class ConfigValue;
struct Profile;

inline constexpr std::int64_t kResourceWeightMax = 100;
inline constexpr std::int64_t kPercentMax = 100;
inline constexpr std::int64_t kShapeScoreMax = 10;

// A resource and its weight in [1, kResourceWeightMax].
struct ResourceWeight {
  std::string name;
  std::int64_t weight = 1;
  friend bool operator==(const ResourceWeight&, const ResourceWeight&) = default;
};

void fields(auto& state, const ResourceWeight& resource) {
  const auto& [name, weight] = resource;
  state(name, weight);
}

using ResourcePercents = std::map<std::string, std::int64_t>;

// A point of a score by utilization (broken_line.h).
struct ShapePoint {
  std::int64_t utilization = 0;  // [0, kPercentMax], strictly increasing
  std::int64_t score = 0;        // [0, kShapeScoreMax]
  friend bool operator==(const ShapePoint&, const ShapePoint&) = default;
};

void fields(auto& state, const ShapePoint& point) {
  const auto& [utilization, score] = point;
  state(utilization, score);
}

// The resources that arguments name, which have to fit beside the four that always exist.
struct ResourceCheck {
  std::set<std::string> names = {"cpu", "memory", "ephemeral-storage", "pods"};
  Result<void> weights;  // the first mistake in a weight

  // `field` begins the message.
  void add(const std::vector<ResourceWeight>& resources, const char* field);
  void add(const ResourcePercents& by_resource);
};

}  // namespace headroom
