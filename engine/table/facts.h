// What the engine keeps of the objects it was given: compact, and enough to derive every aggregate
// anew.
//
// Plain values. The cluster (cluster.h) alone adds and removes; a policy reads them all and writes
// what is its own of a pod (PodFacts::load). Thread safety: one writer, or any number of readers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kept/host_ports.h"
#include "engine/kept/kept_node.h"
#include "engine/kept/pod_uid.h"
#include "engine/table/node_table.h"
#include "engine/table/pod_shape.h"
#include "engine/table/resource_names.h"
#include "layout/chunked.h"
#include "layout/huge_pages.h"
#include "layout/name_index.h"
#include "layout/prefetch.h"
#include "objects/objects.h"

namespace headroom {

using PodId = std::uint32_t;
using NamespaceId = std::uint32_t;
// What other pods' decisions read of a pod; see applications/peers.h.
using PeerId = std::uint32_t;
inline constexpr PeerId kNoPeer = UINT32_MAX;
// Pods of one namespace with equal labels.
using GroupId = std::uint32_t;
inline constexpr std::uint32_t kNoRow = UINT32_MAX;
inline constexpr PodId kNoPod = UINT32_MAX;
inline constexpr NamespaceId kNoNamespace = UINT32_MAX;
inline constexpr GroupId kNoGroup = UINT32_MAX;

// A row of the table: a name that some fact mentions.
struct NodeFacts {
  std::string name;
  std::unique_ptr<const KeptNode> node;  // nullptr: only mentioned
  // Its allocatable in the resources' units, by resource: none beyond its end. nullptr: no node.
  std::shared_ptr<const std::vector<std::int64_t>> allocatable;
  PodId first_pod = kNoPod;  // pods that count here, those first that a policy put there
  PodId last_pod = kNoPod;
  std::vector<PodId> nominated;  // pods that wait for room here
  TakenPorts ports;              // of the pods that count here; empty without NodePorts
  std::uint32_t mentions = 0;    // pods and metrics that name it
  bool bad_annotation = false;

  std::size_t allocatable_count() const { return allocatable == nullptr ? 0 : allocatable->size(); }
  std::int64_t allocatable_of(ResourceId resource) const {
    return resource < allocatable_count() ? (*allocatable)[resource] : 0;
  }
  // Exact; 0 without a node.
  Quantity exact_allocatable(const std::string& resource) const {
    const Quantity* quantity =
        node == nullptr ? nullptr : find(node->traits->allocatable, resource);
    return quantity == nullptr ? Quantity() : *quantity;
  }
};

// How a pod's load was added to its node, so that taking it away is exact. See load_aware.h.
struct LoadApplied {
  bool delta = false;           // its estimate counts, less its reported usage
  bool prod_delta = false;      // the same among prod pods
  bool prod_delta_net = false;  // ... less its reported usage
  bool prod_usage = false;      // its reported usage counts as prod usage
};

// How important a pod is, and where it waits for room (priorities.h); the rest is for quotas and
// preemption, and says nothing without them (capacity_scheduling.h).
struct PodRank {
  NamespaceId namespace_id = kNoNamespace;
  GroupId group = kNoGroup;
  std::int32_t priority = 0;
  std::uint32_t priority_class = 0;  // whose value `priority` is; 0: the pod's own
  std::int64_t start_us = INT64_MAX;
  std::uint32_t nominated_row = kNoRow;  // what the object names
  bool nominated = false;                // it waits there: on no node, and not terminal
  bool deleting = false;
};

// Three cache lines.
struct alignas(kCacheLineBytes) PodFacts {
  std::string key;  // "namespace/name"
  NameIndex::Hash key_hash = 0;
  ShapeId shape = kNoShape;                // of a pod that is known; held
  std::uint32_t bound_row = kNoRow;        // what the applied object names
  std::uint32_t assumed_row = kNoRow;      // where it is assumed
  std::uint32_t counted_row = kNoRow;      // where it counts now
  PodId previous = kNoPod, next = kNoPod;  // among the pods of counted_row
  PeerId peer = kNoPeer;  // of a pod that is known, where the profile reads peers; held
  PodId peer_previous = kNoPod, peer_next = kNoPod;  // among the peer's pods that count
  LoadApplied load;
  bool applied = false;  // an object was applied (else only assumed, or only mentioned)
  bool terminal = false;
  bool is_scheduled = false, is_initialized = false;  // conditions that are True
  std::uint32_t mentions = 0;                         // metrics that list it
  PodUid uid;
  PodRank rank;
  std::shared_ptr<const HostPorts> host_ports;        // nullptr: none, or no NodePorts
  std::int64_t first_seen_us = 0;                     // on counted_row
  std::int64_t scheduled_us = 0, initialized_us = 0;  // where they are

  std::string_view namespace_name() const { return std::string_view(key).substr(0, key.find('/')); }
  std::string_view name() const { return std::string_view(key).substr(key.find('/') + 1); }
  bool known() const { return applied || assumed_row != kNoRow; }
  std::uint32_t row() const { return bound_row != kNoRow ? bound_row : assumed_row; }
  std::optional<std::int64_t> scheduled() const {
    return is_scheduled ? std::optional(scheduled_us) : std::nullopt;
  }
  std::optional<std::int64_t> initialized() const {
    return is_initialized ? std::optional(initialized_us) : std::nullopt;
  }
  void set_conditions(std::optional<std::int64_t> scheduled,
                      std::optional<std::int64_t> initialized) {
    is_scheduled = scheduled.has_value();
    is_initialized = initialized.has_value();
    scheduled_us = scheduled.value_or(0);
    initialized_us = initialized.value_or(0);
  }
};
static_assert(sizeof(PodFacts) == 3 * kCacheLineBytes);

struct Facts {
  std::vector<NodeFacts, HugePages<NodeFacts>> nodes;  // by row
  Chunked<PodFacts> pods;
  std::vector<std::unique_ptr<PodShape>> shapes;  // nullptr: the number is free

  const PodShape& shape_of(PodId id) const { return *shapes[pods[id].shape]; }
  // The list of the pods that count on a row: the pod's counted_row, which has been set.
  void link(PodId id, bool first);
  void unlink(PodId id);
};

}  // namespace headroom
