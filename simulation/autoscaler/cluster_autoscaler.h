// ClusterAutoscaler: adds nodes to a simulated cluster when pods wait, as far as capacity quotas
// allow.
//
// A pod for which no node has room waits (add). It is counted on a node that is under way, if one
// has room for it; else nodes are requested. Of the templates that take pods which still wait, the
// one whose node takes the most of them is asked for, largest pods first (a pod's size is its
// largest share of any template's allocatable); of equal ones the first in the given order. What
// fits on a node an Engine of the same profile says, with that one node and all that pods refer to;
// where some pod asks for others (hard spread, required affinity either way), the cluster's own,
// in a fork that has the node, the nodes under way and the pods that are to run there: a new node
// is a new domain, or one more of a zone that is there. CapacityQuotas says how many may be had;
// then the next best template is asked. Nodes register after provision_seconds, and name their
// reservation.
//
// Pods for which every template that takes them is refused are kept on nodes that are not there, so
// that it is known how many nodes were refused, of which template (of several, one would do). They
// are not asked for again: nothing gives room back, since nodes stay. Elastic quotas are not asked;
// a pod that its namespace may not have should not be added. A pod whose node came
// kPromisesPerPodMax times without its finding a place is not asked for again, nor is one that no
// template takes, unless it asks for others: then it is looked at again whenever the cluster has
// changed.
//
// Same calls, same nodes. Thread safety: one thread at a time. Cost: step() looks at each group of
// new pods that are alike once for each request and template, and asks no more of it than
// Engine::has_room() where the node has no room left. A request is for one node where pods ask for
// others.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "engine/engine.h"
#include "objects/objects.h"
#include "objects/text/time_text.h"
#include "simulation/autoscaler/autoscaler_answers.h"
#include "simulation/autoscaler/capacity_quota_blocks.h"
#include "simulation/autoscaler/refused_nodes.h"

namespace headroom {

inline constexpr std::uint32_t kTemplatesMax = 100;
inline constexpr std::uint32_t kPromisesPerPodMax = 16;
inline constexpr std::int64_t kProvisionSecondsMax = 86'400;  // a day
// A reservation is kept for so many times the time that a node takes.
inline constexpr std::int64_t kReservationProvisionTimes = 10;

struct AutoscalerOptions {
  std::vector<Node> templates;  // in the order of preference
  std::vector<CapacityQuota> quotas;
  std::vector<ReferredObject> referred_objects = {};  // what pods refer to
  std::int64_t provision_seconds = 60;                // 1 to kProvisionSecondsMax
};

class ClusterAutoscaler {
 public:
  // `nodes`: those that are there. Errors: kInvalid or kLimitExceeded naming the template, node or
  // quota and its field; kConflict: two quotas of one name.
  static Result<ClusterAutoscaler> create(AutoscalerOptions options, const Profile& profile,
                                          std::span<const Node> nodes, std::int64_t now_us);

  std::span<const Node> templates() const { return options_.templates; }
  // No node has room for it. Changes nothing for a pod that waits already.
  void add(std::uint32_t id, const Pod& pod);
  // It waits no longer. Changes nothing for one that does not wait.
  void remove(std::uint32_t id);
  // Requests what the pods need that came since the last step. `cluster`: of the same profile, with
  // the nodes and pods that are there; it is afterwards what it was.
  Result<AutoscalerStep> step(Engine& cluster, std::int64_t now_us);
  // When the next node registers; INT64_MAX: none is under way.
  std::int64_t next_ready_us() const;
  // Registers the nodes that are there by now. Pods that were to run there are planned for again if
  // they still wait at the next step.
  Result<std::vector<Node>> take_ready(std::int64_t now_us);
  // What does not hold of: the quotas' own sums; no limit is exceeded by nodes that were added; a
  // reservation has left what is under way.
  std::vector<std::string> broken_rules() const;
  // The limits in force, by quota id; the same ones in the same order whenever it is asked.
  std::vector<LimitStanding> standings() const;
  // Nothing is refused after `now_us`.
  AutoscalerReport report(std::int64_t now_us);

