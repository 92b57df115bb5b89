// Evaluator::explain: every filter and score of one node with the numbers that went in.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "engine/decide/evaluator.h"
#include "engine/quotas/elastic_quota_words.h"
#include "kernels/exact.h"

namespace headroom {

namespace {

const char* score_formula(const Score& score) {
  switch (score.kind) {
    case ScoreKind::kSigned:
      return "(capacity - aggregate - need) * 100 / capacity";
    case ScoreKind::kLeast:
      return "max(0, (capacity - aggregate - need) * 100 / capacity)";
    case ScoreKind::kMost:
      return "min(aggregate + need, capacity) * 100 / capacity";
    case ScoreKind::kRatio:
      return "shape(min(aggregate + need, capacity) * 100 / capacity)";
    case ScoreKind::kBalanced:
    case ScoreKind::kBalancedChange:
      return "min(1, (aggregate + need) / capacity)";
  }
  return "";
}

std::string mean_formula(const Score& score) {
  switch (score.kind) {
    case ScoreKind::kBalanced:
      return "(1 - standard deviation of the fractions) * 100";
    case ScoreKind::kBalancedChange:
      return "50 + (50 + balance with the pod - balance without) / 2";
    case ScoreKind::kRatio:
      return "weighted mean of the scores above 0, rounded";
    default:
      return score.dominant_weight != 0
                 ? fmt::format("weighted mean, the least score once more with weight {}",
                               score.dominant_weight)
                 : "weighted mean";
  }
}

std::int64_t difference(std::int64_t capacity, std::int64_t headroom) {
  std::int64_t aggregate = 0;
  return __builtin_sub_overflow(capacity, headroom, &aggregate) ? INT64_MAX : aggregate;
}

}  // namespace

void Evaluator::explain_filters(const PodShape& shape, std::uint32_t row, Explanation& out) const {
  const NodeTable& table = cluster_.table();
  for (std::size_t t = 0; t < shape.filter_terms.size(); ++t) {
    const FilterTerm& term = shape.filter_terms[t];
    const FilterLabel& label = shape.filter_labels[t];
    const std::int64_t headroom = table.truth(row, term.column);
    const bool load_aware = label.plugin == PluginId::kLoadAwareScheduling;
    if (load_aware && headroom == kUnlimited && !label.resource.empty()) {
      continue;  // one of plain and aggregated usage is checked at most; the notes say why not
    }
    ExplainTerm line;
    line.plugin = label.plugin;
    line.extension_point = "Filter";
    line.passed = term.need <= headroom;
    if (!label.resource.empty()) {
      line.resource = label.resource;
      line.need = term.need;
      if (headroom == kUnlimited) {
        line.note = "no limit on this node";
      } else {
        line.capacity = table.base(row, table.base_of(term.column));
        line.aggregate = difference(line.capacity, headroom);
        line.formula = load_aware ? "usage + need <= the largest usage that passes"
                                  : "aggregate + need <= capacity";
        line.result = headroom - term.need;
      }
    }
    if (!line.passed) {
      line.note = label.reason;
    }
    out.terms.push_back(std::move(line));
  }
}

// Of a pod that asks for ports.
void Evaluator::explain_ports(const Pod& pod, const PodShape& shape, std::uint32_t row,
                              Explanation& out) const {
  if (shape.host_ports.empty()) {
    return;
  }
  ExplainTerm line;
  line.plugin = PluginId::kNodePorts;
  line.extension_point = "Filter";
  line.passed = !cluster_.ports_taken(shape, row);
  if (line.passed) {
    line.note = fmt::format("free: {}{}", to_string(shape.host_ports.front()),
                            shape.host_ports.size() == 1
                                ? ""
                                : fmt::format(" and {} more", shape.host_ports.size() - 1));
  } else {
    line.note = fmt::format("{}: {}", cluster_.rejections().at(kPortsTaken).reasons.front(),
                            cluster_.taken_port(shape, row, cluster_.priorities().of(pod).value));
  }
  out.terms.push_back(std::move(line));
}

void Evaluator::explain_scores(const PodShape& shape, std::uint32_t row, Explanation& out) {
  const Truth truth = row_truth(shape, row);
  for (const std::uint8_t s : shape.score_order) {
    const Score& score = shape.scores[s];
    const ScoreLabel& label = shape.score_labels[s];
    for (std::uint32_t t = 0; t < score.count; ++t) {
      const ScoreTerm& term = score.terms[t];
      ExplainTerm line;
      line.plugin = label.plugin;
      line.extension_point = "Score";
      line.resource = cluster_.resources().name(label.resources[t]);
      line.capacity = truth[term.capacity];
      line.aggregate = difference(line.capacity, truth[term.headroom]);
      line.need = term.need;
      line.formula = score_formula(score);
      if (cluster_.table().base(row, cluster_.table().base_of(term.headroom)) == kNoScore) {
        line.aggregate = 0;
        line.formula.clear();
        line.note = "no usage is known: scores 0";
      } else if (line.capacity == 0) {
        line.note = score.zero_capacity_counts ? "no capacity: scores 0" : "no capacity: drops out";
      } else {
        line.result = exact_term(score, truth[term.headroom], term.need, line.capacity);
        line.note = fmt::format("weight {}", term.weight);
      }
      out.terms.push_back(std::move(line));
    }
    ExplainTerm total;
    total.plugin = label.plugin;
    total.extension_point = "Score";
    total.formula = mean_formula(score);
    total.result = exact_score(score, truth);
    out.terms.push_back(std::move(total));
  }
}

// What all rows come to is in the shape's cached answer, where there is one: then one row is looked
// at, and not each.
Evaluator::RowOfAll Evaluator::row_of_all(AskedPod& asked, std::uint32_t row) {
  PodShape& shape = asked.shape;
  RowOfAll its;
  its.scored.row = row;
  if (is_cacheable(asked) && asked.passes_pre_filter()) {
    CachedShape& found = cache_.bring_up(shape);
    const bool wide = found.wide();
    if (!wide) {
      const AppliedRows* applied = asked.look ? &apply_by_class(found, asked) : nullptr;
      its.code = row_code(asked, row);
      its.feasible = applied == nullptr ? found.feasible() : applied->feasible();
      for (std::uint32_t n = 0; n < shape.normalized && its.feasible != 0; ++n) {
        std::tie(its.extremes.lo[n], its.extremes.hi[n]) =
            found.range(n, applied == nullptr ? nullptr : &applied->extras());
      }
      if (its.code == 0) {
        if (applied != nullptr) {
          its.applied = with_images(asked, applied->entry_of(row), row);
          its.scored.total = its.applied.total;
        }
        read_raw(shape, row, its.scored.raw);
        (void)normalize_row(shape, its.extremes, its.scored);
      }
    }
    cache_.count(shape);
    if (!wide) {
      return its;
    }
  }
  const ExactAnswer answer = exact_answer(asked, false);
  its.code = row_code(asked, row);
  its.feasible = answer.rows.size();
  its.extremes = extremes_of(shape, answer);
  if (its.code == 0) {
    const auto scored =
        std::lower_bound(answer.rows.begin(), answer.rows.end(), row,
                         [](const ExactRow& a, std::uint32_t b) { return a.row < b; });
    its.scored = *scored;
    if (const ScoredRows* applied = applied_of(answer, *scored); applied != nullptr) {
      its.applied = *applied;
    }
  }
  return its;
}

Result<Explanation> Evaluator::explain(const Pod& pod, std::uint32_t row) {
  const auto found = cluster_.shapes().for_decision(pod);
  if (!found) {
    return tl::unexpected(found.error());
  }
  PodShape& shape = **found;
  Explanation out;
  out.not_considered = cluster_.not_considered(pod);
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  const Code before_nodes = explain_before_nodes(pod, shape, out);
  supposed.add_nominated(pod, shape);
  AskedPod asked = ask(pod, shape);
  const RowOfAll its = row_of_all(asked, row);
  const std::uint32_t code = its.code;
  if (asked.look) {
    asked.look->explain_pre_filter(out.terms);
  }
  if (explain_class(code, out)) {
    explain_ports(pod, shape, row, out);
    explain_filters(shape, row, out);
    if (asked.look) {
      asked.look->explain(row, code == 0 ? &its.applied : nullptr, out.terms);
    }
  }
  NodeDetail detail;
  if (code != 0) {
    describe(shape, row, code, detail);
    out.code = detail.code;
  } else {
    explain_scores(shape, row, out);
    out.plugins = plugin_scores(asked, its.scored, asked.look ? &its.applied : nullptr);
    out.total = its.scored.total;
    explain_normalized(shape, its, out);
  }
  explain_notes(shape, row, out);
  if (before_nodes != Code::kSuccess) {
    out.code = before_nodes;
  }
  return out;
}

// A line of each plugin that looks at the node's class; false: the last of them rejects it.
bool Evaluator::explain_class(std::uint32_t code, Explanation& out) const {
  const Rejections& rejections = cluster_.rejections();
  const bool rejected =
      (code & kClassRejection) != 0 && rejections.at(code).plugin <= PluginId::kNodeAffinity;
  const Profile& profile = cluster_.profile();
  // As they are asked: from 1.37 on the name first.
  std::array<PluginId, 4> plugins = {PluginId::kNodeUnschedulable, PluginId::kNodeName,
                                     PluginId::kTaintToleration, PluginId::kNodeAffinity};
  if (profile.kubernetes_version >= KubernetesVersion::k137) {
    std::swap(plugins[0], plugins[1]);
  }
  for (const PluginId plugin : plugins) {
    if (!profile.filters_by(plugin)) {
      continue;
    }
    ExplainTerm& line = out.terms.emplace_back();
    line.plugin = plugin;
    line.extension_point = "Filter";
    line.passed = !rejected || rejections.at(code).plugin != plugin;
    if (!line.passed) {
      line.note = rejections.at(code).reasons.front();
      break;
    }
  }
  return !rejected;
}

void Evaluator::explain_normalized(const PodShape& shape, const RowOfAll& its, Explanation& out) {
  for (std::size_t s = 0; s < shape.normalized; ++s) {
    ExplainTerm& line = out.terms.emplace_back();
    line.plugin = shape.score_labels[s].plugin;
    line.extension_point = "NormalizeScore";
    line.formula = "(raw - lowest) * 100 / (highest - lowest)";
    line.result = its.scored.score[s];
    line.note = fmt::format("raw {}, lowest {}, highest {} of {} feasible nodes", its.scored.raw[s],
                            its.extremes.lo[s], its.extremes.hi[s], its.feasible);
  }
}

void Evaluator::explain_notes(const PodShape& shape, std::uint32_t row, Explanation& out) const {
  std::vector<Note> notes;
  cluster_.notes(row, notes);
  for (const std::string& ignored : shape.ignored) {
    notes.push_back({PluginId::kLoadAwareScheduling, "ignored: the pod's " + ignored});
  }
  for (Note& note : notes) {
    ExplainTerm& line = out.terms.emplace_back();
    line.plugin = note.plugin;
    line.extension_point = "Note";
    line.note = std::move(note.text);
  }
}

// Lines of gates and quotas, and what they say of the pod whatever the node.
Code Evaluator::explain_before_nodes(const Pod& pod, const PodShape& shape,
                                     Explanation& out) const {
  if (std::string gated = cluster_.waits_for_gates(pod); !gated.empty()) {
    ExplainTerm& line = out.terms.emplace_back();
    line.plugin = PluginId::kSchedulingGates;
    line.extension_point = "PreEnqueue";
    line.passed = false;
    line.note = std::move(gated);
    return Code::kUnschedulableAndUnresolvable;
  }
  const CapacityScheduling* capacity_scheduling = cluster_.capacity_scheduling();
  if (capacity_scheduling == nullptr ||
      capacity_scheduling->elastic_quotas().elastic_quota_count() == 0) {
    return Code::kSuccess;
  }
  const PodClaim claim = capacity_scheduling->claim(pod);
  const ElasticQuotaStanding standing = capacity_scheduling->standing(claim, shape);
  explain_elastic_quota(capacity_scheduling->elastic_quotas(), claim.namespace_id,
                        shape.elastic_quota_request, standing, out.terms);
  return standing.rejected() ? Code::kUnschedulable : Code::kSuccess;
}

}  // namespace headroom
