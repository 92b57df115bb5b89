// The arguments of InterPodAffinity; args.h has the contract.
#pragma once

#include <cstdint>

#include "engine/profile/args/args.h"

namespace headroom {

struct InterPodAffinityArgs {
  std::int64_t hard_pod_affinity_weight = 1;  // [0, kTermWeightMax]
  bool ignore_preferred_terms_of_existing_pods = false;
  friend bool operator==(const InterPodAffinityArgs&, const InterPodAffinityArgs&) = default;
};

void fields(auto& state, const InterPodAffinityArgs& args) {
  const auto& [hard_pod_affinity_weight, ignore_preferred_terms_of_existing_pods] = args;
  state(hard_pod_affinity_weight, ignore_preferred_terms_of_existing_pods);
}

void read_args(const ConfigValue& value, const Profile& profile, InterPodAffinityArgs& args);
Result<void> check_args(const InterPodAffinityArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
