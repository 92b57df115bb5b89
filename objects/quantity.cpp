// Parsing and printing of quantities.
//
// Grammar (apimachinery parseQuantityString): [sign] digits [. digits] suffix, where every part may
// be empty but not the whole text: "", " " are refused, "+", ".", "m" are 0. A suffix is one of
// the SI or binary names, or e/E and a signed decimal exponent.
#include "objects/quantity.h"

#include <array>
#include <limits>
#include <optional>

#include "objects/text/digit.h"
#include "objects/text/utf8_prefix.h"

namespace headroom {

namespace {

constexpr Int128 kNanosMax =
    static_cast<Int128>(std::numeric_limits<std::int64_t>::max()) * kNanosPerUnit;
constexpr Int128 kNanosMin =
    static_cast<Int128>(std::numeric_limits<std::int64_t>::min()) * kNanosPerUnit;
// Exponents are cut to this, more than a text has digits: beyond it every value but 0 is too large,
// or rounds to 1n. Work does not grow with the exponent.
constexpr std::int64_t kExponentMax = 1'000'000'000'000;
// Digits that surely fit uint64.
constexpr std::size_t kFastDigitsMax = 18;
constexpr std::uint64_t kFastCountMax = 999'999'999'999'999'999;

struct Suffix {
  Quantity::Format format = Quantity::Format::kDecimalSI;
  Int128 nanos = kNanosPerUnit;  // Billionths of the unit that 1 stands for; 1e9 for exponents.
  std::int64_t exponent = 0;     // Decimal: the power of ten. Binary: the power of two.
  // The greatest count of kFastDigitsMax digits whose whole units fit int64.
  std::uint64_t count_max = kFastCountMax;
};

constexpr Int128 power(int base, int exponent) {
  Int128 result = 1;
  for (int i = 0; i < exponent; ++i) result *= base;
  return result;
}

constexpr Suffix make_suffix(Quantity::Format format, Int128 nanos, int exponent) {
  const Int128 count_max = kNanosMax / nanos;
  return {format, nanos, exponent,
          count_max < kFastCountMax ? static_cast<std::uint64_t>(count_max) : kFastCountMax};
}

constexpr Suffix decimal_suffix(int exponent) {
  return make_suffix(Quantity::Format::kDecimalSI, power(10, exponent + 9), exponent);
}

constexpr Suffix binary_suffix(int exponent) {
  return make_suffix(Quantity::Format::kBinarySI, power(2, exponent) * kNanosPerUnit, exponent);
}

// By the suffix's first letter, for suffixes of one letter and for those ending in i.
constexpr std::array<std::optional<Suffix>, 128> make_decimal_suffixes() {
  std::array<std::optional<Suffix>, 128> table{};
  table['n'] = decimal_suffix(-9);
  table['u'] = decimal_suffix(-6);
  table['m'] = decimal_suffix(-3);
  table['k'] = decimal_suffix(3);
  table['M'] = decimal_suffix(6);
  table['G'] = decimal_suffix(9);
  table['T'] = decimal_suffix(12);
  table['P'] = decimal_suffix(15);
  table['E'] = decimal_suffix(18);
  return table;
}

constexpr std::array<std::optional<Suffix>, 128> make_binary_suffixes() {
  std::array<std::optional<Suffix>, 128> table{};
  table['K'] = binary_suffix(10);
  table['M'] = binary_suffix(20);
  table['G'] = binary_suffix(30);
  table['T'] = binary_suffix(40);
  table['P'] = binary_suffix(50);
  table['E'] = binary_suffix(60);
  return table;
}

constexpr auto kDecimalSuffixes = make_decimal_suffixes();
constexpr auto kBinarySuffixes = make_binary_suffixes();
constexpr Suffix kNoSuffix{};

// A signed decimal number of int64, cut to kExponentMax; nullopt where strconv.ParseInt fails.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  const auto int64_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value > int64_max + (negative ? 1 : 0)) return std::nullopt;
  const auto cut = static_cast<std::int64_t>(
      value < static_cast<std::uint64_t>(kExponentMax) ? value : kExponentMax);
  return negative ? -cut : cut;
}

// quantitySuffixer.interpret.
std::optional<Suffix> parse_suffix(std::string_view text) {
  if (text.empty()) return kNoSuffix;
  const auto first = static_cast<unsigned char>(text.front());
  if (first >= 128) return std::nullopt;
  if (text.size() == 1) return kDecimalSuffixes[first];
  if (text.size() == 2 && text[1] == 'i') return kBinarySuffixes[first];
  if (first != 'e' && first != 'E') return std::nullopt;
  const std::optional<std::int64_t> exponent = parse_exponent(text.substr(1));
  if (!exponent) return std::nullopt;
  return Suffix{Quantity::Format::kDecimalExponent, kNanosPerUnit, *exponent};
}

struct Parts {
  bool negative = false;
  bool has_digit = false;
  std::string_view whole;     // Digits before the point, leading zeros stripped.
  std::string_view fraction;  // Digits after it.
  Suffix suffix;
};

std::optional<Parts> split(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Parts parts;
  std::size_t pos = 0;
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    pos = 1;
  }
  const std::size_t first = pos;
  while (pos < text.size() && text[pos] == '0') ++pos;
  std::size_t start = pos;
  while (pos < text.size() && is_digit(text[pos])) ++pos;
  parts.whole = text.substr(start, pos - start);
  parts.has_digit = pos > first;
  if (pos < text.size() && text[pos] == '.') {
    start = ++pos;
    while (pos < text.size() && is_digit(text[pos])) ++pos;
    parts.fraction = text.substr(start, pos - start);
    parts.has_digit = parts.has_digit || pos > start;
  }
  const std::optional<Suffix> suffix = parse_suffix(text.substr(pos));
  if (!suffix) return std::nullopt;
  parts.suffix = *suffix;
  // Without a digit Kubernetes reads 0 ("Ti", "."), but where it takes its slow path.
  const bool slow = suffix->format == Quantity::Format::kBinarySI ? suffix->exponent >= 50
                                                                  : suffix->exponent < -9;
  if (!parts.has_digit && slow) return std::nullopt;
  return parts;
}

