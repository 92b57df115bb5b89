// See volume_restrictions.h.
#include "oracle/default/volumes/volume_restrictions.h"

#include <algorithm>

#include "oracle/default/volumes/claims.h"

namespace oracle::defaults {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_restricted(const Volume& volume) {
  if (!volume.disk) return false;
  return contains({"gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"}, volume.disk->kind);
}

// "Same GCE disk, ISCSI iqn, RBD image (a common monitor) unless both read-only, same EBS always".
bool conflict(const Disk& a, const Disk& b) {
  if (a.kind != b.kind || a.id != b.id) return false;
  if (a.kind == "rbd" &&
      std::none_of(a.monitors.begin(), a.monitors.end(),
                   [&](const std::string& monitor) { return contains(b.monitors, monitor); })) {
    return false;
  }
  return a.kind == "awsElasticBlockStore" || !(a.read_only && b.read_only);
}

}  // namespace

// "Used anywhere": on a node that exists, by a pod of this namespace.
bool VolumeRestrictionsPlugin::is_used(const std::string& claim) const {
  for (const Node* node : facts().nodes()) {
    for (const Pod* placed : facts().pods_on(node->name)) {
      for (const Volume& used : placed->volumes) {
        if (placed->space == pod().space && used.claim == claim) return true;
      }
    }
  }
  return false;
}

// kube-scheduler's way: by name, whatever the namespace, and each use.
void VolumeRestrictionsPlugin::count(const Pod& placed, std::int64_t change) {
  for (const Volume& volume : placed.volumes) {
    if (volume.claim && once_.contains(*volume.claim)) conflicts_ += change;
  }
}

// "Missing claim: UU in PreFilter."
PreFilterAnswer VolumeRestrictionsPlugin::pre_filter() {
  for (const Volume& volume : pod().volumes) {
    if (!volume.claim) continue;
    const Claim* claim = find_claim(facts(), pod(), *volume.claim);
    if (claim == nullptr) {
      return {unresolvable(not_found("persistentvolumeclaim", *volume.claim)), {}};
    }
    if (contains(claim->access_modes, "ReadWriteOncePod")) once_.insert(claim->name);
  }
  for (const std::string& claim : once_) conflicts_ += is_used(claim) ? 1 : 0;
  const bool restricted = std::any_of(pod().volumes.begin(), pod().volumes.end(), is_restricted);
  if (!restricted && conflicts_ == 0) return {{Code::kSkip, {}}, {}};
  return {};
}

Status VolumeRestrictionsPlugin::filter(const Node& node) {
  for (const Pod* placed : facts().pods_on(node.name)) {
    for (const Volume& used : placed->volumes) {
      for (const Volume& asked : pod().volumes) {
        if (is_restricted(asked) && is_restricted(used) && conflict(*asked.disk, *used.disk)) {
          return unschedulable("node(s) had no available disk");
        }
      }
    }
  }
  if (conflicts_ > 0) {
    return unschedulable(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already "
        "in-use by another pod");
  }
  return {};
}

}  // namespace oracle::defaults
