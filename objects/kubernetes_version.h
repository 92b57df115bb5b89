// KubernetesVersion: the minor release whose rules are followed, where they differ.
//
// Plain value; thread-safe.
#pragma once

#include <cstdint>

namespace headroom {

enum class KubernetesVersion : std::uint8_t { k135, k136, k137 };

}  // namespace headroom
