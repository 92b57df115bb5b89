#include "python/src/columns/amount_columns.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "objects/limits.h"
#include "python/src/columns/columns.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace headroom::python {
void check_size(std::optional<std::size_t>& size, std::size_t rows, const std::string& name) {
  if (!size) size = rows;
  if (*size != rows) {
    invalid(name + ": " + std::to_string(rows) + " rows, " + std::to_string(*size) + " expected");
  }
}

AmountColumns amount_columns(nb::handle columns, const std::string& name,
                             std::optional<std::size_t>& size) {
  AmountColumns amounts;
  if (columns.is_none()) return amounts;
  if (!nb::isinstance<nb::dict>(columns)) {
    throw nb::type_error((name + ": give a dict of columns by resource").c_str());
  }
  for (const auto& [key, column] : nb::borrow<nb::dict>(columns)) {
    std::string resource;
    if (!nb::try_cast(key, resource) || resource.empty() || resource.size() > kKeyBytesMax) {
      invalid(name + ": a resource is a name of 1 to " + std::to_string(kKeyBytesMax) + " bytes");
    }
    const std::string full = name + "[" + resource + "]";
    std::vector<std::int64_t> values = numbers_of(column, full);
    check_size(size, values.size(), full);
    const auto negative = std::find_if(values.begin(), values.end(), [](auto v) { return v < 0; });
    if (negative != values.end()) {
      invalid(full + "[" + std::to_string(negative - values.begin()) +
              "]: " + std::to_string(*negative) + " is negative");
    }
    amounts.emplace_back(std::move(resource), std::move(values));
  }
  if (amounts.size() > kResourceListNamesMax) {
    raise({ErrorCode::kLimitExceeded, name + ": " + std::to_string(amounts.size()) +
                                          " resources, kResourceListNamesMax is " +
                                          std::to_string(kResourceListNamesMax)});
  }
  std::sort(amounts.begin(), amounts.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return amounts;
}

void check_names(const std::vector<std::string>& names, const std::string& what,
                 bool may_be_empty) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() > kNameBytesMax || (names[i].empty() && !may_be_empty)) {
      invalid(what + "[" + std::to_string(i) + "]: a name has 1 to " +
              std::to_string(kNameBytesMax) + " bytes");
    }
  }
}

}  // namespace headroom::python
