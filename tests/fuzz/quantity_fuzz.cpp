// Quantities from any bytes: the canonical text is the same value and, in its format, canonical
// itself, roundings go away from zero, and a sign only changes the sign.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "objects/quantity.h"
#include "tests/fuzz/check.h"

namespace headroom {
namespace {

constexpr std::int64_t kNanosPerUnit = 1'000'000'000;

void check_canonical(const Quantity& quantity) {
  const std::string text = quantity.canonical();
  const Result<Quantity> again = Quantity::parse(text);
  HEADROOM_FUZZ_CHECK(again.has_value());
  HEADROOM_FUZZ_CHECK(again->nanos() == quantity.nanos());
  // "7.8125Ki" is "8000", which as a decimal is "8k": canonical only within one format.
  HEADROOM_FUZZ_CHECK(again->format() != quantity.format() || again->canonical() == text);
}

void check_roundings(const Quantity& quantity) {
  const Int128 nanos = quantity.nanos();
  // What parses has a whole value.
  const Result<std::int64_t> value = quantity.value();
  HEADROOM_FUZZ_CHECK(value.has_value());
  const Int128 rest = static_cast<Int128>(*value) * kNanosPerUnit - nanos;
  HEADROOM_FUZZ_CHECK(nanos >= 0 ? rest >= 0 && rest < kNanosPerUnit
                                 : rest <= 0 && rest > -kNanosPerUnit);
  const Result<std::int64_t> milli = quantity.milli_value();
  if (!milli) return;
  const Int128 milli_rest = static_cast<Int128>(*milli) * (kNanosPerUnit / 1000) - nanos;
  HEADROOM_FUZZ_CHECK(nanos >= 0 ? milli_rest >= 0 && milli_rest < kNanosPerUnit / 1000
                                 : milli_rest <= 0 && milli_rest > -kNanosPerUnit / 1000);
}

void check(std::string_view text) {
  const Result<Quantity> quantity = Quantity::parse(text);
  const Result<std::string> printed = Quantity::printed(text);
  HEADROOM_FUZZ_CHECK(quantity.has_value() == printed.has_value());
  if (!quantity) {
    HEADROOM_FUZZ_CHECK(quantity.error().code == ErrorCode::kInvalid ||
                        quantity.error().code == ErrorCode::kLimitExceeded);
    return;
  }
  check_canonical(*quantity);
  check_roundings(*quantity);
  HEADROOM_FUZZ_CHECK(*printed == text || *printed == quantity->canonical());
  const bool has_sign = text[0] == '-' || text[0] == '+';
  const Result<Quantity> negated =
      Quantity::parse((text[0] == '-' ? "+" : "-") + std::string(text.substr(has_sign ? 1 : 0)));
  // Only the least int64 has no negative.
  if (negated) HEADROOM_FUZZ_CHECK(negated->nanos() == -quantity->nanos());
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
