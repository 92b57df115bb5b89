// Evaluator: what every node says of a pod, and what single nodes say. Codes are described here.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "engine/decide/evaluator.h"

namespace headroom {

// --- Codes in words ---

bool Evaluator::is_error(const PodShape& shape, std::uint32_t code) const {
  return (code & kClassRejection) == 0 ? (code & shape.error_terms) != 0
                                       : code != (kClassRejection | kNoNodeReason) &&
                                             cluster_.rejections().at(code).code == Code::kError;
}

bool Evaluator::beyond_capacity(const PodShape& shape, std::uint32_t row,
                                std::uint32_t code) const {
  for (std::uint32_t bits = code; (code & kClassRejection) == 0 && bits != 0; bits &= bits - 1) {
    const auto t = static_cast<std::size_t>(std::countr_zero(bits));
    const ColumnId capacity = shape.filter_labels[t].capacity;
    if (capacity != kNoColumn &&
        shape.filter_terms[t].need > cluster_.table().truth(row, capacity)) {
      return true;
    }
  }
  return false;
}

NodeVerdict Evaluator::verdict(const PodShape& shape, std::uint32_t row, std::uint32_t code) const {
  NodeVerdict verdict;
  if ((code & kClassRejection) != 0) {
    const Rejection& rejection = cluster_.rejections().at(code);
    verdict.code = rejection.code;
    verdict.rejected_by = rejection.plugin;
    verdict.reasons = rejection.reasons;
    return verdict;
  }
  for (std::uint32_t bits = code; bits != 0; bits &= bits - 1) {
    const auto t = static_cast<std::size_t>(std::countr_zero(bits));
    const std::string_view reason = shape.reasons[shape.reason_of[t]];
    verdict.rejected_by = shape.filter_labels[t].plugin;
    if (shape.filter_labels[t].code == Code::kError) {
      verdict.code = Code::kError;
      verdict.reasons = {reason};
      return verdict;
    }
    verdict.reasons.push_back(reason);
  }
  verdict.code = beyond_capacity(shape, row, code) ? Code::kUnschedulableAndUnresolvable
                                                   : Code::kUnschedulable;
  return verdict;
}

void Evaluator::describe(const PodShape& shape, std::uint32_t row, std::uint32_t code,
                         NodeDetail& detail) const {
  const NodeVerdict said = verdict(shape, row, code);
  detail.code = said.code;
  detail.rejected_by = said.rejected_by;
  detail.reasons.assign(said.reasons.begin(), said.reasons.end());
}

// --- Every node ---

// Fills NodesDecision: describes a code when it first comes, twice where it means one thing on a
// node that is too small and another elsewhere.
class Evaluator::Standings {
 public:
  Standings(const Evaluator& evaluator, const PodShape& shape, NodesDecision& decision)
      : evaluator_(evaluator), shape_(shape), decision_(decision) {}

  void add_feasible(std::uint32_t row, std::int64_t total) {
    decision_.rows.push_back({static_cast<NodeIndex>(row), kFeasible, total});
  }
  void add_rejected(std::uint32_t row, std::uint32_t code) {
    const std::uint64_t key =
        std::uint64_t{code} << 1 | std::uint64_t{evaluator_.beyond_capacity(shape_, row, code)};
    if (key != last_key_) {
      const auto [known, is_new] = verdict_of_.emplace(key, 0);
      if (is_new) {
        known->second = place_of(evaluator_.verdict(shape_, row, code), code);
      }
      last_key_ = key;
      last_verdict_ = known->second;
    }
    decision_.rows.push_back({static_cast<NodeIndex>(row), last_verdict_, 0});
  }

 private:
  // Codes of classes differ in their reasons; of the others some few mean the same.
  std::uint32_t place_of(NodeVerdict verdict, std::uint32_t code) {
    if ((code & kClassRejection) == 0) {
      for (const std::uint32_t place : by_terms_) {
        if (decision_.verdicts[place] == verdict) {
          return place;
        }
      }
      by_terms_.push_back(static_cast<std::uint32_t>(decision_.verdicts.size()));
    }
    decision_.verdicts.push_back(std::move(verdict));
    return static_cast<std::uint32_t>(decision_.verdicts.size() - 1);
  }

  const Evaluator& evaluator_;
  const PodShape& shape_;
  NodesDecision& decision_;
  std::unordered_map<std::uint64_t, std::uint32_t> verdict_of_;
  std::vector<std::uint32_t> by_terms_;  // verdicts of rows that no class rejects
  std::uint64_t last_key_ = 0;           // of a feasible row: none is asked for
  std::uint32_t last_verdict_ = kFeasible;
};

void Evaluator::begin(NodesDecision& decision) const {
  decision.nodes = cluster_.node_count();
  decision.pre_filter.clear();
  decision.verdicts.clear();
  decision.rows.clear();
}

Result<void> Evaluator::evaluate_nodes(const Pod& pod, NodesDecision& decision) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  begin(decision);
  decision.not_considered = cluster_.not_considered(pod);
  ++decisions_;
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  PreFilterStatus before_nodes = cluster_.pre_filter(pod, **shape);
  supposed.add_nominated(pod, **shape);
  AskedPod asked = ask(pod, **shape);
  note_pre_filter(std::move(before_nodes), asked, decision);
  look_at_all(asked, decision);
  return {};
}

