// See volume_zone.h. The reasons of PreFilter are decided by the cases.
#include "oracle/default/volumes/volume_zone.h"

#include <algorithm>
#include <array>

#include "oracle/default/volumes/claims.h"

namespace oracle::defaults {
namespace {

const std::string kZone = "topology.kubernetes.io/zone";
const std::string kRegion = "topology.kubernetes.io/region";
const std::string kBetaZone = "failure-domain.beta.kubernetes.io/zone";
const std::string kBetaRegion = "failure-domain.beta.kubernetes.io/region";
const std::array<std::string, 4> kKeys{kBetaZone, kBetaRegion, kZone, kRegion};

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\n\r");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\n\r") - from + 1);
}

// "`a__b` = set"; a label with an empty part is not read at all.
std::optional<std::set<std::string>> read_set(const std::string& label) {
  std::set<std::string> values;
  std::size_t from = 0;
  while (true) {
    const std::size_t at = label.find("__", from);
    const std::string value = trimmed(label.substr(from, at - from));
    if (value.empty()) return std::nullopt;
    values.insert(value);
    if (at == std::string::npos) return values;
    from = at + 2;
  }
}

}  // namespace

void VolumeZonePlugin::add_topologies(const PersistentVolume& volume,
                                      std::vector<Topology>& topologies) {
  for (const std::string& key : kKeys) {
    const auto label = volume.labels.find(key);
    if (label == volume.labels.end()) continue;
    if (const auto values = read_set(label->second)) topologies.push_back({key, *values});
  }
}

Status VolumeZonePlugin::find_topologies(std::vector<Topology>& topologies) const {
  for (const Volume& volume : pod().volumes) {
    if (!volume.claim) continue;
    if (volume.claim->empty()) return unresolvable("PersistentVolumeClaim had no name");
    const Claim* claim = find_claim(facts(), pod(), *volume.claim);
    if (claim == nullptr) return unresolvable(not_found("persistentvolumeclaim", *volume.claim));
    if (claim->volume_name.empty()) {
      if (claim->storage_class.empty()) {
        return unresolvable("PersistentVolumeClaim had no pv name and storageClass name");
      }
      const auto found = facts().storage_classes.find(claim->storage_class);
      if (found == facts().storage_classes.end()) {
        return unresolvable(not_found("storageclass.storage.k8s.io", claim->storage_class));
      }
      if (found->second.waits_for_first_consumer) continue;
      return unresolvable("PersistentVolume had no name");
    }
    const auto found = facts().persistent_volumes.find(claim->volume_name);
    if (found == facts().persistent_volumes.end()) {
      return unresolvable(not_found("persistentvolume", claim->volume_name));
    }
    add_topologies(found->second, topologies);
  }
  return {};
}

PreFilterAnswer VolumeZonePlugin::pre_filter() {
  std::vector<Topology> topologies;
  const Status status = find_topologies(topologies);
  if (status.code != Code::kSuccess) return {status, {}};
  if (topologies.empty()) return {{Code::kSkip, {}}, {}};
  return {};
}

// "PV zone/region labels against node labels, if the node has any such." A beta label is met by the
// node's GA label where the node has no beta one.
Status VolumeZonePlugin::filter(const Node& node) {
  const bool has_any = std::any_of(kKeys.begin(), kKeys.end(), [&](const std::string& key) {
    return node.labels.contains(key);
  });
  if (!has_any) return {};
  std::vector<Topology> topologies;
  Status status = find_topologies(topologies);
  if (status.code != Code::kSuccess) return status;
  for (const Topology& topology : topologies) {
    auto label = node.labels.find(topology.key);
    if (label == node.labels.end() && topology.key == kBetaZone) label = node.labels.find(kZone);
    if (label == node.labels.end() && topology.key == kBetaRegion) {
      label = node.labels.find(kRegion);
    }
    if (label == node.labels.end() || !topology.values.contains(label->second)) {
      return unresolvable("node(s) had no available volume zone");
    }
  }
  return {};
}

}  // namespace oracle::defaults
