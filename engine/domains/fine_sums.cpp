#include "engine/domains/fine_sums.h"

#include <algorithm>

#include "layout/heap_bytes.h"
#include "objects/hash.h"

namespace headroom {

FineSums::FineSums(TopologyKeyId key) : key_(key), known_(0, Hash{this}, Equal{this}) {}

std::size_t FineSums::Hash::operator()(Standing standing) const {
  std::uint64_t hash = 0;
  for (std::uint32_t c = 0; c < its->counters_; ++c) {
    const FedCell& cell = its->cell(standing, c);
    hash = mix(hash ^ static_cast<std::uint64_t>(cell.sum));
    hash = mix(hash ^ cell.pods);
  }
  return hash;
}

bool FineSums::Equal::operator()(Standing a, Standing b) const {
  return std::equal(&its->cell(a, 0), &its->cell(a, 0) + its->counters_, &its->cell(b, 0));
}

void FineSums::clear() {
  known_.clear();
  by_domain_.clear();
  cells_.assign(counters_, {});
  domains_.assign(1, 0);
  led_to_.assign(1, {});
  known_.insert(kNothing);
}

std::uint32_t FineSums::add_counter() {
  ++counters_;
  clear();
  return counters_ - 1;
}

FineSums::Standing FineSums::feed(DomainId domain, std::uint32_t counter, std::int64_t weight,
                                  int sign) {
  const DomainStandings::Found found = by_domain_.find(domain);
  const Standing before = found.standing;
  const std::size_t more = sign > 0 ? 1 : 0;
  Standing now = led_to_[before][more];
  if (!follows(before, now, counter, weight, sign)) {
    now = find_or_make(before, counter, weight, sign);
    led_to_[before][more] = now;
  }
  by_domain_.set(found, domain, now);
  if (before != kNothing) {
    --domains_[before];
  }
  if (now != kNothing) {
    ++domains_[now];
  }
  return before;
}

bool FineSums::follows(Standing from, Standing to, std::uint32_t counter, std::int64_t weight,
                       int sign) const {
  for (std::uint32_t c = 0; c < counters_; ++c) {
    FedCell its = cell(from, c);
    if (c == counter) {
      its.feed(weight, sign);
    }
    if (its != cell(to, c)) {
      return false;
    }
  }
  return true;
}

FineSums::Standing FineSums::find_or_make(Standing from, std::uint32_t counter, std::int64_t weight,
                                          int sign) {
  // As the last of all, until it is known whether there is another like it.
  const Standing last = standings();
  const std::size_t first = std::size_t{from} * counters_;
  cells_.resize(cells_.size() + counters_);
  std::copy_n(cells_.begin() + static_cast<std::ptrdiff_t>(first), counters_,
              cells_.end() - counters_);
  cells_[std::size_t{last} * counters_ + counter].feed(weight, sign);
  domains_.push_back(0);
  led_to_.emplace_back();
  const auto [known, is_new] = known_.insert(last);
  const Standing found = *known;
  if (!is_new) {
    cells_.resize(cells_.size() - counters_);
    domains_.pop_back();
    led_to_.pop_back();
  }
  return found;
}

void FineSums::renumber() {
  std::vector<Standing> renamed(standings());
  known_.clear();
  Standing next = 0;
  for (Standing its = 0; its < renamed.size(); ++its) {
    if (its != kNothing && domains_[its] == 0) {
      continue;
    }
    std::copy_n(&cells_[std::size_t{its} * counters_], counters_,
                &cells_[std::size_t{next} * counters_]);
    domains_[next] = domains_[its];
    known_.insert(next);
    renamed[its] = next++;
  }
  cells_.resize(std::size_t{next} * counters_);
  domains_.resize(next);
  led_to_.assign(next, {});
  by_domain_.rename([&renamed](Standing its) { return renamed[its]; });
}

std::size_t FineSums::bytes() const {
  return allocated_bytes(sizeof(*this)) + allocated_bytes(cells_.capacity() * sizeof(FedCell)) +
         heap_bytes(domains_) + heap_bytes(led_to_) + by_domain_.bytes() +
         allocated_bytes(known_.bucket_count() * 8);
}

}  // namespace headroom
