#include "engine/profile/args/inter_pod_affinity_args.h"

#include "engine/profile/args/args_values.h"
#include "objects/objects.h"

namespace headroom {

void read_args(const ConfigValue& value, const Profile&, InterPodAffinityArgs& args) {
  read_fields(value, PluginId::kInterPodAffinity,
              {{"hardPodAffinityWeight",
                into(args.hard_pod_affinity_weight, &ConfigValue::integer, 0, kTermWeightMax)},
               {"ignorePreferredTermsOfExistingPods",
                into(args.ignore_preferred_terms_of_existing_pods, &ConfigValue::boolean)}});
}

Result<void> check_args(const InterPodAffinityArgs& args, const Profile&, ResourceCheck&) {
  return check_term_weight(args.hard_pod_affinity_weight, kTermWeightMax,
                           "InterPodAffinity: hardPodAffinityWeight");
}

}  // namespace headroom
