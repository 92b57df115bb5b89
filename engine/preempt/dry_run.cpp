#include "engine/preempt/dry_run.h"

#include <algorithm>
#include <utility>

#include "kernels/exact.h"

namespace headroom {

void DryRun::begin(std::uint32_t row) {
  const Cluster& cluster = preemptor_.cluster;
  const NodeTable& table = cluster.table();
  row_ = row;
  code_ = 0;
  failed_ = nullptr;
  broken_ = 0;
  bases_.clear();
  sums_.clear();
  for (const Preemptor::Term& term : preemptor_.terms) {
    bases_.push_back(table.base(row, table.base_of(term.column)));
    sums_.push_back(table.exact_sum(row, term.sum));
  }
  for (const PodId id : cluster.node(row).nominated) {
    const PodFacts& pod = cluster.pod(id);
    for (std::size_t t = 0; pod.rank.priority >= preemptor_.claim.priority && t < sums_.size();
         ++t) {
      sums_[t] += preemptor_.terms[t].given_back[pod.shape];
    }
  }
  count_conflicts();
  change_.clear();
  expected_.clear();
  for (const PodId id : cluster.node(row).nominated) {
    if (preemptor_.look != nullptr && cluster.pod(id).rank.priority >= preemptor_.claim.priority) {
      expected_.add(id, preemptor_.look->feeds(id));
    }
  }
  expects_ = !expected_.come.empty();
  left_.clear();
  for (const Preemptor::Bound& bound : preemptor_.bounds) {
    left_.push_back(bound.left);
  }
  used_.clear();
  amounts_.clear();
  budgets_.clear();
  collected_.clear();
  breaking_.clear();
  victims_.clear();
}

// --- Quotas ---

const DryRun::UsedNow* DryRun::find_used(NamespaceId id) const {
  const auto found = std::find_if(used_.begin(), used_.end(),
                                  [id](const UsedNow& used) { return used.namespace_id == id; });
  return found == used_.end() ? nullptr : &*found;
}

DryRun::UsedNow& DryRun::used_now(NamespaceId id) {
  if (const UsedNow* found = find_used(id); found != nullptr) {
    return used_[static_cast<std::size_t>(found - used_.data())];
  }
  const ElasticQuotas& quotas = preemptor_.capacity_scheduling.elastic_quotas();
  const ResourceSums& used = quotas.at(id).used;
  used_.push_back({id, quotas.at(id).over_min, amounts_.size()});
  amounts_.insert(amounts_.end(), used.begin(), used.begin() + quotas.resource_count());
  return used_.back();
}

void DryRun::change_used(const RankedPod& pod, int sign) {
  const ElasticQuotas& quotas = preemptor_.capacity_scheduling.elastic_quotas();
  const NamespaceFacts& facts = quotas.at(pod.namespace_id);
  UsedNow& now = used_now(pod.namespace_id);
  Int128* used = amounts_.data() + now.amounts;
  for (const auto& [r, amount] : preemptor_.cluster.shapes().at(pod.shape)->elastic_quota_request) {
    used[r] += static_cast<Int128>(amount) * sign;
  }
  if (!preemptor_.upstream && !preemptor_.nominated_return) {
    return;  // who may go is a question of each resource then
  }
  bool over_min = false;
  for (ResourceId r = 0; r < quotas.resource_count(); ++r) {
    over_min |= (quotas.min_compared() >> r & 1) != 0 && quotas.compared(used[r]) > facts.min[r];
  }
  if (over_min == std::exchange(now.over_min, over_min) || !preemptor_.nominated_return) {
    return;
  }
  for (std::size_t b = 0; b < left_.size(); ++b) {
    const Preemptor::Bound& bound = preemptor_.bounds[b];
    for (const auto& nominated : facts.nominated) {
      const Int128 amount = bound.own ? 0 : nominated.amounts[bound.resource];
      left_[b] += over_min ? amount : -amount;
    }
  }
}

bool DryRun::may_go(const RankedPod& pod) const {
  if (!preemptor_.may_be_victim(pod)) {
    return false;
  }
  if (!preemptor_.reclaims) {
    return true;
  }
  const ElasticQuotas& quotas = preemptor_.capacity_scheduling.elastic_quotas();
  const NamespaceFacts& facts = quotas.at(pod.namespace_id);
  const UsedNow* now = find_used(pod.namespace_id);
  if (preemptor_.upstream) {
    return now == nullptr || now->over_min;
  }
  const Int128* used = now == nullptr ? facts.used.data() : amounts_.data() + now->amounts;
  const Amounts& request = preemptor_.cluster.shapes().at(pod.shape)->elastic_quota_request;
  return std::any_of(request.begin(), request.end(), [&](const auto& asked) {
    const auto& [r, amount] = asked;
    return amount > 0 && (quotas.min_compared() >> r & 1) != 0 && used[r] > facts.min[r];
  });
}

bool DryRun::within_elastic_quotas() const {
  return std::all_of(left_.begin(), left_.end(),
                     [this](Int128 left) { return preemptor_.holds(left); });
}

bool DryRun::within_elastic_quotas_by_itself() const {
  for (std::size_t b = 0; b < left_.size(); ++b) {
    const Preemptor::Bound& bound = preemptor_.bounds[b];
    if (!preemptor_.holds(left_[b] + bound.left_by_itself - bound.left)) {
      return false;
    }
  }
  return true;
}

// --- Room ---

void DryRun::count_conflicts() {
  const HostPorts& ports = preemptor_.shape.host_ports;
  if (ports.empty()) {
    return;
  }
  const NodeFacts& node = preemptor_.cluster.node(row_);
  conflicts_ = node.ports.count_conflicts(ports);
  for (const PodId id : node.nominated) {
    if (preemptor_.cluster.pod(id).rank.priority >= preemptor_.claim.priority) {
      conflicts_ += conflicts_of(id);
    }
  }
  conflicts_before_ = conflicts_;
}

std::uint32_t DryRun::conflicts_of(PodId id) const {
  const PodFacts& pod = preemptor_.cluster.pod(id);
  return pod.host_ports == nullptr
             ? 0
             : headroom::count_conflicts(preemptor_.shape.host_ports, *pod.host_ports);
}

bool DryRun::fits(std::size_t term) const {
  const std::int64_t sum = in_int64(sums_[term], preemptor_.cluster.table().beyond());
  return preemptor_.terms[term].need <= headroom_of(bases_[term], sum);
}

bool DryRun::fits() const { return fits_by_columns() && application_code() == 0; }

bool DryRun::fits_by_columns() const {
  if (conflicts_ != 0) {
    return false;
  }
  for (std::size_t t = 0; t < sums_.size(); ++t) {
    if (!fits(t)) {
      return false;
    }
  }
  return true;
}

// With nominated pods, and without: some of its rules ask for other pods.
std::uint32_t DryRun::application_code() const {
  if (preemptor_.look == nullptr) {
    return 0;
  }
  const std::uint32_t code = expects_ ? preemptor_.look->code(row_, &expected_) : 0;
  return code != 0 ? code : preemptor_.look->code(row_, &change_);
}

bool DryRun::is_hopeless() {
  if (preemptor_.look == nullptr || !fits_by_columns()) {
    return false;
  }
  code_ = application_code();
  return code_ != 0 &&
         preemptor_.cluster.rejections().at(code_).code == Code::kUnschedulableAndUnresolvable;
}

std::uint32_t DryRun::filter_code() const {
  if (conflicts_ != 0) {
    return kPortsTaken;
  }
  std::uint32_t code = 0;
  for (std::size_t t = 0; t < sums_.size(); ++t) {
    code |= static_cast<std::uint32_t>(!fits(t)) << preemptor_.terms[t].bit;
  }
  const std::uint32_t by_columns = first_rejection(preemptor_.shape.program(), code);
  return by_columns != 0 ? by_columns : application_code();
}

void DryRun::move(const RankedPod& pod, int sign, bool on_this_node) {
  for (std::size_t t = 0; on_this_node && t < sums_.size(); ++t) {
    sums_[t] += static_cast<Int128>(preemptor_.terms[t].given_back[pod.shape]) * sign;
  }
  // A node without conflicts has none whoever goes: its pods' facts need no look.
  if (on_this_node && conflicts_before_ != 0) {
    conflicts_ += static_cast<std::uint32_t>(sign) * conflicts_of(pod.pod);
  }
  for (RowChange* change : {&change_, &expected_}) {
    if (preemptor_.look == nullptr || (change == &expected_ && !expects_)) {
      continue;
    }
    if (!on_this_node) {
      preemptor_.look->change_elsewhere(*change, pod.pod, sign);
      continue;
    }
    const std::vector<Feed>* feeds = preemptor_.look->feeds(pod.pod);
    sign < 0 ? change->take(pod.pod, feeds) : change->put_back(pod.pod, feeds);
  }
  for (std::size_t b = 0; b < left_.size(); ++b) {
    const Preemptor::Bound& bound = preemptor_.bounds[b];
    if (!bound.own || pod.namespace_id == preemptor_.claim.namespace_id) {
      left_[b] -= static_cast<Int128>(bound.given_back[pod.shape]) * sign;
    }
  }
  if (preemptor_.reclaims) {
    change_used(pod, sign);
  }
}

// --- Budgets ---

bool DryRun::counts_in(BudgetId id, const RankedPod& pod) const {
  const std::vector<std::string>& disrupted =
      preemptor_.capacity_scheduling.budgets().at(id).disrupted_pods;
  return disrupted.empty() || !std::binary_search(disrupted.begin(), disrupted.end(),
                                                  preemptor_.cluster.pod(pod.pod).name());
}

std::int64_t& DryRun::budget_left(BudgetId id) {
  for (BudgetLeft& budget : budgets_) {
    if (budget.budget == id) {
      return budget.left;
    }
  }
  const std::int64_t allowed = preemptor_.capacity_scheduling.budgets().at(id).disruptions_allowed;
  budgets_.push_back({id, preemptor_.upstream ? allowed : std::max<std::int64_t>(allowed, 0)});
  return budgets_.back().left;
}

void DryRun::take_from_budgets(const RankedPod& pod, int sign) {
  for (const BudgetId id : preemptor_.capacity_scheduling.budgets().of(pod.group)) {
    if (counts_in(id, pod)) {
      budget_left(id) -= sign;
    }
  }
}

std::int64_t DryRun::broken_budgets() const {
  std::int64_t broken = 0;
  for (const BudgetLeft& budget : budgets_) {
    broken += std::max<std::int64_t>(0, -budget.left);
  }
  return broken;
}

bool DryRun::breaks_budget(const RankedPod& pod) {
  const std::span<const BudgetId> ids = preemptor_.capacity_scheduling.budgets().of(pod.group);
  return std::any_of(ids.begin(), ids.end(),
                     [&](BudgetId id) { return counts_in(id, pod) && budget_left(id) <= 0; });
}

// --- Mode Upstream ---

// filterPodsWithPDBViolation: most important first, each takes one from all its budgets.
void DryRun::split_by_budgets_upstream() {
  std::vector<const RankedPod*>& others = victims_;  // empty until victims are known
  others.clear();
  for (auto at = collected_.rbegin(); at != collected_.rend(); ++at) {
    bool breaks = false;
    for (const BudgetId id : preemptor_.capacity_scheduling.budgets().of((*at)->group)) {
      breaks |= counts_in(id, **at) && --budget_left(id) < 0;
    }
    (breaks ? breaking_ : others).push_back(*at);
  }
  collected_.swap(others);
  others.clear();
}

// Whether the victims could be among those collected so far. More of them gone is no worse, but for
// nominated pods that return.
bool DryRun::enough_so_far() const {
  return fits() &&
         (preemptor_.nominated_return ||
          (preemptor_.upstream ? within_elastic_quotas_by_itself() : within_elastic_quotas()));
}

DryRunOutcome DryRun::run_upstream(std::int64_t bar) {
  bool above = false;
  for (const RankedPod& pod : preemptor_.capacity_scheduling.pods_of(row_)) {
    if (pod.priority > bar && !std::exchange(above, true) && !enough_so_far()) {
      return DryRunOutcome::kOutranked;
    }
    if (may_go(pod)) {
      collected_.push_back(&pod);
      remove(pod);
    }
  }
  if (collected_.empty()) {
    return DryRunOutcome::kNobody;
  }
  code_ = filter_code();
  if (code_ != 0) {
    return DryRunOutcome::kFilters;
  }
  if (!within_elastic_quotas_by_itself()) {
    return DryRunOutcome::kElasticQuotas;
  }
  split_by_budgets_upstream();
  for (const bool breaks : {true, false}) {
    for (const RankedPod* pod : breaks ? breaking_ : collected_) {
      put_back(*pod);
      const bool fit = fits();
      if (!fit) {
        remove(*pod);
        victims_.push_back(pod);
        broken_ += breaks;
      }
      // The quotas are looked at on their own: a pod that fits and goes for them breaks no budget
      // by its count, and one that is gone already cannot go again.
      if (!within_elastic_quotas()) {
        if (!fit) {
          failed_ = pod;
          return DryRunOutcome::kReprievedTwice;
        }
        remove(*pod);
        victims_.push_back(pod);
      }
    }
  }
  return victims_.empty() ? DryRunOutcome::kNotNeeded : DryRunOutcome::kVictims;
}

// --- Mode Proposal ---

bool DryRun::collect(std::int64_t bar) {
  bool above = false;
  for (const RankedPod& pod : preemptor_.capacity_scheduling.pods_of(row_)) {
    if (pod.priority > bar && !std::exchange(above, true) && breaking_.empty() &&
        !enough_so_far()) {
      return false;
    }
    if (!preemptor_.may_be_victim(pod)) {
      continue;
    }
    if (preemptor_.budgets && breaks_budget(pod)) {
      breaking_.push_back(&pod);
    } else if (may_go(pod)) {
      take(pod);
    }
  }
  harmless_ = collected_.size();
  for (const RankedPod* pod : breaking_) {
    if (may_go(*pod)) {
      take(*pod);
    }
  }
  return true;
}

void DryRun::take(const RankedPod& pod) {
  collected_.push_back(&pod);
  remove(pod);
  take_from_budgets(pod, 1);
}

DryRunOutcome DryRun::run_proposal(std::int64_t bar) {
  if (!collect(bar)) {
    return DryRunOutcome::kOutranked;
  }
  if (collected_.empty()) {
    return DryRunOutcome::kNobody;
  }
  if (!fits()) {
    code_ = filter_code();
    return DryRunOutcome::kFilters;
  }
  if (!within_elastic_quotas()) {
    return DryRunOutcome::kElasticQuotas;
  }
  for (std::size_t i = collected_.size(); i-- > 0;) {
    const RankedPod* pod = collected_[i];
    put_back(*pod);
    if (fits() && within_elastic_quotas()) {
      take_from_budgets(*pod, -1);
    } else {
      remove(*pod);
      victims_.push_back(pod);
    }
  }
  broken_ = broken_budgets();
  return victims_.empty() ? DryRunOutcome::kNotNeeded : DryRunOutcome::kVictims;
}

bool DryRun::collected(const RankedPod& pod) const {
  return std::find(collected_.begin(), collected_.end(), &pod) != collected_.end() ||
         (preemptor_.upstream &&
          std::find(breaking_.begin(), breaking_.end(), &pod) != breaking_.end());
}

DryRunOutcome DryRun::run(std::uint32_t row, std::int64_t bar) {
  begin(row);
  if (is_hopeless()) {
    return DryRunOutcome::kFilters;
  }
  const DryRunOutcome outcome = preemptor_.upstream ? run_upstream(bar) : run_proposal(bar);
  if (!breaking_.empty()) {
    // Budget breakers were asked first. A row's pods lie in the order of their importance.
    std::sort(victims_.begin(), victims_.end(),
              [](const RankedPod* a, const RankedPod* b) { return a > b; });
  }
  return outcome;
}

VictimsRank rank_of(std::span<const RankedPod* const> victims, std::int64_t broken,
                    std::uint32_t row) {
  VictimsRank rank;
  rank.broken = broken;
  rank.row = row;
  rank.count = static_cast<std::int64_t>(victims.size());
  std::int64_t earliest_us = INT64_MAX;
  for (const RankedPod* victim : victims) {
    rank.priority_sum += std::int64_t{victim->priority} + (std::int64_t{1} << 31);
    if (victim->priority > rank.highest_priority) {
      rank.highest_priority = victim->priority;
      earliest_us = victim->start_us;
    } else if (victim->priority == rank.highest_priority) {
      earliest_us = std::min(earliest_us, victim->start_us);
    }
  }
  rank.start_us = -earliest_us;
  return rank;
}

}  // namespace headroom
