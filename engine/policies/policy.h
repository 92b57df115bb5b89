// Policy: how facts become columns and how a pod becomes a need. One class per group of plugins
// that share columns; the kernels know nothing of them, and they know nothing of each other. To add
// one is a file here and a line in policies.cpp.
//
// The cluster calls a policy where a fact of its changes; what a policy does not override it has no
// part in. Thread safety: one thread at a time; const members from any number.
#pragma once

#include <vector>

#include "engine/answers.h"
#include "engine/profile/profile.h"
#include "engine/table/facts.h"
#include "engine/table/node_table.h"
#include "engine/table/pod_shape.h"
#include "engine/table/resource_names.h"

namespace headroom {

// What every policy is made with, and may keep.
struct PolicyContext {
  const Profile& profile;
  ResourceNames& names;
  NodeTable& table;
  Facts& facts;
};

// One line of explain() about a node, from a policy that has more to say than its columns do.
struct Note {
  PluginId plugin;
  std::string text;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // --- Nodes ---
  // Sets bases and capacities of a row from its node; called when the node arrives or changes, and
  // for every row when numbers of resources change. Adds columns for what the node has some of, so
  // that no pod that asks for it waits for them. True if an annotation was ignored.
  virtual bool set_node(std::uint32_t row, const NodeFacts& node) = 0;
  // What else than its allocatable gives a resource of the node columns.
  virtual void names_of(const KeptNode&, std::vector<std::string>&) const {}
  // The number is about to mean another name: its columns go. No pod that counts adds to them.
  virtual void forget(ResourceId) {}

  // --- Pods ---
  // Adds the pod's contributions to the shape. May add columns, and then sets them on every row.
  virtual void describe(const Pod& pod, PodShape& shape) = 0;
  // Adds the plugin's filter or score to the shape's program. Only for plugins of this policy,
  // after describe().
  virtual void add_filter(PluginId, const Pod&, ProgramBuilder&) {}
  virtual void add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) = 0;

  // A pod begins, or ends, to count on the row: what else it adds there than its shape's
  // contributions. True where the pod is to stand at the front of its row's list.
  virtual bool count(std::uint32_t, PodId) { return false; }
  virtual void uncount(std::uint32_t, PodId) {}
  // Whether that depends on the node's object: then the row's pods end to count before it changes
  // and begin again after.
  virtual bool counts_by_node() const { return false; }

  // Before the row is committed: derives what no sum or base says by itself. All of it; or what
  // follows from the row's pods, where nothing else changed.
  virtual void refresh(std::uint32_t, std::int64_t /*now_us*/) {}
  virtual void refresh_pods(std::uint32_t) {}

  // --- Looking ---
  virtual void notes(std::uint32_t, const NodeFacts&, std::vector<Note>&) const {}
  // Adds what the policy keeps of the resource, of each row, where no other has said it.
  virtual void add_figures(ResourceId, NodeFigures&) const {}
};

}  // namespace headroom
