// Arrow arrays by the Arrow C data interface, without pyarrow.
//
// Source of the layouts: arrow.apache.org/docs/format/CDataInterface.html and Columnar.html.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom::python {

// nullopt: the object is no Arrow array. Nulls and other types are refused, naming `name`.
std::optional<std::vector<std::int64_t>> arrow_numbers(nanobind::handle column,
                                                       const std::string& name);
std::optional<std::vector<std::string>> arrow_texts(nanobind::handle column,
                                                    const std::string& name);

}  // namespace headroom::python
