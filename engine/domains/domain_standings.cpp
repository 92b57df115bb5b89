#include "engine/domains/domain_standings.h"

#include <algorithm>
#include <utility>

namespace headroom {

void DomainStandings::clear() { *this = {}; }

void DomainStandings::set(Found found, DomainId domain, Standing now) {
  const bool is_kept = found.standing != kNothing;
  if (now == kNothing) {
    if (is_kept) {
      erase(found.at);
    }
    return;
  }
  const bool wide = wide_ || now >= kSmallStandings || domain >= kSmallDomains;
  const std::uint32_t size = size_ + (is_kept ? 0U : 1U);
  // One in four is free, so that every search ends soon.
  const bool full = 4 * std::uint64_t{size} > 3 * std::uint64_t{slots_};
  if (full || wide != wide_) {
    rebuild(full ? std::max(kFirstSlots, slots_ + slots_ / 2) : slots_, wide);
    found.at = place_of(domain);
  }
  put(found.at, domain, now);
  size_ = size;
}

void DomainStandings::erase(std::size_t at) {
  for (std::size_t next = after(at); standing(next) != kNothing; next = after(next)) {
    // It may move where its home is not behind the gap.
    if (steps(home(domain(next)), next) >= steps(at, next)) {
      put(at, domain(next), standing(next));
      at = next;
    }
  }
  put(at, 0, kNothing);
  --size_;
}

void DomainStandings::rebuild(std::uint32_t slots, bool wide) {
  DomainStandings rebuilt;
  rebuilt.words_.resize(std::size_t{slots} * (wide ? 2 : 1));
  rebuilt.slots_ = slots;
  rebuilt.size_ = size_;
  rebuilt.wide_ = wide;
  each([&rebuilt](DomainId domain, Standing standing) {
    rebuilt.put(rebuilt.place_of(domain), domain, standing);
  });
  *this = std::move(rebuilt);
}

}  // namespace headroom
