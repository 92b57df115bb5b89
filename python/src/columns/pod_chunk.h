// PodChunk: the pods of columns as objects, some at a time, in memory that is used again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "python/src/columns/pod_columns.h"

namespace headroom::python {

inline constexpr std::size_t kChunkPods = 512;

class PodChunk {
 public:
  explicit PodChunk(const PodColumns& columns);

  // The pods from `first` on, at most kChunkPods; valid until the next call.
  std::span<const Pod> at(std::size_t first);
  std::string name(std::size_t pod) const;

 private:
  // An entry of a container's list: a column's value, or the template's own.
  struct Entry {
    std::string resource;
    const std::vector<std::int64_t>* column;  // nullptr: `own`
    Quantity own;
  };
  struct Plan {
    std::vector<Entry> requests, limits;
  };

  static std::vector<Entry> plan(const ResourceList& own, const AmountColumns& columns);
  static void fill(const std::vector<Entry>& entries, std::size_t pod, ResourceList& list);

  const PodColumns& columns_;
  std::vector<Plan> plans_;  // by template
  std::vector<Pod> pods_;
  std::vector<std::size_t> made_from_;  // templates, by place in pods_
};

}  // namespace headroom::python
