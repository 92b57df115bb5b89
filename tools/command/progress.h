// ProgressBar: one line on standard error that shows how far a long run is.
//
// Draws only when standard error is a terminal, at most ten times a second, and clears its line at
// the end. Cost of update() between drawings: a comparison.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headroom {

class ProgressBar {
 public:
  ProgressBar(std::string label, std::uint64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::uint64_t done) {
    if (enabled_ && done >= next_check_) draw(done);
  }

 private:
  void draw(std::uint64_t done);

  const std::string label_;
  const std::uint64_t total_;
  const bool enabled_;
  const std::uint64_t step_;  // updates between looks at the clock
  std::uint64_t next_check_ = 0;
  std::chrono::steady_clock::time_point next_draw_{};
};

}  // namespace headroom
