// headroom.CapacityQuotas: autoscaling/capacity_quotas.h.
#pragma once

#include <nanobind/nanobind.h>

namespace headroom::python {

void bind_capacity_quotas(nanobind::module_& module);

}  // namespace headroom::python
