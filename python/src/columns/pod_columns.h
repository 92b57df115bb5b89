// PodColumns: many pods as columns, and what is done with them.
//
// A pod is a template (any pod), with a name of its own and, where there are columns, requests and
// limits of its first container; 0 in a column: the container does not name the resource. Plain
// values once made: any number of threads and engines may read them. Cost: 8 bytes a pod and
// column; pods are made kChunkPods at a time.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "python/src/columns/amount_columns.h"

namespace headroom::python {

struct PodColumns {
  std::size_t size = 0;
  std::vector<Pod> templates;             // not empty, each with a container
  std::vector<std::int64_t> template_of;  // by pod; empty: the first
  AmountColumns requests, limits;
  std::vector<std::string> names;  // by pod; empty: name_prefix and the pod's place
  std::string name_prefix;
  std::vector<std::string> nodes;  // by pod, "" none; empty: those of the templates
};

struct PlaceOptions {
  bool scores = false, reasons = true;
};

struct PlacedPods {
  std::vector<std::int32_t> rows;  // -1: not placed
  std::vector<std::int64_t> totals;
  std::vector<std::pair<PluginId, std::vector<std::int32_t>>> scores;
  std::vector<std::int32_t> reason;  // -1: placed
  std::vector<std::string> reasons;
  std::size_t placed = 0;
  std::map<NotConsidered, std::size_t> not_considered;  // in how many answers; as in Decision
};

// Engine::place(), in chunks. On an error none of them is placed.
Result<PlacedPods> place(Engine& engine, const PodColumns& pods, const PlaceOptions& options);
// As facts.
Result<std::size_t> upsert(Engine& engine, const PodColumns& pods);

nanobind::object placed_pods_of(PlacedPods&& placed);
void bind_pod_columns(nanobind::module_& module);

}  // namespace headroom::python
