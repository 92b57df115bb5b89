// Quantities: every recorded case, limits, and properties over random texts against an independent
// reading of the same text in decimal digits.
#include "objects/quantity.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace headroom::quantity_test {
namespace {

TEST(Quantity, RecordedCases) {
  const std::filesystem::path path =
      std::filesystem::path(HEADROOM_SHARED_DIR) / "conformance/quantities.jsonl";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is absent";
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    const auto test = nlohmann::json::parse(line);
    for (const auto& step : test["steps"]) {
      const auto input = step["input"].get<std::string>();
      const auto& expect = step["expect"];
      SCOPED_TRACE(test["name"].get<std::string>() + ": \"" + input + "\"");
      ++cases;
      const Result<Quantity> quantity = Quantity::parse(input);
      ASSERT_EQ(quantity.has_value(), expect["valid"].get<bool>());
      if (!quantity) {
        EXPECT_EQ(quantity.error().code, ErrorCode::kInvalid);
        EXPECT_NE(quantity.error().message.find(input), std::string::npos);
        continue;
      }
      EXPECT_EQ(quantity->value(), expect["value"].get<std::int64_t>());
      EXPECT_EQ(quantity->milli_value(), expect["milliValue"].get<std::int64_t>());
      EXPECT_EQ(quantity->canonical(), expect["canonical"].get<std::string>());
      EXPECT_EQ(Quantity::printed(input), expect.value("string", expect["canonical"]));
    }
  }
  EXPECT_EQ(cases, 362);
}

