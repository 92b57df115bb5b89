#include "python/src/columns/columns.h"

#include <nanobind/ndarray.h>

#include "python/src/columns/arrow.h"
#include "python/src/columns/whole_number.h"

namespace nb = nanobind;

namespace headroom::python {
namespace {

using Buffer = nb::ndarray<nb::ro, nb::device::cpu>;

// A sequence of its characters, which nobody means.
bool is_text(nb::handle value) {
  return PyUnicode_Check(value.ptr()) != 0 || PyBytes_Check(value.ptr()) != 0;
}

template <typename T>
void take(const Buffer& buffer, const std::string& name, std::vector<std::int64_t>& out) {
  const T* values = static_cast<const T*>(buffer.data());
  const std::int64_t stride = buffer.stride(0);
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    out.push_back(whole_number(values[static_cast<std::int64_t>(i) * stride], name, i));
  }
}

std::vector<std::int64_t> buffer_numbers(const Buffer& buffer, const std::string& name) {
  if (buffer.ndim() != 1) {
    throw nb::type_error(
        (name + ": an array of " + std::to_string(buffer.ndim()) + " dimensions: give one")
            .c_str());
  }
  std::vector<std::int64_t> numbers;
  numbers.reserve(buffer.size());
  const nb::dlpack::dtype type = buffer.dtype();
  if (type == nb::dtype<std::int64_t>())
    take<std::int64_t>(buffer, name, numbers);
  else if (type == nb::dtype<std::uint64_t>())
    take<std::uint64_t>(buffer, name, numbers);
  else if (type == nb::dtype<std::int32_t>())
    take<std::int32_t>(buffer, name, numbers);
  else if (type == nb::dtype<std::uint32_t>())
    take<std::uint32_t>(buffer, name, numbers);
  else if (type == nb::dtype<std::int16_t>())
    take<std::int16_t>(buffer, name, numbers);
  else if (type == nb::dtype<std::uint16_t>())
    take<std::uint16_t>(buffer, name, numbers);
  else if (type == nb::dtype<std::int8_t>())
    take<std::int8_t>(buffer, name, numbers);
  else if (type == nb::dtype<std::uint8_t>())
    take<std::uint8_t>(buffer, name, numbers);
  else if (type == nb::dtype<double>())
    take<double>(buffer, name, numbers);
  else if (type == nb::dtype<float>())
    take<float>(buffer, name, numbers);
  else
    throw nb::type_error((name + ": an array of another type: give whole numbers").c_str());
  return numbers;
}

// Of what has the buffer protocol alone its memoryview, which says how far its values are apart;
// ctypes leaves that out, and the array's reader takes it for granted.
nb::object readable(nb::handle column) {
  if (PyObject_CheckBuffer(column.ptr()) == 0 || nb::hasattr(column, "__dlpack__")) {
    return nb::borrow(column);
  }
  nb::object view = nb::steal(PyMemoryView_FromObject(column.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  return view;
}

// A list, tuple or other sequence of Python's own values, each made by `read`.
template <typename T, typename Read>
std::vector<T> sequence(nb::handle column, const std::string& name, const char* expected,
                        Read read) {
  std::vector<T> values;
  if (is_text(column) || PySequence_Check(column.ptr()) == 0) {
    throw nb::type_error((name + ": give " + expected).c_str());
  }
  for (const nb::handle value : nb::iter(column)) values.push_back(read(value, values.size()));
  return values;
}

}  // namespace

std::vector<std::int64_t> numbers_of(nb::handle column, const std::string& name) {
  // numpy.ma: its buffer has what the mask hides.
  if (nb::hasattr(column, "filled") && nb::hasattr(column, "mask") &&
      nb::cast<bool>(nb::bool_(column.attr("mask").attr("any")()))) {
    invalid(name + ": some values are masked");
  }
  if (!nb::hasattr(column, "__arrow_c_array__") && !is_text(column)) {
    const nb::object its = readable(column);
    if (Buffer buffer; nb::try_cast(its, buffer)) return buffer_numbers(buffer, name);
    // Series of pandas and polars, for which Arrow would need pyarrow.
    if (nb::hasattr(column, "to_numpy")) {
      const nb::object array = column.attr("to_numpy")();
      if (Buffer buffer; nb::try_cast(array, buffer)) return buffer_numbers(buffer, name);
    }
  }
  if (auto numbers = arrow_numbers(column, name)) return std::move(*numbers);
  return sequence<std::int64_t>(
      column, name, "an array of whole numbers", [&](nb::handle value, std::size_t row) {
        std::int64_t number = 0;
        if (PyFloat_Check(value.ptr()))
          return whole_number(PyFloat_AsDouble(value.ptr()), name, row);
        // numpy's whole numbers are no int, but can be an index.
        const nb::object whole = nb::isinstance<nb::bool_>(value)
                                     ? nb::object()
                                     : nb::steal(PyNumber_Index(value.ptr()));
        if (!whole.is_valid()) {
          PyErr_Clear();
          throw nb::type_error((name + "[" + std::to_string(row) + "]: no whole number").c_str());
        }
        if (!nb::try_cast(whole, number)) {
          raise(
              {ErrorCode::kInvalid, name + "[" + std::to_string(row) + "]: does not fit 64 bits"});
        }
        return number;
      });
}

std::vector<std::string> texts_of(nb::handle column, const std::string& name) {
  nb::object listed = nb::borrow(column);
  if (!nb::hasattr(column, "__arrow_c_array__") && nb::hasattr(column, "tolist")) {
    listed = column.attr("tolist")();
  } else if (auto texts = arrow_texts(column, name)) {
    return std::move(*texts);
  }
  return sequence<std::string>(listed, name, "strings", [&](nb::handle value, std::size_t row) {
    Py_ssize_t size = 0;
    const char* text =
        PyUnicode_Check(value.ptr()) ? PyUnicode_AsUTF8AndSize(value.ptr(), &size) : nullptr;
    if (text == nullptr) {
      PyErr_Clear();
      throw nb::type_error((name + "[" + std::to_string(row) + "]: no string").c_str());
    }
    return std::string(text, static_cast<std::size_t>(size));
  });
}

}  // namespace headroom::python
