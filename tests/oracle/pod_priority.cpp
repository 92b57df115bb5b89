// See pod_priority.h.
#include "oracle/pod_priority.h"

namespace oracle {
namespace {

std::int64_t value_of_class(const Json& priority_class) {
  return integer(priority_class, "value").value_or(0);
}

// plugin/pkg/admission/priority: of several global defaults the one with the lowest value.
const Json& global_default(const Facts& facts) {
  static const Json kNone;
  const Json* found = nullptr;
  for (const auto& [name, one] : facts.priority_classes()) {
    if (child(one, "globalDefault") != true) continue;
    if (found == nullptr || value_of_class(one) < value_of_class(*found)) found = &one;
  }
  return found == nullptr ? kNone : *found;
}

// The class that gives the pod its priority; null where the pod states one or there is none.
const Json& giving_class(const Facts& facts, const Json& pod) {
  static const Json kNone;
  const Json& spec = child(pod, "spec");
  if (integer(spec, "priority")) return kNone;
  const std::string name = text(spec, "priorityClassName");
  if (name.empty()) return global_default(facts);
  const auto named = facts.priority_classes().find(name);
  return named == facts.priority_classes().end() ? kNone : named->second;
}

}  // namespace

std::int64_t pod_priority(const Facts& facts, const Json& pod) {
  const std::optional<std::int64_t> stated = integer(child(pod, "spec"), "priority");
  return stated ? *stated : value_of_class(giving_class(facts, pod));
}

bool never_preempts(const Facts& facts, const Json& pod) {
  const std::string stated = text(child(pod, "spec"), "preemptionPolicy");
  if (!stated.empty()) return stated == "Never";
  return text(giving_class(facts, pod), "preemptionPolicy") == "Never";
}

}  // namespace oracle
