// Draws the bar: "placing pods  [#########-----------]  45 %  90,000 / 200,000".
#include "tools/command/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "simulation/text/table.h"

namespace headroom {
namespace {

constexpr std::uint64_t kBarWidth = 30;
constexpr std::uint64_t kChecks = 2000;  // looks at the clock over the whole run
constexpr std::chrono::milliseconds kDrawInterval{100};

}  // namespace

ProgressBar::ProgressBar(std::string label, std::uint64_t total)
    : label_(std::move(label)),
      total_(std::max<std::uint64_t>(total, 1)),
      enabled_(isatty(STDERR_FILENO) == 1),
      step_(total_ / kChecks + 1) {}

ProgressBar::~ProgressBar() {
  if (enabled_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::draw(std::uint64_t done) {
  next_check_ = done + step_;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + kDrawInterval;
  const std::uint64_t filled = std::min(done * kBarWidth / total_, kBarWidth);
  fmt::print(stderr, "\r{}  [{:#<{}}{:-<{}}]  {} %  {} / {}\033[K", label_, "", filled, "",
             kBarWidth - filled, done * 100 / total_, grouped(done), grouped(total_));
  std::fflush(stderr);
}

}  // namespace headroom
