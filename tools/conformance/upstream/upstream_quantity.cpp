// Quantity.Value() beyond int64, and exact sums; see upstream_quantity.h.
#include "tools/conformance/upstream/upstream_quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "objects/text/trimmed.h"

namespace headroom {

namespace {

constexpr std::int64_t kNanoDigits = 9;
constexpr std::size_t kQuickDigitsMax = 18;  // maxInt64Factors: of decimals in int64 form
constexpr Int128 kCapNanos =
    static_cast<Int128>(std::numeric_limits<std::int64_t>::max()) * kNanosPerUnit;
// 10 to this power is a multiple of 2^64.
constexpr std::int64_t kZeroPower = 64;

// A quantity's text, taken apart. Well-formed.
struct Parts {
  bool negative = false;
  std::string digits;        // of the whole part, no leading zeros but at least one, then the rest
  std::size_t fraction = 0;  // how many of them stand behind the point
  Quantity::Format format = Quantity::Format::kDecimalSI;
  std::int32_t exponent = 0;  // of 10; with kBinarySI of 2

  bool is_zero() const { return digits.find_first_not_of('0') == std::string::npos; }
  // The power of ten of the last digit.
  std::int64_t scale() const {
    return std::int64_t{exponent} - static_cast<std::int64_t>(fraction);
  }
};

std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

void read_suffix(std::string_view suffix, Parts& parts) {
  constexpr std::string_view kDecimal = "num.kMGTPE";
  constexpr std::string_view kBinary = "KMGTPE";
  if (suffix.empty()) return;
  if (suffix.size() == 1) {
    parts.exponent = (static_cast<std::int32_t>(kDecimal.find(suffix[0])) - 3) * 3;
  } else if (suffix.back() == 'i') {
    parts.format = Quantity::Format::kBinarySI;
    parts.exponent = (static_cast<std::int32_t>(kBinary.find(suffix[0])) + 1) * 10;
  } else {
    parts.format = Quantity::Format::kDecimalExponent;
    suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
    std::int64_t exponent = 0;
    std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
    parts.exponent = static_cast<std::int32_t>(exponent);  // cut to 32 bits, as there
  }
}

Result<Parts> read_parts(std::string_view text) {
  text = trimmed(text);
  const Result<Quantity> checked = Quantity::parse(text);
  if (!checked && checked.error().code == ErrorCode::kInvalid) {
    return tl::unexpected<Error>(checked.error());
  }
  Parts parts;
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  parts.digits = take_digits(text);
  if (parts.digits.empty()) parts.digits = "0";
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    const std::string_view fraction = take_digits(text);
    parts.digits += fraction;
    parts.fraction = fraction.size();
  }
  read_suffix(text, parts);
  return parts;
}

// The digits with `power` zeros behind them, or, for a negative power, without that many of them,
// rounded up.
struct Shifted {
  std::string_view digits;
  std::int64_t zeros = 0;
  bool round_up = false;
};

Shifted shifted(std::string_view digits, std::int64_t power) {
  if (power >= 0) return {digits, power, false};
  const std::size_t kept =
      -power >= static_cast<std::int64_t>(digits.size()) ? 0 : digits.size() + power;
  return {digits.substr(0, kept), 0,
          digits.substr(kept).find_first_not_of('0') != std::string_view::npos};
}

std::uint64_t low_bits(const Shifted& number) {
  if (number.zeros >= kZeroPower) return 0;
  std::uint64_t bits = 0;
  for (const char digit : number.digits) bits = bits * 10 + static_cast<std::uint64_t>(digit - '0');
  for (std::int64_t i = 0; i < number.zeros; ++i) bits *= 10;
  return bits + (number.round_up ? 1 : 0);
}

// --- The library's int64 form: count * 10^scale ---

struct QuickAmount {
  std::int64_t count = 0;
  std::int32_t scale = 0;
};

std::optional<QuickAmount> quick_amount(const Parts& parts) {
  QuickAmount quick;
  std::int64_t unit = 1;
  const auto size = static_cast<std::int32_t>(parts.digits.size());
  if (parts.format == Quantity::Format::kBinarySI) {
    // 15 - digits - exponent * 3 / 10 - 1 digits of precision must be left.
    if (parts.fraction > 0 || 14 - size - parts.exponent * 3 / 10 < 0) return std::nullopt;
    unit <<= parts.exponent;
  } else {
    if (parts.digits.size() > kQuickDigitsMax || parts.scale() < -kNanoDigits) return std::nullopt;
    quick.scale = static_cast<std::int32_t>(parts.scale());
  }
  std::from_chars(parts.digits.data(), parts.digits.data() + size, quick.count);
  if (__builtin_mul_overflow(quick.count, unit, &quick.count)) return std::nullopt;
  if (parts.negative) quick.count = -quick.count;
  return quick;
}

constexpr std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// AsScaledInt64(0), which leaves the product where its multiplication overflows in one step, and 0
// where it goes digit by digit.
std::int64_t whole_units(const QuickAmount& quick) {
  if (quick.scale < 0) {
    const std::int64_t divisor = power_of_ten(-quick.scale);
    const std::int64_t rest = quick.count % divisor;
    return quick.count / divisor + (rest > 0 ? 1 : 0) - (rest < 0 ? 1 : 0);
  }
  constexpr std::array kOneStep = {1, 2, 3, 6, 9};
  if (std::find(kOneStep.begin(), kOneStep.end(), quick.scale) != kOneStep.end()) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(quick.count) *
                                     static_cast<std::uint64_t>(power_of_ten(quick.scale)));
  }
  std::int64_t units = quick.count;
  for (std::int32_t i = 0; i < quick.scale && units != 0; ++i) {
    if (__builtin_mul_overflow(units, std::int64_t{10}, &units)) return 0;
  }
  return units;
}

