// What a ClusterAutoscaler answers (cluster_autoscaler.h): what a step requested, where limits
// stand, what all came to. Plain values. Amounts: cpu in thousandths, all else in whole units.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "objects/int128.h"
#include "simulation/autoscaler/capacity_quota_blocks.h"

namespace headroom {

// One request, and what stood in the way of the rest.
struct ScaleUp {
  struct Binding {
    std::string quota, resource;
    Int128 limit = 0, used = 0, reserved = 0, need = 0, headroom = 0, shortfall = 0;
  };
  std::int64_t time_us = 0, ready_us = 0;
  std::string node_template;
  std::int64_t asked = 0, allowed = 0;
  std::vector<Binding> binding;  // where not all are allowed
};

struct NoTemplate {
  using Reasons = std::vector<std::pair<std::string, std::vector<std::string>>>;  // by template
  std::string pod;
  Reasons reasons;
};

struct AutoscalerStep {
  std::vector<ScaleUp> scale_ups;
  std::vector<NoTemplate> no_template;  // pods that no template takes, each said once
};

struct TemplateReport {
  std::string name;
  std::uint64_t nodes = 0;
  std::int64_t first_us = 0, last_us = 0;  // when the first and the last of them registered
};

struct LimitReport {
  std::string resource;
  Int128 limit = 0, used_at_start = 0, used = 0, reserved = 0;
  CapacityQuotaBlock block;  // templates by their place in AutoscalerReport::templates
};

// One limit at one moment.
struct LimitStanding {
  std::string quota, resource;
  Int128 limit = 0, used = 0, reserved = 0;
  std::int64_t nodes_refused = 0;  // of the template of which they are most
};

struct CapacityQuotaReport {
  std::string id;
  std::string skipped;  // why; empty: it is in force
  std::vector<LimitReport> limits;
};

struct AutoscalerReport {
  std::vector<TemplateReport> templates;
  std::vector<CapacityQuotaReport> quotas;  // by id
  std::vector<ScaleUp> scale_ups;           // those that got nodes
  std::uint64_t pods_without_template = 0;  // that wait at the end
  NoTemplate first_without_template;        // of these, by id
  std::uint64_t pods_given_up = 0;          // kPromisesPerPodMax
};

}  // namespace headroom
