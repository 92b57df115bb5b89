// Application: what a pod asks beyond its node's columns and class: of other pods by topology
// domain (PodTopologySpread, InterPodAffinity), of nodes softly (NodeAffinity's preferred terms,
// TaintToleration's and ImageLocality's scores), of volumes.
//
// Pods of one workload mostly share one; what columns and classes say of them is the other half,
// PodShape, of which there are fewer. What it counts of other pods stands in its counters,
// kept up to date by every pod that comes or goes. Plain data, filled by Applications.
// Thread safety: one writer, or any number of readers. Invariant: while `current`, each counter is
// the sum of its feeds' weights over the pods that count.
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/applications/peers.h"
#include "engine/domains/fine_sums.h"
#include "engine/domains/topology.h"
#include "engine/table/node_class.h"
#include "objects/objects.h"

namespace headroom {

// A counter by row and not by domain.
inline constexpr TopologyKeyId kByRow = UINT32_MAX;

// Sums by domain.
struct Counter {
  enum class Kind : std::uint8_t {
    kHardSpread,    // pods that match constraint `index`, on nodes that take part
    kSoftSpread,    // the same, of a soft one
    kAffinity,      // pods that match all required affinity terms
    kAntiAffinity,  // and those that match some required anti-affinity term of this key
    kOthersAnti,    // pods whose required anti-affinity term of this key matches the application
    kPreferred,     // weights of preferred terms of this key, the application's and others'
  };
  static constexpr std::uint32_t kNotFine = UINT32_MAX;

  Kind kind{};
  std::uint32_t index = 0;  // of the constraint
  TopologyKeyId key = kByRow;
  // Its key's place in Application::fine_sums, and its own number there. kNotFine: a class knows
  // its domain, as classes read the key, and its sums stand here.
  std::uint32_t sums = kNotFine, number = 0;
  tsl::robin_map<std::uint32_t, FedCell> cells;  // by domain that some pod feeds

  bool fine() const { return sums != kNotFine; }
};

// A sum that changed: of a counter's domain, or of a fine key's, which had that standing before.
struct SumChange {
  std::uint32_t counter, domain;
};
struct StandingChange {
  std::uint32_t sums, domain;
  FineSums::Standing before;
};

// More of either are not followed: the application has another version.
inline constexpr std::size_t kSumChangesMax = 64;

// What a decision about an application keeps with it; decide/ knows what.
struct KeptWithApplication {
  virtual ~KeptWithApplication() = default;
};

struct SpreadConstraint {
  TopologySpreadConstraint its;  // with its whole selector
  TopologyKeyId key = 0;
  std::uint32_t counter = 0;
  bool self = false;      // the pod matches its own selector
  bool hostname = false;  // of a soft one: a node counts its own pods
  // By class, as far as was asked: whether its nodes take part, by the policies alone. Classes are
  // new between decisions, never while several threads look.
  mutable std::vector<bool> takes_part;
  // Of a hard one: domains of nodes that take part. As of the last Applications::prepare().
  std::uint32_t domains = 0;
};

struct Application {
  std::string key;  // what its pods have in common

  // --- What its pods say ---
  std::string namespace_name, pod_name, uid;  // the latter two of a pod with an ephemeral volume
  ClassConstraint constraint;
  StringMap labels;  // that some selector reads
  PodAffinity affinity, anti_affinity;
  std::vector<PreferredSchedulingTerm> preferred;
  std::vector<TopologySpreadConstraint> own_spread;
  std::optional<ReferredKind> controller_kind;  // nullopt: none whose selector is read
  std::string controller_name;
  std::vector<std::string> images;  // of containers, then image volumes; with tags
  std::uint32_t image_count = 0;    // that the score's limit is for
  std::vector<Volume> volumes;      // with claims or disks
  std::vector<std::string> required_features;

