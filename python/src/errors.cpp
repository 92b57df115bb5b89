#include "python/src/errors.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace headroom::python {

void raise(const Error& error) {
  const nb::object exceptions = nb::module_::import_("headroom._errors").attr("BY_CODE");
  const nb::object type = exceptions[to_string(error.code)];
  PyErr_SetObject(type.ptr(), type(error.message).ptr());
  throw nb::python_error();
}

void invalid(const std::string& message) { raise({ErrorCode::kInvalid, message}); }

}  // namespace headroom::python
