// Random facts and questions for CapacityQuotas, in the form of script steps.
//
// Small on purpose: few names, so that events meet; amounts of one scale per world, drawn from few
// values, so that exact fits and one too many are common. What it does is decided by its draws
// alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/autoscaling/capacity_quota_script.h"
#include "tests/support/draws.h"

namespace headroom {

class RandomCapacityQuotas {
 public:
  explicit RandomCapacityQuotas(Draws& draws);

  CapacityQuotasOptions options() const { return options_; }
  // A change of facts, reservations or time, or a fork or its end.
  CapacityQuotaStep change();
  CapacityQuotaStep question();

 private:
  enum class Scale : std::uint8_t {
    kWhole,     // cores and small counts
    kFraction,  // parts of a core, a byte, a device
    kHuge,      // near the greatest int64
    kEqual,     // every node has the same
  };

  std::string node_name();
  std::string capacity_quota_name();
  std::string reservation_id();
  CapacityQuotaClass capacity_quota_class();
  StringMap labels(const std::string& hostname);
  ResourceList capacity();
  Node node();
  Node node_template();
  NodeSelectorRequirement requirement();
  LabelSelector selector();
  std::string limit(const std::string& resource);
  CapacityQuota capacity_quota();
  std::int64_t count();
  // At most one of a huge count: sums of them are beyond every type.
  std::vector<oracle::CapacityQuotaItem> items(std::uint64_t count_max);
  std::vector<std::string> some_nodes();
  std::vector<CapacityQuotaChange> changes();
  ReserveStep reservation();

  Draws& draws_;
  CapacityQuotasOptions options_;
  Scale scale_;
  bool few_labels_;
  std::int64_t now_us_ = 1'000;
  std::int64_t generation_ = 0;
};

// A world's script: changes with questions between them.
CapacityQuotaScript random_capacity_quota_script(Draws& draws, int changes);

}  // namespace headroom
