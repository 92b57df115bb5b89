// Quotas, budgets and priority classes.
#include "server/requests/decode.h"
#include "server/requests/decoder.h"

namespace headroom {

// One enum, said twice.
static_assert(static_cast<int>(wire::CapacityQuotaClass::ClusterWide) ==
              static_cast<int>(CapacityQuotaClass::kClusterWide));
static_assert(static_cast<int>(wire::CapacityQuotaClass::MaxNodes) ==
              static_cast<int>(CapacityQuotaClass::kMaxNodes));
static_assert(static_cast<int>(wire::CapacityQuotaClass::NodeGroup) ==
              static_cast<int>(CapacityQuotaClass::kNodeGroup));
static_assert(static_cast<int>(wire::CapacityQuotaClass::CapacityQuota) ==
              static_cast<int>(CapacityQuotaClass::kCapacityQuota));
static_assert(wire::CapacityQuotaClass::MAX == wire::CapacityQuotaClass::CapacityQuota);

Result<std::size_t> decode(const wire::ElasticQuota& in, ElasticQuota& out) {
  Decoder decoder;
  decoder.namespace_name("namespace", in.namespace_name(), out.namespace_name);
  decoder.string("name", in.name(), out.name);
  decoder.resources("min", in.min(), out.min);
  decoder.resources("max", in.max(), out.max);
  return decoder.result([&] {
    return fmt::format("elasticquota {}/{}", text(in.namespace_name()), text(in.name()));
  });
}

Result<std::size_t> decode(const wire::PodDisruptionBudget& in, PodDisruptionBudget& out) {
  Decoder decoder;
  decoder.namespace_name("namespace", in.namespace_name(), out.namespace_name);
  decoder.string("name", in.name(), out.name);
  decoder.requirements("selector", in.selector(), out.selector);
  out.disruptions_allowed = in.disruptions_allowed();
  decoder.strings("disruptedPods", in.disrupted_pods(), out.disrupted_pods);
  decoder.sort_names("disruptedPods", out.disrupted_pods);
  return decoder.result([&] {
    return fmt::format("poddisruptionbudget {}/{}", text(in.namespace_name()), text(in.name()));
  });
}

Result<std::size_t> decode(const wire::PriorityClass& in, PriorityClass& out) {
  Decoder decoder;
  decoder.string("name", in.name(), out.name);
  out.value = in.value();
  out.global_default = in.global_default();
  decoder.string("preemptionPolicy", in.preemption_policy(), out.preemption_policy);
  return decoder.result([&] { return fmt::format("priorityclass {}", text(in.name())); });
}

Result<std::size_t> decode(const wire::CapacityQuota& in, CapacityQuota& out) {
  Decoder decoder;
  decoder.string("name", in.name(), out.name);
  out.generation = in.generation();
  decoder.requirements("selector", in.selector(), out.selector);
  decoder.list("limits", in.limits(), out.limits,
               [&](const wire::KeyValue& item, std::pair<std::string, std::string>& limit) {
                 decoder.string("key", item.key(), limit.first);
                 decoder.string("value", item.value(), limit.second);
               });
  decoder.sort_names("limits", out.limits);
  return decoder.result([&] { return fmt::format("capacityquota {}", text(in.name())); });
}

Result<CapacityQuotaClass> decode(wire::CapacityQuotaClass in) {
  if (in > wire::CapacityQuotaClass::MAX) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("quotaClass: {} is not known; accepted: 0 to {}", static_cast<int>(in),
                            static_cast<int>(wire::CapacityQuotaClass::MAX)));
  }
  return static_cast<CapacityQuotaClass>(in);
}

}  // namespace headroom
