#include "tests/engine/random/elastic_quota_check.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/support/difference.h"

namespace headroom {
namespace {

using Texts = std::vector<std::string>;
using NodeTexts = std::map<std::string, std::string>;

// What LimitAware says where its ratio is bad in mode Upstream; the oracle says that it is an
// error.
const std::string kFilterError = "invalid limit-to-allocatable ratio";

std::string victim_text(const std::string& key, const std::string& uid, std::int64_t priority,
                        const std::string& node) {
  return key + " " + uid + " priority " + std::to_string(priority) + " on " + node;
}

std::string victim_text(const Engine& engine, const Victim& victim) {
  return victim_text(victim.namespace_name + "/" + victim.name, victim.uid, victim.priority,
                     std::string(engine.node_name(victim.node)));
}

std::string victim_text(const oracle::PodView& victim) {
  return victim_text(victim.key, victim.uid, victim.priority, victim.node);
}

std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += "\n  " + text;
  return all;
}

// The part of an answer that the rules decide.
struct Outcome {
  std::string code = "Unschedulable";
  std::string node;
  Texts victims;  // most important first
  std::int64_t pdb_violations = 0;
  bool cross_node = false, cross_node_would_help = false;

  std::string text() const {
    return code + " on [" + node + "] violations " + std::to_string(pdb_violations) +
           (cross_node ? " cross-node" : "") + (cross_node_would_help ? " cross-node helps" : "") +
           joined(victims);
  }
};

Outcome outcome_of(const Engine& engine, const PostFilter& answer) {
  Outcome outcome;
  outcome.code = to_string(answer.code);
  outcome.node = engine.node_name(answer.nominated_node);
  for (const Victim& victim : answer.victims) {
    outcome.victims.push_back(victim_text(engine, victim));
  }
  outcome.pdb_violations = answer.pdb_violations;
  outcome.cross_node = answer.cross_node;
  outcome.cross_node_would_help = answer.cross_node_would_help;
  return outcome;
}

std::vector<std::string> names_in_row_order(
    const Engine& engine, const std::map<std::string, oracle::NodeVictims>& nodes) {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes) names.push_back(name);
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return engine.find_node(a) < engine.find_node(b);
  });
  return names;
}

Outcome outcome_of(const Engine& engine, const oracle::PostFilter& answer) {
  Outcome outcome;
  outcome.code = to_string(answer.status.code);
  outcome.cross_node_would_help = answer.cross_node_would_help.value_or(false);
  if (answer.status.code != oracle::Code::kSuccess) return outcome;
  outcome.cross_node = !answer.candidates.has_value();
  const auto& nodes = outcome.cross_node ? answer.across : *answer.candidates;
  outcome.node = oracle::pick_node(names_in_row_order(engine, nodes), nodes);
  const oracle::NodeVictims& chosen = nodes.at(outcome.node);
  for (const oracle::PodView& victim : chosen.victims) {
    outcome.victims.push_back(victim_text(victim));
  }
  outcome.pdb_violations = chosen.pdb_violations;
  return outcome;
}

std::string node_text(const char* code, Texts reasons, const Texts& victims,
                      std::int64_t pdb_violations) {
  std::erase(reasons, kFilterError);
  return std::string(code) + " violations " + std::to_string(pdb_violations) + joined(reasons) +
         joined(victims);
}

// Upstream: every node that was looked at; Proposal: those with victims.
NodeTexts candidate_texts(const Engine& engine, const PostFilter& answer) {
  NodeTexts texts;
  for (const NodeVictims& node : answer.candidates) {
    if (engine.profile().mode == Mode::kProposal && node.code != Code::kSuccess) continue;
    Texts victims;
    for (const Victim& victim : node.victims) victims.push_back(victim_text(engine, victim));
    texts[std::string(engine.node_name(node.node))] =
        node_text(to_string(node.code), node.reasons, victims, node.pdb_violations);
  }
  return texts;
}

NodeTexts candidate_texts(const oracle::PostFilter& answer) {
  NodeTexts texts;
  if (!answer.candidates) return texts;
  for (const auto& [name, node] : *answer.candidates) {
    Texts victims;
    if (node.status.code == oracle::Code::kSuccess) {
      for (const oracle::PodView& victim : node.victims) victims.push_back(victim_text(victim));
    }
    texts[name] = node_text(to_string(node.status.code), node.status.reasons, victims,
                            node.status.code == oracle::Code::kSuccess ? node.pdb_violations : 0);
  }
  return texts;
}

// kube-scheduler ends such a cycle without a post-filter.
bool ends_in_error(const oracle::Answer& answer) {
  const auto is_error = [](const auto& node) { return node.second.code == oracle::Code::kError; };
  return std::any_of(answer.filter.begin(), answer.filter.end(), is_error) ||
         std::any_of(answer.scores.begin(), answer.scores.end(),
                     [&](const oracle::PluginScores& plugin) {
                       return std::any_of(plugin.nodes.begin(), plugin.nodes.end(), is_error);
                     });
}

