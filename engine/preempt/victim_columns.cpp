#include "engine/preempt/victim_columns.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

namespace headroom {

namespace {

constexpr std::uint32_t kRowsPerTask = 1024;

}  // namespace

void VictimColumns::begin() {
  ++round_;
  if (generation_ != cluster_.shapes().generation()) {
    generation_ = cluster_.shapes().generation();
    entries_.clear();  // numbers of sums, resources and shapes may mean others now
  }
}

bool VictimColumns::holds(const VictimGroup& group, const RankedPod& pod) const {
  if (pod.priority >= group.below) {
    return false;
  }
  if (group.namespace_id == VictimGroup::kAllElasticQuotas ||
      group.namespace_id == VictimGroup::kNoElasticQuota) {
    const ElasticQuotas& quotas = cluster_.capacity_scheduling()->elastic_quotas();
    return quotas.at(pod.namespace_id).has_elastic_quota() ==
           (group.namespace_id == VictimGroup::kAllElasticQuotas);
  }
  return pod.namespace_id == group.namespace_id;
}

void VictimColumns::fill(Entry& entry, std::uint32_t row) const {
  // In doubles: a sum that int64 cannot hold is only large here.
  double sums[kVictimColumnsMax] = {};
  const std::size_t count = entry.what.size();
  for (const RankedPod& pod : cluster_.capacity_scheduling()->pods_of(row)) {
    if (!holds(entry.group, pod)) {
      continue;
    }
    for (std::size_t c = 0; c < count; ++c) {
      const VictimColumn& what = entry.what[c];
      const std::int64_t* given_back =
          what.quota ? given_back_.of_resource(what.id) : given_back_.of_sum(what.id);
      sums[c] += static_cast<double>(given_back[pod.shape]);
    }
  }
  // Up, by more than the roundings of the sum and of the float.
  for (std::size_t c = 0; c < count; ++c) {
    entry.values[c][row] = static_cast<float>(sums[c] * (1 + 0x1p-22));
  }
}

void VictimColumns::fill_all(Entry& entry) {
  const std::uint32_t rows = cluster_.table().size();
  arena_.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::uint32_t>(0, rows, kRowsPerTask),
                      [&](const tbb::blocked_range<std::uint32_t>& stretch) {
                        for (std::uint32_t row = stretch.begin(); row < stretch.end(); ++row) {
                          fill(entry, row);
                        }
                      });
  });
}

bool VictimColumns::replayable(const Entry& entry) const {
  const NodeTable& table = cluster_.table();
  return entry.epoch >= table.log().oldest() &&
         entry.elastic_quota_generation ==
             cluster_.capacity_scheduling()->elastic_quotas().generation();
}

VictimColumns::Entry& VictimColumns::entry(const VictimGroup& group) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& other) { return other.group == group; });
  if (found != entries_.end()) {
    return *found;
  }
  evict();
  Entry& made = entries_.emplace_back();
  made.group = group;
  return made;
}

// What this round handed out stays.
void VictimColumns::evict() {
  const auto bytes = [this] {
    std::size_t sum = 0;
    for (const Entry& other : entries_) {
      for (const std::vector<float>& values : other.values) {
        sum += values.size() * sizeof(float);
      }
    }
    return sum;
  };
  while (bytes() > kVictimColumnBytesMax) {
    const auto oldest =
        std::min_element(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.round < b.round; });
    if (oldest->round == round_) {
      return;
    }
    entries_.erase(oldest);
  }
}

std::vector<const float*> VictimColumns::columns(const VictimGroup& group,
                                                 std::span<const VictimColumn> asked) {
  const NodeTable& table = cluster_.table();
  Entry& its = entry(group);
  bool complete = replayable(its);
  for (const VictimColumn& what : asked) {
    if (std::find(its.what.begin(), its.what.end(), what) == its.what.end()) {
      complete = false;
      its.what.push_back(what);
    }
  }
  if (its.what.size() > kVictimColumnsMax) {
    its.what.assign(asked.begin(), asked.end());
  }
  its.values.resize(its.what.size());
  for (std::vector<float>& values : its.values) {
    values.resize(table.size() + kPadNodes);
  }
  if (complete) {
    table.log().for_each_after(its.epoch, [&](std::uint32_t row) { fill(its, row); });
  } else {
    fill_all(its);
  }
  its.epoch = table.epoch();
  its.elastic_quota_generation = cluster_.capacity_scheduling()->elastic_quotas().generation();
  its.round = round_;
  std::vector<const float*> found;
  for (const VictimColumn& what : asked) {
    const auto at = std::find(its.what.begin(), its.what.end(), what) - its.what.begin();
    found.push_back(its.values[static_cast<std::size_t>(at)].data());
  }
  return found;
}

}  // namespace headroom
