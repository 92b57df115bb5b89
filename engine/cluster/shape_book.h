// ShapeBook: the shapes of pods, each once; which of them are kept, and what they are described by.
//
// A shape that a pod counts by, or that a caller holds, stays; others stay in the order of their
// use while there is room (EngineOptions::shape_cache_bytes_max), as does what is cached for any of
// them. Pods that name their nodes or ask for host ports, which few have in common, are decided by
// a passing shape, which is valid until the next one is made.
// Thread safety: one thread at a time. Cost: a known shape is found in one look-up by its key; a
// new one is described by every policy.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/classes/row_classes.h"
#include "engine/cluster/shape_key.h"
#include "engine/limits.h"
#include "engine/policies/policies.h"
#include "engine/quotas/capacity_scheduling.h"
#include "engine/table/facts.h"
#include "engine/table/pod_shape.h"
#include "engine/table/reasons.h"
#include "layout/free_numbers.h"
#include "objects/hash.h"

namespace headroom {

// What shapes follow from. `capacity_scheduling`: nullptr without CapacityScheduling.
struct ShapeSources {
  const Profile& profile;
  const Policies& policies;
  CapacityScheduling* capacity_scheduling;
  RowClasses& classes;
  Reasons& reasons;
};

class ShapeBook {
 public:
  // Shapes that only decisions ask for, and what is cached for any, stay below so many bytes.
  ShapeBook(ShapeSources sources, Facts& facts, std::size_t bytes_max);
  ShapeBook(const ShapeBook&) = delete;
  ShapeBook& operator=(const ShapeBook&) = delete;

  // The shape by which the pod counts on a node, whatever it asks of a node's class: many pods that
  // name their nodes (of a DaemonSet) count as one shape. Never a passing one.
  Result<PodShape*> for_counting(const Pod& pod);
  // The shape for a decision, which may be a passing one. kLimitExceeded where the pod's filters
  // have more terms than a code bits.
  Result<PodShape*> for_decision(const Pod& pod);
  // The same, but kept for good.
  Result<PodShape*> for_good(const Pod& pod);

  // Those that the profile's filters look at: none without NodePorts.
  HostPorts host_ports(const Pod& pod) const {
    return has_node_ports_ ? host_ports_of(pod) : HostPorts();
  }

  PodShape* at(ShapeId id) const {  // nullptr if there is none
    return id < facts_.shapes.size() ? facts_.shapes[id].get() : nullptr;
  }
  // Every ShapeId is below it.
  std::uint32_t id_limit() const { return static_cast<std::uint32_t>(facts_.shapes.size()); }
  std::uint32_t count() const { return count_; }

  // What a decision by the shape reads of nodes' labels, once; of a selector with thousands of
  // values each is hashed, twice. Before classes are asked for it.
  void read(PodShape& shape);

  // --- Who needs them. The one that was asked for last is not freed either. ---
  void hold(ShapeId id) { use(id, 1); }
  void release(ShapeId id) { use(id, -1); }
  void give(PodFacts& pod, ShapeId id);  // kNoShape: none
  // How many bytes are cached for the shape, which counts as used now.
  void set_cached_bytes(PodShape& shape, std::size_t bytes);
  // After what the shape itself keeps has grown.
  void count_bytes(PodShape& shape);
  // Frees what was used least recently until there is room, also for so many bytes more.
  void trim(std::size_t room = 0);
  void set_bytes_max(std::size_t bytes);
  std::size_t bytes_max() const { return bytes_max_; }
  std::size_t bytes() const { return bytes_; }
  // `drop` lets go of what is cached for a shape.
  void on_drop(std::function<void(ShapeId)> drop) { drop_cached_ = std::move(drop); }

  // --- Where names of resources change their meaning ---
  // Those whose pods name one of them; `names` are sorted.
  std::vector<ShapeId> naming(const std::vector<std::string>& names) const;
  void describe_again(const std::vector<ShapeId>& ids);
  // Grows with that: what else is kept by their numbers is worth nothing.
  std::uint64_t generation() const { return generation_; }
  // Grows with each shape that is made or described again.
  std::uint64_t descriptions() const { return described_; }

  // kConflict if the shape is described otherwise than it would be now.
  Result<void> validate(const PodShape& shape);
  // Recounts what shapes ask of quotas.
  bool counts_who_asks() const;

 private:
  Result<PodShape*> find_or_make(const Pod& pod, ShapeUse use, bool lasting);
  std::unique_ptr<PodShape> make(const Pod& pod, ShapeUse use, HostPorts ports, ShapeId id,
                                 ShapeId counts_as);
  PodShape& take_passing(std::unique_ptr<PodShape> made);
  void describe(PodShape& shape, const Pod& pod);
  void unread(const PodShape& shape);
  void release_reasons(PodShape& shape);
  void count_asked(const PodShape& shape) noexcept;
  void let_go(PodShape& shape);
  void free_elastic_quota_names();
  void use(ShapeId id, int by);
  void note_use(PodShape& shape);
  void measure(PodShape& shape) const;
  void free(ShapeId id);

  const ShapeSources sources_;
  const bool has_node_ports_, has_node_affinity_;
  Facts& facts_;
  BytesMap<std::string_view, ShapeId> ids_;  // into PodShape::key
  FreeNumbers free_ids_;
  std::uint32_t count_ = 0;
  std::unique_ptr<PodShape> passing_;
  // How many shapes ask their quota for it.
  std::array<std::uint32_t, kResourcesMax> asked_of_quotas_{};
  // Shapes that nobody needs, or for which something is cached; used last first.
  std::list<ShapeId> use_order_;
  std::list<ShapeId> out_of_use_order_;  // the others: to come into the order takes no memory
  std::size_t bytes_ = 0;                // that they count
  std::size_t bytes_max_;
  std::function<void(ShapeId)> drop_cached_;
  std::uint64_t generation_ = 0, described_ = 0;
  std::string key_;  // scratch
};

// Holds shapes for the time of a call.
class ShapeHolds {
 public:
  explicit ShapeHolds(ShapeBook& book) : book_(book) {}
  ShapeHolds(const ShapeHolds&) = delete;
  ShapeHolds& operator=(const ShapeHolds&) = delete;
  ~ShapeHolds();
  void add(const PodShape* shape);  // of a passing one: what it counts as

 private:
  ShapeBook& book_;
  std::vector<ShapeId> held_;
};

// The shapes of many pods, one after the other, for the time of a call. Errors come when a pod is
// added, none later.
class PodShapes {
 public:
  explicit PodShapes(ShapeBook& book) : book_(book), holds_(book) {}

  // nullptr: a passing one.
  Result<PodShape*> add(const Pod& pod);
  // Of the pod that was added as the i-th; a passing one is made anew.
  PodShape& at(std::size_t i, const Pod& pod) {
    return shapes_[i] != nullptr ? *shapes_[i] : **book_.for_decision(pod);
  }
  // nullptr: a passing one, or beyond the last.
  const PodShape* kept(std::size_t i) const { return i < shapes_.size() ? shapes_[i] : nullptr; }

 private:
  ShapeBook& book_;
  ShapeHolds holds_;
  std::vector<PodShape*> shapes_;
};

}  // namespace headroom
