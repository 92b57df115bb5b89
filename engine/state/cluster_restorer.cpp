// ClusterState::restore: facts from a file, each checked before it counts.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/kept/check_times.h"
#include "engine/state/cluster_state.h"
#include "engine/state/saved_pod.h"

namespace headroom {

class ClusterState::Restorer {
 public:
  Restorer(Cluster& cluster, ValueReader& reader) : cluster_(cluster), read_(reader) {}
  ~Restorer() {
    for (const PeerId peer : peers_) {
      cluster_.applications_.peers().release(peer);
    }
  }
  Restorer(const Restorer&) = delete;
  Restorer& operator=(const Restorer&) = delete;

  Result<void> restore() {
    const DeferredDerivation deferred(cluster_);
    Result<void> restored = read_now();
    const auto then = [&](auto step) {
      if (restored) {
        restored = (this->*step)();
      }
      if (restored && read_.failed()) {
        restored = bad("values that cannot be");
      }
    };
    then(&Restorer::read_rows);
    then(&Restorer::read_objects<ReferredObject>);
    then(&Restorer::read_objects<PriorityClass>);
    if (cluster_.capacity_scheduling_ != nullptr) {
      then(&Restorer::read_capacity_scheduling);
    }
    then(&Restorer::read_pods);
    then(&Restorer::read_chosen_volumes);
    if (cluster_.load_aware_ != nullptr) {
      then(&Restorer::read_metrics);
    }
    then(&Restorer::finish);
    return restored;
  }

 private:
  static tl::unexpected<Error> bad(const std::string& what) {
    return fail(ErrorCode::kInvalid, "it holds " + what);
  }
  bool is_row(std::uint32_t row) const {
    return row < cluster_.facts_.nodes.size() && !cluster_.facts_.nodes[row].name.empty();
  }
  bool is_row_or_none(std::uint32_t row) const { return row == kNoRow || is_row(row); }

  Result<void> read_now() {
    read_(cluster_.now_us_);
    if (cluster_.now_us_ < 0 || !is_time(cluster_.now_us_)) {
      return bad(fmt::format("the time {} us", cluster_.now_us_));
    }
    return {};
  }

  Result<void> read_rows() {
    const auto count = read_.read<std::uint64_t>();
    if (count > kNodesMax) {
      return bad(fmt::format("{} names of nodes, kNodesMax is {}", count, kNodesMax));
    }
    for (std::uint32_t row = 0; row < count && !read_.failed(); ++row) {
      const auto name = read_.read<std::string_view>();
      if (name.empty()) {
        free_rows_.push_back(cluster_.table_.acquire_row());
        continue;
      }
      if (cluster_.row_of(name) != row) {
        return bad(fmt::format("the node {} twice", name));
      }
      if (!read_.read<bool>()) {
        continue;
      }
      const auto node = read_.read<Node>();
      if (read_.failed()) {
        break;
      }
      if (node.name != name) {
        return bad(fmt::format("node {} under the name {}", node.name, name));
      }
      if (auto applied = cluster_.upsert(node); !applied) {
        return applied;
      }
    }
    return {};
  }

  template <typename Kind>
  Result<void> read_objects() {
    for (auto left = read_.read<std::uint64_t>(); left > 0; --left) {
      const auto object = read_.read<Kind>();
      if (read_.failed()) {
        break;
      }
      if (auto applied = cluster_.upsert(object); !applied) {
        return applied;
      }
    }
    return {};
  }

  Result<void> read_capacity_scheduling() {
    Result<void> applied = read_objects<ElasticQuota>();
    return applied ? read_objects<PodDisruptionBudget>() : applied;
  }

  Result<void> read_pods() {
    if (cluster_.capacity_scheduling_ == nullptr) {
      groups_.emplace_back();  // of all pods
    }
    const auto count = read_.read<std::uint64_t>();
    if (count > kPodsMax) {
      return bad(fmt::format("{} pods, kPodsMax is {}", count, kPodsMax));
    }
    for (PodId id = 0; id < count && !read_.failed(); ++id) {
      const auto key = read_.read<std::string_view>();
      if (key.find('/') == std::string_view::npos || cluster_.pod_of(key) != id) {
        return bad(fmt::format("the pod {} twice, or without a namespace", key));
      }
      if (read_.read<bool>()) {
        if (auto restored = read_pod(id); !restored) {
          return restored;
        }
      }
    }
    return {};
  }

