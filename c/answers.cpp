#include "c/answers.h"

#include <utility>

namespace headroom {

namespace {

static_assert(static_cast<int>(Code::kSuccess) == HEADROOM_SUCCESS);
static_assert(static_cast<int>(Code::kError) == HEADROOM_ERROR);
static_assert(static_cast<int>(Code::kUnschedulable) == HEADROOM_UNSCHEDULABLE);
static_assert(static_cast<int>(Code::kUnschedulableAndUnresolvable) ==
              HEADROOM_UNSCHEDULABLE_AND_UNRESOLVABLE);
static_assert(static_cast<headroom_node_index>(kNoNode) == HEADROOM_NO_NODE);

headroom_code code_of(Code code) { return static_cast<headroom_code>(code); }
headroom_node_index index_of(NodeIndex node) { return static_cast<headroom_node_index>(node); }

std::vector<headroom_victim> victims_of(const std::vector<Victim>& from) {
  std::vector<headroom_victim> victims;
  victims.reserve(from.size());
  for (const Victim& victim : from) {
    victims.push_back({.namespace_name = victim.namespace_name.c_str(),
                       .name = victim.name.c_str(),
                       .uid = victim.uid.c_str(),
                       .node = index_of(victim.node),
                       .priority = victim.priority});
  }
  return victims;
}

}  // namespace

headroom_decision EngineAnswers::decided() {
  message_.clear();
  if (decision_.code != Code::kSuccess) message_ = decision_.message();
  scores_.clear();
  for (const NodeScore& candidate : decision_.candidates) {
    for (const PluginScore& score : candidate.plugins) {
      scores_.push_back(
          {.plugin = to_string(score.plugin), .raw = score.raw, .score = score.score});
    }
  }
  candidates_.clear();
  const headroom_plugin_score* scores = scores_.data();
  for (const NodeScore& candidate : decision_.candidates) {
    candidates_.push_back({.node = index_of(candidate.node),
                           .total = candidate.total,
                           .plugins = scores,
                           .plugin_count = candidate.plugins.size()});
    scores += candidate.plugins.size();
  }
  return {.code = code_of(decision_.code),
          .nodes = decision_.nodes,
          .feasible = decision_.feasible,
          .candidates = candidates_.data(),
          .candidate_count = candidates_.size(),
          .message = message_.c_str()};
}

void EngineAnswers::placed(std::vector<Placement> from, headroom_placement* placements) {
  messages_.clear();
  victims_.clear();
  gone_.clear();
  for (std::size_t p = 0; p < from.size(); ++p) {
    Placement& placement = from[p];
    headroom_placement& answer = placements[p];
    const bool found = placement.node != kNoNode;
    answer = {.node = index_of(placement.node),
              .total = found ? placement.decision.candidates.front().total : 0,
              .message = found ? "" : messages_.emplace_back(placement.decision.message()).c_str(),
              .nominated_node = index_of(placement.nominated_node),
              .victims = nullptr,
              .victim_count = 0};
    if (placement.victims.empty()) continue;
    const auto& gone =
        gone_.emplace_back(victims_of(victims_.emplace_back(std::move(placement.victims))));
    answer.victims = gone.data();
    answer.victim_count = gone.size();
  }
}

headroom_texts EngineAnswers::texts(std::vector<std::string> texts) {
  texts_ = std::move(texts);
  items_.clear();
  for (const std::string& text : texts_) items_.push_back(text.c_str());
  return {.items = items_.data(), .count = items_.size()};
}

headroom_preemption EngineAnswers::preempted(PostFilter found) {
  victims_.clear();
  gone_.clear();
  const auto& gone =
      gone_.emplace_back(victims_of(victims_.emplace_back(std::move(found.victims))));
  return {.code = code_of(found.code),
          .nominated_node = index_of(found.nominated_node),
          .victims = gone.data(),
          .victim_count = gone.size(),
          .pdb_violations = found.pdb_violations,
          .cross_node = found.cross_node,
          .reasons = texts(std::move(found.reasons))};
}

std::span<const headroom_elastic_quota_amount> EngineAnswers::elastic_quota_status(
    std::vector<ElasticQuotaStatus> quotas) {
  quotas_ = std::move(quotas);
  amounts_.clear();
  for (const ElasticQuotaStatus& quota : quotas_) {
    for (const ElasticQuotaAmount& amount : quota.amounts) {
      amounts_.push_back({.namespace_name = quota.namespace_name.c_str(),
                          .name = quota.name.c_str(),
                          .resource = amount.resource.c_str(),
                          .min = amount.min,
                          .max = amount.max,
                          .used = amount.used,
                          .nominated = amount.nominated,
                          .over_min = quota.over_min});
    }
  }
  return amounts_;
}

headroom_explanation EngineAnswers::explained(Explanation explanation) {
  explanation_ = std::move(explanation);
  terms_.clear();
  for (const ExplainTerm& term : explanation_.terms) {
    terms_.push_back({.plugin = to_string(term.plugin),
                      .extension_point = term.extension_point.c_str(),
                      .resource = term.resource.c_str(),
                      .capacity = term.capacity,
                      .aggregate = term.aggregate,
                      .need = term.need,
                      .formula = term.formula.c_str(),
                      .result = term.result,
                      .passed = term.passed,
                      .note = term.note.c_str()});
  }
  return {.code = code_of(explanation_.code),
          .terms = terms_.data(),
          .term_count = terms_.size(),
          .total = explanation_.total};
}

}  // namespace headroom
