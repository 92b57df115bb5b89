#include "engine/policies/load_estimate.h"

#include <cmath>

#include "engine/policies/annotation_json.h"
#include "engine/table/resource_names.h"
#include "objects/pod_resources.h"

namespace headroom {

namespace {

constexpr std::int64_t kEstimatedMilliCpu = 250;
constexpr std::int64_t kEstimatedMemoryBytes = 200 << 20;

KoordPriorityClass by_label(std::string_view label) {
  for (const auto its_class : {KoordPriorityClass::kProd, KoordPriorityClass::kMid,
                               KoordPriorityClass::kBatch, KoordPriorityClass::kFree}) {
    if (label == label_of(its_class)) return its_class;
  }
  return KoordPriorityClass::kNone;
}

KoordPriorityClass by_priority(std::int32_t priority) {
  if (priority >= 9000 && priority <= 9999) return KoordPriorityClass::kProd;
  if (priority >= 7000 && priority <= 7999) return KoordPriorityClass::kMid;
  if (priority >= 5000 && priority <= 5999) return KoordPriorityClass::kBatch;
  if (priority >= 3000 && priority <= 3999) return KoordPriorityClass::kFree;
  return KoordPriorityClass::kNone;
}

KoordPriorityClass by_qos_label(std::string_view label) {
  if (label == "LSE" || label == "LSR" || label == "LS" || label == "SYSTEM") {
    return KoordPriorityClass::kProd;
  }
  return label == "BE" ? KoordPriorityClass::kBatch : KoordPriorityClass::kNone;
}

KoordPriorityClass by_qos(const Pod& pod) {
  if (const std::string* label = find(pod.labels, kKoordQosClassLabel); label != nullptr) {
    if (const auto its_class = by_qos_label(*label); its_class != KoordPriorityClass::kNone) {
      return its_class;
    }
  }
  const std::string_view qos =
      pod.qos_class.empty() ? pod_qos_class(pod) : std::string_view(pod.qos_class);
  if (qos == "Guaranteed" || qos == "Burstable") return KoordPriorityClass::kProd;
  return qos == "BestEffort" ? KoordPriorityClass::kBatch : KoordPriorityClass::kNone;
}

std::int64_t default_usage(std::string_view name) {
  if (name == "cpu" || name == "kubernetes.io/batch-cpu") return kEstimatedMilliCpu;
  if (name == "memory" || name == "kubernetes.io/batch-memory") return kEstimatedMemoryBytes;
  return 0;
}

std::int64_t scaled(std::int64_t value, std::int64_t factor, Mode mode) {
  if (mode == Mode::kUpstream) {
    return static_cast<std::int64_t>(
        std::round(static_cast<double>(value) * static_cast<double>(factor) / 100));
  }
  const Int128 product = static_cast<Int128>(value) * factor;
  const Int128 rounded = (product + (product < 0 ? -50 : 50)) / 100;
  return rounded > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(rounded);
}

}  // namespace

std::string_view label_of(KoordPriorityClass priority_class) {
  switch (priority_class) {
    case KoordPriorityClass::kProd:
      return "koord-prod";
    case KoordPriorityClass::kMid:
      return "koord-mid";
    case KoordPriorityClass::kBatch:
      return "koord-batch";
    case KoordPriorityClass::kFree:
      return "koord-free";
    case KoordPriorityClass::kNone:
      break;
  }
  return "";
}

KoordPriorityClass explicit_priority_class(const Pod& pod) {
  if (const std::string* label = find(pod.labels, kKoordPriorityClassLabel); label != nullptr) {
    return by_label(*label);
  }
  return pod.priority ? by_priority(*pod.priority) : KoordPriorityClass::kNone;
}

KoordPriorityClass priority_class(const Pod& pod) {
  const KoordPriorityClass found = explicit_priority_class(pod);
  return found != KoordPriorityClass::kNone ? found : by_qos(pod);
}

std::vector<std::pair<std::string_view, std::string_view>> unknown_labels(const Pod& pod) {
  std::vector<std::pair<std::string_view, std::string_view>> unknown;
  const auto look_at = [&](std::string_view name, auto its_class) {
    const std::string* label = find(pod.labels, name);
    if (label != nullptr && !label->empty() && its_class(*label) == KoordPriorityClass::kNone) {
      unknown.emplace_back(name, *label);
    }
  };
  look_at(kKoordPriorityClassLabel, by_label);
  look_at(kKoordQosClassLabel, by_qos_label);
  return unknown;
}

std::string_view translated_resource(std::string_view resource, KoordPriorityClass priority_class) {
  switch (priority_class) {
    case KoordPriorityClass::kProd:
    case KoordPriorityClass::kNone:
      return resource;
    case KoordPriorityClass::kBatch:
      return resource == "cpu"      ? "kubernetes.io/batch-cpu"
             : resource == "memory" ? "kubernetes.io/batch-memory"
                                    : "";
    case KoordPriorityClass::kMid:
      return resource == "cpu"      ? "kubernetes.io/mid-cpu"
             : resource == "memory" ? "kubernetes.io/mid-memory"
                                    : "";
    case KoordPriorityClass::kFree:
      break;
  }
  return "";
}

std::optional<std::map<std::string, std::int64_t>> parse_factors(std::string_view json) {
  const AnnotationJson annotation(json);
  if (annotation.is_bad()) {
    return std::nullopt;
  }
  std::map<std::string, std::int64_t> factors;
  for (const auto& [key, value] : annotation) {
    std::int64_t factor = 0;
    if (value.get(factor) != simdjson::SUCCESS && !value.is_null()) {
      return std::nullopt;
    }
    factors[std::string(key)] = factor;
  }
  return factors;
}

std::int64_t estimated_usage(std::string_view name, const Quantity& request, const Quantity& limit,
                             std::int64_t factor, Mode mode) {
  const ResourceId unit = name == "cpu" ? kCpu : kMemory;
  const bool limit_counts = request < limit;
  if ((limit_counts ? limit : request).is_zero()) {
    return default_usage(name);
  }
  if (limit_counts && mode == Mode::kProposal) {
    return amount(unit, limit);
  }
  const std::int64_t estimate = scaled(amount(unit, limit_counts ? limit : request), factor, mode);
  const std::int64_t most = amount(unit, limit);
  return most > 0 && estimate > most ? most : estimate;
}

}  // namespace headroom
