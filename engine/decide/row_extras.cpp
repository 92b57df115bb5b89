#include "engine/decide/row_extras.h"

#include <algorithm>

namespace headroom {

RowExtras::ByRow::const_iterator RowExtras::place_of(std::uint32_t row) const {
  return std::lower_bound(by_row.begin(), by_row.end(), row,
                          [](const auto& its, std::uint32_t r) { return its.first < r; });
}

RowExtras::ByRow::const_iterator RowExtras::find(std::uint32_t row) const {
  const auto found = place_of(row);
  return found != by_row.end() && found->first == row ? found : by_row.end();
}

std::int32_t RowExtras::of(std::uint32_t row) const {
  const auto found = find(row);
  const std::int32_t extra =
      found != by_row.end() ? by_entry[found->second] : by_class[classes[row]];
  return extra >= 0 && more != nullptr ? extra + more(row) : extra;
}

}  // namespace headroom
