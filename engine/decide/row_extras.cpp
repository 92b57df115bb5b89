#include "engine/decide/row_extras.h"

#include <algorithm>

namespace headroom {

std::uint32_t RowExtras::entry(std::uint32_t row) const {
  if (!entries.empty()) {
    return entries[row];
  }
  if (apart != nullptr) {
    return apart->entry_of(row);
  }
  const auto found =
      std::lower_bound(by_row.begin(), by_row.end(), row,
                       [](const auto& its, std::uint32_t r) { return its.first < r; });
  return found != by_row.end() && found->first == row ? found->second : kNoEntry;
}

std::int32_t RowExtras::of(std::uint32_t row) const {
  const std::uint32_t its = entry(row);
  const std::int32_t extra = its == kNoEntry ? by_class[classes[row]] : by_entry[its];
  return extra >= 0 && more != nullptr ? extra + more(row) : extra;
}

}  // namespace headroom
