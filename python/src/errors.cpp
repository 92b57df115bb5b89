#include "python/src/errors.h"

#include <nanobind/stl/string.h>

#include "engine/limits.h"

namespace nb = nanobind;

namespace headroom::python {

void raise(const Error& error) {
  const nb::object exceptions = nb::module_::import_("headroom._errors").attr("BY_CODE");
  const nb::object type = exceptions[to_string(error.code)];
  // Whatever bytes the message quotes.
  const nb::object message = nb::steal(PyUnicode_DecodeUTF8(
      error.message.data(), static_cast<Py_ssize_t>(error.message.size()), "replace"));
  PyErr_SetObject(type.ptr(), type(message).ptr());
  throw nb::python_error();
}

void invalid(const std::string& message) { raise({ErrorCode::kInvalid, message}); }

std::int64_t in_range(std::int64_t value, const char* name, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) {
    invalid(std::string(name) + ": " + std::to_string(value) + " is not in [" +
            std::to_string(least) + ", " + std::to_string(most) + "]");
  }
  return value;
}

std::uint64_t seed_of(std::int64_t seed) {
  return static_cast<std::uint64_t>(in_range(seed, "seed", 0, INT64_MAX));
}

std::uint32_t top_k_of(std::int64_t top_k) {
  return static_cast<std::uint32_t>(in_range(top_k, "top_k", 1, kTopKMax));
}

}  // namespace headroom::python
