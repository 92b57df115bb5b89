// Cluster::as_if: a row without some of its pods and with others, for the time of a look.
#include <utility>

#include "engine/facts/cluster.h"

namespace headroom {

Result<void> Cluster::as_if(std::uint32_t row, const FilterOptions& options,
                            const std::function<void()>& look) {
  std::vector<const PodShape*> shapes;
  ShapeHolds holds(*this);
  for (const Pod& pod : options.with) {
    if (auto checked = check_room(pod, options.with.size()); !checked) {
      return checked;
    }
    const auto shape = counting_shape_of(pod);
    if (!shape) {
      return tl::unexpected(shape.error());
    }
    shapes.push_back(*shape);
    holds.add(*shape);
  }
  Journal journal = std::exchange(journal_, {});  // asking changes no fact
  std::vector<PodId> uncounted, denominated;
  for (const PodName& name : options.without) {
    write_pod_key(name.namespace_name, name.name, pod_key_);
    const auto found = pod_ids_.find(pod_key_);
    if (found == pod_ids_.end()) {
      continue;
    }
    const PodId id = found->second;
    if (pods_[id].counted_row == row) {
      uncount(id);
      uncounted.push_back(id);
    } else if (pods_[id].rank.nominated && pods_[id].rank.nominated_row == row) {
      denominate(id);
      denominated.push_back(id);
    }
  }
  std::vector<Assumed> assumed;
  for (std::size_t p = 0; p < options.with.size(); ++p) {
    if (auto made = assume_for_now(options.with[p], *shapes[p], row)) {
      assumed.push_back(std::move(*made));
    }
  }
  mark(row, Stale::kOnlyPods);
  look();
  for (; !assumed.empty(); assumed.pop_back()) {
    restore(assumed.back(), row);
  }
  for (const PodId id : uncounted) {
    if (pods_[id].counted_row == kNoRow) {  // `with` may have brought it back
      count(id);
    }
  }
  for (const PodId id : denominated) {
    nominate(id);
  }
  mark(row, Stale::kOnlyPods);
  journal_ = std::move(journal);
  return {};
}

// As assume(), but that restore() can undo it whatever the pod was. Nothing: the pod changes
// nothing.
std::optional<Cluster::Assumed> Cluster::assume_for_now(const Pod& object, const PodShape& shape,
                                                        std::uint32_t row) {
  write_pod_key(object.namespace_name, object.name, pod_key_);
  const PodId id = pod_of(pod_key_);
  const PodFacts& known = pods_[id];
  const bool same = known.known() && known.uid == object.uid;
  const bool there = same && known.row() == row;
  if (same && (known.bound_row != kNoRow || (there && !known.terminal))) {
    if (there && known.counted_row == kNoRow) {
      count(id);  // `without` has it
    }
    return std::nullopt;
  }
  Assumed assumed{id, {}, known.counted_row, known.rank.nominated};
  uncount(id);
  assumed.before.uid = object.uid;
  assumed.before.mentions = known.mentions;
  assumed.before.assumed_row = row;  // not mentioned: it has a node
  assumed.before.first_seen_us = there ? known.first_seen_us : now_us_;
  exchange(id, assumed.before);
  update_object(pods_[id], object, shape);
  count(id);
  if (assumed.counted_row != kNoRow && assumed.counted_row != row) {
    mark(assumed.counted_row, Stale::kOnlyPods);
  }
  return assumed;
}

void Cluster::restore(Assumed& assumed, std::uint32_t row) {
  const PodId id = assumed.pod;
  uncount(id);
  move_to(pods_[id].rank.nominated_row, kNoRow);
  if (capacity_ != nullptr) {
    capacity_->clear_rank(pods_[id]);
  }
  set_shape(pods_[id], kNoShape);
  exchange(id, assumed.before);
  if (assumed.counted_row != kNoRow || assumed.nominated) {
    count(id);
  }
  if (assumed.counted_row != kNoRow && assumed.counted_row != row) {
    mark(assumed.counted_row, Stale::kOnlyPods);
  }
  release_pod_if_unused(id);
}

// Everything but the key, whose text pod_ids_ refers to.
void Cluster::exchange(PodId id, PodFacts& facts) {
  PodFacts& pod = pods_[id];
  pod_ids_.erase(pod.key);
  std::swap(pod, facts);
  std::swap(pod.key, facts.key);
  pod_ids_.emplace(pod.key, id);
}

}  // namespace headroom
