// Several changes of facts as one: all of them or, on an error, none.
//
// Thread safety: as the owner of the facts. Cost: that of the changes, and a fork's copy of what
// they replace.
#pragma once

#include <utility>

namespace headroom {

// A fork that ends with it, and keeps what was changed: also where something threw, for an owner
// that was interrupted cannot take back. Whether it still agrees, validate() says then.
template <typename Owner>
class OpenFork {
 public:
  explicit OpenFork(Owner& owner) : owner_(&owner) { owner.fork(); }
  OpenFork(const OpenFork&) = delete;
  OpenFork& operator=(const OpenFork&) = delete;
  ~OpenFork() {
    if (owner_ != nullptr) owner_->commit();
  }
  void rollback() { std::exchange(owner_, nullptr)->rollback(); }

 private:
  Owner* owner_;
};

// A fork whose changes are only supposed: they are taken back at its end.
template <typename Owner>
class TriedFork {
 public:
  explicit TriedFork(Owner& owner) : owner_(owner) { owner_.fork(); }
  TriedFork(const TriedFork&) = delete;
  TriedFork& operator=(const TriedFork&) = delete;
  ~TriedFork() { owner_.rollback(); }

 private:
  Owner& owner_;
};

// Calls `change`, which returns a Result; where that is an error, what it changed of the owner is
// taken back. Owners have fork(), commit() and rollback(): an Engine, CapacityQuotas.
template <typename Owner, typename Change>
auto all_or_none(Owner& owner, const Change& change) {
  OpenFork<Owner> fork(owner);
  auto done = change();
  if (!done) {
    fork.rollback();
  }
  return done;
}

}  // namespace headroom
