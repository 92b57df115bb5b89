// Several changes of facts as one: all of them or, on an error, none.
//
// Thread safety: as the owner of the facts. Cost: that of the changes, and a fork's copy of what
// they replace.
#pragma once

namespace headroom {

// Calls `change`, which returns a Result; where that is an error, what it changed of the owner is
// taken back. Owners have fork(), commit() and rollback(): an Engine, CapacityQuotas.
template <typename Owner, typename Change>
auto all_or_none(Owner& owner, const Change& change) {
  owner.fork();
  auto done = change();
  if (done) {
    owner.commit();
  } else {
    owner.rollback();
  }
  return done;
}

}  // namespace headroom
