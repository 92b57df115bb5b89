#include "engine/decide/shape_cache.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace headroom {

namespace {

// Shapes of a batch that go through the table together: more groups than workers even the load.
constexpr std::size_t kGroupShapes = 8;

// What a cached shape takes, about: itself and its histograms; a word a row and some for the
// totals.
constexpr std::size_t kEntryBytes = 8 << 10;
std::size_t bytes_of_entry(const NodeTable& table) {
  return kEntryBytes + std::size_t{table.size()} * 6;
}

}  // namespace

ShapeCache::ShapeCache(Cluster& cluster, const Kernels& kernels, const EngineOptions& options)
    : cluster_(cluster),
      kernels_(kernels),
      on_(options.shape_cache),
      arena_(options.threads > 0 ? static_cast<int>(options.threads) : tbb::task_arena::automatic),
      uncached_(kernels) {
  cluster_.shapes().on_drop([this](ShapeId shape) { drop(shape); });
}

void ShapeCache::drop(ShapeId shape) {
  std::unique_ptr<CachedShape> dropped = std::move(slots_[shape].cached);
  if (spares_.size() < spares_max_) {
    spares_.push_back(std::move(dropped));
  }
}

CachedShape& ShapeCache::cached(const PodShape& shape) {
  if (shape.id >= slots_.size()) {
    slots_.resize(shape.id + 1);
  }
  Slot& slot = slots_[shape.id];
  if (slot.cached == nullptr) {
    if (spares_.empty()) {
      slot.cached = std::make_unique<CachedShape>(kernels_);
    } else {
      slot.cached = std::move(spares_.back());
      spares_.pop_back();
    }
    slot.cached->reset(shape);
  } else if (slot.version != shape.version) {
    slot.cached->reset(shape);
  }
  slot.version = shape.version;
  return *slot.cached;
}

void ShapeCache::fetch(const PodShape& shape) const {
  if (is_cached(shape) && slots_[shape.id].version == shape.version) {
    slots_[shape.id].cached->fetch(cluster_.table());
  }
}

CachedShape& ShapeCache::bring_up(PodShape& shape) {
  if (!on_) {
    uncached_.reset(shape);
    uncached_.update(cluster_.table(), shape);
    ++cold_passes_;
    return uncached_;
  }
  const Work work = begin(shape);
  CachedShape& found = *work.cached;
  found.update(cluster_.table(), shape);
  hits_ += found.cold_passes() == work.cold_before;
  note(work);
  return found;
}

ShapeCache::Work ShapeCache::begin(PodShape& shape) {
  CachedShape& found = cached(shape);
  return {&shape, &found, found.cold_passes(), found.rows_replayed()};
}

void ShapeCache::note(const Work& done) {
  cold_passes_ += done.cached->cold_passes() - done.cold_before;
  rows_replayed_ += done.cached->rows_replayed() - done.replayed_before;
}

void ShapeCache::count(PodShape& shape) {
  if (on_) {
    cluster_.shapes().set_cached_bytes(shape, slots_[shape.id].cached->bytes());
    cluster_.shapes().trim();
  }
}

std::size_t ShapeCache::at_once() const {
  return std::max<std::size_t>(cluster_.shapes().bytes_max() / 2 / bytes_of_entry(cluster_.table()),
                               1);
}

void ShapeCache::bring_up_all(std::span<PodShape* const> shapes, std::uint32_t top_k,
                              const TieOrder& order) {
  std::vector<Work> all;
  std::unordered_set<const PodShape*> known;
  for (PodShape* shape : shapes) {
    if (on_ && shape != nullptr && !shape->row_by_row() && known.insert(shape).second) {
      all.push_back({shape, nullptr, 0, 0});
    }
  }
  // Room first: what goes is what the new ones are made of.
  spares_max_ = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [this](const Work& work) { return !is_cached(*work.shape); }));
  cluster_.shapes().trim(spares_max_ * bytes_of_entry(cluster_.table()));
  for (Work& work : all) {
    cluster_.prepare(*work.shape);
    work = begin(*work.shape);
  }
  // A selector of one may have split classes that those before it were prepared for.
  for (const Work& work : all) {
    cluster_.prepare(*work.shape);
  }
  const auto workers = static_cast<std::size_t>(std::max(1, arena_.max_concurrency()));
  const std::size_t size = std::clamp<std::size_t>(all.size() / workers, 1, kGroupShapes);
  arena_.execute([&] {
    tbb::parallel_for(std::size_t{0}, (all.size() + size - 1) / size, [&](std::size_t group) {
      const std::size_t first = group * size;
      update_group(std::span(all).subspan(first, std::min(size, all.size() - first)), top_k, order);
    });
  });
  for (const Work& work : all) {
    note(work);
    cluster_.shapes().set_cached_bytes(*work.shape, work.cached->bytes());
  }
  spares_max_ = 1;
  spares_.resize(std::min(spares_.size(), spares_max_));
  cluster_.shapes().trim();
}

// One worker takes a group of shapes through the table together, so that a block of nodes that one
// of them brought into the processor's cache serves them all.
void ShapeCache::update_group(std::span<const Work> group, std::uint32_t top_k,
                              const TieOrder& order) const {
  const NodeTable& table = cluster_.table();
  std::vector<const Work*> cold;
  for (const Work& work : group) {
    if (work.cached->replayable(table)) {
      work.cached->update(table, *work.shape);
    } else {
      work.cached->begin(table);
      cold.push_back(&work);
    }
  }
  for (std::uint32_t block = 0; block * kBlockNodes < table.size(); ++block) {
    for (const Work* work : cold) {
      work->cached->build(table, *work->shape, block);
    }
  }
  std::vector<RowTotal> best;
  for (const Work* work : cold) {
    work->cached->finish(table);
    // The first search is a long one, and the decision to come finds what it left.
    if (!work->cached->wide()) {
      work->cached->best(top_k, order, best);
    }
  }
}

void ShapeCache::clear() noexcept {
  for (ShapeId id = 0; id < slots_.size(); ++id) {
    if (slots_[id].cached == nullptr) {
      continue;
    }
    slots_[id].cached.reset();
    if (PodShape* shape = cluster_.shapes().at(id); shape != nullptr) {
      cluster_.shapes().set_cached_bytes(*shape, 0);
    }
  }
  spares_.clear();
}

}  // namespace headroom
