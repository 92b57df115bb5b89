// Columns of amounts by resource, and the checks that columns of pods and of nodes share.
//
// Raises InvalidError naming column and row. Needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "objects/error.h"

namespace headroom::python {

using AmountColumns = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

// From a dict by resource, or None; sorted by resource, none negative. cpu in milli, all else in
// whole units. Every column has `size` rows; the first says how many, where it is not known.
AmountColumns amount_columns(nanobind::handle columns, const std::string& name,
                             std::optional<std::size_t>& size);
void check_size(std::optional<std::size_t>& size, std::size_t rows, const std::string& name);
// Of objects: not too long, and not empty.
void check_names(const std::vector<std::string>& names, const std::string& what,
                 bool may_be_empty = false);

}  // namespace headroom::python
