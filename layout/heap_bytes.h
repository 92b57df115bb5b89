// heap_bytes: what a value keeps on the heap, so that what is limited by memory counts what memory
// it takes.
//
// Counts capacities, not sizes, and for each allocation what glibc's malloc adds to it: a word, and
// rounding to 16 bytes. The value itself counts where it lies. Cost: a walk over nested values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "objects/objects.h"

namespace headroom {

// Of one allocation of so many bytes.
constexpr std::size_t allocated_bytes(std::size_t asked) {
  return asked == 0 ? 0 : std::max<std::size_t>(32, (asked + 8 + 15) / 16 * 16);
}

template <typename T>
std::size_t heap_bytes(const std::vector<T>& list);

inline std::size_t heap_bytes(const std::string& text) {
  // A short text lies in the string itself.
  return text.capacity() < sizeof(std::string) / 2 ? 0 : allocated_bytes(text.capacity() + 1);
}

template <typename A, typename B>
std::size_t heap_bytes(const std::pair<A, B>& both) {
  if constexpr (std::is_same_v<A, std::string>) {
    if constexpr (std::is_same_v<B, std::string>) {
      return heap_bytes(both.first) + heap_bytes(both.second);
    }
    return heap_bytes(both.first);
  }
  return 0;
}

template <typename T>
std::size_t heap_bytes(const std::optional<T>& value) {
  return value ? heap_bytes(*value) : 0;
}

inline std::size_t heap_bytes(const NodeSelectorRequirement& requirement) {
  return heap_bytes(requirement.key) + heap_bytes(requirement.op) + heap_bytes(requirement.values);
}

inline std::size_t heap_bytes(const NodeSelectorTerm& term) {
  return heap_bytes(term.match_expressions) + heap_bytes(term.match_fields);
}

inline std::size_t heap_bytes(const Toleration& toleration) {
  return heap_bytes(toleration.key) + heap_bytes(toleration.op) + heap_bytes(toleration.value) +
         heap_bytes(toleration.effect);
}

template <typename T>
std::size_t heap_bytes(const std::vector<T>& list) {
  std::size_t total = allocated_bytes(list.capacity() * sizeof(T));
  if constexpr (!std::is_trivially_copyable_v<T>) {
    for (const T& item : list) {
      total += heap_bytes(item);
    }
  }
  return total;
}

}  // namespace headroom
