// Times and Go durations: what is read, to which number, and what is none.
#include "objects/text/time_text.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <utility>

namespace headroom::time_text_test {
namespace {

TEST(TimeText, Times) {
  const std::pair<const char*, std::int64_t> kGood[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"1970-01-01T01:00:00.000001+01:00", 1},
      {"1969-12-31T23:59:59.9999999Z", -1},
      {"2024-02-29T12:00:00-00:30", 1'709'209'800'000'000},
      {"0001-01-01T00:00:00Z", -62'135'596'800'000'000},
  };
  for (const auto& [text, us] : kGood) EXPECT_EQ(parse_time_us(text), us) << text;
  for (const char* text :
       {"", "2026-01-01", "2026-01-01 00:00:00Z", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Z ",
        "2026-01-01T00:00:00+0100", "26-01-01T00:00:00Z", "2026-00-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_time_us(text)) << text;
  }
}

TEST(GoDuration, WhatGoReads) {
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {"0", 0},
      {"0s", 0},
      {"-0", 0},
      {"+5m", 300'000'000'000},
      {"-1.5s", -1'500'000'000},
      {"300s", 300'000'000'000},
      {"1h15m30.5s", 4'530'500'000'000},
      {"0.25h", 900'000'000'000},
      {".5s", 500'000'000},
      {"5.s", 5'000'000'000},
      {"1m1m", 120'000'000'000},
      {"7ns", 7},
      {"1us", 1'000},
      {"1\u00b5s", 1'000},
      {"1\u03bcs", 1'000},
      {"2ms", 2'000'000},
      {"0.9ns", 0},
      {"1.0000000019s", 1'000'000'001},
      {"0.00000000000000000000000000000000000000000000001h", 0},
      {"9223372036854775807ns", INT64_MAX},
      {"2562047h47m16.854775807s", INT64_MAX},
      {"-9223372036854775808ns", INT64_MIN},
      {"0.0002777777777778h", 1'000'000'000},
      {"0.99999999999999999999s", 1'000'000'000},  // Go's floating point
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(parse_go_duration_ns(text), expected) << text;
  }
}

TEST(GoDuration, WhatIsNone) {
  for (const std::string_view text : {"",
                                      "1",
                                      "s",
                                      ".",
                                      ".s",
                                      "1d",
                                      "1S",
                                      "1h ",
                                      " 1h",
                                      "1h 1m",
                                      "1h1",
                                      "-",
                                      "+",
                                      "+-1s",
                                      "1..5s",
                                      "1e3s",
                                      "9223372036854775808ns",
                                      "-9223372036854775809ns",
                                      "2562047h47m16.854775808s",
                                      "99999999999999999999h",
                                      "99999999999999999999999999999999999999999999999999s"}) {
    EXPECT_EQ(parse_go_duration_ns(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace headroom::time_text_test
