#include "engine/table/rejections.h"

namespace headroom {

namespace {

constexpr Code kU = Code::kUnschedulable, kUu = Code::kUnschedulableAndUnresolvable;

const std::vector<Rejection>& fixed() {
  // In the order of their numbers.
  static const std::vector<Rejection> kFixed = {
      {PluginId::kNodePorts, kU, {"node(s) didn't have free ports for the requested pod ports"}},
      {PluginId::kNodeUnschedulable, kUu, {"node(s) were unschedulable"}},
      {PluginId::kNodeName, kUu, {"node(s) didn't match the requested node name"}},
      {PluginId::kNodeAffinity, kUu, {"node(s) didn't match Pod's node affinity/selector"}},
      {PluginId::kTaintToleration, kUu, {"node(s) had untolerated taint(s)"}},
      {PluginId::kNodeAffinity, kUu, {"node(s) didn't match scheduler-enforced node affinity"}},
      {PluginId::kNodeAffinity, kUu, {"node(s) didn't satisfy plugin(s) [NodeAffinity]"}},
      {PluginId::kPodTopologySpread,
       kUu,
       {"node(s) didn't match pod topology spread constraints (missing required label)"}},
      {PluginId::kPodTopologySpread, kU, {"node(s) didn't match pod topology spread constraints"}},
      {PluginId::kInterPodAffinity, kUu, {"node(s) didn't match pod affinity rules"}},
      {PluginId::kInterPodAffinity, kU, {"node(s) didn't match pod anti-affinity rules"}},
      {PluginId::kInterPodAffinity,
       kU,
       {"node(s) didn't satisfy existing pods anti-affinity rules"}},
      {PluginId::kVolumeRestrictions, kU, {"node(s) had no available disk"}},
      {PluginId::kVolumeRestrictions,
       kU,
       {"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already "
        "in-use by another pod"}},
      {PluginId::kNodeVolumeLimits, kU, {"node(s) exceed max volume count"}},
      {PluginId::kVolumeZone, kUu, {"node(s) had no available volume zone"}},
      {PluginId::kNodeDeclaredFeatures, kUu, {"node(s) didn't match Pod's required features"}},
      {PluginId::kNodeVolumeLimits,
       Code::kError,
       {"a claim of a pod's ephemeral volume was not created for that pod"}},
  };
  return kFixed;
}

}  // namespace

Rejections::Rejections(Reasons& texts) : texts_(texts), all_(fixed()) {}

std::uint32_t Rejections::make(PluginId plugin, Code code,
                               const std::vector<std::string>& reasons) {
  const auto known = made_.find(Key{plugin, code, reasons});
  if (known != made_.end()) {
    return kClassRejection | known->second;
  }
  if (made_.size() >= kMadeRejectionsMax) {
    for (const auto& [key, number] : made_) {
      if (std::get<0>(key) == plugin && std::get<1>(key) == code) {
        return kClassRejection | number;
      }
    }
  }
  const auto [at, is_new] = made_.emplace(Key{plugin, code, reasons}, count());
  Rejection& rejection = all_.emplace_back(Rejection{plugin, code, {}});
  for (const std::string& reason : reasons) {
    std::string_view kept = reason;
    texts_.hold(kept);
    rejection.reasons.push_back(kept);
  }
  return kClassRejection | at->second;
}

void Rejections::forget() {
  for (std::size_t i = fixed().size(); i < all_.size(); ++i) {
    for (const std::string_view reason : all_[i].reasons) {
      texts_.release(reason);
    }
  }
  all_.resize(fixed().size());
  made_.clear();
}

}  // namespace headroom
