// See load_estimate.h. Reference 2.3 and 2.4; proposal-rules.md, "LoadAwareScheduling".
#include "oracle/policies/load_estimate.h"

#include <algorithm>
#include <cmath>

#include "oracle/time.h"

namespace oracle {
namespace {

const char kFactors[] = "scheduling.koordinator.sh/load-estimated-scaling-factors";
const char kAfterScheduled[] =
    "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled";
const char kAfterInitialized[] =
    "scheduling.koordinator.sh/load-estimated-seconds-after-initialized";

PriorityClass class_of_name(const std::string& name) {
  if (name == "koord-prod") return PriorityClass::kProd;
  if (name == "koord-mid") return PriorityClass::kMid;
  if (name == "koord-batch") return PriorityClass::kBatch;
  if (name == "koord-free") return PriorityClass::kFree;
  return PriorityClass::kNone;
}

PriorityClass class_of_priority(std::optional<std::int64_t> priority) {
  const std::int64_t value = priority.value_or(0);
  if (value >= 9000 && value <= 9999) return PriorityClass::kProd;
  if (value >= 7000 && value <= 7999) return PriorityClass::kMid;
  if (value >= 5000 && value <= 5999) return PriorityClass::kBatch;
  if (value >= 3000 && value <= 3999) return PriorityClass::kFree;
  return PriorityClass::kNone;
}

// The QoS label, else the class of Kubernetes: status.qosClass if set, else computed.
PriorityClass class_of_qos(const Json& pod) {
  const std::string label = text(child(pod, "metadata", "labels"), "koordinator.sh/qosClass");
  if (label == "BE") return PriorityClass::kBatch;
  if (label == "LSE" || label == "LSR" || label == "LS" || label == "SYSTEM") {
    return PriorityClass::kProd;
  }
  std::string qos = text(child(pod, "status"), "qosClass");
  if (qos.empty()) qos = pod_qos_class(pod);
  if (qos == "BestEffort") return PriorityClass::kBatch;
  return qos == "Guaranteed" || qos == "Burstable" ? PriorityClass::kProd : PriorityClass::kNone;
}

// TranslateResourceNameByPriorityClass; "" where the class has no such resource.
std::string translate(PriorityClass priority, const std::string& resource) {
  switch (priority) {
    case PriorityClass::kNone:
    case PriorityClass::kProd:
      return resource;
    case PriorityClass::kBatch:
      return resource == "cpu"      ? "kubernetes.io/batch-cpu"
             : resource == "memory" ? "kubernetes.io/batch-memory"
                                    : "";
    case PriorityClass::kMid:
      return resource == "cpu"      ? "kubernetes.io/mid-cpu"
             : resource == "memory" ? "kubernetes.io/mid-memory"
                                    : "";
    case PriorityClass::kFree:
      break;
  }
  return "";
}

// What a pod without request and limit counts as.
std::int64_t default_estimate(const std::string& resource) {
  if (resource == "cpu" || resource == "kubernetes.io/batch-cpu") return 250;
  if (resource == "memory" || resource == "kubernetes.io/batch-memory") {
    return static_cast<std::int64_t>(kDefaultMemory);
  }
  return 0;
}

Int128 nano_of(const Resources& resources, const std::string& name) {
  const auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

// Upstream: the larger of limit and request, times the factor in double, not above the limit.
std::int64_t upstream_estimate(const std::string& resource, Int128 request, Int128 limit,
                               std::int64_t factor) {
  const Int128 larger = limit > request ? limit : request;
  if (larger == 0) return default_estimate(resource);
  const double scaled =
      static_cast<double>(to_unit(resource, larger)) * static_cast<double>(factor) / 100;
  const auto estimate = static_cast<std::int64_t>(std::round(scaled));
  const std::int64_t cap = to_unit(resource, limit);
  return cap > 0 && estimate > cap ? cap : estimate;
}

// "the limit if limit > request; else request * factor / 100 rounded half away from zero, not above
// the limit where there is one; with neither, 250m and 200Mi."
std::int64_t proposal_estimate(const std::string& resource, Int128 request, Int128 limit,
                               std::int64_t factor) {
  if (limit == 0 && request == 0) return default_estimate(resource);
  if (limit > request) return to_unit(resource, limit);
  const Int128 scaled = Int128{to_unit(resource, request)} * factor;
  const auto estimate = static_cast<std::int64_t>((scaled + (scaled < 0 ? -50 : 50)) / 100);
  return limit > 0 ? std::min(estimate, to_unit(resource, limit)) : estimate;
}

// The arguments' factors with those of the pod's annotation, if that is allowed and good.
PerResource factors_of(const LoadArgs& args, const Json& pod) {
  if (!args.allow_custom_estimation) return args.factors;
  const Json& annotation = child(pod, "metadata", "annotations", kFactors);
  if (!annotation.is_string()) return args.factors;
  const std::optional<Json> json = parse_json(annotation.get<std::string>());
  std::optional<PerResource> factors = json ? read_integers(*json) : std::nullopt;
  if (!factors) return args.factors;
  for (const auto& [name, factor] : args.factors) factors->emplace(name, factor);
  return *factors;
}

// The transition time of a condition that is True and has one.
std::optional<Int128> true_since(const Json& pod, const std::string& type) {
  const Json& conditions = child(pod, "status", "conditions");
  if (!conditions.is_array()) return std::nullopt;
  for (const Json& condition : conditions) {
    if (text(condition, "type") != type) continue;
    if (text(condition, "status") != "True") return std::nullopt;
    return parse_time(text(condition, "lastTransitionTime"));
  }
  return std::nullopt;
}

// The seconds of the pod's annotation, if that is allowed; the arguments' where it does not parse
// (strconv.ParseInt) or is negative.
std::int64_t seconds_of(const LoadArgs& args, const Json& pod, const char* annotation,
                        std::int64_t fallback) {
  const Json& written = child(pod, "metadata", "annotations", annotation);
  if (!args.allow_custom_estimation || !written.is_string()) return fallback;
  const std::string digits = written.get<std::string>();
  std::size_t at = digits.empty() || digits[0] != '+' ? 0 : 1;
  if (at == digits.size()) return fallback;
  std::int64_t seconds = 0;
  for (; at < digits.size(); ++at) {
    if (digits[at] < '0' || digits[at] > '9' || seconds > INT64_MAX / 100) return fallback;
    seconds = seconds * 10 + (digits[at] - '0');
  }
  return seconds;
}

}  // namespace

PriorityClass explicit_priority_class(const Json& pod) {
  const Json& label = child(pod, "metadata", "labels", "koordinator.sh/priority-class");
  return label.is_string() ? class_of_name(label.get<std::string>())
                           : class_of_priority(integer(child(pod, "spec"), "priority"));
}

PriorityClass priority_class(const Json& pod) {
  const PriorityClass named = explicit_priority_class(pod);
  return named == PriorityClass::kNone ? class_of_qos(pod) : named;
}

Amounts estimate_pod(const Cycle& cycle, const LoadArgs& args, const Json& pod) {
  const Resources requests = pod_requests(pod), limits = pod_limits(pod);
  const PriorityClass priority =
      cycle.mode == Mode::kUpstream ? priority_class(pod) : explicit_priority_class(pod);
  Amounts estimates;
  bool all_zero = true;
  for (const auto& [resource, factor] : factors_of(args, pod)) {
    if (!args.resources.contains(resource)) continue;
    const std::string name = translate(priority, resource);
    if (name.empty()) continue;
    const auto estimate =
        cycle.mode == Mode::kUpstream
            ? upstream_estimate(name, nano_of(requests, name), nano_of(limits, name), factor)
            : proposal_estimate(name, nano_of(requests, name), nano_of(limits, name), factor);
    estimates[resource] = estimate;
    all_zero = all_zero && estimate == 0;
  }
  return all_zero ? Amounts() : estimates;
}

Int128 assign_time(const Json& pod, Int128 since) {
  return true_since(pod, "PodScheduled").value_or(since);
}

// Initialized plus its seconds takes precedence over the assign time plus its seconds.
std::optional<Int128> estimate_deadline(const LoadArgs& args, const Json& pod, Int128 assigned) {
  const std::int64_t after_initialized =
      seconds_of(args, pod, kAfterInitialized, args.seconds_after_initialized);
  const std::int64_t after_scheduled =
      seconds_of(args, pod, kAfterScheduled, args.seconds_after_scheduled);
  const std::optional<Int128> initialized = true_since(pod, "Initialized");
  if (after_initialized > 0 && initialized) return *initialized + after_initialized * kSecond;
  if (after_scheduled > 0) return assigned + after_scheduled * kSecond;
  return std::nullopt;
}

}  // namespace oracle
