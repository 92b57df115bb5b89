// Cluster: which shapes are kept. One that a pod counts by, or that a caller holds, stays; others
// stay in the order of their use while there is room (EngineOptions::shape_cache_bytes_max), as
// does what is cached for any of them.
#include <utility>

#include "engine/facts/cluster.h"
#include "engine/table/heap_bytes.h"

namespace headroom {

ShapeHolds::~ShapeHolds() {
  for (const ShapeId id : held_) {
    cluster_.release(id);
  }
  if (!held_.empty()) {
    cluster_.trim_shapes();
  }
}

void ShapeHolds::add(const PodShape* shape) {
  if (shape != nullptr && shape->id != kPassingShape) {
    cluster_.hold(shape->id);
    held_.push_back(shape->id);
  }
}

void Cluster::use_shape(ShapeId id, int by) {
  PodShape& shape = *shapes_[id];
  const bool needed = shape.users != 0;
  shape.users += static_cast<std::uint32_t>(by);
  if (needed != (shape.users != 0)) {
    count_bytes(shape);
  }
}

// With the shape that it counts as, which is mostly there for it alone.
void Cluster::measure(PodShape& shape) const {
  shape.measure();
  if (shape.counts_as != shape.id) {
    shape.own_bytes += shapes_[shape.counts_as]->own_bytes;
  }
}

// Also puts the shape into the order of use, or takes it out. Its place there stays.
void Cluster::count_bytes(PodShape& shape) {
  const std::size_t bytes =
      shape.cached_bytes + heap_bytes(shape.class_codes) + (shape.users == 0 ? shape.own_bytes : 0);
  shape_bytes_ += bytes - shape.counted_bytes;
  shape.counted_bytes = bytes;
  if (!shape.in_use_order && bytes != 0) {
    shape.use_place = use_order_.insert(use_order_.begin(), shape.id);
  } else if (shape.in_use_order && bytes == 0) {
    use_order_.erase(shape.use_place);
  }
  shape.in_use_order = bytes != 0;
}

void Cluster::note_use(PodShape& shape) {
  if (shape.in_use_order) {
    use_order_.splice(use_order_.begin(), use_order_, shape.use_place);
  }
}

void Cluster::set_cached_bytes(PodShape& shape, std::size_t bytes) {
  shape.cached_bytes = bytes;
  count_bytes(shape);
  note_use(shape);
}

void Cluster::trim_shapes(std::size_t room) {
  // The one that was used last may be in use now.
  while (use_order_.size() > 1 &&
         (shape_bytes_ + room > shape_bytes_max_ || shape_count_ >= kShapesMax)) {
    PodShape& last = *shapes_[use_order_.back()];
    if (std::exchange(last.cached_bytes, 0) != 0) {
      drop_cached_(last.id);
    }
    if (last.users == 0) {
      free_shape(last.id);
    } else {
      last.class_codes = std::vector<std::uint32_t>();
      count_bytes(last);
    }
  }
}

void Cluster::free_shape(ShapeId id) {
  PodShape& shape = *shapes_[id];
  const ShapeId counts_as = shape.counts_as;
  shape_bytes_ -= shape.counted_bytes;
  use_order_.erase(shape.use_place);
  shape_ids_.erase(shape.key);
  classes_.unread(shape.constraint);
  release_reasons(shape);
  shapes_[id] = nullptr;
  free_shapes_.push_back(id);
  --shape_count_;
  if (counts_as != id) {
    PodShape& counting = *shapes_[counts_as];
    const bool in_order = counting.in_use_order;
    release(counts_as);
    if (!in_order && counting.in_use_order) {
      // Not used later than the one that counted as it.
      use_order_.splice(use_order_.end(), use_order_, counting.use_place);
    }
  }
}

void Cluster::set_shape(PodFacts& pod, ShapeId id) {
  if (id != kNoShape) {
    hold(id);
  }
  if (const ShapeId before = std::exchange(pod.shape, id); before != kNoShape) {
    release(before);
  }
}

// Makes the reason the text that stays; returns what it takes if nobody gave it so far.
std::size_t Cluster::hold_reason(std::string_view& reason) {
  const auto [known, is_new] = reasons_.try_emplace(std::string(reason));
  Reason& its = known->second;
  if (its.users++ == 0 && !is_new) {
    unused_reasons_.erase(its.unused);
  }
  reason = known->first;
  // A node of the map: its head, and what it holds.
  return is_new ? allocated_bytes(4 * sizeof(void*) + sizeof(*known)) + heap_bytes(known->first)
                : 0;
}

// Answers point to reasons: those that nobody gives any more stay until as many others went.
void Cluster::release_reason(std::string_view reason) {
  const auto known = reasons_.find(reason);
  if (--known->second.users == 0) {
    known->second.unused = unused_reasons_.insert(unused_reasons_.end(), known->first);
  }
  if (unused_reasons_.size() > kUnusedReasonsMax) {
    reasons_.erase(reasons_.find(unused_reasons_.front()));
    unused_reasons_.pop_front();
  }
}

void Cluster::release_reasons(PodShape& shape) {
  for (const std::string_view reason : shape.reasons) {
    release_reason(reason);
  }
  shape.reasons.clear();
}

std::uint32_t Cluster::class_reason_index(PluginId plugin, std::string_view reason) {
  if (const auto known = class_reason_ids_.find(reason); known != class_reason_ids_.end()) {
    return known->second;
  }
  const auto index = static_cast<std::uint32_t>(class_reasons_.size());
  hold_reason(reason);
  class_reasons_.push_back({plugin, reason});
  class_reason_ids_.emplace(reason, index);
  return index;
}

// Those of taints, with the classes that had them: no shape's codes are of use any more.
void Cluster::forget_class_reasons() {
  for (const auto& [reason, index] : class_reason_ids_) {
    release_reason(reason);
  }
  class_reasons_.resize(class_reasons_.size() - class_reason_ids_.size());
  class_reason_ids_.clear();
}

}  // namespace headroom
