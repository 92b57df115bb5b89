#include "autoscaling/capacity_audit.h"

#include "autoscaling/capacity_facts.h"

namespace headroom {

namespace {

// Amounts of a class and a resource; the nodes of a class are those of no resource.
constexpr std::uint64_t kNodes = UINT64_MAX;
std::uint64_t hash_of(std::uint64_t label_class, std::uint64_t resource) {
  return mix(mix(label_class) ^ resource);
}

}  // namespace

CapacityAudit::CapacityAudit(CapacityFacts& facts, AuditOptions options)
    : facts_(facts), options_(options), notes_(std::make_shared<CapacityAuditNotes>()) {
  facts_.watch(notes_);
}

Result<bool> CapacityAudit::turn(const std::function<bool()>& pause) {
  for (;;) {
    const Result<bool> looked = look();
    if (!looked) return looked;
    if (!*looked) return true;
    if (pause()) return false;
  }
}

Result<bool> CapacityAudit::look() {
  const auto done = [](const Result<void>& looked) {
    return looked ? Result<bool>(true) : tl::unexpected(looked.error());
  };
  if (options_.validate && notes_->classes < facts_.table_.classes()) {
    return done(facts_.validate_touches(notes_->classes++));
  }
  const auto count = static_cast<std::uint32_t>(facts_.nodes_.size());
  const std::uint32_t row = notes_->nodes.next(count);
  if (row == AuditItems::kNone) return false;
  const CountedNode& node = facts_.nodes_[row];
  AuditNumbers numbers;
  if (options_.digest) numbers.digest = facts_.digest_of_node(node);
  if (options_.validate) {
    if (auto checked = facts_.validate_node(node); !checked) return done(checked);
    if (!node.name.empty() && node.counts) {
      numbers.balance += hash_of(node.label_class, kNodes);
      for (const ResourceAmount& had : node.amounts) {
        numbers.balance +=
            static_cast<std::uint64_t>(had.amount) * hash_of(node.label_class, had.resource);
      }
    }
  }
  notes_->nodes.set(row, numbers);
  return true;
}

Result<void> CapacityAudit::end() {
  if (options_.digest) digest_ = notes_->nodes.total().digest + facts_.digest_of_rest();
  if (!options_.validate) return {};
  if (auto checked = facts_.validate_whole(); !checked) return checked;
  std::uint64_t balance = notes_->nodes.total().balance;
  for (std::uint32_t c = 0; c < facts_.table_.classes(); ++c) {
    const NodeClassSums& sums = facts_.table_.at(c);
    balance -= sums.nodes * hash_of(c, kNodes);
    for (std::uint32_t r = 0; r < sums.used.size(); ++r) {
      balance -= static_cast<std::uint64_t>(sums.used[r]) * hash_of(c, r);
    }
  }
  // What is wrong is found at once: nothing is right any more.
  if (balance != 0) {
    if (auto checked = facts_.validate_sums(); !checked) return checked;
  }
  return facts_.validate_rest();
}

}  // namespace headroom
