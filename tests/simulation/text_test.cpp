// What reports say of resources, and of names that there are not.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/text/resource_text.h"
#include "simulation/text/suggestions.h"

namespace headroom::text_test {
namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;

TEST(ResourceText, ShowsCoresAndGib) {
  EXPECT_EQ(resource_label("cpu"), "cpu (cores)");
  EXPECT_EQ(resource_label("ephemeral-storage"), "ephemeral-storage (GiB)");
  EXPECT_EQ(resource_label("nvidia.com/gpu"), "nvidia.com/gpu");
  EXPECT_EQ(rounded_text("cpu", 1'499), "1");
  EXPECT_EQ(rounded_text("cpu", 1'500), "2");
  EXPECT_EQ(rounded_text("memory", 1'234 * kGib + kGib / 2), "1,235");
  EXPECT_EQ(rounded_text("pods", 1'234), "1,234");
  EXPECT_EQ(rounded_text("memory", INT64_MAX), "8,589,934,592");
  EXPECT_EQ(tenths_text("cpu", 2'000), "2");
  EXPECT_EQ(tenths_text("cpu", 1'960), "2.0") << "not whole";
  EXPECT_EQ(tenths_text("memory", 3 * kGib / 2), "1.5");
  EXPECT_STREQ(unit_of("cpu"), "milli");
  EXPECT_STREQ(unit_of("memory"), "1");
}

TEST(ResourceText, AShareOfNothingIsNone) {
  EXPECT_EQ(share_text(1, 8), "12.5 %");
  EXPECT_EQ(share_text(3, 0), "-");
}

TEST(Suggestions, AreThoseAlikeElseSome) {
  const std::vector<std::string> names = {"team/web-1", "team/web-2", "team/db", "a", "b", "c"};
  EXPECT_EQ(suggestions(names, "other/web", "pod"), "; did you mean team/web-1, team/web-2");
  EXPECT_EQ(suggestions(names, "zzz", "pod"),
            "; there is team/web-1, team/web-2, team/db, a, b, ...");
  EXPECT_EQ(suggestions(names, "team/", "pod"),
            "; there is team/web-1, team/web-2, team/db, a, b, ...");
  EXPECT_EQ(suggestions({}, "web", "pod"), "; there is no pod");
}

}  // namespace
}  // namespace headroom::text_test
