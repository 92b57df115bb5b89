// Errors of the engine as Python exceptions (headroom/_errors.py), with the same text.
//
// Everything here needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "objects/error.h"

namespace headroom::python {

// Throws the exception that stands for the error's code.
[[noreturn]] void raise(const Error& error);
[[noreturn]] void invalid(const std::string& message);

template <typename T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace headroom::python
