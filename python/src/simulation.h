// headroom._headroom.simulate: runs a simulation of simulation/simulation.h for
// headroom/_simulation.py.
#pragma once

#include <nanobind/nanobind.h>

namespace headroom::python {

void bind_simulation(nanobind::module_& module);

}  // namespace headroom::python
