// RFC 3339 times and Go durations.
#include "objects/text/time_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "objects/int128.h"
#include "objects/text/digit.h"
#include "objects/text/utf8_prefix.h"

namespace headroom {

namespace {

tl::unexpected<Error> bad(std::string_view text, const char* expected) {
  return fail(ErrorCode::kInvalid, shortened(text) + " is not " + expected);
}

// Reads a text from its front; a failed step leaves `ok` false for good.
struct Scanner {
  std::string_view text;
  bool ok = true;

  bool take(char c) {
    if (!ok || text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  }
  void expect(char c) { ok = take(c); }
  // Exactly `digits` digits, at most `max`.
  int number(std::size_t digits, int max) {
    int value = 0;
    ok = ok && text.size() >= digits;
    for (std::size_t i = 0; ok && i < digits; ++i) {
      ok = is_digit(text[i]);
      value = value * 10 + (text[i] - '0');
    }
    ok = ok && value <= max;
    if (ok) text.remove_prefix(digits);
    return ok ? value : 0;
  }
  // Any number of digits as a fraction of 10^`digits`; what is finer is dropped.
  std::int64_t fraction(int digits) {
    std::int64_t value = 0;
    int read = 0;
    while (ok && !text.empty() && is_digit(text.front())) {
      if (read < digits) value = value * 10 + (text.front() - '0');
      ++read;
      text.remove_prefix(1);
    }
    ok = ok && read > 0;
    for (; read < digits; ++read) value *= 10;
    return value;
  }
};

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};

// Longer names first where one begins another.
constexpr std::array kUnits = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"\u00b5s", 1'000},
    Unit{"\u03bcs", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

// What Go lets digits come to: the magnitude of the least int64.
constexpr Int128 kDigitsMax = Int128{1} << 63;

// From the digit that brings `number` beyond kDigitsMax, none counts.
struct Digits {
  std::uint64_t number = 0;
  double scale = 1;  // ten to the power of the digits that count
  bool any = false;
  bool fits = true;
};

Digits take_digits(std::string_view& text) {
  Digits digits;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    const Int128 longer = static_cast<Int128>(digits.number) * 10 + (text.front() - '0');
    digits.any = true;
    digits.fits = digits.fits && longer <= kDigitsMax;
    if (!digits.fits) continue;
    digits.number = static_cast<std::uint64_t>(longer);
    digits.scale *= 10;
  }
  return digits;
}

// At least `width` characters of `value`, a sign among them.
void append_padded(std::string& text, std::int64_t value, std::size_t width) {
  const std::string digits = std::to_string(value < 0 ? -value : value);
  if (value < 0) text += '-';
  const std::size_t written = digits.size() + (value < 0 ? 1 : 0);
  text.append(written < width ? width - written : 0, '0');
  text += digits;
}

}  // namespace

Result<std::int64_t> parse_time_us(std::string_view rfc3339) {
  Scanner scan{rfc3339};
  const int year = scan.number(4, 9999);
  scan.expect('-');
  const int month = scan.number(2, 12);
  scan.expect('-');
  const int day = scan.number(2, 31);
  scan.expect('T');
  const int hour = scan.number(2, 23);
  scan.expect(':');
  const int minute = scan.number(2, 59);
  scan.expect(':');
  const int second = scan.number(2, 59);
  std::int64_t micros = 0;
  if (scan.take('.') || scan.take(',')) micros = scan.fraction(6);
  std::int64_t offset_seconds = 0;
  if (!scan.take('Z')) {
    const bool west = scan.take('-');
    if (!west) scan.expect('+');
    const int hours = scan.number(2, 23);
    scan.expect(':');
    const int minutes = scan.number(2, 59);
    offset_seconds = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!scan.ok || !scan.text.empty() || !date.ok()) {
    return bad(rfc3339, "a time like 2026-01-01T00:00:00Z");
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = days * 86'400 + hour * 3600 + minute * 60 + second - offset_seconds;
  return seconds * kMicrosPerSecond + micros;
}

void append_time(std::string& text, std::int64_t time_us) {
  using std::chrono::days;
  const std::int64_t micros = (time_us % kMicrosPerSecond + kMicrosPerSecond) % kMicrosPerSecond;
  const std::chrono::sys_seconds time{std::chrono::seconds((time_us - micros) / kMicrosPerSecond)};
  const std::chrono::sys_days day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::int64_t second = (time - day).count();
  append_padded(text, static_cast<int>(date.year()), 4);
  for (const auto& [before, value] :
       {std::pair<char, std::int64_t>('-', static_cast<unsigned>(date.month())),
        {'-', static_cast<unsigned>(date.day())},
        {'T', second / 3600},
        {':', second / 60 % 60},
        {':', second % 60}}) {
    text += before;
    append_padded(text, value, 2);
  }
  if (micros != 0) {
    text += '.';
    append_padded(text, micros, 6);
  }
  text += 'Z';
}

std::string time_text(std::int64_t time_us) {
  std::string text;
  append_time(text, time_us);
  return text;
}

std::string time_text(const std::optional<std::int64_t>& time_us) {
  return time_us ? time_text(*time_us) : std::string();
}

std::string second_text(std::int64_t time_us) {
  return time_text(time_us - time_us % kMicrosPerSecond);
}

std::optional<std::int64_t> parse_go_duration_ns(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  Int128 nanos = 0;
  do {
    const Digits whole = take_digits(text);
    Digits fraction;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      fraction = take_digits(text);
    }
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& candidate) {
      return text.starts_with(candidate.name);
    });
    const bool any = whole.any || fraction.any;  // "1." and ".5" are numbers, "." is not
    if (!any || !whole.fits || unit == kUnits.end()) return std::nullopt;
    text.remove_prefix(unit->name.size());
    // Go's own floating point: it rounds as Go rounds.
    const double of_fraction =
        static_cast<double>(fraction.number) * (static_cast<double>(unit->nanos) / fraction.scale);
    nanos +=
        static_cast<Int128>(whole.number) * unit->nanos + static_cast<std::int64_t>(of_fraction);
    if (nanos > kDigitsMax) return std::nullopt;
  } while (!text.empty());
  if (!negative && nanos == kDigitsMax) return std::nullopt;
  return static_cast<std::int64_t>(negative ? -nanos : nanos);
}

Result<std::int64_t> parse_duration_us(std::string_view text) {
  const std::optional<std::int64_t> nanos = parse_go_duration_ns(text);
  if (!nanos) return bad(text, "a duration like 5m0s");
  return *nanos / 1'000;
}

}  // namespace headroom
