// LabelBits: whether two may have to do with each other, by 64 bits of each, before any of their
// labels is read.
//
// Each label, key and value, is one of the bits. A selector asks for those of the labels that it
// says must be there; whose bits lack one of these it does not mean. Most of a namespace's
// applications have nothing to do with most of its pods. Pure data; a bit that two labels share
// costs a comparison, never an answer. Cost: some nanoseconds a label.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

class LabelBits {
 public:
  void add(const StringMap& labels) {
    for (const auto& [key, value] : labels) {
      labels_ |= bit(key, value);
    }
  }
  // One of its selectors; an absent one means nobody.
  void add(const std::optional<LabelSelector>& selector) {
    if (!selector) {
      return;
    }
    std::uint64_t asked = 0;
    for (const NodeSelectorRequirement& requirement : *selector) {
      if (requirement.op == "In" && requirement.values.size() == 1) {
        asked |= bit(requirement.key, requirement.values.front());
      }
    }
    asked_by_all_ &= asked;
  }
  void add(const PodAffinity& affinity) {
    for (const auto* terms : {&affinity.required, &affinity.preferred}) {
      for (const PodAffinityTerm& term : *terms) {
        add(term.selector);
      }
    }
  }
  // Whether some selector of one may mean the other.
  friend bool may_meet(const LabelBits& a, const LabelBits& b) {
    return (a.asked_by_all_ & ~b.labels_) == 0 || (b.asked_by_all_ & ~a.labels_) == 0;
  }

 private:
  static std::uint64_t bit(std::string_view key, std::string_view value) {
    return std::uint64_t{1} << (mix(hash_bytes(key) ^ mix(hash_bytes(value))) % 64);
  }

  std::uint64_t labels_ = 0;
  std::uint64_t asked_by_all_ = ~std::uint64_t{0};  // of its selectors
};

}  // namespace headroom
