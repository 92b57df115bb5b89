// The oracle of CapacityQuota, mode Proposal: a scalar transcription of the rules that keeps the
// facts and computes every answer from the nodes.
//
// Sources: proposal-rules "CapacityQuota", the seed granular-resource-limits, and the header
// comments of autoscaling/. What these leave open is decided here, and said where it is.
//
// No arithmetic can overflow: an amount is below 2^63, a limit below 2^73 (2^63 cores in
// thousandths), what 2^22 nodes and 2^17 reservations of 2^22 nodes hold below 2^103, and count *
// amount below 2^126, also over all items of a plan, whose counts together fit int64.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "objects/error.h"
#include "objects/objects.h"
#include "oracle/quotas/capacity_quota_amounts.h"
#include "oracle/quotas/capacity_quota_answers.h"
#include "oracle/quotas/capacity_reservations.h"

namespace oracle {

struct CapacityQuotaItem {
  headroom::Node node;
  std::int64_t count = 0;
};

struct CapacityQuotaEdit {
  headroom::CapacityQuota quota;
  CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota;
};
struct CapacityQuotaGone {
  std::string name;
  CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota;
};
using CapacityChange = std::variant<CapacityQuotaEdit, CapacityQuotaGone, headroom::Node>;

class CapacityQuotas {
 public:
  explicit CapacityQuotas(bool ignore_deleting = false, headroom::StringMap aliases = {})
      : ignore_deleting_(ignore_deleting), aliases_(std::move(aliases)) {}

  headroom::Result<void> upsert(const headroom::Node& node);
  void remove_node(const std::string& name);
  void upsert(const headroom::CapacityQuota& quota, CapacityQuotaClass quota_class);
  void remove_capacity_quota(const std::string& name, CapacityQuotaClass quota_class);
  headroom::Result<void> advance(std::int64_t now_us);

  headroom::Result<CapacityQuotaCheck> check(const headroom::Node& node_template,
                                             std::int64_t count) const;
  headroom::Result<CapacityQuotaPlan> plan(const std::vector<CapacityQuotaItem>& add,
                                           const std::vector<std::string>& remove) const;
  headroom::Result<CapacityQuotaHeadroom> headroom(const headroom::Node& node_template) const;
  // Changes are made in order on a copy; a node that it adds registers as any other. One that
  // cannot be made is the error.
  headroom::Result<CapacityQuotaWhatIf> what_if(const std::vector<CapacityChange>& changes,
                                                const std::vector<headroom::Node>& templates) const;
  std::vector<CapacityQuotaStatus> status() const;
  // Ids of quotas without a spec that can be used.
  std::vector<std::string> skipped() const;
  // Not virtual, not ignored.
  bool counts(const headroom::Node& node) const;

  // Whether so many of each template fit together.
  bool feasible(const std::vector<headroom::Node>& templates,
                const std::vector<std::int64_t>& counts) const;

  // allowed: greedy in order, as many of each item as fit after those before it.
  headroom::Result<CapacityQuotaReserved> reserve(const std::string& id,
                                                  const std::vector<CapacityQuotaItem>& items,
                                                  std::int64_t expires_us, bool up_to);
  bool release(const std::string& id);
  std::vector<LiveReservation> reservations() const;

  // A fresh copy takes over what lives on; nodes that are here and not there register, by name.
  void adopt(const CapacityQuotas& former);

  // Copies of everything that may change.
  void fork() { forks_.push_back(facts_); }
  void rollback();
  void commit() { forks_.pop_back(); }

  // One limit in force with its sums, and what of each node or template it counts.
  struct Limit {
    std::string quota, resource, counted;
    const headroom::LabelSelector* selector = nullptr;
    Int128 limit = 0, used = 0, reserved = 0;
    Int128 headroom() const { return limit - used - reserved; }
    // 0 where it does not touch the node.
    std::int64_t amount(const headroom::Node& node) const;
  };
  std::vector<Limit> limits() const;

  struct CapacityQuotaFact {
    headroom::CapacityQuota seen;                     // the last spec
    std::optional<headroom::CapacityQuota> in_force;  // the last that could be used
  };
  // Of the first two classes there is one quota each, whatever its name: here "".
  using CapacityQuotaKey = std::pair<CapacityQuotaClass, std::string>;
  static std::string capacity_quota_id(const CapacityQuotaKey& key);
  struct Facts {
    std::map<std::string, headroom::Node> nodes;
    std::map<CapacityQuotaKey, CapacityQuotaFact> quotas;
    CapacityReservations reservations;
    std::int64_t now_us = 0;
  };
  const Facts& facts() const { return facts_; }
  std::size_t forks() const { return forks_.size(); }

 private:
  bool ignore_deleting_;
  headroom::StringMap aliases_;
  Facts facts_;
  std::vector<Facts> forks_;
};

}  // namespace oracle
