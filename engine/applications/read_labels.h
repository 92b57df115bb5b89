// ReadLabels: which labels of pods some selector reads. Of a pod's labels its application has only
// these, so that pods which differ in others (a StatefulSet's each have one of their own) share it.
//
// A set of hashes of keys that only grows: a key that nobody reads may count as read, which makes
// more applications than need be, and none that is wrong. When a key is new, pods with such a label
// have other applications from then on. Thread safety: one writer, or any number of readers. Cost:
// some nanoseconds a key; kReadLabelBits bits, whatever is added.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

inline constexpr std::size_t kReadLabelBits = 4096;

class ReadLabels {
 public:
  void add(std::string_view key) {
    const std::size_t its = bit(key);
    version_ += bits_.test(its) ? 0 : 1;
    bits_.set(its);
  }
  void add(const std::optional<LabelSelector>& selector) {
    for (std::size_t i = 0; selector && i < selector->size(); ++i) {
      add((*selector)[i].key);
    }
  }
  void add(const PodAffinity& affinity) {
    for (const auto* terms : {&affinity.required, &affinity.preferred}) {
      for (const PodAffinityTerm& term : *terms) {
        add(term.selector);
      }
    }
  }
  bool has(std::string_view key) const { return bits_.test(bit(key)); }
  // Grows when a key may be read that was not.
  std::uint64_t version() const { return version_; }

 private:
  static std::size_t bit(std::string_view key) { return hash_bytes(key) % kReadLabelBits; }

  std::bitset<kReadLabelBits> bits_;
  std::uint64_t version_ = 0;
};

}  // namespace headroom
