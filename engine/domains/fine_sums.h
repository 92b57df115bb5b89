// FineSums: what pods feed of an application's counters of one fine key, by domain, or by row.
//
// Pods of one workload mostly feed the same, so that there are few different sums among many
// domains. Those that occur are kept once, as a standing, and a domain has the number of its own.
// Thread safety: one writer, or any number of readers. Cost: a feed is O(counters of the key).
// Invariant: no two standings have the same cells.
#pragma once

#include <tsl/robin_set.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/domains/domain_standings.h"
#include "engine/domains/topology.h"

namespace headroom {

// What pods feed of a counter in a domain.
struct FedCell {
  std::int64_t sum = 0;
  std::uint32_t pods = 0;

  // One pod of this weight more (sign 1) or less (-1).
  void feed(std::int64_t weight, int sign) {
    sum += sign * weight;
    pods += static_cast<std::uint32_t>(sign);
  }
  friend bool operator==(const FedCell&, const FedCell&) = default;
};

class FineSums {
 public:
  using Standing = DomainStandings::Standing;
  // Of domains whose pods feed nothing.
  static constexpr Standing kNothing = DomainStandings::kNothing;

  explicit FineSums(TopologyKeyId key);
  FineSums(const FineSums&) = delete;
  FineSums& operator=(const FineSums&) = delete;

  TopologyKeyId key() const { return key_; }
  // Forgets what was fed. Returns the counter's number here.
  std::uint32_t add_counter();
  // One pod of this weight more (sign 1) or less (-1). Returns the domain's standing before.
  Standing feed(DomainId domain, std::uint32_t counter, std::int64_t weight, int sign);

  // Most standings have no domain any more.
  bool crowded() const { return standings() > 2 * by_domain_.size() + kWithoutDomainMax; }
  // Forgets those; the others have other numbers.
  void renumber();

  Standing of(DomainId domain) const { return by_domain_.of(domain); }
  const DomainStandings& by_domain() const { return by_domain_; }
  const FedCell& cell(Standing standing, std::uint32_t counter) const {
    return cells_[std::size_t{standing} * counters_ + counter];
  }
  // Every standing is below it; some may have no domain at the moment.
  Standing standings() const { return static_cast<Standing>(domains_.size()); }
  std::uint32_t domains(Standing standing) const { return domains_[standing]; }
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kWithoutDomainMax = 64;

  struct Hash {
    const FineSums* its;
    std::size_t operator()(Standing standing) const;
  };
  struct Equal {
    const FineSums* its;
    bool operator()(Standing a, Standing b) const;
  };

  void clear();
  // Whether `to` is `from` with one pod of this weight more, or less.
  bool follows(Standing from, Standing to, std::uint32_t counter, std::int64_t weight,
               int sign) const;
  // The one that does.
  Standing find_or_make(Standing from, std::uint32_t counter, std::int64_t weight, int sign);

  TopologyKeyId key_;
  std::uint32_t counters_ = 0;
  std::vector<FedCell> cells_;          // by standing, then by counter
  std::vector<std::uint32_t> domains_;  // by standing: how many have it
  // By standing: where one pod less, and one more, led to last. Pods of one workload mostly lead to
  // the same again.
  std::vector<std::array<Standing, 2>> led_to_;
  DomainStandings by_domain_;
  tsl::robin_set<Standing, Hash, Equal> known_;  // by their cells
};

}  // namespace headroom