// Billionths of `whole`.`fraction` times 10^shift times `unit` billionths, rounded up; nullopt
// where that is surely beyond int64 units. Exact for any number of digits: a fraction is folded
// from its last digit with floors, remembering whether any of them dropped something.
std::optional<Int128> magnitude(std::string_view whole, std::string_view fraction,
                                std::int64_t shift, Int128 unit) {
  const auto whole_size = static_cast<std::int64_t>(whole.size());
  const std::int64_t size = whole_size + static_cast<std::int64_t>(fraction.size());
  const std::int64_t point = whole_size + shift;  // Digits before the shifted point.
  const auto digit = [&](std::int64_t i) {
    return static_cast<int>((i < whole_size ? whole[i] : fraction[i - whole_size]) - '0');
  };
  const Int128 whole_max = -kNanosMin / unit + 1;
  Int128 units = 0;
  for (std::int64_t i = 0; i < point; ++i) {
    if (i >= size && units == 0) break;
    units = units * 10 + (i < size ? digit(i) : 0);
    if (units > whole_max) return std::nullopt;
  }
  Int128 part = 0;
  bool dropped = false;
  const auto divide = [&](Int128 sum) {
    part = sum / 10;
    dropped = dropped || sum % 10 != 0;
  };
  const std::int64_t first = point > 0 ? point : 0;
  for (std::int64_t i = size - 1; i >= first; --i) divide(digit(i) * unit + part);
  for (std::int64_t i = point; i < 0 && part != 0; ++i) divide(part);
  return units * unit + part + (dropped ? 1 : 0);
}

// Digits and a suffix of a name, whose value fits: `count` times the suffix. nullptr for others.
const Suffix* parse_common(std::string_view text, std::uint64_t& count) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) {
    count = count * 10 + static_cast<std::uint64_t>(text[digits] - '0');
    ++digits;
  }
  if (digits == 0 || digits > kFastDigitsMax) return nullptr;
  const Suffix* suffix = &kNoSuffix;
  if (digits < text.size()) {
    const auto first = static_cast<unsigned char>(text[digits]);
    const std::size_t letters = text.size() - digits;
    const bool binary = letters == 2 && text[digits + 1] == 'i';
    if (first >= 128 || (letters != 1 && !binary)) return nullptr;
    const std::optional<Suffix>& known = (binary ? kBinarySuffixes : kDecimalSuffixes)[first];
    if (!known) return nullptr;
    suffix = &*known;
  }
  return count <= suffix->count_max ? suffix : nullptr;
}

std::string decimal(Int128 value) {
  const bool negative = value < 0;
  std::string digits;
  do {
    const auto digit = static_cast<int>(value % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (negative ? -digit : digit)));
    value /= 10;
  } while (value != 0);
  return negative ? "-" + digits : digits;
}

