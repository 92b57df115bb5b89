#include "tests/engine/random/script_runner.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/cluster/audit.h"
#include "engine/engine.h"
#include "oracle/oracle.h"
#include "tests/engine/random/answer_checks.h"
#include "tests/engine/random/configured_engines.h"
#include "tests/engine/random/elastic_quota_check.h"
#include "tests/engine/random/engine_snapshot.h"
#include "tests/support/answer_text.h"
#include "tests/support/difference.h"

namespace headroom {
namespace {

using nlohmann::json;

// --- Answers as text, so that a difference can be read ---

using NodeTexts = std::map<std::string, std::string>;

NodeTexts node_texts(const Engine& engine, const std::vector<NodeDetail>& details) {
  NodeTexts texts;
  for (const NodeDetail& detail : details) {
    std::string& text = texts[std::string(engine.node_name(detail.node))];
    if (detail.code == Code::kError) {
      text = "Error";
    } else if (detail.code != Code::kSuccess) {
      text = rejection_text(to_string(detail.code), to_string(detail.rejected_by), detail.reasons);
    } else {
      text = has_error(details) ? "Success" : scores_text(detail.plugins, detail.total);
    }
  }
  return texts;
}

NodeTexts node_texts(const oracle::Answer& answer) {
  NodeTexts texts;
  bool error = false;
  for (const auto& [node, status] : answer.filter) {
    if (status.code != oracle::Code::kSuccess) {
      texts[node] = rejection_text(to_string(status.code), status.plugin, status.reasons);
    }
    if (status.code == oracle::Code::kError) {
      texts[node] = "Error";
      error = true;
    }
    for (const oracle::PluginScores& plugin : answer.scores) {
      const auto score = plugin.nodes.find(node);
      if (score == plugin.nodes.end() || score->second.code == oracle::Code::kSuccess) continue;
      texts[node] = "Error";
      error = true;
    }
  }
  for (const auto& [node, total] : answer.totals) {
    if (texts.contains(node)) continue;
    std::string& text = texts[node];
    for (const oracle::PluginScores& plugin : answer.scores) {
      if (plugin.pre_score != oracle::Code::kSuccess) continue;
      const oracle::NodeScore& score = plugin.nodes.at(node);
      text += " " + plugin.plugin + " " + std::to_string(score.raw) + " -> " +
              std::to_string(score.normalized);
    }
    text = error ? "Success" : text + " total " + std::to_string(total);
  }
  return texts;
}

// --- Scripts: events and questions, as steps of conformance cases ---

class ScriptRunner : private ConfiguredEngines {
 public:
  ScriptRunner(const RandomProfile& random, const std::vector<Configuration>& configurations)
      : ConfiguredEngines(random.profile, configurations),
        oracle_(random.profile.mode == Mode::kUpstream ? oracle::Mode::kUpstream
                                                       : oracle::Mode::kProposal,
                random.config) {}

  // What is wrong after the step; "" for nothing.
  std::string perform(const json& step) {
    const std::string op = step.at("op");
    if (op == "schedule") return schedule(step.at("pod"));
    if (op == "prepare") return prepare(step);
    if (op == "preempt") return preempt(step.at("pod"));
    if (op == "evaluate") return evaluate(step.at("pods"));
    if (op == "place") return place(step.at("pods"));
    if (op == "as_if") return as_if(step);
    if (op == "save") {
      if (!forks_.empty()) return "";
      audits_.clear();  // of engines that are replaced
      return save(step.at("but"));
    }
    if (op == "check") return check_state(step.contains("all"));
    if (op == "audit") return audit(step.at("pieces"));
    if (op == "fork") return fork(step.at("pods"), step.at("look"));
    if (op == "rollback") return forks_.empty() ? "" : rollback();
    if (op == "commit") return forks_.empty() ? "" : commit();
    if (op == "apply") oracle_.apply(step.at("object"));
    if (op == "delete") oracle_.remove(step.at("object"));
    if (op == "advance") oracle_.advance(step.at("now"));
    if (op == "reserve") oracle_.reserve(step.at("pod"), step.at("node"));
    if (op == "unreserve") oracle_.unreserve(step.at("pod"), step.at("node"));
    return apply(step);
  }

 private:
  // Some pieces of an audit, of every other engine; events come between them.
  std::string audit(std::uint64_t pieces) {
    audits_.resize(engines_.size());
    for (std::size_t e = 0; e < engines_.size(); e += 2) {
      std::unique_ptr<Audit>& audit = audits_[e];
      if (audit == nullptr) audit = engines_[e].audit({.digest = true, .validate = true});
      std::uint64_t left = pieces;
      const Result<bool> done = audit->turn([&left] { return --left == 0; });
      if (!done) return "audit: " + done.error().message;
      if (!*done) continue;
      if (const Result<void> ended = audit->end(); !ended) {
        return "audit: " + ended.error().message;
      }
      const std::string wrong =
          difference("digest in turns", engines_[e].digest(), audit->digest());
      if (!wrong.empty()) return configurations_[e].text() + ": " + wrong;
      if (audit->looked_closer() && forks_.empty())
        return configurations_[e].text() + ": an audit's sums differ";
      audit.reset();
    }
    return "";
  }

