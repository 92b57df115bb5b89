// One value of a column of numbers as int64, or an error that names column and row.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>

#include "python/src/errors.h"

namespace headroom::python {

template <typename T>
std::int64_t whole_number(T value, const std::string& name, std::size_t row) {
  if constexpr (std::floating_point<T>) {
    // 2^63 itself does not fit.
    constexpr double kBeyond = 9223372036854775808.0;
    const auto wide = static_cast<double>(value);
    if (!(wide >= -kBeyond && wide < kBeyond) || std::trunc(wide) != wide) {
      raise({ErrorCode::kInvalid, name + "[" + std::to_string(row) + "]: " + std::to_string(wide) +
                                      " is no whole number that fits 64 bits"});
    }
    return static_cast<std::int64_t>(wide);
  } else {
    if (!std::in_range<std::int64_t>(value)) {
      raise({ErrorCode::kInvalid, name + "[" + std::to_string(row) + "]: " + std::to_string(value) +
                                      " does not fit 64 bits"});
    }
    return static_cast<std::int64_t>(value);
  }
}

}  // namespace headroom::python
