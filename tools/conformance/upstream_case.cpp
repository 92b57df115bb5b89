// Runs one case of CapacityQuota in mode Upstream; see upstream_case.h.
#include "tools/conformance/upstream_case.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "objects/reading/object_reader.h"
#include "objects/text/time_text.h"
#include "tools/conformance/case_runner.h"
#include "tools/conformance/upstream/upcoming_nodes.h"
#include "tools/conformance/upstream/upstream_quantity.h"
#include "tools/conformance/upstream/upstream_status.h"
#include "tools/conformance/upstream/upstream_tracker.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr const char* kNodeGroupAnnotation = "conformance/node-group";

// An absent or null field is an empty object.
const json& object_at(const json& object, const std::string& name) {
  static const json kEmpty = json::object();
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? kEmpty : *found;
}

// A quantity may be written as a number.
StringMap texts(const json& object) {
  StringMap result;  // nlohmann::json sorts names
  for (const auto& [name, value] : object.items()) {
    result.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return result;
}

UpstreamAmounts amounts(const json& object) { return object.get<UpstreamAmounts>(); }

UpstreamNode read_node(const json& object) {
  const json& metadata = object.at("metadata");
  const json& status = object_at(object, "status");
  UpstreamNode node;
  node.name = metadata.at("name");
  node.labels = texts(object_at(metadata, "labels"));
  node.capacity = texts(object_at(status, "capacity"));
  node.allocatable = texts(object_at(status, "allocatable"));
  node.node_group = object_at(metadata, "annotations").value(kNodeGroupAnnotation, "");
  for (const json& condition : status.value("conditions", json::array())) {
    node.conditions.push_back({condition.at("type"), condition.at("status")});
  }
  for (const json& taint : object_at(object, "spec").value("taints", json::array())) {
    node.taint_keys.push_back(taint.at("key"));
  }
  if (metadata.contains("creationTimestamp")) {
    const Result<std::int64_t> time =
        parse_time_us(metadata.at("creationTimestamp").get<std::string>());
    if (time) node.creation_us = *time;
  }
  return node;
}

UpstreamCapacityQuotaStatus read_status(const json& object) {
  UpstreamCapacityQuotaStatus status;
  if (object.contains("used")) status.used = texts(object_at(object.at("used"), "resources"));
  for (const json& condition : object.value("conditions", json::array())) {
    status.conditions.push_back({condition.at("type"), condition.at("status"),
                                 condition.value("reason", ""), condition.value("message", ""),
                                 condition.value("observedGeneration", std::int64_t{0})});
  }
  status.observed_generation = object.value("observedGeneration", std::int64_t{0});
  return status;
}

json to_json(const UpstreamCapacityQuotaStatus& status) {
  json result = {{"conditions", json::array()}, {"observedGeneration", status.observed_generation}};
  if (status.used) {
    json& used = result["used"] = json::object();
    for (const auto& [resource, text] : *status.used) used[resource] = text;
  }
  for (const UpstreamCapacityQuotaCondition& condition : status.conditions) {
    result["conditions"].push_back({{"type", condition.type},
                                    {"status", condition.status},
                                    {"reason", condition.reason},
                                    {"observedGeneration", condition.observed_generation}});
  }
  return result;
}

json left_of(const UpstreamTracker& tracker) {
  json result = json::object();
  for (const UpstreamTracker::TrackedCapacityQuota& quota : tracker.capacity_quotas())
    result[quota.id] = quota.left;
  return result;
}

json usage_of(const UpstreamTracker& tracker) {
  json result = json::object();
  for (const UpstreamTracker::TrackedCapacityQuota& quota : tracker.capacity_quotas())
    result[quota.id] = quota.usage;
  return result;
}

// The same resources with equal quantities, however they are written.
bool same_used(const json& want, const json& came) {
  const StringMap a = texts(want);
  const StringMap b = texts(came);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const Result<UpstreamQuantity> left = UpstreamQuantity::parse(x.second);
    const Result<UpstreamQuantity> right = UpstreamQuantity::parse(y.second);
    return x.first == y.first && left && right && *left == *right;
  });
}

class UpstreamCapacityQuotaRunner : private CaseRunner {
 public:
  std::vector<ConformanceDifference> run(const json& recorded) {
    at_ = "args";
    read_args(object_at(recorded, "args"));
    at_.clear();
    if (recorded.contains("now")) advance(recorded.at("now"));
    return play(
        recorded.value("objects", json::array()), recorded.at("steps"),
        [&](const json& object) { apply(object); }, [&](const json& step) { perform(step); });
  }