  // It does not count yet: how its load counts depends on its row's metric.
  Result<void> read_pod(PodId id) {
    PodFacts& pod = cluster_.facts_.pods[id];
    const auto saved = read_.read<SavedPod>();
    const PodShape* shape = nullptr;
    if (auto read = read_shape(); read) {
      shape = *read;
    } else {
      return tl::unexpected(read.error());
    }
    PeerId peer = kNoPeer;
    if (cluster_.applications_.peers().keeps()) {
      if (auto read = read_peer(); read) {
        peer = *read;
      } else {
        return tl::unexpected(read.error());
      }
    }
    const auto rank = read_.read<SavedRank>();
    std::optional<std::uint32_t> priority_class;
    if (!rank.priority) {
      priority_class = read_.read<std::uint32_t>();
      if (*priority_class == classes_.size() && !read_.failed()) {
        classes_.push_back(read_.read<std::string>());
      }
    }
    std::uint32_t group = 0;
    if (cluster_.capacity_scheduling_ != nullptr) {
      group = read_.read<std::uint32_t>();
      if (group == groups_.size() && !read_.failed()) {
        Pod& pods_of_group = groups_.emplace_back();
        read_(pods_of_group.namespace_name, pods_of_group.labels);
      }
    }
    const std::uint32_t bound_row = row_of_saved(saved.bound);
    const std::uint32_t assumed_row = row_of_saved(saved.assumed);
    const std::uint32_t nominated_row = row_of_saved(rank.nominated);
    const bool possible = !read_.failed() && shape != nullptr && group < groups_.size() &&
                          (!priority_class || *priority_class < classes_.size()) &&
                          is_row_or_none(bound_row) && is_row_or_none(assumed_row) &&
                          is_row_or_none(nominated_row) &&
                          (saved.applied ? bound_row == kNoRow || assumed_row == kNoRow
                                         : bound_row == kNoRow && assumed_row != kNoRow) &&
                          is_time(saved.first_seen_us) && is_time(saved.scheduled_us.value_or(0)) &&
                          is_time(saved.initialized_us.value_or(0));
    if (!possible) {
      return bad("what cannot be of pod " + pod.key);
    }
    Pod& object = groups_[group];
    object.phase = saved.terminal ? "Succeeded" : "";
    const auto condition = [](const std::optional<std::int64_t>& since) {
      return since ? std::optional(PodCondition{true, since}) : std::nullopt;
    };
    object.scheduled = condition(saved.scheduled_us);
    object.initialized = condition(saved.initialized_us);
    object.containers.resize(1);
    object.containers.front().ports = saved.ports;
    object.start_us = rank.start_us;
    object.deleting = rank.deleting;
    object.priority = rank.priority;
    object.priority_class_name = priority_class ? classes_[*priority_class] : "";
    object.nominated_node_name =
        nominated_row == kNoRow ? "" : cluster_.facts_.nodes[nominated_row].name;
    pod.uid = PodUid(saved.uid);
    pod.applied = saved.applied;
    pod.first_seen_us = saved.first_seen_us;
    ++cluster_.pod_count_;
    cluster_.update_object(pod, object, *shape);
    cluster_.applications_.peers().give(pod, peer);
    cluster_.move_to(pod.bound_row, bound_row);
    cluster_.move_to(pod.assumed_row, assumed_row);
    return {};
  }

  Result<void> read_chosen_volumes() {
    PodId last = kNoPod;
    for (auto left = read_.read<std::uint64_t>(); left > 0; --left) {
      const auto id = read_.read<PodId>();
      auto choices = read_.read<ChosenVolumes::Choices>();
      if (read_.failed()) {
        break;
      }
      const auto& pods = cluster_.facts_.pods;
      if (id >= pods.size() || (last != kNoPod && id <= last) || pods[id].assumed_row == kNoRow ||
          choices.empty() ||
          std::any_of(choices.begin(), choices.end(), [](const VolumeChoice& its) {
            return its.claim.find('/') == std::string::npos;
          })) {
        return bad(fmt::format("what cannot be of the volumes that pod {} chose", id));
      }
      cluster_.applications_.set_chosen(id, std::move(choices));
      last = id;
    }
    return {};
  }

