// QuotaMetrics: what quotas give and use, for Prometheus: a series for each quota and resource.
//
// Of many quotas the first by namespace and name have series. The registry's own gauges would have
// to be looked up by their labels, and dropped when a quota goes: here the amounts are kept as the
// engine tells them, and become series when somebody scrapes.
// Thread safety: any thread may call any member.
// Cost: set() moves what it is given; Collect() is O(quotas * resources).
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <mutex>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"
#include "engine/answers.h"

namespace headroom {

inline constexpr std::size_t kQuotasInMetricsMax = 500;  // Of each kind.

class QuotaMetrics : public prometheus::Collectable {
 public:
  void set(std::vector<ElasticQuotaStatus> elastic, std::vector<CapacityQuotaStatus> capacity);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable std::mutex mutex_;
  std::vector<ElasticQuotaStatus> elastic_;
  std::vector<CapacityQuotaStatus> capacity_;
};

}  // namespace headroom
