// CapacityFacts: nodes, quotas, reservations and the time, and how to take changes back.
//
// Every change goes through one of five setters (a node, a quota, a reservation, a registration,
// the clock), which keeps the sums of the quota table and, while a fork is open, what takes it
// back. A change in whose midst memory ends leaves sums that validate() finds wrong, and nothing
// that could not be read.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "autoscaling/capacity_audit.h"
#include "autoscaling/capacity_quota_table.h"
#include "autoscaling/capacity_quotas.h"
#include "layout/free_numbers.h"
#include "layout/name_index.h"

namespace headroom {

inline constexpr std::uint32_t kNoClass = 0xFFFFFFFF;  // touches no quota

// Labels and capacity of a template, and the class whose quotas it touches.
struct TemplateFacts {
  StringMap labels;
  ResourceAmounts amounts;
  std::uint32_t label_class = kNoClass;
};

// A template that is being asked about.
struct AskedTemplate {
  std::uint32_t label_class = kNoClass;
  std::optional<StringMap> labels;  // those that selectors read, where no class has them
  ResourceAmounts amounts;
};

struct ReservedItem {
  TemplateFacts node;
  std::int64_t left = 0;
};

struct NodeReservation {
  std::vector<ReservedItem> items;
  std::int64_t expires_us = 0;
  std::set<std::string, std::less<>> registered;  // names of nodes that took one off
};

struct CountedNode {
  std::string name;  // empty: no node
  KeptLabels labels;
  ResourceAmounts amounts;
  std::string reservation;  // that it names
  bool counts = true;       // false: virtual, or marked for deletion where that is ignored
  std::uint32_t label_class = kNoClass;
};

class CapacityFacts {
 public:
  using Reservations = std::map<std::string, NodeReservation, std::less<>>;

  explicit CapacityFacts(CapacityQuotasOptions options) : options_(std::move(options)) {}

  Result<void> upsert(const Node& node);
  void remove_node(std::string_view name);
  Result<void> upsert(const CapacityQuota& quota, CapacityQuotaClass quota_class);
  void remove_capacity_quota(std::string_view name, CapacityQuotaClass quota_class);
  Result<void> advance(std::int64_t now_us);
  void correct_clock(std::int64_t now_us);
  // The items' templates, with 0 nodes each; kLimitExceeded as CapacityResources::read.
  Result<std::vector<ReservedItem>> hold(std::span<const PlanItem> items);
  void reserve(std::string_view id, NodeReservation reservation);
  bool release(std::string_view id);
  void adopt(const CapacityFacts& former);

  void fork();
  void rollback();
  void commit();

  // A template's class and amounts, which hold as long as edition() stays. Adds no class, so that
  // whoever asks leaves nothing behind.
  Result<void> look_at(const Node& node_template, AskedTemplate& asked);
  // `limit(entry, amount)` for each limit that such nodes touch, in the order of answers.
  template <typename Limit>
  void for_each_touched(const AskedTemplate& asked, const Limit& limit) {
    if (asked.labels) {
      table_.for_each_touched(table_.touches_of(*asked.labels), asked.amounts, limit);
    } else if (asked.label_class != kNoClass) {
      table_.for_each_touched(table_.at(asked.label_class).touches, asked.amounts, limit);
    }
  }
  // Grows when a quota changes, or classes and resources are numbered anew.
  std::uint64_t edition() const { return edition_; }
  // So that reserve() finds the template's class. tidy() comes before the first of a group.
  void add_class_of(const Node& node_template);
  // Drops what nothing holds, where most of it is such: a new edition. Classes: O(nodes) of a few
  // nanoseconds each; layouts: rebuild().
  void tidy();

  CapacityQuotaTable& table() { return table_; }
  const CapacityQuotaTable& table() const { return table_; }
  const LabelClasses& labels() const { return labels_; }
  // A class's labels, of the keys that a selector in force reads.
  StringMap labels_in_use(std::uint32_t label_class) const;
  const CapacityResources& resources() const { return resources_; }
  const Reservations& reservations() const { return reservations_; }
  std::int64_t now_us() const { return now_us_; }
  std::uint32_t node_count() const { return rows_.size(); }
  const CountedNode* find_node(std::string_view name) const;
  // Room for so many, so that no change is held up by tables that grow.
  void reserve_nodes(std::uint32_t count);
  // `node(name, facts)` for each, in no order.
  template <typename Visit>
  void for_each_node(const Visit& node) const {
    for (const CountedNode& its : nodes_) {
      if (!its.name.empty()) node(its.name, its);
    }
  }

