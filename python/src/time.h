// Times from Python. Needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace headroom::python {

// Microseconds since 1970: an int as it is, or a datetime with a time zone. `name` is of the
// argument.
std::int64_t time_us(nanobind::handle time, const char* name);

}  // namespace headroom::python
