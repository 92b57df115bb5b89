#include "engine/cluster/audit.h"

#include <utility>

#include "engine/cluster/cluster.h"

namespace headroom {

namespace {

// What a number in a balance is about. Facts add its hash, and what is kept takes it off as often
// as it is kept.
enum class About : std::uint64_t {
  kPod = 1,    // that is known
  kNode,       // that is there
  kMention,    // of a row, by a pod or its own metric
  kListing,    // of a pod, by a metric
  kName,       // of a resource, that a node has
  kRanked,     // a pod among those of a row
  kNominated,  // a row, to which some pod is nominated
  kUsed,       // amounts of a namespace and a resource
  kWaiting,    // those of nominated pods
  kHolder,     // a pod or budget of a namespace
  kClassName,  // a pod that names a priority class
};

std::uint64_t hash_of(About about, std::uint64_t first = 0, std::uint64_t second = 0) {
  return mix(mix(mix(static_cast<std::uint64_t>(about)) ^ first) ^ second);
}

}  // namespace

Audit::Audit(Cluster& cluster, AuditOptions options)
    : cluster_(cluster), options_(options), notes_(std::make_shared<AuditNotes>()) {
  cluster_.watch(notes_);
  applications_left_ = cluster_.applications_.count();
}

Result<bool> Audit::turn(const Pause& pause) {
  cluster_.derive();
  const bool seen = notes_->rows.seen(static_cast<std::uint32_t>(cluster_.facts_.nodes.size())) &&
                    notes_->pods.seen(cluster_.facts_.pods.size());
  catching_up_ = seen ? catching_up_ + 1 : 0;
  for (;;) {
    const Result<bool> looked = look();
    if (!looked) {
      return looked;
    }
    if (!*looked) {
      return true;
    }
    if (catching_up_ <= kAuditCatchUpTurns && pause()) {
      return false;
    }
  }
}

Result<bool> Audit::look() {
  const auto done = [](const Result<void>& looked) {
    return looked ? Result<bool>(true) : tl::unexpected(looked.error());
  };
  for (; options_.validate && shape_ < cluster_.facts_.shapes.size(); ++shape_) {
    if (const PodShape* shape = cluster_.facts_.shapes[shape_].get(); shape != nullptr) {
      ++shape_;
      return done(cluster_.shape_book_.validate(*shape));
    }
  }
  if (options_.validate && applications_left_ > 0) {
    --applications_left_;
    return done(cluster_.applications_.validate_next());
  }
  const auto rows = static_cast<std::uint32_t>(cluster_.facts_.nodes.size());
  if (const std::uint32_t row = notes_->rows.next(rows); row != AuditItems::kNone) {
    return done(look_at_row(row));
  }
  if (const PodId id = notes_->pods.next(cluster_.facts_.pods.size()); id != AuditItems::kNone) {
    return done(look_at_pod(id));
  }
  return false;
}

Result<void> Audit::look_at_row(std::uint32_t row) {
  AuditNumbers numbers;
  if (options_.digest) {
    numbers.digest = cluster_.digest_of_row(row);
  }
  if (options_.validate) {
    if (auto checked = cluster_.validate_row(row); !checked) {
      return checked;
    }
    numbers.balance = balance_of_row(row);
  }
  notes_->rows.set(row, numbers);
  return {};
}

Result<void> Audit::look_at_pod(PodId id) {
  AuditNumbers numbers;
  if (options_.digest) {
    numbers.digest = cluster_.digest_of_pod(id);
  }
  if (options_.validate) {
    if (auto checked = cluster_.validate_pod(id); !checked) {
      return checked;
    }
    numbers.balance = balance_of_pod(id);
  }
  notes_->pods.set(id, numbers);
  return {};
}

Result<void> Audit::end() {
  if (options_.digest) {
    digest_ = notes_->rows.total().digest + notes_->pods.total().digest + cluster_.digest_of_rest();
  }
  if (!options_.validate) {
    return {};
  }
  const std::uint64_t balance =
      notes_->rows.total().balance + notes_->pods.total().balance + balance_of_rest();
  looked_closer_ = balance != 0 || (cluster_.capacity_scheduling_ != nullptr &&
                                    !cluster_.capacity_scheduling_->elastic_quotas().consistent());
  // At once: where something is wrong nobody needs a quick answer.
  return looked_closer_ ? cluster_.validate_sums() : Result<void>();
}

// Sums are taken modulo 2^64, as hashes are.
std::uint64_t Audit::balance_of_row(std::uint32_t row) const {
  const NodeFacts& facts = cluster_.facts_.nodes[row];
  const MetricFacts* metric =
      cluster_.load_aware_ == nullptr ? nullptr : cluster_.load_aware_->metric(row);
  std::uint64_t balance = std::uint64_t{0} - facts.mentions * hash_of(About::kMention, row);
  if (metric != nullptr) {
    balance += hash_of(About::kMention, row);
    for (const MetricFacts::PodUsage& usage : metric->pods) {
      balance += hash_of(About::kListing, usage.pod());
    }
  }
  if (facts.node != nullptr) {
    balance += hash_of(About::kNode);
    for (const std::string& name : cluster_.names_of(facts.node.get())) {
      const ResourceId id = cluster_.names_.find(name);
      if (id == kNoResource || !cluster_.names_.is_pinned(id)) {
        balance += hash_of(About::kName, hash_bytes(name));
      }
    }
  }
  if (!facts.nominated.empty()) {
    balance += hash_of(About::kNominated, row);
  }
  if (cluster_.capacity_scheduling_ != nullptr) {
    balance -= cluster_.capacity_scheduling_->listed(row).size() * hash_of(About::kRanked, row);
  }
  return balance;
}

std::uint64_t Audit::balance_of_pod(PodId id) const {
  const PodFacts& pod = cluster_.facts_.pods[id];
  std::uint64_t balance = std::uint64_t{0} - pod.mentions * hash_of(About::kListing, id);
  if (!pod.known()) {
    return balance;
  }
  balance += hash_of(About::kPod);
  for (const std::uint32_t row : {pod.bound_row, pod.assumed_row, pod.rank.nominated_row}) {
    if (row != kNoRow) {
      balance += hash_of(About::kMention, row);
    }
  }
  if (pod.rank.priority_class != 0) {
    balance += hash_of(About::kClassName, pod.rank.priority_class - 1);
  }
  if (cluster_.capacity_scheduling_ == nullptr) {
    return balance;
  }
  balance += hash_of(About::kHolder, pod.rank.namespace_id);
  const bool counts = pod.counted_row != kNoRow;
  if (counts) {
    balance += hash_of(About::kRanked, pod.counted_row);
  }
  if (counts || (Cluster::waits_for_room(pod) &&
                 cluster_.facts_.nodes[pod.rank.nominated_row].node != nullptr)) {
    for (const auto& [resource, amount] :
         cluster_.facts_.shapes[pod.shape]->elastic_quota_request) {
      balance += static_cast<std::uint64_t>(amount) *
                 hash_of(counts ? About::kUsed : About::kWaiting, pod.rank.namespace_id, resource);
    }
  }
  return balance;
}

std::uint64_t Audit::balance_of_rest() const {
  std::uint64_t balance = std::uint64_t{0} - cluster_.pod_count_ * hash_of(About::kPod) -
                          cluster_.node_count_ * hash_of(About::kNode);
  for (const auto& [name, nodes] : cluster_.names_.held()) {
    balance -= nodes * hash_of(About::kName, hash_bytes(name));
  }
  for (const std::uint32_t row : cluster_.nominated_rows_) {
    balance -= hash_of(About::kNominated, row);
  }
  // A journal holds names, too: then each sum is looked at.
  for (std::uint32_t id = 0; id < cluster_.priorities_.name_count(); ++id) {
    balance -= cluster_.priorities_.pods_of_name(id) * hash_of(About::kClassName, id);
  }
  if (cluster_.capacity_scheduling_ == nullptr) {
    return balance;
  }
  const ElasticQuotas& quotas = cluster_.capacity_scheduling_->elastic_quotas();
  for (const PodDisruptionBudget& budget : cluster_.capacity_scheduling_->budgets().all()) {
    balance += hash_of(About::kHolder, quotas.find(budget.namespace_name));
  }
  for (NamespaceId id = 0; id < quotas.namespace_count(); ++id) {
    const NamespaceFacts& facts = quotas.at(id);
    balance -= facts.users * hash_of(About::kHolder, id);
    for (ResourceId r = 0; r < quotas.resource_count(); ++r) {
      balance -= static_cast<std::uint64_t>(facts.used[r]) * hash_of(About::kUsed, id, r);
      for (const NamespaceFacts::Nominated& group : facts.nominated) {
        balance -= static_cast<std::uint64_t>(group.amounts[r]) * hash_of(About::kWaiting, id, r);
      }
    }
  }
  return balance;
}

}  // namespace headroom
