// VictimColumns: what a group of pods could give back at most, row by row, as columns.
//
// A group is a quota's pods below a priority, those of all quotas, or those without one. Its
// columns are made when a preemptor first asks for them and then follow the table's log; the least
// recently used go beyond kVictimColumnBytesMax. They are bounds: rounded up, and of a group that
// may hold more than the pods that can go. No answer depends on them.
// Thread safety: one thread at a time; a column may be read by any number until the next is asked
// for. Cost: a look-up and the rows that changed; a new group costs a pass over all pods.
#pragma once

#include <tbb/task_arena.h>

#include <cstdint>
#include <span>
#include <vector>

#include "engine/preempt/preemptor.h"

namespace headroom {

inline constexpr std::size_t kVictimColumnBytesMax = std::size_t{64} << 20;

// Of one group: a preemptor's filter terms, and as many bounds of quotas.
inline constexpr std::size_t kVictimColumnsMax = kFilterTermsMax + 2 * kResourcesMax;

struct VictimGroup {
  // A namespace with a quota, or one of these.
  static constexpr NamespaceId kAllElasticQuotas = kNoNamespace;
  static constexpr NamespaceId kNoElasticQuota = kNoNamespace - 1;
  NamespaceId namespace_id;
  std::int64_t below;  // priority; kAnyPriority for all
  static constexpr std::int64_t kAnyPriority = INT64_MAX;
  friend bool operator==(const VictimGroup&, const VictimGroup&) = default;
};

// What a column adds up: a sum of the table, or a resource of quotas.
struct VictimColumn {
  bool quota;
  std::uint32_t id;
  friend bool operator==(const VictimColumn&, const VictimColumn&) = default;
};

class VictimColumns {
 public:
  VictimColumns(const Cluster& cluster, const GivenBack& given_back, tbb::task_arena& arena)
      : cluster_(cluster), given_back_(given_back), arena_(arena) {}

  // What was handed out before may go or change from now on.
  void begin();
  // The group's columns, up to date, in the order asked for.
  std::vector<const float*> columns(const VictimGroup& group, std::span<const VictimColumn> asked);

 private:
  struct Entry {
    VictimGroup group;
    std::uint64_t epoch = 0, elastic_quota_generation = 0, round = 0;
    std::vector<VictimColumn> what;
    std::vector<std::vector<float>> values;  // by column, then row
  };

  Entry& entry(const VictimGroup& group);
  bool replayable(const Entry& entry) const;
  void fill(Entry& entry, std::uint32_t row) const;
  void fill_all(Entry& entry);
  bool holds(const VictimGroup& group, const RankedPod& pod) const;
  void evict();

  const Cluster& cluster_;
  const GivenBack& given_back_;
  tbb::task_arena& arena_;
  std::vector<Entry> entries_;
  std::uint64_t round_ = 0;
  std::uint64_t generation_ = 0;  // ShapeBook::generation()
};

}  // namespace headroom
