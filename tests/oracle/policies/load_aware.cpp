// LoadAwareScheduling: proposal-rules.md, "LoadAwareScheduling"; Upstream: reference 1 and 2.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "oracle/policies/load_estimate.h"
#include "oracle/policies/policies.h"
#include "oracle/time.h"

namespace oracle {
namespace {

// "Expired: no updateTime, or now - updateTime >= expiration."
bool is_expired(const Cycle& cycle, const LoadArgs& args, const Json& metric) {
  const std::optional<Int128> updated = parse_time(text(child(metric, "status"), "updateTime"));
  if (!updated) return true;
  return args.expiration_seconds > 0 && cycle.now - *updated >= args.expiration_seconds * kSecond;
}

bool is_prod(const Json& pod) { return priority_class(pod) == PriorityClass::kProd; }

bool is_all_zero(const PerResource& map) {
  return std::all_of(map.begin(), map.end(), [](const auto& entry) { return entry.second == 0; });
}

// status.allocatable, overridden key by key by the raw-allocatable annotation if that is good.
Amounts load_allocatable(const Json& node) {
  Resources allocatable = read_resources(child(node, "status", "allocatable"));
  const Json& annotation =
      child(node, "metadata", "annotations", "node.koordinator.sh/raw-allocatable");
  const std::optional<Json> raw =
      annotation.is_string() ? parse_json(annotation.get<std::string>()) : std::nullopt;
  if (raw && raw->is_object()) {
    try {
      for (const auto& [name, nano] : read_resources(*raw)) allocatable[name] = nano;
    } catch (const std::invalid_argument&) {
      // Ignored as a whole: read_resources throws before anything is overridden.
    }
  }
  return to_units(allocatable);
}

// What a report says of one pod.
struct ReportedPod {
  Amounts usage;
  bool is_prod = false;
};

// status.podsMetric by namespace/name: the last entry with usage counts, prod if any of them is.
std::map<std::string, ReportedPod> reported_pods(const Json& metric) {
  std::map<std::string, ReportedPod> reported;
  const Json& entries = child(metric, "status", "podsMetric");
  if (!entries.is_array()) return reported;
  for (const Json& entry : entries) {
    const Resources usage = read_resources(child(entry, "podUsage", "resources"));
    if (usage.empty()) continue;
    ReportedPod& pod = reported[text(entry, "namespace") + "/" + text(entry, "name")];
    pod.usage = to_units(usage);
    pod.is_prod = pod.is_prod || text(entry, "priority") == "koord-prod";
  }
  return reported;
}

// The usage that a report aggregates over the duration; 0 is the longest one reported. nullopt
// where there is none of exactly that duration.
std::optional<Amounts> aggregated_usage(const Json& metric, const Aggregation& wanted) {
  const Json& entries = child(metric, "status", "nodeMetric", "aggregatedNodeUsages");
  std::optional<Amounts> found;
  Int128 longest = -1;
  if (!entries.is_array()) return found;
  for (const Json& entry : entries) {
    const Resources usage = read_resources(child(entry, "usage", wanted.type, "resources"));
    if (usage.empty()) continue;
    const Int128 duration = parse_duration(text(entry, "duration")).value_or(0);
    if (wanted.duration == 0 ? duration >= longest : duration == wanted.duration) {
      longest = duration;
      found = to_units(usage);
    }
  }
  return found;
}

Amounts plain_usage(const Json& metric) {
  return to_units(read_resources(child(metric, "status", "nodeMetric", "nodeUsage", "resources")));
}

// systemUsage where prod usage includes it.
Amounts prod_system_usage(const LoadArgs& args, const Json& metric) {
  if (!args.prod_includes_system) return {};
  return to_units(
      read_resources(child(metric, "status", "nodeMetric", "systemUsage", "resources")));
}

// Mode Proposal asks for usage, Upstream for the object that would hold it.
bool has_usage(const Cycle& cycle, const Json& metric) {
  const Json& reported = child(metric, "status", "nodeMetric");
  if (!reported.is_object()) return false;
  return cycle.mode == Mode::kUpstream ||
         !read_resources(child(reported, "nodeUsage", "resources")).empty();
}

// The sums over the pods of a node: reference 2.3.
struct PodSums {
  Amounts prod_usage;      // reported usage of prod pods
  Amounts delta;           // what estimates add to the report
  Amounts prod_delta;      // the same of prod pods
  Amounts full_estimates;  // every estimate
};

// Sums saturate. (Those of Upstream wrap; no case of it comes there.)
void add_one(std::int64_t& sum, Int128 more) { sum = sum_in_int64(Mode::kProposal, sum + more); }

// max(0, estimate - usage) for each resource.
void add_excess(Amounts& sum, const Amounts& estimate, const Amounts& usage) {
  for (const auto& [name, value] : estimate) {
    add_one(sum[name], std::max<Int128>(0, Int128{value} - amount(usage, name)));
  }
}

void add_all(Amounts& sum, const Amounts& more) {
  for (const auto& [name, value] : more) add_one(sum[name], value);
}

bool is_reserve_pod(const Json& pod) {
  return child(pod, "metadata", "annotations", "scheduling.koordinator.sh/reserve-pod") == "true";
}

// A pod's namespace/name.
std::string full_name_of(const Json& pod) {
  const Json& metadata = child(pod, "metadata");
  return text(metadata, "namespace") + "/" + text(metadata, "name");
}

// Whether the report is too old to hold the pod's usage: R > U or U - R < interval, or a deadline.
bool is_unreported(const LoadArgs& args, const Json& metric, const PlacedPod& placed) {
  const Int128 updated =
      parse_time(text(child(metric, "status"), "updateTime")).value_or(kZeroTime);
  const std::int64_t interval =
      integer(child(metric, "spec", "metricCollectPolicy"), "reportIntervalSeconds").value_or(60);
  const Int128 assigned = assign_time(*placed.pod, placed.since);
  if (assigned > updated || updated - assigned < interval * kSecond) return true;
  const std::optional<Int128> deadline = estimate_deadline(args, *placed.pod, assigned);
  return deadline && *deadline > updated;
}

// "prod usage counts the prod pods that count on the node and are reported as koord-prod": in both
// modes; Upstream leaves reserve pods out of everything.
Amounts prod_usage(const Cycle& cycle, const LoadArgs& args, const NodeView& view) {
  Amounts used = prod_system_usage(args, *view.metric);
  const std::map<std::string, ReportedPod> reported = reported_pods(*view.metric);
  for (const PlacedPod& placed : view.pods) {
    if (cycle.mode == Mode::kUpstream && is_reserve_pod(*placed.pod)) continue;
    const auto entry = reported.find(full_name_of(*placed.pod));
    if (entry == reported.end() || !entry->second.is_prod || !is_prod(*placed.pod)) continue;
    add_all(used, entry->second.usage);
  }
  return used;
}

PodSums sum_pods(const Cycle& cycle, const LoadArgs& args, const NodeView& view) {
  const bool upstream = cycle.mode == Mode::kUpstream;
  PodSums sums;
  sums.prod_usage = prod_usage(cycle, args, view);
  const std::map<std::string, ReportedPod> reported = reported_pods(*view.metric);
  for (const PlacedPod& placed : view.pods) {
    if (upstream && is_reserve_pod(*placed.pod)) continue;
    const auto entry = reported.find(full_name_of(*placed.pod));
    const bool has_usage = entry != reported.end();
    const Amounts usage = has_usage ? entry->second.usage : Amounts();
    const bool prod = is_prod(*placed.pod);
    const bool reported_as_prod = has_usage && entry->second.is_prod;

    const Amounts estimate = estimate_pod(cycle, args, *placed.pod);
    if (estimate.empty()) continue;
    // "Absence from the report alone does not estimate a pod"; Upstream: it does.
    const bool absent_counts = upstream && !has_usage;
    const bool should = absent_counts || is_unreported(args, *view.metric, placed);
    if (should) add_excess(sums.delta, estimate, usage);
    add_all(sums.full_estimates, estimate);
    if (!prod) continue;
    // Reported, but not as prod: its usage is not in prod_usage, so none of it is taken off;
    // Upstream estimates such a pod in any case.
    const bool misreported = has_usage && !reported_as_prod;
    if (should || (misreported && upstream)) {
      add_excess(sums.prod_delta, estimate, misreported ? Amounts() : usage);
    }
  }
  return sums;
}

// GetNodeMetricAndEstimatedOfExisting: reference 1.3.
Amounts used_on_node(const Cycle& cycle, const LoadArgs& args, const NodeView& view, bool prod,
                     const std::optional<Aggregation>& aggregation) {
  const PodSums sums = sum_pods(cycle, args, view);
  Amounts used;
  if (prod) {
    used = sums.prod_usage;
    add_all(used, sums.prod_delta);
    return used;
  }
  std::optional<Amounts> base;
  if (aggregation) base = aggregated_usage(*view.metric, *aggregation);
  // Missing without a duration: plain usage; missing with one: all estimates instead.
  if (!base && aggregation && aggregation->duration != 0) return sums.full_estimates;
  used = base ? *base : plain_usage(*view.metric);
  add_all(used, sums.delta);
  return used;
}

// What the Proposal's filter compares: "the latest report only", never estimates.
std::optional<Amounts> reported_usage(const Cycle& cycle, const LoadArgs& args,
                                      const NodeView& view, bool prod,
                                      const std::optional<Aggregation>& aggregation) {
  if (prod) return prod_usage(cycle, args, view);
  if (!aggregation) return plain_usage(*view.metric);
  const std::optional<Amounts> used = aggregated_usage(*view.metric, *aggregation);
  if (used || aggregation->duration != 0) return used;
  return plain_usage(*view.metric);
}

// Reference 1.4: two roundings in double, then half away from zero.
bool exceeds_upstream(std::int64_t used, std::int64_t total, std::int64_t threshold) {
  const double percent = static_cast<double>(used) / static_cast<double>(total) * 100;
  return static_cast<std::int64_t>(std::round(percent)) > threshold;
}

// "reject when usage * 100 >= threshold * allocatable".
bool exceeds_proposal(std::int64_t used, std::int64_t total, std::int64_t threshold) {
  return Int128{used} * 100 >= Int128{threshold} * total;
}

// `limits` against `used`, in the order of the names; the first that exceeds gives the reason.
Status compare(const Cycle& cycle, const LoadArgs& args, const PerResource& limits,
               const Amounts& used, const Amounts& allocatable, bool aggregated) {
  for (const std::string& name : args.resources) {
    const auto limit = limits.find(name);
    const std::int64_t total = amount(allocatable, name);
    if (limit == limits.end() || limit->second == 0 || total == 0) continue;
    const bool exceeds = cycle.mode == Mode::kUpstream
                             ? exceeds_upstream(amount(used, name), total, limit->second)
                             : exceeds_proposal(amount(used, name), total, limit->second);
    if (!exceeds) continue;
    return {Code::kUnschedulable,
            {"node(s) " + name + (aggregated ? " aggregated" : "") + " usage exceed threshold"}};
  }
  return {};
}

// The thresholds that the vectors hold: resources that nothing else names are dropped (Upstream).
PerResource known(const LoadArgs& args, const PerResource& map) {
  PerResource result;
  for (const auto& [name, value] : map) {
    if (args.resources.contains(name)) result[name] = value;
  }
  return result;
}

// LeastAllocated of one resource; "0 if used >= total".
std::int64_t least_used(const Cycle& cycle, Int128 used, std::int64_t total) {
  if (used > total) return 0;
  const auto score = static_cast<std::int64_t>((total - used) * 100 / total);
  return cycle.mode == Mode::kProposal ? std::min<std::int64_t>(100, score) : score;
}

// Weighted mean of the resources, the scarcest of all counting `dominant_weight` times more.
std::int64_t load_score(const Cycle& cycle, const LoadArgs& args, const Amounts& used,
                        const Amounts& allocatable) {
  Int128 sum = 0, weights = 0;
  std::int64_t dominant = 100;
  bool any = false;
  for (const std::string& name : args.resources) {
    const std::int64_t total = amount(allocatable, name);
    // "R without capacity drops out"; Upstream: it scores 0.
    if (total == 0 && cycle.mode == Mode::kProposal) continue;
    const std::int64_t score = total == 0 ? 0 : least_used(cycle, amount(used, name), total);
    const auto weight = args.weights.find(name);
    if (weight != args.weights.end()) {
      sum += Int128{score} * weight->second;
      weights += weight->second;
    }
    dominant = std::min(dominant, score);
    any = true;
  }
  if (args.dominant_weight != 0 && any) {
    sum += Int128{dominant} * args.dominant_weight;
    weights += args.dominant_weight;
  }
  return weights <= 0 ? 0 : static_cast<std::int64_t>(sum / weights);
}

}  // namespace

// Reference 1.1, with the order of the Proposal where that differs.
Status filter_load_aware(const Cycle& cycle, const NodeView& view) {
  const bool upstream = cycle.mode == Mode::kUpstream;
  if (is_daemon_set_pod(*cycle.pod)) return {};
  const LoadArgs args = read_load_args(cycle);
  const Thresholds thresholds = node_thresholds(cycle, args, *view.node);
  const bool prod = !is_all_zero(known(args, thresholds.prod)) && is_prod(*cycle.pod);
  const bool aggregated = !prod && thresholds.aggregation.has_value();
  const PerResource limits = known(args, prod         ? thresholds.prod
                                         : aggregated ? thresholds.aggregated
                                                      : thresholds.usage);
  // Upstream: all-zero thresholds switch even the expiry off.
  if (upstream && is_all_zero(limits)) return {};
  if (view.metric == nullptr) return {};
  if (args.filter_expired && is_expired(cycle, args, *view.metric)) {
    if (args.enable_when_expired) return {};
    return {Code::kUnschedulable, {"node(s) nodeMetric expired"}};
  }
  if (!has_usage(cycle, *view.metric)) return {};
  const std::optional<Aggregation> aggregation = aggregated ? thresholds.aggregation : std::nullopt;
  std::optional<Amounts> used;
  if (upstream) {
    used = used_on_node(cycle, args, view, prod, aggregation);
    add_all(*used, estimate_pod(cycle, args, *cycle.pod));
  } else {
    used = reported_usage(cycle, args, view, prod, aggregation);
  }
  if (!used) return {};
  return compare(cycle, args, limits, *used, load_allocatable(*view.node), aggregated);
}

// Reference 2.1; "0 when the metric is missing, expired or without usage".
Score score_load_aware(const Cycle& cycle, const NodeView& view) {
  const LoadArgs args = read_load_args(cycle);
  if (is_all_zero(args.weights) && args.dominant_weight == 0) return {};
  if (view.metric == nullptr || is_expired(cycle, args, *view.metric)) return {};
  if (!has_usage(cycle, *view.metric)) return {};
  const bool prod = args.score_by_prod_usage && is_prod(*cycle.pod);
  Amounts used = used_on_node(cycle, args, view, prod, args.score_aggregation);
  add_all(used, estimate_pod(cycle, args, *cycle.pod));
  return {Code::kSuccess, load_score(cycle, args, used, load_allocatable(*view.node))};
}

}  // namespace oracle
