// Any sequence of what feeders, schedulers, clocks and crashes do to a service: bytes are the draws
// of a ServiceSimulation. After every operation its cheap checks hold (who holds what, the digest,
// how many pods wait); all that the service keeps twice is looked at now and then, and at the end.
//
// At its end it prints how many operations it did, and how many a second of processor time.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <span>

#include "tests/server/service_simulation.h"

namespace headroom::in_memory {
namespace {

constexpr int kOperationsMax = 2'000;
constexpr int kOperationsPerValidation = 16;

std::uint64_t operations = 0;

// The simulation's checks are GoogleTest's: one that fails ends the run, with the input.
class Stop final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(), result.message());
    std::abort();
  }
};

void print_pace() {
  const double seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  std::fprintf(stderr, "%llu operations, %.0f a second of processor time\n",
               static_cast<unsigned long long>(operations),
               static_cast<double>(operations) / seconds);
}

void check(std::span<const std::uint8_t> bytes) {
  ServiceSimulation simulation{Draws(bytes)};
  for (int done = 1; done <= kOperationsMax && !simulation.used_up(); ++done) {
    simulation.step();
    simulation.check();
    if (done % kOperationsPerValidation == 0) simulation.validate();
    ++operations;
  }
  simulation.validate();
}

}  // namespace
}  // namespace headroom::in_memory

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  testing::UnitTest::GetInstance()->listeners().Append(new headroom::in_memory::Stop);
  std::atexit(headroom::in_memory::print_pace);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::in_memory::check({data, size});
  return 0;
}
