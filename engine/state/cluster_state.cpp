#include "engine/state/cluster_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace headroom {

namespace {

// Far beyond any clock, and near enough that a time and a duration add up.
constexpr std::int64_t kStateTimeMaxUs = std::int64_t{1} << 60;

// Rows are written plus 1, so that none is a small number too.
std::uint32_t saved_row(std::uint32_t row) { return row + 1; }
std::uint32_t row_of_saved(std::uint32_t saved) { return saved - 1; }
static_assert(kNoRow + std::uint32_t{1} == 0);

struct SavedPod {
  std::string_view uid;
  bool applied = false, terminal = false;
  std::uint32_t bound = 0, assumed = 0;  // saved_row()
  std::int64_t first_seen_us = 0;
  std::optional<std::int64_t> scheduled_us, initialized_us;
  std::vector<ContainerPort> ports;  // of the host
};

void fields(auto& state, MaybeConst<SavedPod> auto& pod) {
  auto& [uid, applied, terminal, bound, assumed, first_seen_us, scheduled_us, initialized_us,
         ports] = pod;
  state(uid, applied, terminal, bound, assumed, first_seen_us, scheduled_us, initialized_us, ports);
}

struct SavedRank {
  std::optional<std::int32_t> priority;  // its own
  std::optional<std::int64_t> start_us;
  std::uint32_t nominated = 0;  // saved_row()
  bool deleting = false;
};

void fields(auto& state, MaybeConst<SavedRank> auto& rank) {
  auto& [priority, start_us, nominated, deleting] = rank;
  state(priority, start_us, nominated, deleting);
}

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

// --- Saving ---

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
    if (cluster_.capacity_ != nullptr) {
      write_capacity(*cluster_.capacity_);
    }
    write_pods();
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
      write_(*facts.node);
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

  void write_capacity(const CapacityScheduling& capacity) {
    const ElasticQuotas& quotas = capacity.elastic_quotas();
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
    write_(capacity.budgets().all());
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
    SavedPod saved{pod.uid,
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
    if (cluster_.capacity_ != nullptr) {
      write_group(pod.rank.group, *cluster_.capacity_);
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

  void write_group(GroupId group, const CapacityScheduling& capacity) {
    const bool new_group = groups_.add(group);
    write_(groups_[group]);
    if (new_group) {
      const DisruptionBudgets& budgets = capacity.budgets();
      write_(capacity.elastic_quotas().at(budgets.namespace_of(group)).name,
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
    const auto write_usage = [&](std::uint32_t usage) {
      for (std::uint32_t d = 0; d < cluster_.load_aware_->dimension_count(); ++d) {
        write_(metric.at(usage)[d]);
      }
    };
    write_(metric.interval_us, metric.updated_us, metric.has_usage);
    write_usage(metric.node_usage);
    write_usage(metric.system_usage);
    write_(std::uint64_t{metric.aggregated.size()});
    for (const MetricFacts::Aggregated& aggregated : metric.aggregated) {
      write_(aggregated.type, aggregated.duration_us);
      write_usage(aggregated.usage);
    }
    std::vector<MetricFacts::PodUsage> pods = metric.pods;
    std::sort(pods.begin(), pods.end(), [this](const auto& a, const auto& b) {
      return pod_numbers_[a.pod] < pod_numbers_[b.pod];
    });
    write_(std::uint64_t{pods.size()});
    for (const MetricFacts::PodUsage& usage : pods) {
      write_(pod_numbers_[usage.pod], usage.prod);
      write_usage(usage.usage);
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

// --- Restoring ---

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
    const Bulk bulk(cluster_);
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
    if (cluster_.capacity_ != nullptr) {
      then(&Restorer::read_capacity);
    }
    then(&Restorer::read_pods);
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
  static bool is_time(std::int64_t time_us) {
    return time_us >= -kStateTimeMaxUs && time_us <= kStateTimeMaxUs;
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

  Result<void> read_capacity() {
    Result<void> applied = read_objects<ElasticQuota>();
    return applied ? read_objects<PodDisruptionBudget>() : applied;
  }

  Result<void> read_pods() {
    if (cluster_.capacity_ == nullptr) {
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
    if (cluster_.capacity_ != nullptr) {
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
    pod.uid = saved.uid;
    pod.applied = saved.applied;
    pod.first_seen_us = saved.first_seen_us;
    ++cluster_.pod_count_;
    cluster_.update_object(pod, object, *shape);
    cluster_.applications_.peers().give(pod, peer);
    cluster_.move_to(pod.bound_row, bound_row);
    cluster_.move_to(pod.assumed_row, assumed_row);
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
    const auto read_usage = [&] {
      const auto begin = static_cast<std::uint32_t>(metric.amounts.size());
      for (std::uint32_t d = 0; d < cluster_.load_aware_->dimension_count(); ++d) {
        metric.amounts.push_back(read_.read<std::int64_t>());
      }
      return begin;
    };
    read_(metric.interval_us, metric.updated_us, metric.has_usage);
    metric.node_usage = read_usage();
    metric.system_usage = read_usage();
    for (auto left = read_.read<std::uint64_t>(); left > 0 && !read_.failed(); --left) {
      MetricFacts::Aggregated& aggregated = metric.aggregated.emplace_back();
      read_(aggregated.type, aggregated.duration_us);
      aggregated.usage = read_usage();
    }
    for (auto left = read_.read<std::uint64_t>(); left > 0 && !read_.failed(); --left) {
      MetricFacts::PodUsage usage{};
      read_(usage.pod, usage.prod);
      usage.usage = read_usage();
      // A pod's place in the file is its PodId here.
      if (usage.pod >= cluster_.facts_.pods.size() ||
          (!metric.pods.empty() && usage.pod <= metric.pods.back().pod)) {
        read_.fail();
      }
      metric.pods.push_back(usage);
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
