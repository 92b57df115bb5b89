// What names an object that is gone: the lengths of its texts alone are looked at here.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "schema/frame.h"
#include "schema/limits.h"
#include "server/requests/decode.h"
#include "server/requests/size_check.h"

namespace headroom {

namespace {

struct RemovedName {
  const char* kind = "";
  std::string_view namespace_name, name;
};

template <typename Removed>
RemovedName name_of(const char* kind, const Removed& removed) {
  if constexpr (requires { removed.namespace_name(); }) {
    return {kind, text(removed.namespace_name()), text(removed.name())};
  } else {
    return {kind, {}, text(removed.name())};
  }
}

RemovedName removed_by(const wire::Change& change) {
  switch (change.fact_type()) {
    case wire::Fact::RemovedNode:
      return name_of("node", *change.fact_as_RemovedNode());
    case wire::Fact::RemovedNodeMetric:
      return name_of("nodemetric", *change.fact_as_RemovedNodeMetric());
    case wire::Fact::RemovedPod:
      return name_of("pod", *change.fact_as_RemovedPod());
    case wire::Fact::RemovedElasticQuota:
      return name_of("elasticquota", *change.fact_as_RemovedElasticQuota());
    case wire::Fact::RemovedPodDisruptionBudget:
      return name_of("poddisruptionbudget", *change.fact_as_RemovedPodDisruptionBudget());
    case wire::Fact::RemovedPriorityClass:
      return name_of("priorityclass", *change.fact_as_RemovedPriorityClass());
    case wire::Fact::RemovedCapacityQuota:
      return name_of("capacityquota", *change.fact_as_RemovedCapacityQuota());
    default:
      return {};
  }
}

}  // namespace

Result<void> check_removed(const wire::Change& change) {
  if (const wire::RemovedReferredObject* referred = change.fact_as_RemovedReferredObject()) {
    constexpr std::size_t kKeyBytesMax = 2 * kTextBytesMax + 1;  // "namespace/name"
    if (referred->key()->size() <= kKeyBytesMax) {
      return check_text("removed object: kind", text(referred->kind()));
    }
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("removed object: key: {} bytes: at most {}, of two texts of"
                            " kTextBytesMax",
                            referred->key()->size(), kKeyBytesMax));
  }
  const RemovedName removed = removed_by(change);
  for (const auto& [field, its] :
       {std::pair("namespace", removed.namespace_name), {"name", removed.name}}) {
    if (auto checked = check_text(field, its); !checked) {
      return fail(checked.error().code,
                  fmt::format("removed {}: {}", removed.kind, checked.error().message));
    }
  }
  return {};
}

}  // namespace headroom
