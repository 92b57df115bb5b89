// Timing: pieces of work measured alternately, by Google Benchmark with random interleaving.
//
// This is for noisy machines: what is compared runs side by side, several times over, and a figure
// is the median over those repetitions. A piece of work times itself, so that what prepares it is
// left out. The clock's own cost, about 20 ns, is in every time.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace headroom {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Microseconds, in which the table tells what is short.
inline double us(double seconds) { return seconds * 1e6; }

// Keeps the compiler from dropping the work that made `value`.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// The times of one piece of work, in seconds.
class Times {
 public:
  // The value that `share` of a repetition's times do not exceed; the median of repetitions.
  double quantile(double share) const;
  double median() const { return quantile(0.5); }

 private:
  friend class Measurement;
  std::vector<std::vector<double>> repetitions_;
};

class Measurement {
 public:
  // `work` runs `iterations` times a repetition and returns the seconds that count. The result
  // stays valid as long as the Measurement.
  const Times& add(std::string name, std::int64_t iterations, std::function<double()> work);
  void run(std::int32_t repetitions);

 private:
  struct Item {
    std::string name;
    std::int64_t iterations;
    std::function<double()> work;
    Times times;
  };
  std::deque<Item> items_;
};

}  // namespace headroom
