// SharedEngine: an engine that any number of Python threads may ask.
//
// A call waits until no other is under way, so that an engine answers one after the other; the GIL
// is free while it waits and while the engine works. Invariant: nobody waits for the lock with the
// GIL held. The lock is recursive because Python may run anything (a finaliser that asks the same
// engine) while an answer is made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.h"
#include "python/src/errors.h"

namespace headroom::python {

template <typename Owner>
class Shared {
 public:
  explicit Shared(Owner owner) : owner_(std::move(owner)) {}

  // Runs `work`, which may be a member of the owner's, without the GIL; it may not touch Python.
  template <typename Work>
  auto run(Work work) {
    const nanobind::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    return std::invoke(work, owner_);
  }
  // Runs `work` without the GIL, whose value or error `present` makes into Python's with it, while
  // the engine is still as it was: what points into the engine is valid.
  template <typename Work, typename Present>
  auto run(Work work, Present present) {
    std::unique_lock lock(mutex_, std::defer_lock);
    auto result = [&] {
      const nanobind::gil_scoped_release released;
      lock.lock();
      return work(owner_);
    }();
    return present(owner_, value_of(std::move(result)));
  }

  // Begins a fork; returns how deep it is.
  std::uint32_t fork() {
    return run([this](Owner& owner) {
      owner.fork();
      return ++forks_;
    });
  }
  // Ends it; false: one inside it is open.
  bool end_fork(std::uint32_t depth, bool keep) {
    return run([&](Owner& owner) {
      if (depth != forks_) return false;
      --forks_;
      keep ? owner.commit() : owner.rollback();
      return true;
    });
  }

 private:
  std::recursive_mutex mutex_;
  Owner owner_;
  std::uint32_t forks_ = 0;  // open
};

// What removes by name, or by namespace and name, as a method for Python.
template <typename Owner>
auto removal(void (Owner::*remove)(std::string_view)) {
  return [remove](Shared<Owner>& self, const std::string& name) {
    self.run([&](Owner& owner) { (owner.*remove)(name); });
  };
}
template <typename Owner>
auto removal(void (Owner::*remove)(std::string_view, std::string_view)) {
  return [remove](Shared<Owner>& self, const std::string& space, const std::string& name) {
    self.run([&](Owner& owner) { (owner.*remove)(space, name); });
  };
}

using SharedEngine = Shared<Engine>;

}  // namespace headroom::python
