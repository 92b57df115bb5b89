// ClusterState::save: the facts of a cluster, in the order of cluster_state.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "engine/state/cluster_state.h"
#include "engine/state/saved_pod.h"

namespace headroom {

namespace {

// What pods share, by the numbers that the file gives it.
class Numbers {
 public:
  // Whether the thing had no number yet.
  bool add(std::uint32_t thing) {
    if (thing >= numbers_.size()) {
      numbers_.resize(thing + std::size_t{1}, kNone);
    }
    if (numbers_[thing] != kNone) {
      return false;
    }
    numbers_[thing] = count_++;
    return true;
  }
  std::uint32_t operator[](std::uint32_t thing) const { return numbers_[thing]; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::vector<std::uint32_t> numbers_;
  std::uint32_t count_ = 0;
};

}  // namespace

class ClusterState::Saver {
 public:
  Saver(const Cluster& cluster, ValueWriter& writer) : cluster_(cluster), write_(writer) {}

  Result<void> save() {
    const auto& nodes = cluster_.facts_.nodes;
    std::size_t rows = nodes.size();
    while (rows > 0 && nodes[rows - 1].name.empty()) {
      --rows;
    }
    if (rows > kNodesMax) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("save: {} names of nodes, kNodesMax is {}", rows, kNodesMax));
    }
    write_(cluster_.now_us_, std::uint64_t{rows});
    for (std::size_t row = 0; row < rows; ++row) {
      write_row(nodes[row]);
    }
    write_referred();
    write_priority_classes();
    if (cluster_.capacity_scheduling_ != nullptr) {
      write_capacity_scheduling(*cluster_.capacity_scheduling_);
    }
    write_pods();
    write_chosen_volumes();
    if (cluster_.load_aware_ != nullptr) {
      write_metrics(static_cast<std::uint32_t>(rows));
    }
    return {};
  }

 private:
  void write_row(const NodeFacts& facts) {
    write_(facts.name);
    if (!facts.name.empty()) {
      write_(facts.node != nullptr);
    }
    if (facts.node != nullptr) {
      write_(facts.node->whole(facts.name));
    }
  }

  void write_referred() {
    write_(std::uint64_t{cluster_.referred_.count()});
    for (std::uint32_t kind = 0; kind < kReferredKindCount; ++kind) {
      for (const auto& [key, object] : cluster_.referred_.of(static_cast<ReferredKind>(kind))) {
        write_(*object);
      }
    }
  }

  void write_priority_classes() {
    write_(std::uint64_t{cluster_.priorities_.classes().size()});
    for (const auto& [name, priority_class] : cluster_.priorities_.classes()) {
      write_(priority_class);
    }
  }

  void write_capacity_scheduling(const CapacityScheduling& capacity_scheduling) {
    const ElasticQuotas& quotas = capacity_scheduling.elastic_quotas();
    write_(quotas.object_count());
    std::map<std::string_view, NamespaceId> namespaces;  // by name: numbers are used again
    for (NamespaceId id = 0; id < quotas.namespace_count(); ++id) {
      if (quotas.at(id).has_elastic_quota()) {
        namespaces.emplace(quotas.at(id).name, id);
      }
    }
    for (const auto& [namespace_name, id] : namespaces) {
      for (const auto& [name, quota] : quotas.at(id).quotas) {
        write_(quota);
      }
    }
    write_(capacity_scheduling.budgets().all());
  }

  // In an order in which counting them, with their metrics there, links each row's list again:
  // those whose load depends on the metric are put in front, one after the other.
  std::vector<PodId> pods_in_order() const {
    std::vector<PodId> order;
    order.reserve(cluster_.pod_ids_.size());
    std::vector<bool> listed(cluster_.facts_.pods.size());
    for (const NodeFacts& node : cluster_.facts_.nodes) {
      const auto first = static_cast<std::ptrdiff_t>(order.size());
      auto behind = first;
      for (PodId id = node.first_pod; id != kNoPod; id = cluster_.facts_.pods[id].next) {
        order.push_back(id);
        behind += cluster_.load_aware_ != nullptr &&
                  cluster_.load_aware_->depends_on_metric(cluster_.facts_.pods[id]);
      }
      std::reverse(order.begin() + first, order.begin() + behind);
      order.insert(order.end(), node.nominated.begin(), node.nominated.end());
    }
    for (const PodId id : order) {
      listed[id] = true;
    }
    for (PodId id = 0; id < cluster_.facts_.pods.size(); ++id) {
      if (!listed[id] &&
          (cluster_.facts_.pods[id].known() || cluster_.facts_.pods[id].mentions != 0)) {
        order.push_back(id);
      }
    }
    return order;
  }

  void write_pods() {
    const std::vector<PodId> order = pods_in_order();
    pod_numbers_.resize(cluster_.facts_.pods.size());
    write_(std::uint64_t{order.size()});
    for (std::uint32_t number = 0; number < order.size(); ++number) {
      const PodFacts& pod = cluster_.facts_.pods[order[number]];
      pod_numbers_[order[number]] = number;
      write_(pod.key, pod.known());
      if (pod.known()) {
        write_pod(pod);
      }
    }
  }