void Evaluator::note_pre_filter(PreFilterStatus status, const AskedPod& asked,
                                NodesDecision& decision) {
  decision.pre_filter = std::move(status.reasons);
  // A pod that waits at its gates is asked nothing else.
  const bool gated = status.code == Code::kUnschedulableAndUnresolvable;
  if (!gated && !asked.passes_pre_filter()) {
    decision.pre_filter.insert(decision.pre_filter.end(), asked.look->pre_filter().begin(),
                               asked.look->pre_filter().end());
  }
}

void Evaluator::look_at_all(AskedPod& asked, NodesDecision& decision) {
  PodShape& shape = asked.shape;
  const NodeTable& table = cluster_.table();
  decision.epoch = table.epoch();
  Standings standings(*this, shape, decision);
  if (is_cacheable(asked) && asked.passes_pre_filter()) {
    CachedShape& found = cache_.bring_up(shape);
    const bool wide = found.wide();
    if (!wide) {
      const AppliedRows* applied = asked.look ? &apply_by_class(found, asked) : nullptr;
      if (applied == nullptr) {
        found.totals(totals_);
      } else {
        found.totals(applied->extras(), applied->feasible(), totals_);
      }
      for (std::uint32_t row = 0; row < totals_.size(); ++row) {
        if (totals_[row] >= 0) {
          standings.add_feasible(row, totals_[row]);
        } else if (table.node_class(row) != kNoNodeClass) {
          const std::uint32_t by_columns = found.code(row);
          standings.add_rejected(row, by_columns != 0 ? by_columns : applied->entry_of(row).code);
        }
      }
    }
    cache_.count(shape);
    if (!wide) {
      return;
    }
  }
  const ExactAnswer answer = exact_answer(asked, true);
  auto scored = answer.rows.begin();
  for (std::uint32_t row = 0; row < answer.row_codes.size(); ++row) {
    if (answer.row_codes[row] == 0) {
      standings.add_feasible(row, scored->total);
      ++scored;
    } else if (table.node_class(row) != kNoNodeClass) {
      standings.add_rejected(row, answer.row_codes[row]);
    }
  }
}

Result<std::vector<NodeDetail>> Evaluator::evaluate_all(const Pod& pod) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  std::vector<NodeDetail> details;
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  supposed.add_nominated(pod, **shape);
  AskedPod asked = ask(pod, **shape);
  const ExactAnswer answer = exact_answer(asked, true);
  auto scored = answer.rows.begin();
  for (std::uint32_t row = 0; row < answer.row_codes.size(); ++row) {
    if (cluster_.table().node_class(row) == kNoNodeClass) {
      continue;
    }
    NodeDetail detail;
    detail.node = static_cast<NodeIndex>(row);
    if (answer.row_codes[row] != 0) {
      describe(**shape, row, answer.row_codes[row], detail);
    } else {
      detail.plugins = plugin_scores(asked, *scored, applied_of(answer, *scored));
      detail.total = scored->total;
      ++scored;
    }
    details.push_back(std::move(detail));
  }
  return details;
}

// --- Single nodes ---

Result<void> Evaluator::filter(const Pod& pod, std::span<const NodeIndex> nodes,
                               const FilterOptions& options, NodesDecision& decision) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  begin(decision);
  decision.not_considered = cluster_.not_considered(pod);
  ShapeHolds holds(cluster_.shapes());
  Supposition supposed(cluster_);
  if (!options.without.empty() || !options.with.empty()) {
    holds.add(*shape);
    if (auto changed = supposed.change(static_cast<std::uint32_t>(nodes.front()), options);
        !changed) {
      return changed;
    }
  }
  supposed.leave_out(pod);
  PreFilterStatus before_nodes = cluster_.pre_filter(pod, **shape);
  supposed.add_nominated(pod, **shape);
  AskedPod asked = ask_for_rows(pod, **shape);
  note_pre_filter(std::move(before_nodes), asked, decision);
  decision.epoch = cluster_.table().epoch();
  Standings standings(*this, **shape, decision);
  for (const NodeIndex node : nodes) {
    const auto row = static_cast<std::uint32_t>(node);
    const std::uint32_t code = row_code(asked, row);
    if (code == 0) {
      standings.add_feasible(row, 0);
    } else {
      standings.add_rejected(row, code);
    }
  }
  return {};
}

Result<NodeDetail> Evaluator::filter(const Pod& pod, std::uint32_t row,
                                     const FilterOptions& options) {
  const NodeIndex node{row};
  if (auto filtered = filter(pod, std::span(&node, 1), options, single_); !filtered) {
    return tl::unexpected(filtered.error());
  }
  NodeDetail detail;
  detail.node = node;
  const std::uint32_t place = single_.rows.front().verdict;
  // What an application's PreFilter says stands for the row as well.
  const bool before_nodes =
      !single_.pre_filter.empty() &&
      (place == kFeasible || single_.verdicts[place].reasons.front() != single_.pre_filter.front());
  if (before_nodes) {
    const bool gated = !cluster_.waits_for_gates(pod).empty();
    detail.code = gated ? Code::kUnschedulableAndUnresolvable : Code::kUnschedulable;
    detail.reasons = single_.pre_filter;
    detail.rejected_by = gated ? PluginId::kSchedulingGates : PluginId::kCapacityScheduling;
  } else if (place != kFeasible) {
    const NodeVerdict& verdict = single_.verdicts[place];
    detail.code = verdict.code;
    detail.rejected_by = verdict.rejected_by;
    detail.reasons.assign(verdict.reasons.begin(), verdict.reasons.end());
  }
  return detail;
}

}  // namespace headroom
