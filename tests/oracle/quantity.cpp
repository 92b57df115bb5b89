// See quantity.h. The rules are apimachinery's quantity.go, suffix.go and amount.go.
#include "oracle/quantity.h"

#include <algorithm>
#include <stdexcept>

#include "oracle/digit.h"

namespace oracle {
namespace {

constexpr Int128 kNano = 1'000'000'000;
constexpr Int128 kMaxInt64 = INT64_MAX;
constexpr int kMaxExponent = 1000;  // beyond it every value is one billionth or refused

// The parts of parseQuantityString.
struct Parts {
  bool negative = false;
  bool has_digit = false;
  std::string whole;     // without leading zeros, "0" when that leaves nothing
  std::string fraction;  // as written
  std::string suffix;
};

std::optional<Parts> split(std::string_view text) {
  Parts parts;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
    parts.negative = text[at] == '-';
    ++at;
  }
  while (at < text.size() && is_digit(text[at])) {
    parts.has_digit = true;
    if (!parts.whole.empty() || text[at] != '0') parts.whole += text[at];
    ++at;
  }
  if (parts.whole.empty()) parts.whole = "0";
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && is_digit(text[at])) {
      parts.has_digit = true;
      parts.fraction += text[at++];
    }
  }
  const std::size_t suffix_start = at;
  constexpr std::string_view kSuffixLetters = "eEinumkKMGTP";
  while (at < text.size() && kSuffixLetters.find(text[at]) != std::string_view::npos) ++at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at != text.size()) return std::nullopt;
  parts.suffix = std::string(text.substr(suffix_start));
  return parts;
}

struct Suffix {
  int base;
  int exponent;
  Format format;
};

// "e3", "E+03": the exponent, bounded.
std::optional<Suffix> interpret_exponent(const std::string& suffix) {
  std::size_t at = 1;
  bool negative = false;
  if (suffix[at] == '-' || suffix[at] == '+') negative = suffix[at++] == '-';
  if (at == suffix.size()) return std::nullopt;
  int exponent = 0;
  for (; at < suffix.size(); ++at) {
    if (!is_digit(suffix[at])) return std::nullopt;
    exponent = std::min(kMaxExponent, exponent * 10 + (suffix[at] - '0'));
  }
  return Suffix{10, negative ? -exponent : exponent, Format::kDecimalExponent};
}

constexpr struct {
  std::string_view name;
  int exponent;
} kDecimal[] = {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0},   {"k", 3},
                {"M", 6},  {"G", 9},  {"T", 12}, {"P", 15}, {"E", 18}},
  kBinary[] = {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}};

std::optional<Suffix> interpret(const std::string& suffix) {
  for (const auto& entry : kDecimal) {
    if (entry.name == suffix) return Suffix{10, entry.exponent, Format::kDecimalSi};
  }
  for (const auto& entry : kBinary) {
    if (entry.name == suffix) return Suffix{2, entry.exponent, Format::kBinarySi};
  }
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    return interpret_exponent(suffix);
  }
  return std::nullopt;
}

// Whether ParseQuantity takes its int64 path, which tolerates a number without digits.
bool takes_fast_path(const Parts& parts, const Suffix& suffix) {
  const int digits = static_cast<int>(parts.whole.size() + parts.fraction.size());
  if (suffix.base == 10) {
    return digits <= 18 && suffix.exponent - static_cast<int>(parts.fraction.size()) >= -9;
  }
  return parts.fraction.empty() && 15 - digits - suffix.exponent * 3 / 10 - 1 >= 0;
}

// Whether ParseQuantity keeps the input as the printed form.
bool keeps_text(const Parts& parts, const Suffix& suffix) {
  if (!takes_fast_path(parts, suffix)) return false;
  const std::string shifted = parts.whole + parts.fraction;
  if (suffix.base == 2) return (std::stoll(shifted) & 7) != 0;
  const int scale = suffix.exponent - static_cast<int>(parts.fraction.size());
  return scale % 3 == 0 && !(shifted.size() >= 3 && shifted.ends_with("000")) && shifted[0] != '0';
}

