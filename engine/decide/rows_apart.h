// RowsApart: which rows stand apart from their class, as pods count in their domains of fine keys,
// and which of these are alike: those of one class whose domains have the same standings.
//
// Rows that are alike have a number, an entry, which the caller gives. Nothing is kept by row.
// Thread safety: one writer, or any number of readers. Valid while the application's version is,
// and no node leaves: who goes to another class has another entry. Cost: O(fine keys) a row.
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/applications/applications.h"
#include "objects/hash.h"

namespace headroom {

class RowsApart {
 public:
  static constexpr std::uint32_t kNoEntry = UINT32_MAX;
  // What is the same of rows that are alike.
  using Alike = std::uint32_t;
  static constexpr Alike kAsItsClass = 0;

  void begin(const Applications& applications, const Application& application);

  // Of a row whose domain of the k-th fine key has the standing standing_of(k).
  template <typename StandingOf>
  Alike meet(StandingOf standing_of) {
    return joined(standing_of, [this](std::size_t k, std::uint64_t both) {
      const auto next = static_cast<Alike>(joints_[k].size() + 1);
      return joints_[k].try_emplace(both, next).first->second;
    });
  }
  // As the facts are now; of what meet() met.
  Alike alike(std::uint32_t row) const;
  FineSums::Standing standing(std::size_t k, std::uint32_t row) const;
  // The entry of those of a class that are alike; kNoEntry where the caller gave none.
  std::uint32_t& entry(std::uint32_t node_class, Alike its) {
    return entries_.try_emplace(joint(node_class, its), kNoEntry).first.value();
  }
  // Of a feasible row; kNoEntry: it is as its class.
  std::uint32_t entry_of(std::uint32_t row) const;
  // Calls visit(row) for the rows that stand apart, some of which may be infeasible.
  template <typename Visit>
  void each(Visit visit) const {
    each_standing([&](std::uint32_t row, FineSums::Standing) { visit(row); });
  }
  // Calls visit(row, entry_of_row) for them; entry_of_row() is that of a feasible row. By one fine
  // key alone, what is alike is the standing.
  template <typename Visit>
  void each_entry(Visit visit) const {
    each_standing([&](std::uint32_t row, FineSums::Standing standing) {
      visit(row, [&] { return joints_.size() == 1 ? find_entry(row, standing) : entry_of(row); });
    });
  }
  std::size_t bytes() const;

 private:
  static std::uint64_t joint(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{a} << 32U | b;
  }
  template <typename Value>
  using ByJoint = tsl::robin_map<std::uint64_t, Value, MixedHash>;
  // join(k, both): what is alike by the keys up to k, by what is so before and by k's standing.
  template <typename StandingOf, typename Join>
  Alike joined(StandingOf standing_of, Join join) const {
    Alike its = joints_.empty() ? kAsItsClass : standing_of(0);
    for (std::size_t k = 1; k < joints_.size(); ++k) {
      const FineSums::Standing standing = standing_of(k);
      if (its != kAsItsClass || standing != FineSums::kNothing) {
        its = join(k, joint(its, standing));
      }
    }
    return its;
  }
  // Calls visit(row, standing) for the rows that stand apart, with that of the first fine key in
  // whose domain pods count.
  template <typename Visit>
  void each_standing(Visit visit) const {
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      const FineSums& sums = *application_->fine_sums[k];
      sums.by_domain().each([&](DomainId domain, FineSums::Standing standing) {
        applications_->each_row(sums.key(), domain, [&](std::uint32_t row) {
          if (is_first(k, row)) {
            visit(row, standing);
          }
        });
      });
    }
  }
  std::uint32_t find_entry(std::uint32_t row, Alike its) const;
  // In the row's domains of the keys before it no pod counts.
  bool is_first(std::size_t k, std::uint32_t row) const;

  const Applications* applications_ = nullptr;
  const Application* application_ = nullptr;
  // By fine key: from what is alike by the keys before it, and the standing, to what is alike.
  // Nothing of the first.
  std::vector<ByJoint<Alike>> joints_;
  ByJoint<std::uint32_t> entries_;  // by class and what is alike
};

}  // namespace headroom
