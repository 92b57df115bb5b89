// VolumeLook: what the volume plugins say of nodes, for one pod: VolumeRestrictions,
// NodeVolumeLimits, VolumeBinding and VolumeZone.
//
// Source: reference default-plugins.md; kube-scheduler v1.37's plugins of these names. Claims are
// read when it is made; it is valid until a fact changes. Thread safety: const members from any
// number of threads. Cost: a node is O(volumes of the pod), for a claim that waits x (volumes and
// storage that the node's labels lead to), and where the node's volumes may be too many O(those).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/applications/applications.h"
#include "engine/applications/csi_volume.h"
#include "engine/applications/row_change.h"

namespace headroom {

class VolumeLook {
 public:
  VolumeLook(const Applications& applications, const Application& application);
  // What the application's pod chooses of volumes when it is assumed on the row, beside what the
  // objects say already. Of VolumeBinding alone: nothing where that rejects the pod.
  static ChosenVolumes::Choices chosen_on(std::uint32_t row, const Applications& applications,
                                          const Application& application);

  // Why the pod is rejected everywhere; empty: it is not. `plugin` says so.
  const std::vector<std::string>& pre_filter() const { return rejected_; }
  PluginId plugin() const { return rejected_by_; }
  // Adds what of nodes' labels its answers follow from: but for the rows of each_apart(), nodes
  // that are alike in it have the same. False, and nothing is added: they follow from more, and
  // each row is to be looked at.
  bool read(std::vector<NodeSelectorTerm>& terms) const;
  // Whether read() looked at nodes, for volumes that are of one node or few.
  bool reads_nodes() const {
    return std::any_of(bound_.begin(), bound_.end(), [](const BoundVolume& its) {
      return its.volume != nullptr && its.volume->node_affinity;
    });
  }
  // Calls visit(row) for the rows whose volumes, with the pod's, may be too many, and for those
  // whose labels one of the pod's volumes asks for by value, where no other node has these.
  template <typename Visit>
  void each_apart(Visit visit) const {
    for (const BoundVolume& its : bound_) {
      if (its.rows) {
        std::for_each(its.rows->begin(), its.rows->end(), visit);
      }
    }
    if (counts_ && wanted_error_ == 0) {
      applications_.each_row_without_room(wanted_[true].size(), visit);
    }
  }
  // 0, or the code of the first of the plugins that rejects the row. `change`: what would be.
  // `plain`: of all nodes that are alike, as if the row were none of each_apart().
  std::uint32_t code(std::uint32_t row, const RowChange* change, bool plain) const;
  // VolumeBinding's score of a row that passes.
  std::int64_t score(std::uint32_t row) const { return binds() ? score(bind(row, false)) : 0; }
  // Both at once, of the row as it is.
  struct Said {
    std::uint32_t code = 0;
    std::int64_t score = 0;  // where the code is 0
  };
  Said say(std::uint32_t row) const;
  // See Engine::bound_volumes().
  std::vector<ReferredObject> bound_volumes(std::uint32_t row) const;
  // Of a pod that passes pre_filter(): each of its claims and disks, with what the plugins hold
  // against it. `change`: pods that would come, or nullptr.
  void explain(std::uint32_t row, const RowChange* change, std::vector<ExplainTerm>& out) const;
  // What score() is the mean of.
  void explain_score(std::uint32_t row, std::vector<ExplainTerm>& out) const;

 private:
  enum class Plugins : std::uint8_t { kAll, kVolumeBinding };
  VolumeLook(const Applications& applications, const Application& application, Plugins plugins);

  enum BindingReason : std::uint32_t {
    kNodeConflict = 1,
    kBindConflict = 2,
    kNotEnoughSpace = 4,
    kVolumeMissing = 8,
  };
  // Of a storage class.
  struct Use {
    std::string_view storage_class;
    std::int64_t requested_bytes = 0, capacity_bytes = 0;
  };
  using Uses = std::vector<Use>;
  using Claim = PersistentVolumeClaim;
  using Storage = ByLabel<CsiStorageCapacity>::Object;
  // A claim that gets a volume: one that there is, or (nullptr) one that is made for it, of this
  // storage where the driver says what it has.
  struct Bound {
    const Claim* claim;
    const PersistentVolume* volume;
    const CsiStorageCapacity* storage;
  };
  // A volume of a claim, or nullptr, and where it can be used; nullptr: everywhere.
  struct ItsVolume {
    const PersistentVolume* volume;
    std::unique_ptr<const VolumeReach> reach;

    explicit ItsVolume(const PersistentVolume* its);
    bool can_be_on(const KeptNode& node) const { return reach == nullptr || reach->has(node); }
  };
  // Of a claim that is bound. `rows`: no other row can use it.
  struct BoundVolume : ItsVolume {
    std::optional<std::vector<std::uint32_t>> rows;
    const Claim* claim;
  };
  // A claim that waits, with what is known of its class.
  struct WaitingClaim {
    const Claim* its;
    const StorageClass* storage_class;
    const std::string* selected_node;      // nullptr: none
    const VolumeIndex::OfClass* of_class;  // nullptr: there is nothing of it
    std::vector<ItsVolume> meant;          // volumes that name it
    bool provisions;                       // its class makes volumes
    bool tells_capacity;                   // its driver, where it asks for some
  };
  using Chosen = std::vector<const PersistentVolume*>;
  // What VolumeBinding would do on a node.
  struct Binding {
    std::uint32_t why_not = 0;  // bits of BindingReason
    Uses found, provisioned;    // each class once
    std::vector<Bound> bound;
    Chosen chosen;                                  // of the volumes that there are
    std::vector<const WaitingClaim*> to_provision;  // for which there is none