 private:
  enum class State : std::uint8_t { kNew, kPromised, kRefused, kWithoutTemplate, kGivenUp };
  struct WaitingPod {
    Pod pod;
    State state = State::kNew;
    std::uint32_t promises = 0;
    std::string node;                                            // kPromised: under way
    std::vector<std::pair<std::uint32_t, std::string>> refused;  // kRefused: template, node
    std::shared_ptr<const NoTemplate::Reasons> no_template;      // the last time that none took it
  };
  struct ComingNode {
    Node node;
    std::uint32_t node_template = 0;
    std::int64_t ready_us = 0;
    std::string reservation;
    std::vector<std::uint32_t> pods;  // that were promised to it; some may be gone
  };
  struct Template {  // options_.templates has its node
    Engine judge;    // has one empty node of it
    RefusedNodes refused;
    std::uint64_t names = 0;  // numbers the nodes
  };
  // Decides what fits, within a step.
  struct Judge {
    Engine* cluster;   // nullptr: a template's judge decides, and coming_engine_
    std::string node;  // the judged node's name
  };
  // New pods of one shape; those before `next` have a node.
  struct Group {
    std::vector<std::uint32_t> pods;
    std::int64_t size = 0;
    std::size_t next = 0;
    // In the engines that judge: by template, or the cluster's alone.
    std::vector<ShapeIndex> shapes = {};
    std::size_t left() const { return pods.size() - next; }
  };
  // What a node takes: how many pods of which group.
  struct Load {
    std::vector<std::pair<std::size_t, std::size_t>> groups;
    std::size_t pods = 0;
  };

  ClusterAutoscaler(AutoscalerOptions options, Profile profile, Engine coming);

  std::int64_t provision_us() const { return options_.provision_seconds * kMicrosPerSecond; }
  Result<void> add_template(Node& node);
  void look_again();
  Result<AutoscalerStep> step_of_new(Engine& cluster, std::int64_t now_us);
  Result<std::vector<Group>> new_groups();
  Result<AutoscalerStep> decide(const Judge& judge, std::vector<Group>& groups,
                                std::int64_t now_us);
  Result<void> add_coming_nodes(Engine& cluster) const;
  Result<std::string> coming_node_for(const Judge& judge, const Pod& pod);
  Result<void> promise(const Judge& judge, WaitingPod& waiting, const std::string& node);
  Result<void> use_coming_nodes(const Judge& judge, std::vector<Group>& groups);
  Engine& engine_of(const Judge& judge, std::uint32_t index);
  Result<void> set_shapes(const Judge& judge, std::vector<Group>& groups);
  Result<void> add_empty_node(const Judge& judge, std::uint32_t index);
  Result<NodeDetail> look(const Judge& judge, std::uint32_t index, const Pod& pod);
  Result<Load> fill(const Judge& judge, std::uint32_t index, const std::vector<Group>& groups);
  // False: not all that the groups need may be had.
  Result<bool> request(const Judge& judge, std::uint32_t index, const Load& load,
                       std::vector<Group>& groups, std::int64_t now_us, AutoscalerStep& step);
  Result<void> add_coming(const Judge& judge, std::uint32_t index, const Load& load,
                          std::vector<Group>& groups, std::int64_t now_us,
                          const std::string& reservation);
  Result<void> refuse(const Judge& judge, Group& group, AutoscalerStep& step);
  Result<void> set_blocks(std::int64_t now_us);
  std::string new_node_name(std::uint32_t index);
  std::int64_t size_of(const Pod& pod) const;

  AutoscalerOptions options_;
  Profile profile_;
  CapacityQuotas quotas_;
  std::vector<Template> templates_;
  std::map<std::string, std::int64_t> largest_;  // of any template's allocatable, by resource
  std::set<std::string> node_names_;             // in use
  std::vector<CapacityQuotaStatus> at_start_;
  Engine coming_engine_;  // the nodes under way, with the pods that are to run there
  std::deque<ComingNode> coming_;
  std::map<std::uint32_t, WaitingPod> waiting_;
  std::vector<std::uint32_t> new_pods_;
  std::vector<std::uint32_t> ask_again_;  // that ask for others, and no template took them
  std::uint64_t seen_epoch_ = 0;          // the cluster's, after the last step
  std::uint64_t requests_ = 0;
  bool quotas_changed_ = false;
  CapacityQuotaBlocks blocks_;
  AutoscalerReport report_;
};

}  // namespace headroom
