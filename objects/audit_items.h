// AuditItems: many things looked at one by one, in turns, while they change.
//
// Each item stands for two numbers: what its facts say (a digest), and what is kept of them less
// what they say (a balance). What is asked for are the sums over all items at one moment, that of
// the last look: an item that changed after it was looked at is looked at again, and its new
// numbers replace the former.
//
// Thread safety: one thread at a time. Cost: note() is O(1); 24 bytes an item.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace headroom {

// What is asked for.
struct AuditOptions {
  bool digest = false, validate = false;
};

struct AuditNumbers {
  std::uint64_t digest = 0, balance = 0;
};

class AuditItems {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The item changes, or has changed.
  void note(std::uint32_t item) {
    if (item < items_.size() && !items_[item].again) {
      again_.push_back(item);
      items_[item].again = true;
    }
  }
  // The one to look at next, of `count`, and to set(); kNone: the sums are those of now.
  std::uint32_t next(std::uint32_t count) {
    if (items_.size() < count) {
      items_.emplace_back();
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    if (again_.empty()) return kNone;
    const std::uint32_t item = again_.back();
    again_.pop_back();
    items_[item].again = false;
    return item;
  }
  void set(std::uint32_t item, AuditNumbers numbers) {
    AuditNumbers& known = items_[item].numbers;
    total_.digest += numbers.digest - known.digest;
    total_.balance += numbers.balance - known.balance;
    known = numbers;
  }
  // Whether each of them was looked at once.
  bool seen(std::uint32_t count) const { return items_.size() >= count; }
  const AuditNumbers& total() const { return total_; }

 private:
  struct Item {
    AuditNumbers numbers;
    bool again = false;
  };
  std::deque<Item> items_;
  std::vector<std::uint32_t> again_;
  AuditNumbers total_;
};

}  // namespace headroom