// Twice a number in decimal digits, most significant first.
std::string twice(const std::string& digits) {
  std::string result;
  int carry = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    const int sum = (digits[i] - '0') * 2 + carry;
    result.insert(result.begin(), static_cast<char>('0' + sum % 10));
    carry = sum / 10;
  }
  if (carry != 0) result.insert(result.begin(), '1');
  return result;
}

// digits * 10^scale in billionths, rounded away from zero; nullopt beyond int64 whole units.
std::optional<Int128> to_nano(const std::string& digits, int scale) {
  const Int128 limit = kMaxInt64 * kNano;
  const int power = scale + 9;
  const int kept = static_cast<int>(digits.size()) + std::min(power, 0);
  Int128 nano = 0;
  bool inexact = false;
  for (int i = 0; i < static_cast<int>(digits.size()); ++i) {
    const int digit = digits[static_cast<std::size_t>(i)] - '0';
    if (i < kept) {
      nano = nano * 10 + digit;
    } else {
      inexact = inexact || digit != 0;
    }
    if (nano > limit) return std::nullopt;
  }
  for (int i = 0; i < power && nano != 0; ++i) {
    nano *= 10;
    if (nano > limit) return std::nullopt;
  }
  nano += inexact ? 1 : 0;
  if (nano > limit) return std::nullopt;
  return nano;
}

// nano / unit, rounded away from zero.
std::int64_t round_away(Int128 nano, Int128 unit) {
  Int128 quotient = nano / unit;
  if (nano % unit != 0) quotient += nano > 0 ? 1 : -1;
  if (quotient > kMaxInt64 || quotient < -kMaxInt64) {
    throw std::range_error("quantity beyond int64");
  }
  return static_cast<std::int64_t>(quotient);
}

std::string to_text(Int128 number) {
  std::string digits;
  const bool negative = number < 0;
  for (Int128 rest = negative ? -number : number; rest != 0; rest /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  if (digits.empty()) digits = "0";
  return negative ? "-" + digits : digits;
}

}  // namespace

// ParseQuantity.
std::optional<Quantity> parse_quantity(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::optional<Parts> parts = split(text);
  if (!parts) return std::nullopt;
  const std::optional<Suffix> suffix = interpret(parts->suffix);
  if (!suffix) return std::nullopt;
  if (!parts->has_digit && !takes_fast_path(*parts, *suffix)) return std::nullopt;

  std::string digits = parts->whole + parts->fraction;
  int scale = -static_cast<int>(parts->fraction.size());
  if (suffix->base == 10) {
    scale += suffix->exponent;
  } else {
    for (int i = 0; i < suffix->exponent; ++i) digits = twice(digits);
  }
  const std::optional<Int128> nano = to_nano(digits, scale);
  if (!nano) return std::nullopt;
  Quantity quantity;
  quantity.nano = parts->negative ? -*nano : *nano;
  quantity.format = suffix->format;
  if (keeps_text(*parts, *suffix)) quantity.text = std::string(text);
  return quantity;
}

std::int64_t value_of(Int128 nano) { return round_away(nano, kNano); }
std::int64_t milli_value_of(Int128 nano) { return round_away(nano, kNano / 1000); }

// CanonicalizeBytes: the largest suffix that leaves a whole number.
std::string canonical(const Quantity& quantity) {
  if (quantity.nano == 0) return "0";
  const bool small = quantity.nano > -1024 * kNano && quantity.nano < 1024 * kNano;
  if (quantity.format == Format::kBinarySi && !small && quantity.nano % kNano == 0) {
    Int128 number = quantity.nano / kNano;
    int power = 0;
    for (; number % 1024 == 0; number /= 1024) power += 10;
    std::string suffix;
    for (const auto& entry : kBinary) {
      if (entry.exponent == power) suffix = entry.name;
    }
    return to_text(number) + suffix;
  }
  Int128 number = quantity.nano;
  int exponent = -9;
  for (; number % 1000 == 0; number /= 1000) exponent += 3;
  if (quantity.format == Format::kDecimalExponent) {
    return to_text(number) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
  }
  std::string suffix;
  for (const auto& entry : kDecimal) {
    if (entry.exponent == exponent) suffix = entry.name;
  }
  return to_text(number) + suffix;
}

std::string print(const Quantity& quantity) {
  return quantity.text.empty() ? canonical(quantity) : quantity.text;
}

}  // namespace oracle