// --- Its form of any size: billionths ---

// scaledValue() of a negative number: its low 64 bits, divided and rounded up.
std::int64_t negative_units(std::uint64_t nanos) {
  const auto wrapped = static_cast<std::int64_t>(std::uint64_t{0} - nanos);
  return wrapped / kNanosPerUnit + (wrapped % kNanosPerUnit != 0 ? 1 : 0);
}

std::int64_t decimal_units(const Parts& parts) {
  if (parts.negative) return negative_units(low_bits(shifted(parts.digits, parts.scale() + 9)));
  return static_cast<std::int64_t>(low_bits(shifted(parts.digits, parts.scale())));
}

// The magnitude of a quantity with a binary suffix: capped.
Int128 binary_nanos(std::string_view text) {
  const Result<Quantity> quantity = Quantity::parse(trimmed(text));
  if (!quantity) return kCapNanos;
  return std::min(quantity->nanos() < 0 ? -quantity->nanos() : quantity->nanos(), kCapNanos);
}

std::int64_t binary_units(const Parts& parts, std::string_view text) {
  const Int128 nanos = binary_nanos(text);
  if (nanos == kCapNanos) {
    const std::int64_t cap = std::numeric_limits<std::int64_t>::max();
    return parts.negative ? -cap : cap;
  }
  if (parts.negative) return negative_units(static_cast<std::uint64_t>(nanos));
  return static_cast<std::int64_t>((nanos + kNanosPerUnit - 1) / kNanosPerUnit);
}

// --- Decimal digits without leading zeros ---

void strip(std::string& digits) { digits.erase(0, digits.find_first_not_of('0')); }

bool less(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// a + b, or a - b for a sign of -1 and a >= b.
std::string combined(std::string a, std::string_view b, int sign) {
  if (a.size() < b.size()) a.insert(0, b.size() - a.size(), '0');
  int carry = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    char& digit = a[a.size() - 1 - i];
    const int other = i < b.size() ? b[b.size() - 1 - i] - '0' : 0;
    const int sum = digit - '0' + sign * other + carry;
    carry = sum < 0 ? -1 : sum / 10;
    digit = static_cast<char>('0' + sum - carry * 10);
  }
  if (carry > 0) a.insert(a.begin(), '1');
  strip(a);
  return a;
}

// Divides by 1024 where nothing is left over; false elsewhere.
bool divide_1024(std::string& digits) {
  std::string quotient = digits;
  int rest = 0;
  for (char& digit : quotient) {
    rest = rest * 10 + (digit - '0');
    digit = static_cast<char>('0' + rest / 1024);
    rest %= 1024;
  }
  if (rest != 0) return false;
  strip(quotient);
  digits = std::move(quotient);
  return true;
}

std::string to_digits(Int128 value) {
  std::string digits;
  for (; value > 0; value /= 10) digits += static_cast<char>('0' + static_cast<int>(value % 10));
  std::reverse(digits.begin(), digits.end());
  return digits;
}

