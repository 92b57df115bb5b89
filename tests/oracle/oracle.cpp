// See oracle.h.
#include "oracle/oracle.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace oracle {
namespace {

struct Filter {
  const char* plugin;
  Status (*filter)(const Cycle&, const NodeView&);
};

// The first five run first and in this order, as in kube-scheduler.
constexpr Filter kFilters[] = {
    {"NodeUnschedulable", filter_node_unschedulable},
    {"NodeName", filter_node_name},
    {"TaintToleration", filter_taint_toleration},
    {"NodeAffinity", filter_node_affinity},
    {"NodePorts", filter_node_ports},
    {"NodeResourcesFit", filter_node_resources_fit},
    {"LimitAware", filter_limit_aware},
    {"LoadAwareScheduling", filter_load_aware},
};
constexpr std::size_t kLeadingFilters = 5;

struct Scorer {
  const char* plugin;
  Score (*score)(const Cycle&, const NodeView&);
  bool normalizes;
};

constexpr Scorer kScorers[] = {
    {"NodeResourcesFit", score_node_resources_fit, false},
    {"NodeResourcesBalancedAllocation", score_balanced_allocation, false},
    {"LimitAware", score_limit_aware, true},
    {"ResourceLimitAware", score_resource_limit_aware, true},
    {"LoadAwareScheduling", score_load_aware, false},
};

template <typename Table>
const auto& find_plugin(const Table& table, const std::string& plugin) {
  for (const auto& entry : table) {
    if (plugin == entry.plugin) return entry;
  }
  throw std::invalid_argument("no such plugin: " + plugin);
}

Version version_of(const Json& config) {
  const std::string version = text(config, "kubernetesVersion");
  return version == "1.37" ? Version::k137 : version == "1.36" ? Version::k136 : Version::k135;
}

// The leading filters first, then the others as configured. `name_first`: NodeName before
// NodeUnschedulable, as from 1.37 on.
std::vector<std::string> filter_order(const Json& configured, bool name_first) {
  std::vector<std::string> order, others;
  for (const Json& plugin : configured) others.push_back(plugin.get<std::string>());
  for (std::size_t i = 0; i < kLeadingFilters; ++i) {
    const auto found = std::find(others.begin(), others.end(), kFilters[i].plugin);
    if (found == others.end()) continue;
    order.push_back(*found);
    others.erase(found);
  }
  if (name_first && order.size() > 1 && order[1] == "NodeName") std::swap(order[0], order[1]);
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

}  // namespace

const char* to_string(Code code) {
  switch (code) {
    case Code::kSuccess:
      return "Success";
    case Code::kError:
      return "Error";
    case Code::kUnschedulable:
      return "Unschedulable";
    case Code::kUnschedulableAndUnresolvable:
      return "UnschedulableAndUnresolvable";
    case Code::kSkip:
      return "Skip";
  }
  return "";
}

bool is_daemon_set_pod(const Json& pod) {
  const Json& owners = child(pod, "metadata", "ownerReferences");
  if (!owners.is_array()) return false;
  return std::any_of(owners.begin(), owners.end(),
                     [](const Json& owner) { return text(owner, "kind") == "DaemonSet"; });
}

Oracle::Oracle(Mode mode, Json config)
    : mode_(mode),
      config_(std::move(config)),
      filters_(filter_order(child(config_, "filters"), version_of(config_) == Version::k137)),
      facts_(mode) {
  for (const std::string& plugin : filters_) find_plugin(kFilters, plugin);
  for (const Json& entry : child(config_, "scores")) find_plugin(kScorers, text(entry, "plugin"));
}

void Oracle::advance(const std::string& now) {
  const std::optional<Int128> time = parse_time(now);
  if (!time) throw std::invalid_argument("bad time " + now);
  facts_.advance(*time);
}

void Oracle::rollback() {
  facts_ = forks_.back();
  forks_.pop_back();
}

Cycle Oracle::cycle_of(const std::string& plugin, const Json& pod) const {
  return Cycle{mode_, facts_.now(), &pod, &child(config_, "args", plugin), version_of(config_)};
}

// The first failing filter gives the node's reasons. Measured usage is not changed by pods that
// wait or could be taken away.
NodeStatus Oracle::filter_node(const Json& pod, const NodeView& there,
                               const NodeView& counted) const {
  if (std::find(filters_.begin(), filters_.end(), "NodeAffinity") != filters_.end()) {
    const Status status = reject_by_node_names(pod, there);
    if (status.code != Code::kSuccess) return {status, "NodeAffinity"};
  }
  for (const std::string& plugin : filters_) {
    const NodeView& seen = plugin == "LoadAwareScheduling" ? there : counted;
    const Status status = find_plugin(kFilters, plugin).filter(cycle_of(plugin, pod), seen);
    if (status.code != Code::kSuccess) return {status, plugin};
  }
  return {};
}

// Refers to the pod.
CapacityCycle Oracle::capacity_cycle(const Json& pod) const {
  CapacityCycle cycle;
  cycle.facts = &facts_;
  cycle.pod = &pod;
  cycle.args = &child(config_, "args", "CapacityScheduling");
  cycle.filters = [this, &pod](const std::string& node, const std::vector<PodView>& pods,
                               const std::vector<PodView>& nominated) {
    const NodeView there = facts_.view(node, pod);
    NodeView counted = there;
    // Without those that are taken away.
    std::erase_if(counted.pods, [&](const PlacedPod& placed) {
      return std::none_of(pods.begin(), pods.end(),
                          [&](const PodView& kept) { return kept.pod == placed.pod; });
    });
    for (const PodView& one : nominated) counted.pods.push_back(PlacedPod{one.uid, 0, one.pod});
    return filter_node(pod, there, counted);
  };
  return cycle;
}

void Oracle::filter_nodes(const Json& pod, Answer& answer) const {
  const CapacityCycle cycle = capacity_cycle(pod);
  const Situation situation = read_situation(facts_, mode_, pod);
  const PodView incoming = view_pod(facts_, mode_, pod);
  for (const std::string& name : facts_.node_names()) {
    answer.filter[name] = filter_with_nominated(cycle, situation, incoming, name);
  }
}

void Oracle::filter_nodes_and_preempt(const Json& pod, Answer& answer) const {
  const CapacityCycle cycle = capacity_cycle(pod);
  CapacityAnswer decided =
      mode_ == Mode::kUpstream ? capacity_upstream(cycle) : capacity_proposal(cycle);
  answer.pre_filter = decided.pre_filter;
  answer.filter = std::move(decided.nodes);
  answer.post_filter = std::move(decided.post_filter);
}

PluginScores Oracle::score_plugin(const Json& entry, const Json& pod,
                                  const std::map<std::string, NodeView>& views) const {
  PluginScores scores;
  scores.plugin = text(entry, "plugin");
  scores.weight = integer(entry, "weight").value_or(1);
  const Cycle cycle = cycle_of(scores.plugin, pod);
  const Scorer& scorer = find_plugin(kScorers, scores.plugin);
  if (scores.plugin == "NodeResourcesBalancedAllocation") {
    scores.pre_score = pre_score_balanced_allocation(cycle);
    if (scores.pre_score != Code::kSuccess) return scores;
  }
  RawScores raw;
  for (const auto& [name, view] : views) {
    const Score score = scorer.score(cycle, view);
    scores.nodes[name] = NodeScore{score.code, score.value, score.value};
    if (score.code == Code::kSuccess) raw[name] = score.value;
  }
  if (scorer.normalizes) {
    for (const auto& [name, value] : normalize_min_max(mode_, raw)) {
      scores.nodes[name].normalized = value;
    }
  }
  return scores;
}

Answer Oracle::schedule(const Json& pod) const {
  Answer answer;
  if (child(config_, "capacityScheduling") == true) {
    filter_nodes_and_preempt(pod, answer);
  } else {
    filter_nodes(pod, answer);
  }
  const bool score_all = child(config_, "scoreAll") == true;
  std::map<std::string, NodeView> scored;
  for (const std::string& name : facts_.node_names()) {
    const auto status = answer.filter.find(name);
    if (status == answer.filter.end()) continue;
    const bool feasible = status->second.code == Code::kSuccess;
    if (feasible || score_all) scored[name] = facts_.view(name, pod);
    if (feasible) {
      answer.totals[name] = 0;
      answer.ranking.push_back(name);
    }
  }
  for (const Json& entry : child(config_, "scores")) {
    answer.scores.push_back(score_plugin(entry, pod, scored));
    for (auto& [name, total] : answer.totals) {
      const auto score = answer.scores.back().nodes.find(name);
      if (score != answer.scores.back().nodes.end()) {
        total += answer.scores.back().weight * score->second.normalized;
      }
    }
  }
  std::stable_sort(answer.ranking.begin(), answer.ranking.end(),
                   [&](const std::string& a, const std::string& b) {
                     return answer.totals.at(a) > answer.totals.at(b);
                   });
  return answer;
}

std::string Oracle::nominated_node(const Json& pod) const {
  const std::string name = facts_.nominated_node(pod);
  if (name.empty()) return name;
  const Answer answer = schedule(pod);
  const bool takes =
      answer.pre_filter.code == Code::kSuccess && answer.filter.at(name).code == Code::kSuccess;
  return takes ? name : std::string();
}

Answer Oracle::schedule_as_if(const Json& pod, const std::string& node,
                              const std::vector<std::string>& without,
                              const std::vector<Json>& with) const {
  Oracle other = *this;
  const auto metadata = [](const Json& object) -> const Json& { return child(object, "metadata"); };
  const std::vector<LivePod> live = facts_.live_pods();
  const auto is_there = [&](const Json& object) {
    return std::any_of(live.begin(), live.end(), [&](const LivePod& one) {
      return one.node == node &&
             one.key ==
                 text(metadata(object), "namespace") + "/" + text(metadata(object), "name") &&
             text(metadata(*one.pod), "uid") == text(metadata(object), "uid");
    });
  };
  std::vector<Json> added;
  std::copy_if(with.begin(), with.end(), std::back_inserter(added),
               [&](const Json& object) { return !is_there(object); });
  for (const LivePod& one : live) {
    const bool nominated =
        one.node.empty() && text(child(*one.pod, "status"), "nominatedNodeName") == node;
    const bool stays = std::any_of(with.begin(), with.end(), [&](const Json& object) {
      return is_there(object) && metadata(object).at("uid") == metadata(*one.pod).at("uid") &&
             metadata(object).at("name") == metadata(*one.pod).at("name");
    });
    if ((one.node == node || nominated) && !stays &&
        std::find(without.begin(), without.end(), one.key) != without.end()) {
      other.remove(*one.pod);
    }
  }
  for (const Json& object : added) other.reserve(object, node);
  return other.schedule(pod);
}

}  // namespace oracle