  void write_pod(const PodFacts& pod) {
    const std::string uid = pod.uid.text();
    SavedPod saved{uid,
                   pod.applied,
                   pod.terminal,
                   saved_row(pod.bound_row),
                   saved_row(pod.assumed_row),
                   pod.first_seen_us,
                   pod.scheduled(),
                   pod.initialized(),
                   {}};
    for (const HostPort& port : pod.host_ports != nullptr ? *pod.host_ports : HostPorts()) {
      saved.ports.push_back({port.port, port.protocol, port.ip});
    }
    write_(saved);
    if (shapes_.add(pod.shape)) {
      write_(shapes_[pod.shape], cluster_.facts_.shapes[pod.shape]->key);
    } else {
      write_(shapes_[pod.shape]);
    }
    if (pod.peer != kNoPeer) {
      const bool new_peer = peers_.add(pod.peer);
      write_(peers_[pod.peer]);
      if (new_peer) {
        write_(cluster_.applications_.peers().at(pod.peer).key);
      }
    }
    write_rank(pod.rank);
    if (cluster_.capacity_scheduling_ != nullptr) {
      write_group(pod.rank.group, *cluster_.capacity_scheduling_);
    }
  }

  void write_chosen_volumes() {
    std::map<std::uint32_t, const ChosenVolumes::Choices*> chosen;  // by the pod's place
    cluster_.applications_.chosen_volumes().each(
        [&](PodId id, const ChosenVolumes::Choices& its) { chosen[pod_numbers_[id]] = &its; });
    write_(std::uint64_t{chosen.size()});
    for (const auto& [number, choices] : chosen) {
      write_(number, *choices);
    }
  }

  void write_rank(const PodRank& rank) {
    SavedRank saved{{}, {}, saved_row(rank.nominated_row), rank.deleting};
    if (rank.priority_class == 0) {
      saved.priority = rank.priority;
    }
    if (rank.start_us != INT64_MAX) {
      saved.start_us = rank.start_us;
    }
    write_(saved);
    if (rank.priority_class != 0) {
      const bool new_class = classes_.add(rank.priority_class);
      write_(classes_[rank.priority_class]);
      if (new_class) {
        write_(cluster_.priorities_.class_name(rank));
      }
    }
  }

  void write_group(GroupId group, const CapacityScheduling& capacity_scheduling) {
    const bool new_group = groups_.add(group);
    write_(groups_[group]);
    if (new_group) {
      const DisruptionBudgets& budgets = capacity_scheduling.budgets();
      write_(capacity_scheduling.elastic_quotas().at(budgets.namespace_of(group)).name,
             budgets.labels_of(group));
    }
  }

  void write_metrics(std::uint32_t rows) {
    std::vector<std::uint32_t> with_metric;
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (cluster_.load_aware_->metric(row) != nullptr) {
        with_metric.push_back(row);
      }
    }
    write_(std::uint64_t{with_metric.size()});
    for (const std::uint32_t row : with_metric) {
      write_(row);
      write_metric(*cluster_.load_aware_->metric(row));
    }
  }

  void write_metric(const MetricFacts& metric) {
    const auto write_usage = [&](const std::int64_t* usage) {
      for (std::uint32_t d = 0; d < metric.dimensions; ++d) {
        write_(usage[d]);
      }
    };
    write_(metric.interval_us, metric.updated_us, metric.has_usage);
    write_usage(metric.node_usage());
    write_usage(metric.system_usage());
    const MetricFacts::AllAggregated& aggregated = *metric.aggregated;
    write_(std::uint64_t{aggregated.size()});
    for (std::size_t a = 0; a < aggregated.size(); ++a) {
      write_(aggregated[a].type, aggregated[a].duration_us);
      write_usage(metric.aggregated_usage(a));
    }
    std::vector<const MetricFacts::PodUsage*> pods;
    for (const MetricFacts::PodUsage& pod : metric.pods) {
      pods.push_back(&pod);
    }
    std::sort(pods.begin(), pods.end(), [this](const auto* a, const auto* b) {
      return pod_numbers_[a->pod()] < pod_numbers_[b->pod()];
    });
    write_(std::uint64_t{pods.size()});
    for (const MetricFacts::PodUsage* pod : pods) {
      write_(pod_numbers_[pod->pod()], pod->prod());
      write_usage(metric.usage_of(*pod));
    }
  }

  const Cluster& cluster_;
  ValueWriter& write_;
  std::vector<std::uint32_t> pod_numbers_;  // by PodId
  Numbers shapes_, peers_, groups_, classes_;
};

Result<void> ClusterState::save(const Cluster& cluster, ValueWriter& writer) {
  return Saver(cluster, writer).save();
}

}  // namespace headroom