    void clear();
  };
  struct ZoneLabel {
    const PersistentVolume* volume;
    std::string key;
    std::set<std::string> values;
  };

  bool filters_by(PluginId plugin) const { return profile_.filters_by(plugin); }
  const Claim* claim_of(const Volume& volume) const;
  // By a volume that is not ephemeral.
  bool names_claim(PodId id, std::string_view claim) const;
  static bool conflict(const Volume& asked, const Volume& used);
  static bool is_restricted(const Volume& volume);
  void reject(PluginId plugin, std::string reason);
  void look_at_restrictions();
  void look_at_limits();
  void look_at_binding();
  void look_at_zones();
  bool binds() const { return !bound_.empty() || !waiting_.empty() || !selected_.empty(); }
  void number_reasons();
  bool waits(const Claim& claim) const;
  const std::string* selected_node(const Claim& claim) const;
  WaitingClaim waiting(const Claim& claim) const;
  BoundVolume bound(const Claim& claim) const;
  std::optional<std::vector<std::uint32_t>> only_rows(const PersistentVolume& volume) const;
  Said look_at(std::uint32_t row, const RowChange* change, bool plain, bool scores) const;
  // Of the plugins before VolumeBinding.
  std::uint32_t code_before_binding(std::uint32_t row, const RowChange* change, bool plain) const;
  std::uint32_t restricted(std::uint32_t row, const RowChange* change) const;
  std::uint32_t without_driver(const std::set<CsiVolume>& wanted, const CsiNode* csi_node) const;
  std::uint32_t beyond_limits(std::uint32_t row, const RowChange* change, bool plain) const;
  // NodeVolumeLimits' volumes of the row's pods. `foreign`: one's claim is another pod's.
  std::set<CsiVolume> present_volumes(std::uint32_t row, const RowChange* change,
                                      bool& foreign) const;
  bool in_zone(std::uint32_t row) const;
  static bool has_zones(const KeptNode& node);
  // The node's label that stands for the volume's, or nullptr.
  static const std::string* zone_label(const KeptNode& node, std::string_view key);
  const Binding& bind(std::uint32_t row, bool plain) const;
  // Of a claim for which a node is selected.
  bool is_selected(const WaitingClaim& claim, std::uint32_t row) const;
  void bind_waiting(std::uint32_t row, Binding& binding) const;
  const KeptNode& node(std::uint32_t row) const { return *applications_.facts().nodes[row].node; }
  const PersistentVolume* find_volume(const WaitingClaim& claim, std::uint32_t row,
                                      const Chosen& chosen) const;
  const Storage* find_storage(const WaitingClaim& claim, std::uint32_t row) const;
  void provision(std::uint32_t row, Binding& binding) const;
  PersistentVolume made_for(const Bound& bound, const KeptNode& node) const;
  static bool allows(const StorageClass& storage_class, const KeptNode& node);
  // Of volumes that were found if there are any, else of provisioned ones.
  static const Uses& uses_of(const Binding& binding) {
    return binding.found.empty() ? binding.provisioned : binding.found;
  }
  static Use& use_of(Uses& uses, const Claim& claim);
  static std::int64_t utilization(const Use& use);
  std::int64_t rate(const Use& use) const;
  std::int64_t score(const Binding& binding) const;
  // The lines of explain().
  void mark_rejected(std::uint32_t code, ExplainTerm& line) const;
  ExplainTerm& add_line(PluginId plugin, std::string resource, std::vector<ExplainTerm>& out) const;
  void explain_restrictions(std::uint32_t row, const RowChange* change,
                            std::vector<ExplainTerm>& out) const;
  void explain_limits(std::uint32_t row, const RowChange* change,
                      std::vector<ExplainTerm>& out) const;
  void explain_binding(std::uint32_t row, std::vector<ExplainTerm>& out) const;
  void explain_bound(const BoundVolume& its, std::uint32_t row, ExplainTerm& line) const;
  std::string why_no_volume(const WaitingClaim& claim, std::uint32_t row,
                            const Chosen& chosen) const;
  void explain_provision(const WaitingClaim& claim, std::uint32_t row, const std::string& why,
                         ExplainTerm& line) const;
  void explain_zones(std::uint32_t row, std::vector<ExplainTerm>& out) const;

  const Applications& applications_;
  const Application& application_;
  const Profile& profile_;
  const ReferredObjects& referred_;
  std::vector<std::string> rejected_;
  PluginId rejected_by_{};
  // NodeVolumeLimits: by whether the node has a CSINode, the pod's volumes; why they cannot be
  // known; and by driver the code of a node that has to have it and does not.
  bool counts_ = false, has_disks_ = false, restricts_ = false, binding_filters_ = false;
  std::set<CsiVolume> wanted_[2];
  std::uint32_t wanted_error_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> missing_driver_;
  std::vector<std::uint32_t> binding_codes_;  // by Binding::why_not
  std::set<std::string> once_;                // its claims that one pod alone may have
  std::int64_t once_in_use_ = 0;              // that some pod has
  std::vector<BoundVolume> bound_;            // of claims that are bound
  // That wait for a node, the one that asks for less first; and those for which one is selected.
  std::vector<WaitingClaim> waiting_, selected_;
  std::vector<ZoneLabel> zones_;
};

}  // namespace headroom
