// The extension module headroom._headroom.
#include <nanobind/nanobind.h>

#include "python/src/capacity_quotas.h"
#include "python/src/columns/node_columns.h"
#include "python/src/columns/pod_columns.h"
#include "python/src/engine.h"
#include "python/src/simulation.h"

namespace nb = nanobind;

NB_MODULE(_headroom, module) {
  using namespace headroom::python;
  module.doc() = "Node scoring in process: the engine, columns, simulations.";
  bind_node_columns(module);
  bind_pod_columns(module);
  nb::class_<SharedEngine> engine(module, "Engine",
                                  R"(The cluster's current facts, and decisions about them.

State is a function of the facts, whatever order they came in. The engine reads no clock: time moves
by advance(). Quantities are as in Kubernetes; amounts are cpu in milli, all else in whole units.

Threads: any number may use one engine; a call waits until no other is under way. The GIL is free
while an engine waits and works, so engines in threads of their own run side by side.)");
  bind_engine_facts(engine);
  bind_engine_decisions(engine);
  bind_engine_looking(engine);
  bind_capacity_quotas(module);
  bind_simulation(module);
}
