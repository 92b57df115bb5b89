// Columns from Python as vectors: whole numbers, and texts.
//
// Numbers come as anything with the buffer protocol or DLPack (numpy, array.array, memoryview), as
// Arrow (__arrow_c_array__ or __arrow_c_stream__: pyarrow, polars, pandas), or as a sequence of
// ints; integers of any width, and floats whose values are whole. Texts come as Arrow strings or as
// a sequence of str. All are copied, so that nothing that Python does later changes them. Raises
// TypeError for another type or shape, InvalidError for a value that cannot be used (NaN, null, a
// fraction), each naming `name` and the row. Needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::python {

std::vector<std::int64_t> numbers_of(nanobind::handle column, const std::string& name);
std::vector<std::string> texts_of(nanobind::handle column, const std::string& name);

}  // namespace headroom::python