  // Held until the end, so that the file's numbers stand for them.
  Result<PeerId> read_peer() {
    const auto number = read_.read<std::uint32_t>();
    if (number == peers_.size() && !read_.failed()) {
      const auto peer = cluster_.applications_.peers().of_key(read_.read<std::string_view>());
      if (!peer) {
        return bad(peer.error().message);
      }
      cluster_.applications_.peers().hold(*peer);
      peers_.push_back(*peer);
    }
    return number < peers_.size() && !read_.failed()
               ? Result<PeerId>(peers_[number])
               : Result<PeerId>(bad("a pod of peers that are not there"));
  }

  // nullptr where there is none.
  Result<const PodShape*> read_shape() {
    const auto number = read_.read<std::uint32_t>();
    if (number < shapes_.size()) {
      return shapes_[number];
    }
    const auto key = read_.read<std::string_view>();
    if (number > shapes_.size() || read_.failed()) {
      return nullptr;
    }
    const Result<Pod> example = pod_of_counting_key(key);
    if (!example) {
      return tl::unexpected(example.error());
    }
    const auto shape = cluster_.shapes().for_counting(*example);
    if (!shape) {
      return tl::unexpected(shape.error());
    }
    return shapes_.emplace_back(*shape);
  }

  Result<void> read_metrics() {
    std::vector<bool> has_metric(cluster_.facts_.nodes.size());
    for (auto left = read_.read<std::uint64_t>(); left > 0; --left) {
      const auto row = read_.read<std::uint32_t>();
      MetricFacts metric = read_metric();
      if (read_.failed()) {
        break;
      }
      if (!is_row(row) || has_metric[row] || !is_time(metric.updated_us) ||
          !is_time(metric.interval_us)) {
        return bad(fmt::format("what cannot be of the metric of row {}", row));
      }
      has_metric[row] = true;
      cluster_.load_aware_->put(row, std::make_unique<MetricFacts>(std::move(metric)),
                                cluster_.now_us_);
      cluster_.mark(row, Cluster::Stale::kEverything);
    }
    return {};
  }

  MetricFacts read_metric() {
    MetricFacts metric;
    metric.dimensions = cluster_.load_aware_->dimension_count();
    const auto read_usage = [&] {
      for (std::uint32_t d = 0; d < metric.dimensions; ++d) {
        metric.amounts.push_back(read_.read<std::int64_t>());
      }
    };
    read_(metric.interval_us, metric.updated_us, metric.has_usage);
    read_usage();
    read_usage();
    MetricFacts::AllAggregated all_aggregated;
    for (auto left = read_.read<std::uint64_t>(); left > 0 && !read_.failed(); --left) {
      MetricFacts::Aggregated& aggregated = all_aggregated.emplace_back();
      read_(aggregated.type, aggregated.duration_us);
      read_usage();
    }
    metric.aggregated = cluster_.load_aware_->shared(all_aggregated);
    for (auto left = read_.read<std::uint64_t>(); left > 0 && !read_.failed(); --left) {
      PodId pod = kNoPod;
      bool prod = false;
      read_(pod, prod);
      read_usage();
      // A pod's place in the file is its PodId here.
      if (pod >= cluster_.facts_.pods.size() ||
          (!metric.pods.empty() && pod <= metric.pods.back().pod())) {
        read_.fail();
      }
      metric.pods.emplace_back(pod, prod);
    }
    return metric;
  }

  Result<void> finish() {
    for (PodId id = 0; id < cluster_.facts_.pods.size(); ++id) {
      cluster_.recount(id, kNoRow);
      if (!cluster_.facts_.pods[id].known() && cluster_.facts_.pods[id].mentions == 0) {
        return bad("pod " + cluster_.facts_.pods[id].key + ", of which nothing is known");
      }
    }
    for (const NodeFacts& facts : cluster_.facts_.nodes) {
      if (!facts.name.empty() && facts.node == nullptr && facts.mentions == 0) {
        return bad("node " + facts.name + ", of which nothing is known");
      }
    }
    for (const std::uint32_t row : free_rows_) {
      cluster_.table_.release_row(row);
    }
    if (!read_.at_end()) {
      return bad("more than belongs to it");
    }
    return {};
  }

  Cluster& cluster_;
  ValueReader& read_;
  std::vector<std::uint32_t> free_rows_;
  std::vector<const PodShape*> shapes_;  // by the file's numbers
  std::vector<PeerId> peers_;            // likewise; held
  std::vector<Pod> groups_;              // with the namespace and the labels
  std::vector<std::string> classes_;
};

Result<void> ClusterState::restore(Cluster& cluster, ValueReader& reader) {
  return Restorer(cluster, reader).restore();
}

}  // namespace headroom