  // At once, or in turns of a piece of work each.
  static Result<Decision> decide(Engine& engine, const Pod& pod, const EvaluateOptions& options,
                                 bool in_turns) {
    if (!in_turns) return engine.evaluate(pod, options);
    Decision decision;
    while (true) {
      const Result<bool> decided = engine.evaluate(
          pod, options, [] { return true; }, decision);
      if (!decided) return tl::unexpected(decided.error());
      if (*decided) return decision;
    }
  }

  std::string schedule(const json& object) {
    const Pod pod = to_pod(object);
    // Before evaluate_all(), which could bring the cache up to date.
    std::vector<std::vector<Decision>> decisions;
    for (Engine& engine : engines_) {
      decisions.emplace_back();
      for (const std::uint32_t top_k : kTopKs) {
        Result<Decision> decision =
            decide(engine, pod, {.top_k = top_k}, decisions.size() % 2 == 0);
        if (!decision) return "evaluate: " + decision.error().message;
        decisions.back().push_back(std::move(*decision));
      }
    }
    const oracle::Answer answer = oracle_.schedule(object);
    const bool rejected = answer.pre_filter.code != oracle::Code::kSuccess;
    const NodeTexts by_oracle = node_texts(answer);
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      const std::string name = configurations_[e].text();
      const Result<std::vector<NodeDetail>> details = engines_[e].evaluate_all(pod);
      if (!details) return "evaluate_all: " + details.error().message;
      std::string wrong = capacity_error(engines_[e], pod, answer);
      // evaluate_all() asks the filters whatever the pre-filter says.
      if (!rejected) {
        wrong += difference(name, by_oracle, node_texts(engines_[e], *details));
        wrong += single_node_error(engines_[e], pod, *details);
      }
      const Result<PreFilterStatus> status = engines_[e].pre_filter(pod);
      if (!status) return "pre_filter: refused";
      wrong += nodes_error(engines_[e], pod, *details, status->reasons);
      const Expected expected = expected_of(*details);
      for (std::size_t k = 0; k < std::size(kTopKs); ++k) {
        if (!rejected) {
          wrong += decision_error(*details, expected, decisions[e][k], kTopKs[k],
                                  configurations_[e].options.seed != 0);
        }
        wrong +=
            difference(name + " against the first of its seed",
                       decision_text(engines_[first_of_seed(e)], decisions[first_of_seed(e)][k]),
                       decision_text(engines_[e], decisions[e][k]));
      }
      if (!wrong.empty()) return name + ": " + wrong;
    }
    return check_state();
  }

  struct Fork {
    json objects;
    std::vector<Pod> pods;
    std::vector<std::string> before;  // by engine; none if nobody looked
  };

  std::string fork(const json& objects, bool look) {
    Fork& fork = forks_.emplace_back();
    fork.objects = objects;
    for (const json& object : objects) fork.pods.push_back(to_pod(object));
    for (Engine& engine : engines_) {
      if (look) fork.before.push_back(snapshot_text(engine, fork.pods));
      engine.fork();
    }
    oracle_.fork();
    return "";
  }

  std::string rollback() {
    const Fork fork = std::move(forks_.back());
    forks_.pop_back();
    oracle_.rollback();
    for (Engine& engine : engines_) engine.rollback();
    if (std::string wrong = check_state(); !wrong.empty()) return "after rollback: " + wrong;
    for (std::size_t e = 0; e < fork.before.size(); ++e) {
      const std::string wrong =
          snapshot_difference(fork.before[e], snapshot_text(engines_[e], fork.pods));
      if (!wrong.empty()) return configurations_[e].text() + " after rollback: " + wrong;
    }
    for (const json& object : fork.objects) {
      if (std::string wrong = schedule(object); !wrong.empty()) return "after rollback: " + wrong;
    }
    return difference<std::size_t>("forks", forks_.size(), engines_.front().forks());
  }

  std::string commit() {
    forks_.pop_back();
    oracle_.commit();
    for (Engine& engine : engines_) engine.commit();
    return check_state();
  }