Result<std::int64_t> round_away(const Quantity& quantity, std::int64_t nanos_per_unit,
                                const char* what) {
  const Int128 nanos = quantity.nanos();
  Int128 units = nanos / nanos_per_unit;
  const Int128 rest = nanos % nanos_per_unit;
  if (rest != 0) units += nanos < 0 ? -1 : 1;
  if (units > std::numeric_limits<std::int64_t>::max() ||
      units < std::numeric_limits<std::int64_t>::min()) {
    return fail(ErrorCode::kLimitExceeded,
                quantity.canonical() + " does not fit a 64-bit integer in " + what);
  }
  return static_cast<std::int64_t>(units);
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  std::uint64_t count = 0;
  if (const Suffix* suffix = parse_common(text, count)) {
    return from_nanos(static_cast<Int128>(count) * suffix->nanos, suffix->format);
  }
  const std::optional<Parts> parts = split(text);
  if (!parts) return fail(ErrorCode::kInvalid, shortened(text) + " is not a quantity");
  const bool exponent = parts->suffix.format == Format::kDecimalExponent;
  const std::optional<Int128> nanos = magnitude(
      parts->whole, parts->fraction, exponent ? parts->suffix.exponent : 0, parts->suffix.nanos);
  const Int128 signed_nanos = !nanos ? 0 : parts->negative ? -*nanos : *nanos;
  if (!nanos || signed_nanos > kNanosMax || signed_nanos < kNanosMin) {
    return fail(ErrorCode::kLimitExceeded, shortened(text) + " does not fit a 64-bit integer");
  }
  return from_nanos(signed_nanos, parts->suffix.format);
}

Result<std::int64_t> Quantity::value() const {
  return round_away(*this, kNanosPerUnit, "whole units");
}

Result<std::int64_t> Quantity::milli_value() const {
  return round_away(*this, kNanosPerMilli, "thousandths");
}

// CanonicalizeBytes: binary only for whole values of 1024 or more; decimal with the largest
// exponent divisible by 3 that leaves a whole mantissa.
std::string Quantity::canonical() const {
  if (nanos_ == 0) return "0";
  constexpr Int128 kBinaryMin = static_cast<Int128>(1024) * kNanosPerUnit;
  const bool large = nanos_ >= kBinaryMin || nanos_ <= -kBinaryMin;
  if (format_ == Format::kBinarySI && large && nanos_ % kNanosPerUnit == 0) {
    Int128 mantissa = nanos_ / kNanosPerUnit;
    std::size_t thousands = 0;
    while (mantissa % 1024 == 0) {
      mantissa /= 1024;
      ++thousands;
    }
    // A sum may pass Ei, which has no greater suffix.
    constexpr std::array kNames = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    for (; thousands >= kNames.size(); --thousands) mantissa *= 1024;
    return decimal(mantissa) + kNames[thousands];
  }
  Int128 mantissa = nanos_;
  int exponent = -9;
  while (mantissa % 1000 == 0) {
    mantissa /= 1000;
    exponent += 3;
  }
  std::string result = decimal(mantissa);
  if (exponent == 0) return result;
  constexpr std::array kNames = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  const auto name = static_cast<std::size_t>(exponent / 3 + 3);
  if (format_ == Format::kDecimalExponent || name >= kNames.size()) {
    return result + "e" + std::to_string(exponent);
  }
  return result + kNames[name];
}

// The conditions under which ParseQuantity keeps the text that it read.
Result<std::string> Quantity::printed(std::string_view text) {
  const Result<Quantity> quantity = parse(text);
  if (!quantity) return tl::unexpected<Error>(quantity.error());
  const std::optional<Parts> parts = split(text);
  const std::string digits =
      (parts->whole.empty() ? "0" : std::string(parts->whole)) + std::string(parts->fraction);
  const std::string canonical = quantity->canonical();
  if (digits.size() > kFastDigitsMax) return canonical;
  const std::int64_t exponent = parts->suffix.exponent;
  const auto whole_size = static_cast<std::int64_t>(parts->whole.empty() ? 1 : parts->whole.size());
  if (quantity->format_ == Format::kBinarySI) {
    // 15 - digits - exponent * 3 / 10 - 1 digits of precision must be left.
    if (!parts->fraction.empty() || 14 - whole_size - exponent * 3 / 10 < 0) return canonical;
    return std::stoll(digits) % 8 == 0 ? canonical : std::string(text);
  }
  const std::int64_t scale = exponent - static_cast<std::int64_t>(parts->fraction.size());
  const bool kept =
      scale >= -9 && scale % 3 == 0 && digits.front() != '0' && !digits.ends_with("000");
  return kept ? std::string(text) : canonical;
}

std::string amount_in_words(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu") {
    const auto as_unsigned = static_cast<std::uint64_t>(amount);
    const std::uint64_t milli = amount < 0 ? -as_unsigned : as_unsigned;
    std::string text = (amount < 0 ? "-" : "") + std::to_string(milli / 1000);
    if (milli % 1000 == 0) return text;
    text += '.' + std::to_string(1000 + milli % 1000).substr(1);
    return text.substr(0, text.find_last_not_of('0') + 1);
  }
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  const auto format = bytes ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI;
  return bytes ? Quantity::from_nanos(Quantity::from_value(amount).nanos(), format).canonical()
               : std::to_string(amount);
}

Quantity quantity_of(std::string_view resource, std::int64_t amount) {
  return resource == "cpu" ? Quantity::from_milli(amount) : Quantity::from_value(amount);
}

Result<std::int64_t> resource_amount(std::string_view resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

}  // namespace headroom
