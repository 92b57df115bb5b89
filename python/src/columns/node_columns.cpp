#include "python/src/columns/node_columns.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "engine/upsert_objects.h"
#include "objects/limits.h"
#include "python/src/columns/columns.h"
#include "python/src/errors.h"
#include "python/src/objects.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headroom::python {
namespace {

// Puts the value under its name into a list that is sorted by name.
template <typename List, typename Value>
void put(List& list, const std::string& name, Value value) {
  const auto place =
      std::lower_bound(list.begin(), list.end(), name,
                       [](const auto& item, const auto& key) { return item.first < key; });
  if (place != list.end() && place->first == name) {
    place->second = std::move(value);
  } else {
    list.emplace(place, name, std::move(value));
  }
}

// 0: the node does not have the resource.
void put(ResourceList& list, const AmountColumns& columns, std::size_t row) {
  for (const auto& [resource, values] : columns) {
    if (values[row] == 0) {
      std::erase_if(list, [&, &name = resource](const auto& item) { return item.first == name; });
    } else {
      put(list, resource, quantity_of(resource, values[row]));
    }
  }
}

NodeColumns read_columns(nb::handle names, nb::handle allocatable, nb::handle capacity,
                         nb::handle labels, nb::handle node_template) {
  NodeColumns nodes;
  nodes.names = texts_of(names, "names");
  check_names(nodes.names, "names");
  std::optional<std::size_t> size = nodes.names.size();
  nodes.allocatable = amount_columns(allocatable, "allocatable", size);
  nodes.capacity = amount_columns(capacity, "capacity", size);
  if (!labels.is_none()) {
    if (!nb::isinstance<nb::dict>(labels)) {
      throw nb::type_error("labels: give a dict of columns by key");
    }
    for (const auto& [key, column] : nb::borrow<nb::dict>(labels)) {
      std::string label;
      if (!nb::try_cast(key, label) || label.empty() || label.size() > kKeyBytesMax) {
        invalid("labels: a key has 1 to " + std::to_string(kKeyBytesMax) + " bytes");
      }
      const std::string full = "labels[" + label + "]";
      std::vector<std::string> values = texts_of(column, full);
      check_size(size, values.size(), full);
      for (std::size_t row = 0; row < values.size(); ++row) {
        if (values[row].size() > kStringBytesMax) {
          invalid(full + "[" + std::to_string(row) + "]: longer than " +
                  std::to_string(kStringBytesMax) + " bytes");
        }
      }
      nodes.labels.emplace_back(std::move(label), std::move(values));
    }
  }
  if (!node_template.is_none()) {
    // A template needs no name; each of its nodes has one.
    std::vector<Node> read = nodes_of(node_template, "template");
    if (read.size() != 1) {
      raise({ErrorCode::kInvalid, "template: " + std::to_string(read.size()) + " nodes: give one"});
    }
    nodes.node_template = std::move(read.front());
  }
  return nodes;
}

}  // namespace

Result<std::size_t> upsert(Engine& engine, const NodeColumns& nodes) {
  Node node = nodes.node_template;
  return all_or_none_in_bulk(engine, [&]() -> Result<std::size_t> {
    for (std::size_t row = 0; row < nodes.names.size(); ++row) {
      node.name = nodes.names[row];
      put(node.allocatable, nodes.allocatable, row);
      put(node.capacity, nodes.capacity, row);
      for (const auto& [key, values] : nodes.labels) put(node.labels, key, values[row]);
      if (const Result<void> taken = engine.upsert(node); !taken) {
        return tl::unexpected(taken.error());
      }
    }
    return nodes.names.size();
  });
}

void bind_node_columns(nb::module_& module) {
  nb::class_<NodeColumns>(module, "NodeColumns",
                          R"(Many nodes as columns, for Engine.upsert(). Read once and copied.)")
      .def(
          "__init__",
          [](NodeColumns* self, nb::object names, nb::object allocatable, nb::object capacity,
             nb::object labels, nb::object node_template) {
            new (self)
                NodeColumns(read_columns(names, allocatable, capacity, labels, node_template));
          },
          "names"_a, nb::kw_only(), "allocatable"_a, "capacity"_a = nb::none(),
          "labels"_a = nb::none(), "template"_a = nb::none(),
          nb::sig(
              "def __init__(self, names: headroom._types.TextsLike, *, "
              "allocatable: collections.abc.Mapping[str, headroom._types.NumbersLike], "
              "capacity: collections.abc.Mapping[str, headroom._types.NumbersLike] | None = None, "
              "labels: collections.abc.Mapping[str, headroom._types.TextsLike] | None = None, "
              "template: headroom._types.ObjectsLike | None = None) -> None"),
          R"(All columns have one row a node. allocatable, capacity: by resource, cpu in milli, all
else in whole units; 0, the node does not have it ("pods" is a resource, without which a node
takes none). labels: by key.
template: a node that says all else (taints, annotations, further labels). Columns and errors as
in PodColumns.)")
      .def("__len__", [](const NodeColumns& self) { return self.names.size(); })
      .def(
          "__repr__",
          [](const NodeColumns& self) {
            return nb::str("<headroom.NodeColumns: {:,} nodes>").attr("format")(self.names.size());
          },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace headroom::python
