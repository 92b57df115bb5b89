// Tables and numbers as a person reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// "1,234,567".
std::string grouped(std::int64_t number);

// Lines of at most kTextColumns, broken between words.
inline constexpr std::size_t kTextColumns = 100;
std::string wrapped(std::string_view text);

// Columns of equal width, the first aligned to the left and the others to the right; rows of fewer
// cells end early. Every line is indented by two spaces.
class Table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace headroom