  std::uint64_t digest() const;
  Result<void> validate() const;
  // From now on what changes is noted there, as long as somebody else holds it.
  void watch(const std::shared_ptr<CapacityAuditNotes>& notes);

 private:
  friend class CapacityAudit;  // looks at all of it in turns (capacity_audit.h)
  std::uint64_t digest_of_node(const CountedNode& node) const;
  std::uint64_t digest_of_rest() const;
  // A node and a class each by itself, the sums over all nodes, and what is not about nodes.
  Result<void> validate_node(const CountedNode& node) const;
  Result<void> validate_touches(std::uint32_t label_class) const;
  Result<void> validate_whole() const;
  Result<void> validate_sums() const;
  Result<void> validate_rest() const;
  Result<void> validate_capacity_quotas() const;
  void tell_audits(const std::function<void(CapacityAuditNotes&)>& what);
  void note_node(std::uint32_t row) {
    if (!audits_.empty()) {
      tell_audits([row](CapacityAuditNotes& notes) { notes.nodes.note(row); });
    }
  }

  struct NodeBefore {
    std::string name;
    std::optional<CountedNode> facts;
  };
  struct CapacityQuotaBefore {
    CapacityQuotaKey key;
    std::optional<CapacityQuotaState> state;
  };
  struct ReservationBefore {
    std::string id;
    std::optional<NodeReservation> reservation;
  };
  // A node took one off a reservation's item: too small a change to keep the whole reservation for.
  struct Registration {
    std::string id;
    std::size_t item = 0;
    std::string node_name;
  };
  struct ClockBefore {
    std::int64_t now_us = 0;
  };
  using Before =
      std::variant<NodeBefore, CapacityQuotaBefore, ReservationBefore, Registration, ClockBefore>;

  bool forked() const { return !forks_.empty(); }
  void set_node(std::string_view name, std::optional<CountedNode> facts);
  void set_capacity_quota(const CapacityQuotaKey& key, std::optional<CapacityQuotaState> state);
  void set_reservation(std::string_view id, std::optional<NodeReservation> reservation);
  void set_registered(std::string_view id, std::size_t item, std::string_view node_name,
                      bool registered);
  void set_now(std::int64_t now_us);

  CapacityQuotaState read_state(const CapacityQuota& quota, const CapacityQuotaKey& key);
  bool is_counted(const Node& node) const;
  static bool is_virtual(const StringMap& labels);
  void take_off(std::string_view node_name, const StringMap& labels, const ResourceAmounts& amounts,
                std::string_view reservation_id);
  // NameIndex::kNone: it is not known.
  std::uint32_t row_of(std::string_view name, NameIndex::Hash hash) const;
  std::uint32_t classify(const StringMap& labels);
  std::uint32_t classify(const KeptLabels& labels);
  void add_reserved(NodeReservation& reservation, int times);
  void read_keys(const LabelSelector& selector);
  void use_keys(const CapacityQuotaState* state, int times);
  void split_classes();
  void count_new_classes();
  void drop_idle_classes();
  Result<void> number_limits(const CapacityQuotaSpec& in_force, const CapacityQuotaKey& key);
  // Drops classes, values, layouts and resource numbers that nothing holds.
  void rebuild();
  class Numbering;
  void drop_all() noexcept;

  const CapacityQuotasOptions options_;
  CapacityResources resources_;
  LabelClasses labels_;
  CapacityQuotaTable table_;
  NameIndex rows_;                  // by CountedNode::name
  std::vector<CountedNode> nodes_;  // by row
  FreeNumbers free_rows_;
  Reservations reservations_;
  std::set<std::pair<std::int64_t, std::string>> expiries_;
  std::int64_t now_us_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> key_uses_;  // by selectors in force
  std::size_t classes_kept_ = 0, layouts_kept_ = 0;             // when some were dropped last
  std::uint64_t edition_ = 0;
  bool dropped_ = false;  // all of it, as memory ended: validate() says so from then on
  std::vector<Before> changes_;
  std::vector<std::size_t> forks_;                         // how many changes there were
  std::vector<std::weak_ptr<CapacityAuditNotes>> audits_;  // under way
};

}  // namespace headroom
