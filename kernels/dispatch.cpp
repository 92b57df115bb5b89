// The list of instruction sets, and which of them this machine runs.
#include <array>
#include <cstdlib>
#include <cstring>

#include "kernels/kernels.h"

namespace headroom {

// Widest first.
#if defined(__aarch64__)
namespace neon {
extern const Kernels kKernels;
}
static constexpr std::array kAll = {&neon::kKernels};
#else
namespace avx512 {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace sse42 {
extern const Kernels kKernels;
}
static constexpr std::array kAll = {&avx512::kKernels, &avx2::kKernels, &sse42::kKernels};
#endif

std::span<const Kernels* const> all_kernels() { return kAll; }

const Kernels* active_kernels() {
  const char* forced = std::getenv("HEADROOM_KERNELS");
  for (const Kernels* kernels : all_kernels()) {
    if ((forced == nullptr || std::strcmp(forced, kernels->name) == 0) && kernels->supported()) {
      return kernels;
    }
  }
  return nullptr;
}

}  // namespace headroom
