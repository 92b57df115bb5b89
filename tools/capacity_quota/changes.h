// The changes that `headroom capacity-quota what-if` looks at, from its options.
#pragma once

#include <string>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"
#include "objects/error.h"
#include "tools/capacity_quota/input.h"

namespace headroom {

struct CapacityQuotaChangeOptions {
  std::vector<std::string> set;                    // "QUOTA.RESOURCE=VALUE"
  std::vector<std::string> quota_files;            // CapacityQuotas, changed or new
  std::vector<std::string> remove_capacity_quota;  // names or ids
  std::vector<std::string> labels;                 // "NODE:key=value", "NODE:key-"
  bool empty() const {
    return set.empty() && quota_files.empty() && remove_capacity_quota.empty() && labels.empty();
  }
};

// kInvalid: also where a change leaves a spec that cannot be used, unless it comes from a file.
Result<std::vector<CapacityQuotaChange>> read_capacity_quota_changes(
    const CapacityQuotaChangeOptions& options, CapacityQuotaInput& input);

}  // namespace headroom
