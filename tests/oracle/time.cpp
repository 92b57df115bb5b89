// See time.h.
#include "oracle/time.h"

#include <chrono>
#include <cstdio>

#include "oracle/digit.h"

namespace oracle {
namespace {

// ".25" at `at`: as nanoseconds of `unit`; moves `at` behind it.
Int128 read_fraction(const std::string& text, std::size_t& at, Int128 unit, int& digits) {
  Int128 sum = 0;
  Int128 place = unit;
  for (digits = 0; at < text.size() && is_digit(text[at]); ++at, ++digits) {
    place /= 10;
    sum += place * (text[at] - '0');
  }
  return sum;
}

Int128 unit_nanoseconds(const std::string& unit) {
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "\u00b5s" || unit == "\u03bcs") return 1'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return kSecond;
  if (unit == "m") return 60 * kSecond;
  if (unit == "h") return 3600 * kSecond;
  return 0;
}

}  // namespace

std::optional<Int128> parse_time(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, read = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
                  &second, &read) != 6) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const Int128 days = std::chrono::sys_days(date).time_since_epoch().count();
  Int128 result = (days * 86400 + hour * 3600 + minute * 60 + second) * kSecond;
  auto at = static_cast<std::size_t>(read);
  if (at < text.size() && text[at] == '.') {
    ++at;
    int digits = 0;
    result += read_fraction(text, at, kSecond, digits);
    if (digits == 0) return std::nullopt;
  }
  const std::string zone = text.substr(at);
  if (zone == "Z") return result;
  char sign = 0;
  int zone_hour = 0, zone_minute = 0, zone_read = 0;
  if (std::sscanf(zone.c_str(), "%c%2d:%2d%n", &sign, &zone_hour, &zone_minute, &zone_read) != 3 ||
      static_cast<std::size_t>(zone_read) != zone.size() || (sign != '+' && sign != '-')) {
    return std::nullopt;
  }
  const Int128 offset = (zone_hour * 3600 + zone_minute * 60) * kSecond;
  return sign == '+' ? result - offset : result + offset;
}

std::optional<Int128> parse_duration(const std::string& text) {
  std::size_t at = 0;
  bool negative = false;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
  if (text.substr(at) == "0") return 0;
  if (at == text.size()) return std::nullopt;
  Int128 sum = 0;
  while (at < text.size()) {
    Int128 whole = 0;
    int whole_digits = 0, fraction_digits = 0;
    for (; at < text.size() && is_digit(text[at]) && whole_digits < 19; ++at, ++whole_digits) {
      whole = whole * 10 + (text[at] - '0');
    }
    const bool has_point = at < text.size() && text[at] == '.';
    const std::size_t fraction_start = at + (has_point ? 1 : 0);
    std::size_t unit_start = fraction_start;
    if (has_point) read_fraction(text, unit_start, kSecond, fraction_digits);
    if (whole_digits + fraction_digits == 0) return std::nullopt;
    std::size_t unit_end = unit_start;
    while (unit_end < text.size() && text[unit_end] != '.' && !is_digit(text[unit_end])) ++unit_end;
    const Int128 unit = unit_nanoseconds(text.substr(unit_start, unit_end - unit_start));
    if (unit == 0) return std::nullopt;
    sum += whole * unit;
    at = fraction_start;
    if (has_point) sum += read_fraction(text, at, unit, fraction_digits);
    at = unit_end;
  }
  if (sum > INT64_MAX) return std::nullopt;
  return negative ? -sum : sum;
}

}  // namespace oracle
