#include "engine/decide/row_extras.h"

#include <algorithm>

namespace headroom {

std::vector<std::pair<std::uint32_t, std::uint32_t>>::const_iterator RowExtras::find(
    std::uint32_t row) const {
  const auto found =
      std::lower_bound(by_row.begin(), by_row.end(), row,
                       [](const auto& its, std::uint32_t r) { return its.first < r; });
  return found != by_row.end() && found->first == row ? found : by_row.end();
}

std::int32_t RowExtras::of(std::uint32_t row) const {
  const auto found = find(row);
  const std::int32_t extra =
      found != by_row.end() ? by_entry[found->second] : by_class[classes[row]];
  return extra >= 0 && more != nullptr ? extra + more(row) : extra;
}

}  // namespace headroom
