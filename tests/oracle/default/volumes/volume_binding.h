// VolumeBinding: bound claims' volumes must be usable on the node; claims that wait for their first
// consumer must find a volume there, or room to make one.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class VolumeBindingPlugin final : public Plugin {
 public:
  explicit VolumeBindingPlugin(const PodCycle& cycle)
      : Plugin(cycle),
        volumes_(cycle.facts.assumed_volumes(cycle.pod)),
        claims_(cycle.facts.assumed_claims(cycle.pod)) {}

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;
  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;
  // The claims that wait, and the volume that each gets on a node that passes; "": one is made.
  std::map<std::string, std::string> bound(const Node& node) const;
  // What Reserve assumes there (AssumePodVolumes): nothing where the plugin rejects the pod.
  std::vector<Facts::AssumedClaim> reserve(const Node& node) const;

 private:
  // Bytes of one storage class on one node.
  struct Use {
    std::int64_t requested_bytes = 0, capacity_bytes = 0;
  };
  // What the pod's claims come to on one node.
  struct Binding {
    std::vector<std::string> reasons;                      // none: they fit
    std::map<std::string, Use> static_uses, dynamic_uses;  // by storage class
    std::map<std::string, std::string> bound;              // by claim
  };

  const Claim* find(const std::string& claim) const;
  Status check_claims() const;
  bool waits_for_first_consumer(const Claim& claim) const;
  Binding bind(const Node& node) const;
  void check_bound(const Claim& claim, const Node& node, Binding& binding) const;
  void bind_waiting(const std::vector<const Claim*>& claims, const Node& node,
                    Binding& binding) const;
  const PersistentVolume* find_volume(const Claim& claim, const Node& node,
                                      const std::set<std::string>& chosen) const;
  void provision(const std::vector<const Claim*>& claims, const Node& node, Binding& binding) const;
  std::int64_t rate(const Use& use) const;

  const std::map<std::string, PersistentVolume> volumes_;
  const std::map<std::string, Claim> claims_;
};

}  // namespace oracle::defaults
