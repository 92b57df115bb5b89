// headroom.Engine, in parts.
#pragma once

#include <nanobind/nanobind.h>

#include "python/src/shared.h"

namespace headroom::python {

void bind_engine_facts(nanobind::class_<SharedEngine>& engine);
void bind_engine_decisions(nanobind::class_<SharedEngine>& engine);
void bind_engine_looking(nanobind::class_<SharedEngine>& engine);

}  // namespace headroom::python
