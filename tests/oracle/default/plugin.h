// One plugin of kube-scheduler in one scheduling cycle of one pod, as the framework calls it:
// PreFilter, then Filter for every node, then PreScore with the nodes that passed all filters, then
// Score for each of these, then NormalizeScore. Nothing outlives the cycle; the facts must.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "oracle/cycle.h"
#include "oracle/default/facts.h"

namespace oracle::defaults {

struct PodCycle {
  const Facts& facts;
  const Pod& pod;    // the incoming one
  const Json& args;  // of the plugin
  Version version = Version::k137;
};

using Scores = std::map<std::string, std::int64_t>;  // by node

struct PreFilterAnswer : Status {  // kSkip: Filter is not called, every node passes
  std::optional<std::set<std::string>> node_names;  // when it narrowed the nodes
};

class Plugin {
 public:
  explicit Plugin(const PodCycle& cycle) : cycle_(cycle) {}
  virtual ~Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  virtual PreFilterAnswer pre_filter() { return {}; }
  virtual Status filter(const Node&) { return {}; }
  // PreFilterExtensions, for what-if: the pod has come to the node, or gone from it, in the facts
  // already. Plugins that look at nothing but the node's pods in Filter need none.
  virtual void add_pod(const Pod& /*placed*/, const Node&) {}
  virtual void remove_pod(const Pod& /*placed*/, const Node&) {}
  // kSkip: no scores, which adds nothing.
  virtual Status pre_score(const std::vector<const Node*>& /*feasible*/) {
    return {Code::kSkip, {}};
  }
  virtual std::int64_t score(const Node&) { return 0; }
  virtual void normalize(Scores&) {}

 protected:
  const Facts& facts() const { return cycle_.facts; }
  const Pod& pod() const { return cycle_.pod; }
  const Json& args() const { return cycle_.args; }
  Version version() const { return cycle_.version; }

 private:
  PodCycle cycle_;
};

inline Status unschedulable(std::string reason) {
  return {Code::kUnschedulable, {std::move(reason)}};
}
inline Status unresolvable(std::string reason) {
  return {Code::kUnschedulableAndUnresolvable, {std::move(reason)}};
}

// "Default normaliser": max = highest; if 0, all stay (reversed: all 100); else 100*s/max
// (reversed: 100 minus that).
void normalize_by_highest(Scores& scores, bool reversed);

}  // namespace oracle::defaults
