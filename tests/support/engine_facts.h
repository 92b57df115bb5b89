// Facts that stories and other tests of the engine begin from. What an engine refuses throws
// std::invalid_argument.
#pragma once

#include <stdexcept>
#include <string>

#include "engine/engine.h"

namespace headroom {

// One after the other.
template <typename... Facts>
void tell(Engine& engine, const Facts&... facts) {
  const auto one = [&](const auto& fact) {
    if (const Result<void> told = engine.upsert(fact); !told) {
      throw std::invalid_argument(told.error().message);
    }
  };
  (one(facts), ...);
}

// Of cores.
inline ElasticQuota elastic_quota(const std::string& space, std::int64_t min, std::int64_t max) {
  ElasticQuota made;
  made.namespace_name = space;
  made.name = "quota";
  made.min = ResourceList{{"cpu", Quantity::from_value(min)}};
  made.max = ResourceList{{"cpu", Quantity::from_value(max)}};
  return made;
}

}  // namespace headroom
