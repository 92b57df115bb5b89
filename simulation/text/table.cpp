// Lays tables out.
#include "simulation/text/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

std::string grouped_digits(std::string digits) {
  const std::size_t begin = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > begin + 3;) digits.insert(at -= 3, ",");
  return digits;
}

bool Table::is_left(std::size_t column) const {
  return column < sides_.size() ? sides_[column] == 'l' : column == 0;
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const Line& line : lines_) {
    if (line.kind == Kind::kNote) continue;
    if (line.cells.size() > widths.size()) widths.resize(line.cells.size(), 0);
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      widths[i] = std::max(widths[i], line.cells[i].size());
    }
  }
  std::string text;
  for (const Line& line : lines_) {
    std::string laid_out(indent);
    if (line.kind == Kind::kNote) {
      laid_out += line.cells.front();
    } else {
      const std::size_t count = line.kind == Kind::kRule ? widths.size() : line.cells.size();
      for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) laid_out += "  ";
        if (line.kind == Kind::kRule) {
          laid_out.append(widths[i], '-');
        } else if (is_left(i)) {
          laid_out += fmt::format("{:<{}}", line.cells[i], widths[i]);
        } else {
          laid_out += fmt::format("{:>{}}", line.cells[i], widths[i]);
        }
      }
    }
    laid_out.erase(laid_out.find_last_not_of(' ') + 1);
    text += laid_out + '\n';
  }
  return text;
}

std::string wrapped(std::string_view text) {
  std::string lines;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > 0 && column + 1 + end > kTextColumns) {
      lines += '\n';
      column = 0;
    } else if (column > 0) {
      lines += ' ';
      ++column;
    }
    lines += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines + '\n';
}

}  // namespace headroom