bool ends_with_zeros(std::string_view digits, std::size_t count) {
  return digits.size() > count &&
         digits.substr(digits.size() - count).find_first_not_of('0') == std::string_view::npos;
}

std::string binary_text(std::string units) {
  constexpr std::array kNames = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t thousands = 0;
  while (divide_1024(units)) ++thousands;
  return units + (thousands < kNames.size() ? kNames[thousands] : "");
}

std::string decimal_text(std::string nanos, bool with_exponent) {
  constexpr std::array kNames = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  std::size_t thousands = 0;
  for (; ends_with_zeros(nanos, 3); ++thousands) nanos.resize(nanos.size() - 3);
  if (!with_exponent) return nanos + (thousands < kNames.size() ? kNames[thousands] : "");
  const auto exponent = static_cast<std::int64_t>(thousands) * 3 - kNanoDigits;
  return exponent == 0 ? nanos : nanos + "e" + std::to_string(exponent);
}

}  // namespace

Result<UpstreamValue> upstream_value(std::string_view text) {
  const Result<Parts> parts = read_parts(text);
  if (!parts) return tl::unexpected<Error>(parts.error());
  UpstreamValue value{0, parts->is_zero()};
  if (const std::optional<QuickAmount> quick = quick_amount(*parts)) {
    value.units = whole_units(*quick);
  } else if (parts->format == Quantity::Format::kBinarySI) {
    value.units = binary_units(*parts, text);
  } else {
    value.units = decimal_units(*parts);
  }
  return value;
}

Result<UpstreamQuantity> UpstreamQuantity::parse(std::string_view text) {
  const Result<Parts> parts = read_parts(text);
  if (!parts) return tl::unexpected<Error>(parts.error());
  UpstreamQuantity quantity;
  quantity.format_ = parts->format;
  if (parts->is_zero()) return quantity;
  quantity.negative_ = parts->negative;
  if (parts->format == Quantity::Format::kBinarySI) {
    quantity.nanos_ = to_digits(binary_nanos(text));
    const bool below_one = quantity.nanos_.size() <= static_cast<std::size_t>(kNanoDigits);
    if (below_one) quantity.format_ = Quantity::Format::kDecimalSI;
    return quantity;
  }
  const Shifted nanos = shifted(parts->digits, parts->scale() + kNanoDigits);
  if (nanos.zeros + static_cast<std::int64_t>(nanos.digits.size()) >
      static_cast<std::int64_t>(kUpstreamDigitsMax) + kNanoDigits) {
    return fail(ErrorCode::kLimitExceeded, "\"" + std::string(text.substr(0, 64)) +
                                               "\" has more than " +
                                               std::to_string(kUpstreamDigitsMax) + " digits");
  }
  quantity.nanos_ = std::string(nanos.digits);
  quantity.nanos_.append(static_cast<std::size_t>(nanos.zeros), '0');
  quantity.nanos_ = combined(std::move(quantity.nanos_), nanos.round_up ? "1" : "", 1);
  return quantity;
}

UpstreamQuantity& UpstreamQuantity::operator+=(const UpstreamQuantity& other) {
  if (is_zero()) format_ = other.format_;
  if (negative_ == other.negative_ || is_zero() || other.is_zero()) {
    negative_ = is_zero() ? other.negative_ : negative_;
    nanos_ = combined(std::move(nanos_), other.nanos_, 1);
  } else if (less(nanos_, other.nanos_)) {
    negative_ = other.negative_;
    nanos_ = combined(other.nanos_, nanos_, -1);
  } else {
    nanos_ = combined(std::move(nanos_), other.nanos_, -1);
    negative_ = negative_ && !nanos_.empty();
  }
  return *this;
}

std::string UpstreamQuantity::canonical() const {
  if (is_zero()) return "0";
  const std::string sign = negative_ ? "-" : "";
  if (format_ == Quantity::Format::kBinarySI && ends_with_zeros(nanos_, kNanoDigits)) {
    std::string units = nanos_.substr(0, nanos_.size() - kNanoDigits);
    if (!less(units, "1024")) return sign + binary_text(std::move(units));
  }
  return sign + decimal_text(nanos_, format_ == Quantity::Format::kDecimalExponent);
}

}  // namespace headroom
