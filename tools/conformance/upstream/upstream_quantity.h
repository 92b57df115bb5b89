// Quantities as cluster-autoscaler computes with them, for mode Upstream: beyond int64 too.
//
// Source of every rule: k8s.io/apimachinery/pkg/api/resource, v0.35 to v0.37, which
// cluster-autoscaler 33c3f97b is built with. objects/quantity.h refuses what does not fit int64;
// there such a text keeps its value in sums, and Value() returns something else for it.
// Thread safety: plain functions and values. Cost: linear in the digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "objects/error.h"
#include "objects/quantity.h"

namespace headroom {

// Whole digits of an UpstreamQuantity. What is larger: kLimitExceeded.
inline constexpr std::size_t kUpstreamDigitsMax = 1000;

struct UpstreamValue {
  std::int64_t units = 0;  // Quantity.Value()
  bool is_zero = false;    // Quantity.IsZero(): `units` may be 0 for other texts
};
// Value(): whole units, rounded away from zero. Beyond int64, and for some negative texts, it is
// what the library's arithmetic leaves:
//  * a decimal of up to 18 digits, none finer than 1n, is a count times 10^n: the low 64 bits where
//    n is 1, 2, 3, 6 or 9, else 0
//  * a longer decimal: the low 64 bits; if negative, those of its billionths, divided, rounded up
//  * a binary suffix: 2^63-1; negative ones with a fraction or many digits: as longer decimals
// kInvalid for what is no quantity.
Result<UpstreamValue> upstream_value(std::string_view text);

// A quantity of any size, to the billionth.
class UpstreamQuantity {
 public:
  UpstreamQuantity() = default;  // 0, decimal
  static Result<UpstreamQuantity> parse(std::string_view text);

  bool is_zero() const { return nanos_.empty(); }
  // Exact. The sum takes the format of what is added while it is 0.
  UpstreamQuantity& operator+=(const UpstreamQuantity& other);
  // By value.
  friend bool operator==(const UpstreamQuantity& a, const UpstreamQuantity& b) {
    return a.negative_ == b.negative_ && a.nanos_ == b.nanos_;
  }
  // As JSON has it. As there, the exponent is lost where the format has no suffix for it: 1000E
  // is "1".
  std::string canonical() const;

 private:
  bool negative_ = false;
  std::string nanos_;  // the magnitude in billionths, decimal digits, no leading zeros; "": 0
  Quantity::Format format_ = Quantity::Format::kDecimalSI;
};

}  // namespace headroom