  // --- What follows from that ---
  // Of constraint, once a spread constraint honors it; nullptr: none does, or it asks for none.
  std::unique_ptr<const NodeAffinity> node_affinity;
  bool pinned = false;             // it names its nodes
  bool affinity_conflict = false;  // and none can match
  bool bad_preference = false;     // a preferred term is not valid
  // What classes have to tell apart for it.
  struct ClassReads {
    ClassConstraint constraint;
    std::vector<std::string> keys;  // by value
  };
  ClassReads reads;
  bool reads_held = false;
  std::uint64_t split = 0;  // as PodShape::split
  struct Preferred {
    std::int64_t weight;
    std::unique_ptr<const ClassConstraint> constraint;
    std::unique_ptr<const NodeAffinity> affinity;  // of the constraint
    bool by_name = false;                          // it asks for nodes' names: classes do not tell
  };
  std::vector<Preferred> preferences;  // that may match, addedAffinity's among them
  bool matches_own_affinity = false;   // all of its required affinity terms

  // --- What follows from other facts, while `current` ---
  bool described = false;  // but for what the counters come to
  bool current = false;
  std::uint64_t keys_generation = 0, volumes_generation = 0, node_changes = 0, class_generation = 0;
  std::uint32_t classes_known = 0;    // SpreadConstraint::takes_part and preference: of so many
  std::uint64_t domains_counted = 0;  // SpreadConstraint::domains: after which change of a node
  bool system_defaults = false;
  std::vector<SpreadConstraint> hard, soft;
  // By class, as far as was asked: the weights of the preferences that its nodes meet, but for
  // those by name. Of the classes of that generation.
  std::vector<std::int64_t> preference;
  std::uint64_t preference_generation = 0;
  LabelBits label_bits;             // of its labels, constraints and terms
  std::vector<TopologyKeyId> keys;  // held
  std::vector<Counter> counters;
  std::vector<std::unique_ptr<FineSums>> fine_sums;  // by fine key
  tsl::robin_map<PeerId, std::vector<Feed>> feeds;
  bool rows_only = false;           // classes do not tell all: each row is looked at
  bool volumes_by_row = false;      // its volumes alone have each row be looked at
  bool volumes_read_nodes = false;  // what classes have to tell apart for them follows from nodes

  // Another one where it was counted anew, and where more changed than is followed.
  std::uint64_t version = 0;
  std::unique_ptr<KeptWithApplication> kept;
  // What changed since kept followed it, while there is any.
  std::vector<SumChange> sum_changes;
  std::vector<StandingChange> standing_changes;

  // --- The book's ---
  bool crosses = false;  // its terms mean pods of other namespaces too
  std::list<Application*>::iterator use_place, check_place;
  std::size_t bytes = 0, kept_bytes = 0;

  // What pods feed of the counter in the domain.
  FedCell cell(const Counter& counter, std::uint32_t domain) const {
    if (counter.fine()) {
      const FineSums& sums = *fine_sums[counter.sums];
      return sums.cell(sums.of(domain), counter.number);
    }
    const auto found = counter.cells.find(domain);
    return found == counter.cells.end() ? FedCell() : found->second;
  }
  // Calls visit(sum, domains) for the domains that some pod feeds, together where they are alike.
  template <typename Visit>
  void each_sum(const Counter& counter, Visit visit) const {
    for (const auto& cell : counter.cells) {
      visit(cell.second.sum, std::uint32_t{1});
    }
    if (!counter.fine()) {
      return;
    }
    const FineSums& sums = *fine_sums[counter.sums];
    for (FineSums::Standing its = 0; its < sums.standings(); ++its) {
      const FedCell& cell = sums.cell(its, counter.number);
      if (cell.pods != 0 && sums.domains(its) != 0) {
        visit(cell.sum, sums.domains(its));
      }
    }
  }
  // Whether some pod feeds it.
  bool is_fed(const Counter& counter) const {
    if (!counter.fine()) {
      return !counter.cells.empty();
    }
    const FineSums& sums = *fine_sums[counter.sums];
    for (FineSums::Standing its = 0; its < sums.standings(); ++its) {
      if (sums.cell(its, counter.number).pods != 0 && sums.domains(its) != 0) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace headroom
