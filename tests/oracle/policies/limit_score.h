// What LimitAware and ResourceLimitAware share: weighted resources and the mean of their scores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oracle/policies/policies.h"

namespace oracle {

struct WeightedResource {
  std::string name;
  std::int64_t weight = 1;
};

// A JSON list of {name, weight}; weight 0 or none is 1. Empty where there is no such list.
std::vector<WeightedResource> read_weighted(const Json& list);

// cpu 1, memory 1.
std::vector<WeightedResource> default_weighted();

// One resource of a node in its unit; nullopt where it drops out.
struct Share {
  std::int64_t capacity = 0;
  Int128 used = 0;  // with the incoming pod
  std::int64_t weight = 1;
};

// Sum of weight * ((capacity - used) * 100 / capacity) over the sum of weights, truncating at each
// division; shares without capacity drop out, 0 when all do.
std::int64_t mean_headroom(const std::vector<Share>& shares);

// cpu, memory and ephemeral-storage count even when the pod needs none of them.
bool is_basic_resource(const std::string& name);

// cpu, memory, ephemeral-storage, then by name.
std::vector<std::string> reason_order(const std::vector<std::string>& names);

}  // namespace oracle
