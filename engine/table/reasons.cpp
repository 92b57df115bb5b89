#include "engine/table/reasons.h"

#include "layout/heap_bytes.h"

namespace headroom {

std::size_t Reasons::hold(std::string_view& reason) {
  const auto [known, is_new] = users_.try_emplace(std::string(reason));
  Users& users = known->second;
  if (users.count++ == 0 && !is_new) {
    unused_.erase(users.unused);
  }
  reason = known->first;
  // A node of the map: its head, and what it holds.
  return is_new ? allocated_bytes(4 * sizeof(void*) + sizeof(*known)) + heap_bytes(known->first)
                : 0;
}

void Reasons::release(std::string_view reason) {
  const auto known = users_.find(reason);
  if (--known->second.count == 0) {
    known->second.unused = unused_.insert(unused_.end(), known->first);
  }
  if (unused_.size() > kUnusedReasonsMax) {
    users_.erase(users_.find(unused_.front()));
    unused_.pop_front();
  }
}

}  // namespace headroom