Texts sorted(Texts texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string against_oracle(const Engine& engine, const PostFilter& answer,
                           const oracle::Answer& expected) {
  if (!expected.post_filter) {
    return difference("post-filter of a feasible pod", Outcome().text(),
                      outcome_of(engine, answer).text());
  }
  const oracle::PostFilter& by_oracle = *expected.post_filter;
  std::string wrong =
      difference("post-filter", outcome_of(engine, by_oracle).text(),
                 outcome_of(engine, answer).text()) +
      difference("candidates", candidate_texts(by_oracle), candidate_texts(engine, answer));
  // Without nodes kube-scheduler asks no plugin.
  if (engine.profile().mode == Mode::kUpstream && engine.stats().nodes != 0) {
    Texts reasons = answer.reasons;
    std::erase(reasons, kFilterError);
    wrong += difference("post-filter reasons", sorted(by_oracle.status.reasons), sorted(reasons));
  }
  return wrong;
}

}  // namespace

std::string post_filter_text(const Engine& engine, const PostFilter& answer) {
  std::string text = outcome_of(engine, answer).text() + joined(answer.reasons) + " at least " +
                     std::to_string(answer.victims_at_least) +
                     (answer.cross_node_gave_up ? " gave up" : "");
  for (const NodeVictims& node : answer.candidates) {
    text += "\n " + std::string(engine.node_name(node.node)) + " " + to_string(node.code) +
            joined(node.reasons);
    for (const Victim& victim : node.victims) text += "\n  " + victim_text(engine, victim);
  }
  return text;
}

std::string pre_filter_difference(Engine& engine, const Pod& pod, const oracle::Answer& expected) {
  const Result<PreFilterStatus> status = engine.pre_filter(pod);
  if (!status) return "pre_filter: " + status.error().message;
  std::string wrong = difference<std::string>("pre-filter", to_string(expected.pre_filter.code),
                                              to_string(status->code));
  // Proposal's words are the engine's own: one reason for each limit that is exceeded.
  if (engine.profile().mode == Mode::kUpstream) {
    wrong += difference("pre-filter reasons", expected.pre_filter.reasons, status->reasons);
  } else {
    wrong += difference("number of pre-filter reasons", expected.pre_filter.reasons.size(),
                        status->reasons.size());
  }
  const Result<Decision> decision = engine.evaluate(pod, {.top_k = 5});
  if (!decision) return wrong + "evaluate: " + decision.error().message;
  wrong += difference("decision's pre-filter", status->reasons, decision->pre_filter);
  if (status->code == Code::kSuccess) return wrong;
  wrong += difference("decision's code", Code::kUnschedulable, decision->code);
  wrong += difference("feasible", 0u, decision->feasible);
  wrong += difference<std::size_t>("candidates", 0, decision->candidates.size());
  wrong += difference<std::size_t>("reasons", 0, decision->reasons.size());
  return wrong;
}

std::string post_filter_difference(Engine& engine, const Pod& pod, const oracle::Answer& expected) {
  const std::uint64_t digest = engine.digest();
  const Result<PostFilter> plain = engine.post_filter(pod);
  const Result<PostFilter> unbounded = engine.post_filter(pod, {.bound = false});
  const Result<PostFilter> full = engine.post_filter(pod, {.candidates = true});
  if (!plain || !unbounded || !full) return "post_filter refuses";
  std::string wrong = difference("digest after post_filter", digest, engine.digest());
  if (ends_in_error(expected)) return wrong;
  wrong += difference("post-filter without the bound", post_filter_text(engine, *unbounded),
                      post_filter_text(engine, *plain));
  wrong += difference("post-filter with candidates", outcome_of(engine, *full).text(),
                      outcome_of(engine, *plain).text());
  if (plain->cross_node &&
      (plain->victims_at_least == 0 || plain->victims_at_least > plain->victims.size())) {
    wrong += "at least " + std::to_string(plain->victims_at_least) + " victims, but " +
             std::to_string(plain->victims.size()) + " came\n";
  }
  return wrong + against_oracle(engine, *full, expected);
}

std::string elastic_quota_difference(const Engine& engine, const oracle::Oracle& expected) {
  std::map<std::string, oracle::Amounts> by_oracle = expected.elastic_quota_used(), came;
  for (auto& [space, amounts] : by_oracle) {
    std::erase_if(amounts, [](const auto& entry) { return entry.second == 0; });
  }
  for (const ElasticQuotaStatus& status : engine.elastic_quota_status()) {
    oracle::Amounts& used = came[status.namespace_name];
    for (const ElasticQuotaAmount& amount : status.amounts) {
      if (amount.used != 0) used[amount.resource] = amount.used;
    }
  }
  return difference("used", by_oracle, came);
}

}  // namespace headroom
