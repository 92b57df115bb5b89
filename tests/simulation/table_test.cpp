// Tables as a person reads them: every column on its side, and lines that no column holds.
#include "simulation/text/table.h"

#include <gtest/gtest.h>

namespace headroom::table_test {
namespace {

TEST(Table, TheFirstColumnIsToTheLeftAndTheOthersToTheRight) {
  Table table;
  table.row({"nodes", "1", "12"});
  table.row({"pods", "1,000"});
  EXPECT_EQ(table.text(),
            "  nodes      1  12\n"
            "  pods   1,000\n");
}

TEST(Table, LettersSaySides) {
  Table table("lrl");
  table.row({"what", "how many", "why"});
  table.rule();
  table.row({"a", "7", ""});
  table.note("a note is as long as it likes, and no column grows by it");
  EXPECT_EQ(table.text(""),
            "what  how many  why\n"
            "----  --------  ---\n"
            "a            7\n"
            "a note is as long as it likes, and no column grows by it\n");
}

}  // namespace
}  // namespace headroom::table_test