  // Quotas and preemption.
  std::string capacity_error(Engine& engine, const Pod& pod, const oracle::Answer& answer) {
    if (!engine.profile().capacity_scheduling) return "";
    std::string wrong = pre_filter_difference(engine, pod, answer) +
                        post_filter_difference(engine, pod, answer) +
                        elastic_quota_difference(engine, oracle_);
    if (const Result<PostFilter> own = engine.post_filter(pod, {.candidates = true}),
        first = engines_.front().post_filter(pod, {.candidates = true});
        own && first) {
      wrong += difference("post-filter against the first", post_filter_text(engine, *own),
                          post_filter_text(engines_.front(), *first));
    }
    return wrong;
  }

  // Proposal's words are the engine's own: one reason for each limit that is exceeded.
  std::string elastic_quota_rejection_text(const std::vector<std::string>& reasons) const {
    if (engines_.front().profile().mode == Mode::kUpstream) {
      return rejection_text(to_string(Code::kUnschedulable),
                            to_string(PluginId::kCapacityScheduling), reasons);
    }
    return "the pre-filter gives " + std::to_string(reasons.size()) + " reasons";
  }

  // One node as it would be without some pods and with others; asking changes nothing.
  std::string as_if(const json& step) {
    const std::string node = step.at("node");
    if (engines_.front().find_node(node) == kNoNode) return "";
    const Pod pod = to_pod(step.at("pod"));
    const auto keys = step.at("without").get<std::vector<std::string>>();
    std::vector<PodName> without;
    for (const std::string_view key : keys) {
      const std::size_t slash = key.find('/');
      without.push_back({key.substr(0, slash), key.substr(slash + 1)});
    }
    std::vector<Pod> with;
    for (const json& object : step.at("with")) with.push_back(to_pod(object));
    const oracle::Answer answer = oracle_.schedule_as_if(step.at("pod"), node, keys,
                                                         step.at("with").get<std::vector<json>>());
    const bool rejected = answer.pre_filter.code != oracle::Code::kSuccess;
    const std::string expected = rejected ? elastic_quota_rejection_text(answer.pre_filter.reasons)
                                          : node_texts(answer).at(node);
    for (Engine& engine : engines_) {
      const std::string name = configuration_of(engine).text() + " as if";
      const Result<NodeDetail> before = engine.filter(pod, node);
      const std::uint64_t digest = engine.digest();
      const Result<NodeDetail> detail = engine.filter(pod, node, {without, with});
      if (!detail) return name + ": " + detail.error().message;
      const Result<NodeDetail> after = engine.filter(pod, node);
      std::string found = "Error";
      if (detail->code == Code::kSuccess) {
        // What an infeasible node answers is compared; a feasible one's scores are not asked for.
        found = answer.totals.contains(node) ? expected : "feasible";
      } else if (detail->rejected_by == PluginId::kCapacityScheduling) {
        found = elastic_quota_rejection_text(detail->reasons);
      } else if (detail->code != Code::kError) {
        found = rejection_text(to_string(detail->code), to_string(detail->rejected_by),
                               detail->reasons);
      }
      std::string wrong = difference(name, expected, found) +
                          difference(name + " digest", digest, engine.digest()) +
                          difference(name + " code afterwards", before->code, after->code) +
                          difference(name + " reasons afterwards", before->reasons, after->reasons);
      if (!wrong.empty()) return wrong;
    }
    return check_state();
  }

  // After the victims are gone the pod has its place, and the limits of its quota hold with it
  // there.
  std::string preempt(json object) {
    if (std::string wrong = schedule(object); !wrong.empty()) return wrong;
    const Result<PostFilter> answer = engines_.front().post_filter(to_pod(object));
    if (!answer) return "post_filter: " + answer.error().message;
    if (answer->code != Code::kSuccess) return "";
    const std::string node(engines_.front().node_name(answer->nominated_node));
    for (const Victim& victim : answer->victims) {
      const json metadata = {{"namespace", victim.namespace_name}, {"name", victim.name}};
      oracle_.remove({{"kind", "Pod"}, {"metadata", metadata}});
      for (Engine& engine : engines_) engine.remove_pod(victim.namespace_name, victim.name);
    }
    object["status"]["nominatedNodeName"] = node;
    if (std::string wrong = schedule(object); !wrong.empty())
      return "with its victims gone: " + wrong;
    const Pod pod = to_pod(object);
    oracle_.reserve(object, node);
    for (Engine& engine : engines_) {
      const std::string name = configuration_of(engine).text();
      const std::vector<ElasticQuotaStatus> before = engine.elastic_quota_status();
      const Result<NodeDetail> place = engine.filter(pod, node);
      if (!place) return "filter: " + place.error().message;
      // An error is a score's: that ends the cycle wherever there is room.
      if (place->code != Code::kSuccess && place->code != Code::kError && place_is_kept(engine)) {
        return name + ": victims of " + node + " are gone, and it answers " +
               rejection_text(to_string(place->code), to_string(place->rejected_by),
                              place->reasons);
      }
      if (!engine.assume(pod, node)) return "assume: refused";
      if (std::string wrong = over_max(engine, pod, before);
          !wrong.empty() && place->code == Code::kSuccess) {
        return name + ": " + wrong;
      }
    }
    return check_state();
  }

