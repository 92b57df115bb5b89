// NodeColumns: many nodes as columns, as facts.
//
// A node is a template (any node) with a name of its own and, where there are columns, allocatable,
// capacity and labels. Plain values once made.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "python/src/columns/amount_columns.h"

namespace headroom::python {

struct NodeColumns {
  Node node_template;
  std::vector<std::string> names;
  AmountColumns allocatable, capacity;
  std::vector<std::pair<std::string, std::vector<std::string>>> labels;  // by key
};

Result<std::size_t> upsert(Engine& engine, const NodeColumns& nodes);
void bind_node_columns(nanobind::module_& module);

}  // namespace headroom::python