 private:
  using Mode = UpstreamTracker::Mode;

  void read_args(const json& args) {
    static const std::set<std::string> kKnown = {"gpuLabel",   "draGpuTypes",    "clusterLimits",
                                                 "nodeGroups", "nodeGroupState", "noInstance"};
    for (const auto& [name, value] : args.items()) {
      if (!kKnown.contains(name)) differ(name, value.dump(), "not supported");
    }
    gpu_label_ = args.value("gpuLabel", "");
    dra_gpu_types_ = args.value("draGpuTypes", std::vector<std::string>());
    const json& limits = object_at(args, "clusterLimits");
    min_ = amounts(object_at(limits, "min"));
    max_ = amounts(object_at(limits, "max"));
    no_instance_ = args.value("noInstance", std::set<std::string>());
    const json& states = object_at(args, "nodeGroupState");
    for (const auto& [id, node_template] : object_at(args, "nodeGroups").items()) {
      UpstreamNodeGroup group;
      group.id = id;
      if (!node_template.is_null()) group.node_template = read_node(node_template);
      const json& state = object_at(states, id);
      group.target_size = state.value("targetSize", std::int64_t{0});
      group.long_unregistered = state.value("longUnregistered", std::int64_t{0});
      group.scaling_up = state.value("scaleUp", std::int64_t{0}) > 0;
      group.backed_off = state.value("backedOff", false);
      groups_.push_back(std::move(group));
    }
  }

  // --- Steps ---

  void perform(const json& step) {
    const std::string op = step.at("op");
    if (op == "apply") return apply(step.at("object"));
    if (op == "delete") return remove(step.at("object"));
    if (op == "advance") return advance(step.at("now"));
    if (op == "quotaStatus") return compare_status(step.at("expect"), elastic_quota_status());
    if (op == "tracker") return compare(step.at("expect"), build_tracker(step));
    if (op == "trackerState") return compare(step.at("expect"), tracker_state(step));
    if (op == "checkQuota" || op == "applyDelta") return compare(step.at("expect"), ask(step));
    if (op == "upcomingNodes") return compare(step.at("expect"), upcoming());
    differ("op", op, "not supported");
  }

  void advance(const std::string& time) {
    const Result<std::int64_t> now_us = parse_time_us(time);
    if (!now_us) return differ("now", time, now_us.error().message);
    now_us_ = *now_us;
  }

  // A new status is the controller's to write: an update keeps the one that is there.
  void apply(const json& object) {
    const std::string kind = object.at("kind");
    if (kind == "Node") {
      UpstreamNode node = read_node(object);
      node.has_instance = !no_instance_.contains(node.name);
      const std::string name = node.name;
      nodes_.insert_or_assign(name, std::move(node));
      return;
    }
    if (kind != "CapacityQuota") return differ("object.kind", kind, "not supported");
    Result<Object> read = read_object(object.dump(), at_);
    if (!read) return differ("object", "accepted", read.error().message);
    CapacityQuota& quota = std::get<CapacityQuota>(*read);
    const std::string name = quota.name;
    const auto [entry, created] = quotas_.try_emplace(name);
    entry->second.spec = std::move(quota);
    if (created) entry->second.status = read_status(object_at(object, "status"));
  }

  void remove(const json& object) {
    const std::string kind = object.at("kind");
    const std::string name = object.at("metadata").at("name");
    if (kind == "Node") {
      nodes_.erase(name);
    } else if (kind == "CapacityQuota") {
      quotas_.erase(name);
    } else {
      differ("object.kind", kind, "not supported");
    }
  }

  std::vector<UpstreamNode> nodes() const {
    std::vector<UpstreamNode> result;
    for (const auto& [name, node] : nodes_) result.push_back(node);
    return result;
  }

  // Reconciles all of them.
  json elastic_quota_status() {
    const std::vector<UpstreamNode> all = nodes();
    json result = json::object();
    for (auto& [name, quota] : quotas_) {
      Result<UpstreamCapacityQuotaStatus> status = reconciled(quota, all);
      if (!status) {
        result[name] = status.error().message;
        continue;
      }
      quota.status = std::move(*status);
      result[name] = to_json(quota.status);
    }
    return result;
  }

