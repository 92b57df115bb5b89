// Quantity: a Kubernetes resource.Quantity, exact to a billionth.
//
// Source of every rule: k8s.io/apimachinery/pkg/api/resource (v0.35). Values finer than 1n are
// rounded away from zero when parsed, as there. Thread safety: a plain value.
// Cost: parsing reads the text once and does not allocate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "objects/error.h"
#include "objects/int128.h"

namespace headroom {

// Above the nanos of any quantity whose value fits int64: for readers of bytes that may be
// anything.
inline constexpr Int128 kQuantityNanosMax = static_cast<Int128>(1) << 94;

inline constexpr std::int64_t kNanosPerUnit = 1'000'000'000;
inline constexpr std::int64_t kNanosPerMilli = 1'000'000;

class Quantity {
 public:
  enum class Format : std::uint8_t { kDecimalExponent, kBinarySI, kDecimalSI };

  constexpr Quantity() = default;
  // `nanos` billionths of the unit.
  static constexpr Quantity from_nanos(Int128 nanos, Format format = Format::kDecimalSI) {
    Quantity quantity;
    quantity.nanos_ = nanos;
    quantity.format_ = format;
    return quantity;
  }
  static constexpr Quantity from_value(std::int64_t units) {
    return from_nanos(static_cast<Int128>(units) * 1'000'000'000);
  }
  static constexpr Quantity from_milli(std::int64_t milli) {
    return from_nanos(static_cast<Int128>(milli) * 1'000'000);
  }

  // Errors: kInvalid for text that Kubernetes refuses; kLimitExceeded where the value, in whole
  // units rounded away from zero, does not fit int64 (Kubernetes caps or wraps some of these). The
  // message holds the text.
  static Result<Quantity> parse(std::string_view text);

  constexpr Int128 nanos() const { return nanos_; }
  constexpr bool is_zero() const { return nanos_ == 0; }

  // The value in whole units, and in thousandths, rounded away from zero. Fails with
  // kLimitExceeded when it does not fit int64.
  Result<std::int64_t> value() const;
  Result<std::int64_t> milli_value() const;

  // The canonical text ("1500m", "2Gi").
  std::string canonical() const;

  // What Kubernetes prints for a quantity that was read from `text` and never changed: `text`
  // itself where its parser takes it for canonical by a quick look ("+1", "007m", "1E6"), the
  // canonical text elsewhere. Errors as for parse.
  static Result<std::string> printed(std::string_view text);

  constexpr Format format() const { return format_; }

  // A sum takes the format of its first term that is not zero, as in Kubernetes.
  constexpr Quantity& operator+=(const Quantity& other) {
    if (nanos_ == 0) format_ = other.format_;
    nanos_ += other.nanos_;
    return *this;
  }
  friend constexpr bool operator==(const Quantity& a, const Quantity& b) {
    return a.nanos_ == b.nanos_;
  }
  friend constexpr bool operator<(const Quantity& a, const Quantity& b) {
    return a.nanos_ < b.nanos_;
  }

 private:
  Int128 nanos_ = 0;
  Format format_ = Format::kDecimalSI;
};

// In the resource's unit, rounded up: cpu in thousandths, all else whole. Errors: as value().
Result<std::int64_t> resource_amount(std::string_view resource, const Quantity& quantity);
// Of an amount in that unit.
Quantity quantity_of(std::string_view resource, std::int64_t amount);
// An amount in the resource's unit (cpu in thousandths, all else whole) as people say it, exact:
// "3", "3.5", "2Gi", "8".
std::string amount_in_words(std::string_view resource, std::int64_t amount);

}  // namespace headroom