  // Upstream counts the nominated pods as they are before victims go, and with all of them gone not
  // at all: where there are some, its pre-filter may still reject the preemptor.
  static bool place_is_kept(const Engine& engine) {
    if (engine.profile().mode == Mode::kProposal) return true;
    for (const ElasticQuotaStatus& status : engine.elastic_quota_status()) {
      for (const ElasticQuotaAmount& amount : status.amounts) {
        if (amount.nominated != 0) return false;
      }
    }
    return true;
  }

  // Of what the pod added to its quota nothing is beyond max.
  static std::string over_max(const Engine& engine, const Pod& pod,
                              const std::vector<ElasticQuotaStatus>& before) {
    std::map<std::string, std::int64_t> used;
    for (const ElasticQuotaStatus& status : before) {
      if (status.namespace_name != pod.namespace_name) continue;
      for (const ElasticQuotaAmount& amount : status.amounts) used[amount.resource] = amount.used;
    }
    std::string wrong;
    for (const ElasticQuotaStatus& status : engine.elastic_quota_status()) {
      if (status.namespace_name != pod.namespace_name) continue;
      for (const ElasticQuotaAmount& amount : status.amounts) {
        if (amount.used <= used[amount.resource] || amount.used <= amount.max) continue;
        wrong += amount.resource + ": uses " + std::to_string(amount.used) + " of max " +
                 std::to_string(amount.max) + "\n";
      }
    }
    return wrong;
  }

  // The first engine that breaks ties as engine e does.
  std::size_t first_of_seed(std::size_t e) const {
    std::size_t first = 0;
    while (configurations_[first].options.seed != configurations_[e].options.seed) ++first;
    return first;
  }

  // The first engine decides and assumes pod by pod, but for pods whose nominated node takes them,
  // as the oracle says; those of its seed place in one call, and the others follow the first, whose
  // choice of equals is not theirs.
  std::string place(json objects) {
    if (std::string wrong = refuse_twice(objects); !wrong.empty()) return wrong;
    std::vector<Pod> pods;
    for (const json& object : objects) pods.push_back(to_pod(object));
    std::vector<NodeIndex> nodes;
    for (std::size_t p = 0; p < pods.size(); ++p) {
      const std::string own = oracle_.nominated_node(objects[p]);
      const Result<Decision> decision = engines_.front().evaluate(pods[p]);
      if (!decision) return "place: " + decision.error().message;
      for (Engine& engine : engines_) {
        if (configuration_of(engine).options.seed != 0 && !engine.evaluate(pods[p])) return "place";
      }
      const bool placed = decision->code == Code::kSuccess;
      nodes.push_back(!own.empty() ? engines_.front().find_node(own)
                      : placed     ? decision->candidates.front().node
                                   : kNoNode);
      if (nodes.back() == kNoNode) continue;
      const std::string name(engines_.front().node_name(nodes.back()));
      oracle_.reserve(objects[p], name);
      for (Engine& engine : engines_) {
        const bool follows = &engine == &engines_.front() || configuration_of(engine).options.seed;
        if (follows && !engine.assume(pods[p], name)) return "assume: refused";
      }
    }
    for (std::size_t e = 1; e < engines_.size(); ++e) {
      if (configurations_[e].options.seed != 0) continue;
      const Result<std::vector<Placement>> placements = engines_[e].place(pods);
      if (!placements) return "place: " + placements.error().message;
      for (std::size_t p = 0; p < pods.size(); ++p) {
        const std::string wrong =
            difference(configurations_[e].text() + " placement", nodes[p], (*placements)[p].node);
        if (!wrong.empty()) return wrong;
      }
    }
    return check_state();
  }

  oracle::Oracle oracle_;
  std::vector<std::unique_ptr<Audit>> audits_;  // under way, by engine
  std::vector<Fork> forks_;
};

}  // namespace

std::optional<ScriptFailure> run_script(const RandomProfile& random, const json& script) {
  static const std::vector<Configuration> all = configurations();
  ScriptRunner runner(random, all);
  return play_script(script, [&](const json& step) { return runner.perform(step); });
}

std::string failure_report(const RandomProfile& random, json script) {
  return report_failure([&](const json& shorter) { return run_script(random, shorter); },
                        std::string("mode ") +
                            (random.profile.mode == Mode::kUpstream ? "Upstream" : "Proposal") +
                            " " + random.config.dump(),
                        std::move(script));
}

}  // namespace headroom
