// The facts of a state file, whatever they say: they are refused, or restored to a cluster that
// holds together and is saved to facts that restore to the same. The first byte chooses a profile.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/profile/profile.h"
#include "engine/state/cluster_state.h"
#include "tests/fuzz/check.h"

namespace headroom {
namespace {

Profile profile_of(std::uint8_t choice) {
  Profile profile = Profile::standard();
  profile.mode = (choice & 1) != 0 ? Mode::kUpstream : Mode::kProposal;
  profile.capacity_scheduling = (choice & 2) == 0;
  if ((choice & 4) != 0) {
    profile.filters = {PluginId::kNodeResourcesFit};
    profile.scores = {{PluginId::kResourceLimitAware}};
  }
  if ((choice & 8) != 0) {
    for (const PluginId plugin :
         {PluginId::kVolumeBinding, PluginId::kPodTopologySpread, PluginId::kInterPodAffinity}) {
      if (!profile.filters_by(plugin)) profile.filters.push_back(plugin);
    }
  }
  return profile;
}

std::string saved(const Cluster& cluster) {
  ValueWriter writer;
  HEADROOM_FUZZ_CHECK(ClusterState::save(cluster, writer));
  return writer.bytes();
}

void check(std::uint8_t choice, std::string_view facts) {
  Cluster cluster(profile_of(choice));
  ValueReader reader(facts);
  if (!ClusterState::restore(cluster, reader)) return;
  HEADROOM_FUZZ_CHECK(cluster.validate());
  const std::string once = saved(cluster);
  Cluster again(profile_of(choice));
  ValueReader once_more(once);
  HEADROOM_FUZZ_CHECK(ClusterState::restore(again, once_more));
  HEADROOM_FUZZ_CHECK(cluster.digest() == again.digest());
  HEADROOM_FUZZ_CHECK(once == saved(again));
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size != 0) headroom::check(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