  json build_tracker(const json& step) {
    const std::vector<UpstreamNode> all = nodes();
    std::vector<UpstreamCapacityQuota> quotas;
    for (const auto& [name, quota] : quotas_) quotas.push_back(quota);
    UpcomingNodes upcoming{amounts(object_at(step, "upcoming")),
                           step.value("notStarted", std::vector<std::string>())};
    const UpstreamSnapshot snapshot{all,  groups_, quotas,     std::move(upcoming),
                                    min_, max_,    gpu_label_, dra_gpu_types_};
    const Mode mode = mode_of(step);
    trackers_.erase(mode);
    Result<UpstreamTracker> tracker = UpstreamTracker::create(snapshot, mode);
    if (!tracker) return {{"error", tracker.error().message}};
    const json got = {{"limitsLeft", left_of(*tracker)}, {"usage", usage_of(*tracker)}};
    trackers_.emplace(mode, std::move(*tracker));
    return got;
  }

  json tracker_state(const json& step) {
    const auto tracker = trackers_.find(mode_of(step));
    if (tracker == trackers_.end()) return {{"error", "no tracker"}};
    return {{"limitsLeft", left_of(tracker->second)}};
  }

  json ask(const json& step) {
    const auto found = trackers_.find(mode_of(step));
    if (found == trackers_.end()) return {{"error", "no tracker"}};
    UpstreamTracker& tracker = found->second;
    const UpstreamNode node = read_node(step.at("node"));
    const std::int64_t count = step.at("count");
    const bool applies = step.at("op") == "applyDelta";
    const Result<UpstreamCheck> answer =
        applies ? tracker.consume(node, count) : tracker.check(node, count);
    if (!answer) return {{"error", answer.error().message}};
    json got = {{"allowedDelta", answer->allowed}, {"exceeded", json::array()}};
    for (const ExceededCapacityQuota& exceeded : answer->exceeded) {
      got["exceeded"].push_back({{"quota", exceeded.quota}, {"resources", exceeded.resources}});
    }
    if (applies) {
      got["applied"] = answer->applied;
      got["limitsLeft"] = left_of(tracker);
    }
    return got;
  }

  json upcoming() const {
    const UpcomingNodes expected = upcoming_nodes(nodes(), groups_, now_us_);
    return {{"upcoming", expected.counts}, {"notStarted", expected.not_started}};
  }

  Mode mode_of(const json& step) {
    const std::string mode = step.value("mode", "max");
    if (mode != "max" && mode != "min") differ("mode", "max or min", mode);
    return mode == "min" ? Mode::kMin : Mode::kMax;
  }

  // --- Comparing ---

  void compare(const json& expected, const json& got) {
    if (expected.contains("error") != got.contains("error")) {
      return differ("expect", expected.dump(), got.dump());
    }
    for (const auto& [field, want] : expected.items()) {
      if (!got.contains(field)) {
        differ(field, want.dump(), "not supported");
      } else if (got.at(field) != want) {
        differ(field, want.dump(), got.at(field).dump());
      }
    }
  }

  // The wording of messages is not compared, and quantities by their value.
  void compare_status(const json& expected, const json& got) {
    std::set<std::string> names;
    for (const auto& [name, status] : expected.items()) names.insert(name);
    for (const auto& [name, status] : got.items()) names.insert(name);
    for (const std::string& name : names) {
      json want = expected.value(name, json());
      json came = got.value(name, json());
      if (want.is_object() && came.is_object()) {
        for (json& condition : want["conditions"]) condition.erase("message");
        if (want.contains("used") && came.contains("used") &&
            same_used(want.at("used"), came.at("used"))) {
          came["used"] = want.at("used");
        }
      }
      if (want != came) differ(name, want.dump(), came.dump());
    }
  }

  std::string gpu_label_;
  std::vector<std::string> dra_gpu_types_;
  UpstreamAmounts min_, max_;
  std::vector<UpstreamNodeGroup> groups_;
  std::set<std::string> no_instance_;
  std::int64_t now_us_ = 0;
  std::map<std::string, UpstreamNode> nodes_;
  std::map<std::string, UpstreamCapacityQuota> quotas_;
  std::map<Mode, UpstreamTracker> trackers_;
};

}  // namespace

std::vector<ConformanceDifference> run_upstream_capacity_quota_case(const json& recorded) {
  return UpstreamCapacityQuotaRunner().run(recorded);
}

}  // namespace headroom
