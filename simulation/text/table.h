// Tables and numbers as a person reads them.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

// A number's digits in threes: "1,234,567".
std::string grouped_digits(std::string digits);
std::string grouped(std::integral auto number) { return grouped_digits(std::to_string(number)); }

// Lines of at most kTextColumns, broken between words.
inline constexpr std::size_t kTextColumns = 100;
std::string wrapped(std::string_view text);

// Columns of equal width, two spaces between them; rows of fewer cells end early.
class Table {
 public:
  // A letter for each column says where it is aligned: l to the left, r to the right. Without
  // letters, or beyond them, the first column is aligned to the left and the others to the right.
  explicit Table(std::string_view sides = {}) : sides_(sides) {}

  void row(std::vector<std::string> cells) { lines_.push_back({Kind::kRow, std::move(cells)}); }
  // Dashes in all columns.
  void rule() { lines_.push_back({Kind::kRule, {}}); }
  // A line that no column holds.
  void note(std::string text) { lines_.push_back({Kind::kNote, {std::move(text)}}); }
  bool empty() const { return lines_.empty(); }
  // Every line begins with the indent.
  std::string text(std::string_view indent = "  ") const;

 private:
  enum class Kind { kRow, kRule, kNote };
  struct Line {
    Kind kind;
    std::vector<std::string> cells;
  };

  bool is_left(std::size_t column) const;

  std::string sides_;
  std::vector<Line> lines_;
};

}  // namespace headroom
