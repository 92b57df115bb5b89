// See node_volume_limits.h.
#include "oracle/default/volumes/node_volume_limits.h"

#include <algorithm>

#include "oracle/default/volumes/claims.h"
#include "oracle/default/volumes/csi_volume.h"

namespace oracle::defaults {
namespace {

// Distinct volumes of one pod. Only the incoming pod's claims must exist.
Status add_volumes(const Facts& facts, const Pod& pod, bool has_csi_node, bool incoming,
                   std::set<CsiVolume>& volumes) {
  for (const Volume& volume : pod.volumes) {
    const std::optional<std::string> name = claim_name(pod, volume);
    std::optional<CsiVolume> counted;
    if (name) {
      const Claim* claim = find_claim(facts, pod, *name);
      if (claim == nullptr) {
        if (!incoming) continue;
        return unresolvable("looking up PVC " + pod.space + "/" + *name + ": " +
                            not_found("persistentvolumeclaim", *name));
      }
      if (volume.ephemeral && !is_made_for(*claim, pod)) {
        return {Code::kError, {not_made_for(*claim, pod)}};
      }
      counted = csi_volume_of(facts, *claim, has_csi_node);
    } else if (volume.disk) {
      counted = csi_volume_of_inline(*volume.disk, has_csi_node);
    }
    if (counted) volumes.insert(*counted);
  }
  return {};
}

// preventPodSchedulingIfMissing: a driver that must be installed where its volumes go.
bool is_missing(const Facts& facts, const std::string& driver, const CsiNode* node) {
  const auto object = facts.csi_drivers.find(driver);
  if (object == facts.csi_drivers.end() || !object->second.prevent_pod_scheduling_if_missing) {
    return false;
  }
  return node == nullptr ||
         std::none_of(node->drivers.begin(), node->drivers.end(),
                      [&](const CsiNode::Driver& one) { return one.name == driver; });
}

std::int64_t count_of(const std::set<CsiVolume>& volumes, const std::string& driver) {
  return std::count_if(volumes.begin(), volumes.end(),
                       [&](const CsiVolume& volume) { return volume.driver == driver; });
}

}  // namespace

// The rules do not say when it skips: without a claim or an inline disk that a CSI driver has taken
// over (upstream; the cases have both claims and GCE disks).
PreFilterAnswer NodeVolumeLimitsPlugin::pre_filter() {
  for (const Volume& volume : pod().volumes) {
    if (volume.claim || volume.ephemeral || (volume.disk && is_migratable(*volume.disk))) return {};
  }
  return {{Code::kSkip, {}}, {}};
}

// "Distinct handles per driver above CSINode's count; or CSIDriver.preventPodSchedulingIfMissing
// and no driver." VolumeAttachments are not among the facts.
Status NodeVolumeLimitsPlugin::filter(const Node& node) {
  const auto found = facts().csi_nodes.find(node.name);
  const CsiNode* csi_node = found == facts().csi_nodes.end() ? nullptr : &found->second;
  std::set<CsiVolume> wanted, present;
  Status status = add_volumes(facts(), pod(), csi_node != nullptr, true, wanted);
  if (status.code != Code::kSuccess) return status;
  // "1.37: preventPodSchedulingIfMissing works".
  if (version() >= Version::k137) {
    for (const CsiVolume& volume : wanted) {
      if (!is_missing(facts(), volume.driver, csi_node)) continue;
      return unschedulable(volume.driver + " CSI driver is not installed on the node");
    }
  }
  // Upstream asks first whether anything comes, and whether anything is limited.
  if (csi_node == nullptr || wanted.empty()) return {};
  if (std::none_of(csi_node->drivers.begin(), csi_node->drivers.end(),
                   [](const CsiNode::Driver& driver) { return driver.count.has_value(); })) {
    return {};
  }
  for (const Pod* placed : facts().pods_on(node.name)) {
    status = add_volumes(facts(), *placed, true, false, present);
    if (status.code != Code::kSuccess) return status;
  }
  std::set<CsiVolume> all = present;
  all.insert(wanted.begin(), wanted.end());
  for (const CsiNode::Driver& driver : csi_node->drivers) {
    // A driver of which nothing new comes may have too many already.
    const bool adds = count_of(all, driver.name) > count_of(present, driver.name);
    if (driver.count && adds && count_of(all, driver.name) > *driver.count) {
      return unschedulable("node(s) exceed max volume count");
    }
  }
  return {};
}

}  // namespace oracle::defaults
