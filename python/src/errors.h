// Errors of the engine as Python exceptions (headroom/_errors.py), with the same text.
//
// Everything here needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <utility>

#include "objects/error.h"

namespace headroom::python {

// Throws the exception that stands for the error's code.
[[noreturn]] void raise(const Error& error);
[[noreturn]] void invalid(const std::string& message);

// In [least, most]; InvalidError names the argument and the value. Binding a narrower type would
// have Python told of signatures instead.
std::int64_t in_range(std::int64_t value, const char* name, std::int64_t least, std::int64_t most);
// Of an order that is drawn.
std::uint64_t seed_of(std::int64_t seed);
std::uint32_t top_k_of(std::int64_t top_k);

template <typename T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace headroom::python
