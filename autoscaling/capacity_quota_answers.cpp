#include "autoscaling/capacity_quota_answers.h"

namespace headroom {

std::string capacity_quota_id(CapacityQuotaClass quota_class, std::string_view name) {
  switch (quota_class) {
    case CapacityQuotaClass::kClusterWide:
      return "cluster-wide";
    case CapacityQuotaClass::kMaxNodes:
      return "max-nodes";
    case CapacityQuotaClass::kNodeGroup:
      return "NodeGroup/" + std::string(name);
    case CapacityQuotaClass::kCapacityQuota:
      break;
  }
  return "CapacityQuota/" + std::string(name);
}

}  // namespace headroom
