// Policy: how facts become columns and how a pod becomes a need. One class per group of plugins
// that share columns; the kernels know nothing of them, and they know nothing of each other.
#pragma once

#include <vector>

#include "engine/profile/profile.h"
#include "engine/table/facts.h"
#include "engine/table/node_table.h"
#include "engine/table/pod_shape.h"
#include "engine/table/resource_names.h"

namespace headroom {

// One line of explain() about a node, from a policy that has more to say than its columns do.
struct Note {
  PluginId plugin;
  std::string text;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // Sets bases and capacities of a row from its node; called when the node arrives or changes, and
  // for every row when a resource got columns of its own. True if an annotation was ignored.
  virtual bool set_node(std::uint32_t row, const NodeFacts& node) = 0;

  // What else than its allocatable gives a resource of the node columns.
  virtual void names_of(const Node&, std::vector<std::string>&) const {}
  // The number is about to mean another name: its columns go. No pod that counts adds to them.
  virtual void forget(ResourceId) {}

  // Adds the pod's contributions to the shape. May add columns; then returns true, and every row is
  // set again.
  virtual bool describe(const Pod& pod, PodShape& shape) = 0;

  // Adds the plugin's filter or score to the shape's program. Only for plugins of this policy,
  // after describe().
  virtual void add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) = 0;
  virtual void add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) = 0;

  virtual void notes(std::uint32_t, const NodeFacts&, std::vector<Note>&) const {}
};

}  // namespace headroom
