// DomainStandings: the standing (fine_sums.h) that each domain has, but for those that have none.
//
// An application's pods stand in hundreds of domains, which have few standings among them: a slot
// takes 4 bytes while all standings and domains are small, and 8 from then on. Open addressing,
// linear probing; what is erased moves its followers back. Thread safety: one writer, or any number
// of readers. Cost: O(1), but for a set() that finds no room, which is O(domains).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/domains/topology.h"
#include "layout/heap_bytes.h"

namespace headroom {

class DomainStandings {
 public:
  using Standing = std::uint32_t;
  // Of a domain that is not kept.
  static constexpr Standing kNothing = 0;

  // Where a domain is, or would be; until the next change.
  struct Found {
    std::size_t at;
    Standing standing;
  };

  std::size_t size() const { return size_; }
  Standing of(DomainId domain) const { return find(domain).standing; }
  Found find(DomainId domain) const {
    if (slots_ == 0) {
      return {0, kNothing};
    }
    const std::size_t at = place_of(domain);
    return {at, standing(at)};
  }
  // Of a domain that was found so. kNothing: it is kept no more. Where memory ends nothing is
  // changed.
  void set(Found found, DomainId domain, Standing now);
  void clear();
  // Calls visit(domain, standing).
  template <typename Visit>
  void each(Visit visit) const {
    for (std::size_t at = 0; at < slots_; ++at) {
      if (standing(at) != kNothing) {
        visit(domain(at), standing(at));
      }
    }
  }
  // Gives every domain the standing renamed(its standing), which is none that is not kept.
  template <typename Renamed>
  void rename(Renamed renamed) {
    for (std::size_t at = 0; at < slots_; ++at) {
      if (standing(at) != kNothing) {
        put(at, domain(at), renamed(standing(at)));
      }
    }
  }
  std::size_t bytes() const { return heap_bytes(words_); }

 private:
  static constexpr std::uint32_t kStandingBits = 8;  // of a word, where one is a whole slot
  static constexpr Standing kSmallStandings = 1U << kStandingBits;
  static constexpr DomainId kSmallDomains = 1U << (32 - kStandingBits);
  static constexpr std::uint32_t kFirstSlots = 4;

  Standing standing(std::size_t at) const {
    return wide_ ? words_[2 * at + 1] : words_[at] % kSmallStandings;
  }
  DomainId domain(std::size_t at) const {
    return wide_ ? words_[2 * at] : words_[at] / kSmallStandings;
  }
  void put(std::size_t at, DomainId domain, Standing standing) {
    if (wide_) {
      words_[2 * at] = domain;
      words_[2 * at + 1] = standing;
    } else {
      words_[at] = domain * kSmallStandings + standing;
    }
  }
  std::size_t home(DomainId domain) const {
    return std::uint64_t{domain * 0x9E3779B1U} * slots_ >> 32U;
  }
  std::size_t after(std::size_t at) const { return at + 1 == slots_ ? 0 : at + 1; }
  std::size_t steps(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + slots_ - from;
  }
  // Its slot, or the free one that it would take.
  std::size_t place_of(DomainId its) const {
    std::size_t at = home(its);
    if (wide_) {
      while (words_[2 * at + 1] != kNothing && words_[2 * at] != its) {
        at = after(at);
      }
    } else {
      while (words_[at] != 0 && words_[at] / kSmallStandings != its) {
        at = after(at);
      }
    }
    return at;
  }
  void erase(std::size_t at);
  // With so many slots, of which each takes two words where it has to be `wide`.
  void rebuild(std::uint32_t slots, bool wide);

  std::vector<std::uint32_t> words_;
  std::uint32_t slots_ = 0, size_ = 0;
  bool wide_ = false;
};

}  // namespace headroom
