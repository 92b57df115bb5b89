// SharedValues: values of which equal ones are one object, for as long as somebody holds it.
//
// Thread safety: one writer, or any number of readers; who holds a value may outlive it. Invariant:
// of equal values that somebody holds there is one. Cost: share() is a hash, and a copy of what
// nobody holds yet; those that nobody holds any more are forgotten once they are as many as the
// others and kUnusedValuesMax.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_set>

namespace headroom {

inline constexpr std::size_t kUnusedValuesMax = 1024;

// Identity: static hash(const Like&), a std::size_t, and equal(const Like&, const T&), for T and
// whatever else share() is given, of which a T is made.
template <typename T, typename Identity>
class SharedValues {
 public:
  using Shared = std::shared_ptr<const T>;

  template <typename Like>
  Shared share(const Like& value) {
    auto known = known_.find(value);
    if (known == known_.end()) {
      if (known_.size() >= 2 * used_ + kUnusedValuesMax) {
        forget_unused();
      }
      known = known_.insert(std::make_shared<const T>(value)).first;
    }
    return *known;
  }
  // Whether that one is what its equals are.
  bool has(const Shared& value) const {
    const auto known = known_.find(*value);
    return known != known_.end() && *known == value;
  }
  // With those that nobody holds.
  std::size_t size() const { return known_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    template <typename Like>
    std::size_t operator()(const Like& value) const {
      return Identity::hash(value);
    }
    std::size_t operator()(const Shared& value) const { return Identity::hash(*value); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Shared& a, const Shared& b) const { return a == b; }
    template <typename Like>
    bool operator()(const Like& a, const Shared& b) const {
      return Identity::equal(a, *b);
    }
    template <typename Like>
    bool operator()(const Shared& a, const Like& b) const {
      return Identity::equal(b, *a);
    }
  };

  void forget_unused() {
    std::erase_if(known_, [](const Shared& value) { return value.use_count() == 1; });
    used_ = known_.size();
  }

  std::unordered_set<Shared, Hash, Equal> known_;
  std::size_t used_ = 0;  // when unused ones were last forgotten
};

}  // namespace headroom
