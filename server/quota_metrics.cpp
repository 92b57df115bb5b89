#include "server/quota_metrics.h"

#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace headroom {

namespace {

// As Prometheus has it: cores, bytes.
double in_units(std::string_view resource, double amount) {
  return resource == "cpu" ? amount / 1000 : amount;
}

// A gauge whose series come one after the other.
class Gauges {
 public:
  Gauges(const char* name, const char* help) {
    family_.name = name;
    family_.help = help;
    family_.type = prometheus::MetricType::Gauge;
  }

  void add(const std::vector<prometheus::ClientMetric::Label>& labels, double value) {
    prometheus::ClientMetric& series = family_.metric.emplace_back();
    series.label = labels;
    series.gauge.value = value;
  }
  // A family without series is none.
  void move_to(std::vector<prometheus::MetricFamily>& families) {
    if (!family_.metric.empty()) families.push_back(std::move(family_));
  }

 private:
  prometheus::MetricFamily family_;
};

void collect(const std::vector<ElasticQuotaStatus>& quotas,
             std::vector<prometheus::MetricFamily>& families) {
  Gauges used("headroomd_elastic_quota_used",
              "What pods of an ElasticQuota request that have a node.");
  Gauges min("headroomd_elastic_quota_min", "What an ElasticQuota can always have back.");
  Gauges max("headroomd_elastic_quota_max", "What an ElasticQuota never exceeds.");
  for (const ElasticQuotaStatus& quota : quotas) {
    for (const ElasticQuotaAmount& amount : quota.amounts) {
      const std::vector<prometheus::ClientMetric::Label> labels = {
          {"namespace", quota.namespace_name},
          {"quota", quota.name},
          {"resource", amount.resource}};
      const auto value = [&](std::int64_t of) {
        return in_units(amount.resource, static_cast<double>(of));
      };
      used.add(labels, value(amount.used));
      min.add(labels, value(amount.min));
      if (amount.max != std::numeric_limits<std::int64_t>::max()) {
        max.add(labels, value(amount.max));
      }
    }
  }
  for (Gauges* const gauges : {&used, &min, &max}) gauges->move_to(families);
}

void collect(const std::vector<CapacityQuotaStatus>& quotas,
             std::vector<prometheus::MetricFamily>& families) {
  Gauges used("headroomd_capacity_quota_used", "What the nodes of a CapacityQuota have.");
  Gauges reserved("headroomd_capacity_quota_reserved", "What reserved nodes will add to it.");
  Gauges limit("headroomd_capacity_quota_limit", "What the nodes of a CapacityQuota may have.");
  for (const CapacityQuotaStatus& quota : quotas) {
    for (const CapacityQuotaStatus::Amount& amount : quota.amounts) {
      const std::vector<prometheus::ClientMetric::Label> labels = {{"quota", quota.id},
                                                                   {"resource", amount.resource}};
      const auto value = [&](Int128 of) {
        return in_units(amount.resource, static_cast<double>(of));
      };
      used.add(labels, value(amount.used));
      reserved.add(labels, value(amount.reserved));
      limit.add(labels, value(amount.limit));
    }
  }
  for (Gauges* const gauges : {&used, &reserved, &limit}) gauges->move_to(families);
}

}  // namespace

void QuotaMetrics::set(std::vector<ElasticQuotaStatus> elastic,
                       std::vector<CapacityQuotaStatus> capacity) {
  const std::lock_guard lock(mutex_);
  elastic_.swap(elastic);
  capacity_.swap(capacity);
}

std::vector<prometheus::MetricFamily> QuotaMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  const std::lock_guard lock(mutex_);
  collect(elastic_, families);
  collect(capacity_, families);
  return families;
}

}  // namespace headroom
