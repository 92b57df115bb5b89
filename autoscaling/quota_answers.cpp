#include "autoscaling/quota_answers.h"

namespace headroom {

std::string quota_id(QuotaClass quota_class, std::string_view name) {
  switch (quota_class) {
    case QuotaClass::kClusterWide:
      return "cluster-wide";
    case QuotaClass::kMaxNodes:
      return "max-nodes";
    case QuotaClass::kNodeGroup:
      return "NodeGroup/" + std::string(name);
    case QuotaClass::kCapacityQuota:
      break;
  }
  return "CapacityQuota/" + std::string(name);
}

}  // namespace headroom
