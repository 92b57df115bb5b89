#include "python/src/errors.h"

#include <nanobind/stl/string.h>

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

}  // namespace headroom::python
