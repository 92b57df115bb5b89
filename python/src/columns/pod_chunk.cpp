#include "python/src/columns/pod_chunk.h"

#include <algorithm>

namespace headroom::python {

PodChunk::PodChunk(const PodColumns& columns) : columns_(columns) {
  for (const Pod& pod : columns.templates) {
    const Container& container = pod.containers.front();
    plans_.push_back({.requests = plan(container.requests, columns.requests),
                      .limits = plan(container.limits, columns.limits)});
  }
  made_from_.assign(kChunkPods, SIZE_MAX);
}

std::vector<PodChunk::Entry> PodChunk::plan(const ResourceList& own, const AmountColumns& columns) {
  std::vector<Entry> entries;
  for (const auto& [resource, values] : columns) {
    entries.push_back({.resource = resource, .column = &values, .own = {}});
  }
  for (const auto& [resource, quantity] : own) {
    const bool replaced =
        std::any_of(columns.begin(), columns.end(),
                    [&, &name = resource](const auto& column) { return column.first == name; });
    if (!replaced) entries.push_back({.resource = resource, .column = nullptr, .own = quantity});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.resource < b.resource; });
  return entries;
}

void PodChunk::fill(const std::vector<Entry>& entries, std::size_t pod, ResourceList& list) {
  list.clear();
  for (const Entry& entry : entries) {
    if (entry.column == nullptr) {
      list.emplace_back(entry.resource, entry.own);
    } else if (const std::int64_t value = (*entry.column)[pod]; value != 0) {
      list.emplace_back(entry.resource, quantity_of(entry.resource, value));
    }
  }
}

std::string PodChunk::name(std::size_t pod) const {
  return columns_.names.empty() ? columns_.name_prefix + std::to_string(pod) : columns_.names[pod];
}

std::span<const Pod> PodChunk::at(std::size_t first) {
  const std::size_t count = std::min(kChunkPods, columns_.size - first);
  if (pods_.size() < count) pods_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = first + i;
    const std::size_t from =
        columns_.template_of.empty() ? 0 : static_cast<std::size_t>(columns_.template_of[index]);
    Pod& pod = pods_[i];
    if (made_from_[i] != from) {
      pod = columns_.templates[from];
      made_from_[i] = from;
    }
    if (columns_.names.empty()) {
      pod.name = columns_.name_prefix;
      pod.name += std::to_string(index);
    } else {
      pod.name = columns_.names[index];
    }
    write_pod_key(pod.namespace_name, pod.name, pod.uid);
    if (!columns_.nodes.empty()) pod.node_name = columns_.nodes[index];
    if (!columns_.requests.empty())
      fill(plans_[from].requests, index, pod.containers.front().requests);
    if (!columns_.limits.empty()) fill(plans_[from].limits, index, pod.containers.front().limits);
  }
  return std::span(pods_).first(count);
}

}  // namespace headroom::python