TEST(Quantity, BeyondInt64) {
  // The last two of each group fit.
  const struct {
    const char* text;
    bool fits;
  } kCases[] = {
      {"9223372036854775808", false},
      {"9223372036854775807.000000001", false},
      {"-9223372036854775808.1", false},
      {"9223372036854775807", true},
      {"-9223372036854775808", true},
      {"8Ei", false},
      {"7.99999999999999999999999Ei", false},
      {"7Ei", true},
      {"9.2E", true},
      {"10E", false},
      {"9007199254740992Ki", false},
      {"9007199254740991Ki", true},
      {"1e19", false},
      {"1e2147483648", false},
      {"1e9223372036854775807", false},
      {"-1e99999", false},
      {"9e18", true},
      {"0e9223372036854775807", true},
      {"1e-9223372036854775808", true},
      {"0.0000000000000000000000001e40", true},
  };
  for (const auto& test : kCases) {
    const Result<Quantity> quantity = Quantity::parse(test.text);
    EXPECT_EQ(quantity.has_value(), test.fits) << test.text;
    if (quantity) continue;
    EXPECT_EQ(quantity.error().code, ErrorCode::kLimitExceeded) << test.text;
    EXPECT_EQ(quantity.error().message,
              "\"" + std::string(test.text) + "\" does not fit a 64-bit integer");
  }
  // An exponent that strconv.ParseInt refuses is no quantity at all.
  EXPECT_EQ(Quantity::parse("1e9223372036854775808").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Quantity::parse("1e-9223372036854775808").value().canonical(), "1e-9");
  const Result<std::int64_t> milli = Quantity::parse("9223372036854776").value().milli_value();
  ASSERT_FALSE(milli);
  EXPECT_EQ(milli.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(milli.error().message, "9223372036854776 does not fit a 64-bit integer in thousandths");
}

TEST(Quantity, LongTextsAreExact) {
  const std::string nines(5000, '9');
  EXPECT_EQ(Quantity::parse("0." + nines).value().nanos(), 1'000'000'000);
  EXPECT_EQ(Quantity::parse("0." + nines + "Ki").value().nanos(), Int128{1'024'000'000'000});
  EXPECT_EQ(Quantity::parse(std::string(5000, '0') + "7").value().canonical(), "7");
  EXPECT_EQ(Quantity::parse("1" + std::string(5000, '0') + "e-5000").value().canonical(), "1");
  EXPECT_EQ(Quantity::parse("." + std::string(4999, '0') + "1e5000").value().canonical(), "1");
  EXPECT_FALSE(Quantity::parse(nines));
}

TEST(Quantity, SumsTakeTheFirstFormat) {
  Quantity sum;
  sum += Quantity::parse("1Gi").value();
  sum += Quantity::parse("1G").value();
  EXPECT_EQ(sum.canonical(), "2073741824");
  sum += Quantity::parse("73741824").value();
  EXPECT_EQ(sum.format(), Quantity::Format::kBinarySI);
  sum = Quantity::parse("512Mi").value();
  sum += sum;
  EXPECT_EQ(sum.canonical(), "1Gi");
  // Rounded once: 100.5m + 100.5m is 201m.
  Quantity cpu = Quantity::parse("100.5m").value();
  cpu += cpu;
  EXPECT_EQ(cpu.milli_value(), 201);
}

// Random texts of the grammar. The oracle works on decimal digit strings: it has no integer type
// to overflow and shares nothing with the implementation but the suffix names.
std::string times(const std::string& digits, unsigned factor) {
  std::string result;
  unsigned carry = 0;
  for (auto it = digits.rbegin(); it != digits.rend(); ++it) {
    carry += static_cast<unsigned>(*it - '0') * factor;
    result.insert(result.begin(), static_cast<char>('0' + carry % 10));
    carry /= 10;
  }
  for (; carry > 0; carry /= 10) {
    result.insert(result.begin(), static_cast<char>('0' + carry % 10));
  }
  return result;
}

// Nanos of whole.fraction, scaled, as digits rounded up.
std::string nanos_of(const std::string& whole, const std::string& fraction, int binary_power,
                     int decimal_power) {
  std::string digits = "0" + whole + fraction;
  for (int i = 0; i < binary_power; ++i) digits = times(digits, 2);
  int zeros = 9 + decimal_power - static_cast<int>(fraction.size());
  if (zeros > 0) digits += std::string(static_cast<std::size_t>(zeros), '0');
  bool up = false;
  for (; zeros < 0; ++zeros) {
    up = up || digits.back() != '0';
    digits.pop_back();
    if (digits.empty()) digits = "0";
  }
  for (std::size_t i = digits.size(); up && i-- > 0;) {
    up = digits[i] == '9';
    digits[i] = up ? '0' : static_cast<char>(digits[i] + 1);
  }
  if (up) digits.insert(digits.begin(), '1');
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? "0" : digits.substr(first);
}

std::string to_digits(Int128 value) {
  std::string digits;
  for (; value != 0; value /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  }
  return digits.empty() ? "0" : digits;
}

TEST(Quantity, RandomTextsMatchDigitArithmetic) {
  std::mt19937_64 random(test_seed());
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  const auto digits = [&](int count) {
    std::string text;
    // Runs of one digit make carries and exact multiples likely.
    const bool run = below(4) == 0;
    const char same = "0159"[below(4)];
    for (int i = 0; i < count; ++i) text += run ? same : static_cast<char>('0' + below(10));
    return text;
  };
  const struct {
    const char* name;
    int binary, decimal;
  } kSuffixes[] = {{"", 0, 0},    {"n", 0, -9},   {"u", 0, -6},  {"m", 0, -3},  {"k", 0, 3},
                   {"M", 0, 6},   {"G", 0, 9},    {"T", 0, 12},  {"P", 0, 15},  {"E", 0, 18},
                   {"Ki", 10, 0}, {"Mi", 20, 0},  {"Gi", 30, 0}, {"Ti", 40, 0}, {"Pi", 50, 0},
                   {"Ei", 60, 0}, {"e", 0, 1000}, {"E", 0, 1000}};
  int fitting = 0;
  for (int round = 0; round < 200'000; ++round) {
    const std::string whole = digits(below(22));
    const bool point = below(2) == 0;
    const std::string fraction = point ? digits(below(25)) : "";
    auto suffix = kSuffixes[below(std::size(kSuffixes))];
    std::string name = suffix.name;
    if (suffix.decimal == 1000) {
      suffix.decimal = below(60) - 30;
      name += std::to_string(suffix.decimal);
    }
    const bool negative = below(3) == 0;
    const std::string text = (negative ? "-" : "") + whole + (point ? "." : "") + fraction + name;
    if (text.empty()) continue;
    const Result<Quantity> quantity = Quantity::parse(text);
    if (whole.empty() && fraction.empty() && (suffix.binary >= 50 || suffix.decimal < -9)) {
      ASSERT_FALSE(quantity) << text;
      continue;
    }
    const std::string expected = nanos_of(whole, fraction, suffix.binary, suffix.decimal);
    const std::string max =
        to_digits(Int128{std::numeric_limits<std::int64_t>::max()} * 1'000'000'000);
    const bool fits =
        expected.size() < max.size() || (expected.size() == max.size() && expected <= max);
    if (!quantity) {
      ASSERT_FALSE(fits) << text;
      ASSERT_EQ(quantity.error().code, ErrorCode::kLimitExceeded) << text;
      continue;
    }
    ++fitting;
    ASSERT_EQ(to_digits(negative ? -quantity->nanos() : quantity->nanos()), expected) << text;
    // The canonical text is the same value.
    const Result<Quantity> again = Quantity::parse(quantity->canonical());
    ASSERT_TRUE(again) << text << " as " << quantity->canonical();
    ASSERT_EQ(again->nanos(), quantity->nanos()) << text;
    // "7.8125Ki" is "8000", which as a decimal is "8k": canonical only within one format.
    if (again->format() == quantity->format()) {
      ASSERT_EQ(again->canonical(), quantity->canonical()) << text;
    }
    const Result<std::string> printed = Quantity::printed(text);
    ASSERT_TRUE(printed);
    ASSERT_TRUE(*printed == text || *printed == quantity->canonical()) << text;
  }
  EXPECT_GT(fitting, 100'000);
}

TEST(Quantity, AmountsInWords) {
  EXPECT_EQ(amount_in_words("cpu", 3000), "3");
  EXPECT_EQ(amount_in_words("cpu", 3500), "3.5");
  EXPECT_EQ(amount_in_words("cpu", 12'050), "12.05");
  EXPECT_EQ(amount_in_words("cpu", 1), "0.001");
  EXPECT_EQ(amount_in_words("cpu", 20'000'000), "20000");
  EXPECT_EQ(amount_in_words("cpu", -1500), "-1.5");
  EXPECT_EQ(amount_in_words("cpu", INT64_MIN), "-9223372036854775.808");
  EXPECT_EQ(amount_in_words("memory", std::int64_t{2} << 30), "2Gi");
  EXPECT_EQ(amount_in_words("memory", 1000), "1k");
  EXPECT_EQ(amount_in_words("hugepages-2Mi", 4 << 20), "4Mi");
  EXPECT_EQ(amount_in_words("nvidia.com/gpu", 4000), "4000");
  EXPECT_EQ(amount_in_words("cpu", 0), "0");
}

}  // namespace
}  // namespace headroom::quantity_test
