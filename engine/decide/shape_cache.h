// ShapeCache: what is cached of the shapes that were asked for, in the memory that there is for it.
//
// Which of them stay is ShapeBook's to say, which counts bytes and uses: the cache tells it what a
// shape takes and lets go of what it drops, whose memory the next new shape takes.
// Thread safety: one thread at a time; bring_up_all() uses TBB inside. Cost: bring_up() is
// CachedShape::update().
#pragma once

#include <tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/cluster/cluster.h"
#include "engine/decide/cached_shape.h"
#include "engine/options.h"

namespace headroom {

class ShapeCache {
 public:
  // The cluster drops into it from then on, and outlives it.
  ShapeCache(Cluster& cluster, const Kernels& kernels, const EngineOptions& options);
  ShapeCache(const ShapeCache&) = delete;
  ShapeCache& operator=(const ShapeCache&) = delete;

  // Off: each question makes its answers anew, which are the same.
  bool on() const { return on_; }

  // The shape's answers, up to date; it is prepared. Once they were read, count() has to follow:
  // reading may have made them grow.
  CachedShape& bring_up(PodShape& shape);
  void count(PodShape& shape);
  // Prepares and brings up several at once, each with its best `top_k` rows; nullptr and what is
  // decided row by row are passed over.
  void bring_up_all(std::span<PodShape* const> shapes, std::uint32_t top_k, const TieOrder& order);
  // So many shapes at once fill half of the cache, at least one.
  std::size_t at_once() const;
  // A decision for the shape comes soon: begins to fetch from memory what is cached of it.
  void fetch(const PodShape& shape) const;

  void clear() noexcept;

  std::uint64_t hits() const { return hits_; }
  std::uint64_t cold_passes() const { return cold_passes_; }
  std::uint64_t rows_replayed() const { return rows_replayed_; }

 private:
  struct Slot {
    std::unique_ptr<CachedShape> cached;
    std::uint64_t version = 0;  // of the shape
  };
  // A shape that is brought up, and its counts before.
  struct Work {
    PodShape* shape;
    CachedShape* cached;
    std::uint64_t cold_before, replayed_before;
  };
  Work begin(PodShape& shape);
  void note(const Work& done);

  // What is cached for the shape as it is described now, or begins to be.
  CachedShape& cached(const PodShape& shape);
  bool is_cached(const PodShape& shape) const {
    return shape.id < slots_.size() && slots_[shape.id].cached != nullptr;
  }
  void drop(ShapeId shape);
  void update_group(std::span<const Work> group, std::uint32_t top_k, const TieOrder& order) const;

  Cluster& cluster_;
  const Kernels& kernels_;
  const bool on_;
  // Kept between batches: a worker may take long to leave one arena for another.
  tbb::task_arena arena_;
  std::vector<Slot> slots_;  // by shape
  // Dropped last: new shapes take their memory. One, and in a batch as many as are new.
  std::vector<std::unique_ptr<CachedShape>> spares_;
  std::size_t spares_max_ = 1;
  CachedShape uncached_;  // what every question uses where the cache is off
  std::uint64_t hits_ = 0, cold_passes_ = 0, rows_replayed_ = 0;
};

}  // namespace headroom
