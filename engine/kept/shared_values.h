// SharedValues: values of which equal ones are one object, for as long as somebody holds it.
//
// Thread safety: one writer, or any number of readers; who holds a value may outlive it. Invariant:
// of equal values that somebody holds there is one. Cost: share() is a hash; for a value that is
// new a copy, and a look at kPlacesSwept places of the table for values that nobody holds any more:
// there are at most as many as were held at a time, and fewer with each new one.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_set>

namespace headroom {

inline constexpr std::size_t kPlacesSwept = 2;

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
      forget_some();
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

  void forget_some() {
    for (std::size_t n = 0; n < kPlacesSwept; ++n) {
      swept_ = swept_ + 1 < known_.bucket_count() ? swept_ + 1 : 0;
      for (auto at = known_.begin(swept_); at != known_.end(swept_);) {
        const Shared value = *at++;
        if (value.use_count() == 2) {  // with this one
          known_.erase(value);
        }
      }
    }
  }

  std::unordered_set<Shared, Hash, Equal> known_;
  std::size_t swept_ = 0;  // the last place
};

}  // namespace headroom
