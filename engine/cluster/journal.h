// Journal: what the open forks of a cluster take back.
//
// While a fork is open the cluster puts here what each change of a fact replaces. A rollback takes
// that off again, the last change first, and undoes each. Rows and pod ids that are acquired or
// released are changes too: undone in exact reverse order they get the same numbers again. Taking
// back needs nothing but the journal: what it refers to is kept in it.
//
// Thread safety: one thread at a time. Cost: fork() and put() are O(1); nothing while none is open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/domains/chosen_volumes.h"
#include "engine/policies/load_aware.h"
#include "engine/table/facts.h"
#include "objects/assert.h"
#include "objects/objects.h"

namespace headroom {

struct RowAcquired {
  std::uint32_t row;
};
struct RowReleased {
  std::uint32_t row;
  std::string name;
};
struct PodIdAcquired {
  PodId id;
};
struct PodIdReleased {
  PodId id;
  std::string key;
};
struct NodeBefore {
  std::uint32_t row;
  std::unique_ptr<const KeptNode> node;  // nullptr: none, as for those below
};
struct MetricBefore {
  std::uint32_t row;
  std::unique_ptr<MetricFacts> metric;
};
// A change of a known pod begins with one that has its facts; one that may acquire rows ends with
// one that has none: the pod lets go of rows before the rows that it acquired are released.
struct PodBefore {
  PodId id;
  std::unique_ptr<PodFacts> facts;  // their group counts a pod more
  ChosenVolumes::Choices chosen{};  // the volumes that it chose
};
struct ElasticQuotaBefore {
  std::string key;  // "namespace/name"
  std::unique_ptr<const ElasticQuota> quota;
};
struct BudgetBefore {
  std::string key;
  std::unique_ptr<const PodDisruptionBudget> budget;
};
struct PriorityClassBefore {
  std::string name;
  std::unique_ptr<const PriorityClass> priority_class;
};
struct ReferredBefore {
  ReferredKind kind;
  std::string key;
  std::shared_ptr<const ReferredObject> object;
};
struct MetricExpired {
  std::uint32_t row;
};
struct ClockBefore {
  std::int64_t now_us;
};

class Journal {
 public:
  using Change = std::variant<RowAcquired, RowReleased, PodIdAcquired, PodIdReleased, NodeBefore,
                              MetricBefore, PodBefore, ElasticQuotaBefore, BudgetBefore,
                              PriorityClassBefore, ReferredBefore, MetricExpired, ClockBefore>;

  bool open() const { return !forks_.empty(); }
  std::uint32_t forks() const { return static_cast<std::uint32_t>(forks_.size()); }
  // Does nothing while no fork is open.
  template <typename T>
  void put(T change) {
    if (open()) {
      changes_.emplace_back(std::move(change));
    }
  }

  void fork() { forks_.push_back(changes_.size()); }
  // Ends the last fork. Returns what nothing can take back any more: all, once none is open.
  std::vector<Change> commit() {
    HEADROOM_ASSERT(open());
    forks_.pop_back();
    return open() ? std::vector<Change>() : std::exchange(changes_, {});
  }
  // Takes the last change since the last fork off; nothing, and the fork ends, where there is none.
  std::optional<Change> take_back() {
    HEADROOM_ASSERT(open());
    if (changes_.size() == forks_.back()) {
      forks_.pop_back();
      return std::nullopt;
    }
    std::optional<Change> last = std::move(changes_.back());
    changes_.pop_back();
    return last;
  }

 private:
  std::vector<std::size_t> forks_;  // how many changes there were
  std::vector<Change> changes_;
};

}  // namespace headroom
