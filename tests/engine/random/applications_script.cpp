#include "tests/engine/random/applications_script.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/profile/profile_reader.h"
#include "oracle/default/default_preemption.h"
#include "oracle/default/default_profile.h"
#include "tests/engine/random/answer_checks.h"
#include "tests/engine/random/configured_engines.h"
#include "tests/engine/random/random_cluster.h"
#include "tests/support/answer_text.h"
#include "tests/support/difference.h"
#include "tests/support/random_applications.h"

namespace headroom {
namespace {

using nlohmann::json;
using oracle::defaults::DefaultProfile;
using oracle::defaults::ProfileAnswer;

// --- Profiles ---

constexpr std::array<const char*, 3> kVersionNames = {"1.35", "1.36", "1.37"};

std::size_t version_of(const json& profile) {
  return static_cast<std::size_t>(
      std::find(kVersionNames.begin(), kVersionNames.end(), profile.at("version")) -
      kVersionNames.begin());
}

Profile engine_profile(const json& given) {
  Profile profile = Profile::kube_scheduler(static_cast<KubernetesVersion>(version_of(given)));
  for (const Plugin& plugin : kPlugins) {
    if (!given.at("args").contains(plugin.name)) continue;
    const std::string args = given.at("args").at(plugin.name).dump();
    if (const Result<void> read = read_plugin_args(plugin.id, args, profile); !read) {
      throw std::invalid_argument(args + ": " + read.error().message);
    }
    if (plugin.id == PluginId::kLimitAware) {
      profile.filters.push_back(plugin.id);
      profile.scores.push_back({plugin.id});
    }
  }
  return profile;
}

DefaultProfile oracle_profile(const json& given) {
  return DefaultProfile(static_cast<oracle::Version>(version_of(given)), given.at("args"));
}

json added_affinity(Draws& draws) {
  const json disk = {{"matchExpressions", {{{"key", "disk"}, {"operator", "Exists"}}}}};
  const json zone = {
      {"matchExpressions",
       {{{"key", "topology.kubernetes.io/zone"}, {"operator", "In"}, {"values", {"z1", "z2"}}}}}};
  json added = json::object();
  if (draws.one_in(2)) {
    added["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = {disk, zone};
  }
  if (draws.one_in(2)) {
    added["preferredDuringSchedulingIgnoredDuringExecution"] = {
        {{"weight", draws.between(1, draws.one_in(4) ? INT32_MAX : 100)},
         {"preference", draws.one_in(2) ? disk : zone}}};
  }
  return added;
}

json default_constraints(Draws& draws) {
  json constraints = json::array();
  for (const char* key : {"topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"}) {
    if (draws.one_in(2)) continue;
    const bool hard = draws.one_in(2);
    json one = {{"topologyKey", key},
                {"maxSkew", draws.between(1, 3)},
                {"whenUnsatisfiable", hard ? "DoNotSchedule" : "ScheduleAnyway"}};
    if (hard && draws.one_in(3)) one["minDomains"] = draws.between(1, 4);
    constraints.push_back(std::move(one));
  }
  return constraints;
}

// --- Objects ---

// Claims that wait for volumes that are there, so that pods want one another's.
json with_local_storage(json object) {
  const std::string kind = object.at("kind");
  if (kind != "PersistentVolume" && kind != "PersistentVolumeClaim") return object;
  object["spec"]["storageClassName"] = "local";
  if (kind == "PersistentVolumeClaim") {
    object["spec"].erase("volumeName");
    object["metadata"].erase("annotations");
    object["status"]["phase"] = "Pending";
  }
  return object;
}

// --- Answers as text ---

using NodeTexts = std::map<std::string, std::string>;

std::string scored_text(const std::map<std::string, std::int64_t>& weighted, std::int64_t total) {
  std::string text;
  for (const auto& [plugin, score] : weighted) text += plugin + " " + std::to_string(score) + ", ";
  return text + "total " + std::to_string(total);
}

std::string rejected_text(const char* code, const std::string& plugin,
                          std::vector<std::string> reasons) {
  std::sort(reasons.begin(), reasons.end());
  return rejection_text(code, plugin, reasons);
}

// DynamicResources scores 0, and is not in the engine.
NodeTexts weighted_texts(const ProfileAnswer& answer) {
  NodeTexts texts;
  for (const auto& [node, status] : answer.filter) {
    if (status.code != oracle::Code::kSuccess) {
      texts[node] = rejected_text(to_string(status.code), status.plugin, status.reasons);
      continue;
    }
    std::map<std::string, std::int64_t> weighted;
    for (const auto& [plugin, scores] : answer.plugin_scores) {
      if (plugin != "DynamicResources") weighted[plugin] = scores.at(node);
    }
    texts[node] = scored_text(weighted, answer.totals.at(node));
  }
  return texts;
}

NodeTexts weighted_texts(const Engine& engine, const std::vector<NodeDetail>& details) {
  std::map<PluginId, std::int64_t> weights;
  for (const ScorePlugin& score : engine.profile().scores) weights[score.plugin] = score.weight;
  NodeTexts texts;
  for (const NodeDetail& detail : details) {
    std::string& text = texts[std::string(engine.node_name(detail.node))];
    if (detail.code != Code::kSuccess) {
      text = rejected_text(to_string(detail.code), to_string(detail.rejected_by), detail.reasons);
      continue;
    }
    std::map<std::string, std::int64_t> weighted;
    for (const PluginScore& score : detail.plugins) {
      weighted[to_string(score.plugin)] = weights.at(score.plugin) * score.score;
    }
    text = scored_text(weighted, detail.total);
  }
  return texts;
}

// The nodes that differ, with both texts.
std::string nodes_difference(const NodeTexts& expected, const NodeTexts& came) {
  std::string text;
  for (const auto& [node, its] : expected) {
    const auto other = came.find(node);
    if (other == came.end()) {
      text += node + "\n  expected " + its + "\n  came     nothing\n";
    } else if (other->second != its) {
      text += node + "\n  expected " + its + "\n  came     " + other->second + "\n";
    }
  }
  for (const auto& [node, its] : came) {
    if (!expected.contains(node)) text += node + "\n  expected nothing\n  came     " + its + "\n";
  }
  return text;
}

class ApplicationsRunner : private ConfiguredEngines {
 public:
  ApplicationsRunner(const json& profile, const std::vector<Configuration>& all)
      : ConfiguredEngines(engine_profile(profile), all), profile_(oracle_profile(profile)) {}

  // What is wrong after the step; "" for nothing.
  std::string perform(const json& step) {
    const std::string op = step.at("op");
    if (op == "schedule") return schedule(step.at("pod"), step.at("reserve"));
    if (op == "prepare") return prepare(step);
    if (op == "evaluate") return evaluate(step.at("pods"));
    if (op == "place") return place(step.at("pods"));
    if (op == "check") return check_state(step.contains("all"));
    if (op == "save") return forks_.empty() ? save(step.at("but")) : "";
    if (op == "fork") return fork();
    if (op == "rollback") return forks_.empty() ? "" : rollback();
    if (op == "commit") return forks_.empty() ? "" : commit();
    if (op == "apply") facts_.apply(step.at("object"));
    if (op == "delete") facts_.remove(step.at("object"));
    if (op == "reserve") profile_.reserve(facts_, step.at("pod"), step.at("node"));
    if (op == "unreserve") facts_.unreserve(step.at("pod"), step.at("node"));
    return apply(step);
  }

 private:
  struct Fork {
    oracle::defaults::Facts facts;
    std::vector<std::uint64_t> digests;  // by engine
  };

  std::string schedule(const json& object, bool reserve) {
    const Pod pod = to_pod(object);
    // Before evaluate_all(), which could bring the cache up to date.
    std::vector<std::vector<Decision>> decisions;
    for (Engine& engine : engines_) {
      decisions.emplace_back();
      for (const std::uint32_t top_k : kTopKs) {
        Result<Decision> decision = engine.evaluate(pod, {.top_k = top_k});
        if (!decision) return "evaluate: " + decision.error().message;
        decisions.back().push_back(std::move(*decision));
      }
    }
    const ProfileAnswer answer = profile_.schedule(facts_, oracle::defaults::read_pod(object));
    if (answer.pre_filter.code == oracle::Code::kError) {
      const std::string wrong = failure_error(decisions);
      return wrong.empty() ? check_state() : "pod " + object.dump() + "\n" + wrong;
    }
    const NodeTexts expected = weighted_texts(answer);
    const bool rejected = answer.pre_filter.code != oracle::Code::kSuccess;
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      const Result<std::vector<NodeDetail>> details = engines_[e].evaluate_all(pod);
      if (!details) return "evaluate_all: " + details.error().message;
      std::string wrong = nodes_difference(expected, weighted_texts(engines_[e], *details)) +
                          single_node_error(engines_[e], pod, *details) +
                          nodes_error(engines_[e], pod, *details, answer.pre_filter.reasons);
      const Expected implied = expected_of(*details);
      for (std::size_t k = 0; k < std::size(kTopKs); ++k) {
        wrong += rejected ? pre_filter_error(answer, decisions[e][k])
                          : decision_error(*details, implied, decisions[e][k], kTopKs[k],
                                           configurations_[e].options.seed != 0);
        wrong += best_error(engines_[e], answer, decisions[e][k]);
      }
      if (!answer.best.empty()) wrong += binding_error(engines_[e], pod, answer);
      if (wrong.empty() && answer.best.empty()) {
        wrong = preemption_error(engines_[e], pod,
                                 oracle::defaults::preempt(
                                     profile_, facts_, oracle::defaults::read_pod(object), answer));
      }
      if (!wrong.empty()) {
        return configurations_[e].text() + ": pod " + object.dump() + "\n" + wrong;
      }
    }
    if (!reserve || answer.best.empty()) return check_state();
    return this->reserve(object, pod, answer.best);
  }

  std::string reserve(const json& object, const Pod& pod, const std::string& node) {
    profile_.reserve(facts_, object, node);
    for (Engine& engine : engines_) {
      if (!engine.assume(pod, node)) return "assume: refused";
    }
    return check_state();
  }

  // A plugin that fails ends the cycle: no node is chosen, whichever pass.
  static std::string failure_error(const std::vector<std::vector<Decision>>& decisions) {
    std::string wrong;
    for (const std::vector<Decision>& of_engine : decisions) {
      for (const Decision& decision : of_engine) {
        wrong += difference("code", std::string(to_string(Code::kError)),
                            std::string(to_string(decision.code))) +
                 difference<std::size_t>("candidates", 0, decision.candidates.size());
      }
    }
    return wrong;
  }

  static std::string pre_filter_error(const ProfileAnswer& answer, const Decision& decision) {
    return difference("code", std::string(to_string(answer.pre_filter.code)),
                      std::string(to_string(decision.code))) +
           difference("pre-filter", answer.pre_filter.reasons, decision.pre_filter);
  }

  // What becomes of the pod's claims on the best node.
  std::string binding_error(Engine& engine, const Pod& pod, const ProfileAnswer& answer) const {
    const Result<std::vector<ReferredObject>> bound = engine.bound_volumes(pod, answer.best);
    if (!bound) return "bound_volumes: " + bound.error().message + "\n";
    std::map<std::string, std::string> came;
    for (const ReferredObject& object : *bound) {
      if (const auto* claim = std::get_if<PersistentVolumeClaim>(&object)) {
        const bool known = facts_.persistent_volumes.contains(claim->volume_name);
        came[claim->name] = known ? claim->volume_name : "";
      }
    }
    return difference("bound claims", answer.bound, came);
  }

  // Who would have to go on each node, and a node that none beats. Of equals the engine's is in the
  // order of rows, and not compared.
  static std::string preemption_error(Engine& engine, const Pod& pod,
                                      const oracle::defaults::PreemptionAnswer& expected) {
    const Result<PostFilter> answer = engine.post_filter(pod, {.candidates = true});
    const Result<PostFilter> bounded = engine.post_filter(pod);
    if (!answer || !bounded) return "post_filter: refused\n";
    NodeTexts wanted, came;
    for (const auto& [node, its] : expected.candidates) {
      if (its.status.code != oracle::Code::kSuccess) continue;
      std::string& text = wanted[node] = std::to_string(its.pdb_violations) + " violations";
      for (const oracle::PodView& victim : its.victims) text += ", " + victim.key;
    }
    for (const NodeVictims& its : answer->candidates) {
      if (its.code == Code::kSuccess)
        came[std::string(engine.node_name(its.node))] = victims_text(its);
    }
    std::string wrong = nodes_difference(wanted, came) +
                        difference("post-filter", std::string(to_string(expected.status.code)),
                                   std::string(to_string(answer->code))) +
                        difference("nominated with the bound",
                                   std::string(engine.node_name(answer->nominated_node)),
                                   std::string(engine.node_name(bounded->nominated_node)));
    if (!wrong.empty()) return "preemption:\n" + wrong;
    return "";
  }

  static std::string victims_text(const NodeVictims& node) {
    std::string text = std::to_string(node.pdb_violations) + " violations";
    for (const Victim& victim : node.victims) {
      text += ", " + pod_key(victim.namespace_name, victim.name);
    }
    return text;
  }

  // The engine's best is one of the oracle's highest.
  static std::string best_error(const Engine& engine, const ProfileAnswer& answer,
                                const Decision& decision) {
    if (answer.best.empty() || decision.candidates.empty()) {
      return difference("has a best node", !answer.best.empty(), !decision.candidates.empty());
    }
    const std::string best(engine.node_name(decision.candidates.front().node));
    const auto total = answer.totals.find(best);
    if (total == answer.totals.end()) return "best node " + best + " is not feasible\n";
    return difference("total of best node " + best, answer.totals.at(answer.best), total->second);
  }

  // The first engine decides, against the oracle, and assumes pod by pod, but for pods whose
  // nominated node takes them; those of its seed place in one call, and the others follow the
  // first, whose choice of equals is not theirs.
  std::string place(json objects) {
    if (std::string wrong = refuse_twice(objects); !wrong.empty()) return wrong;
    std::vector<Pod> pods;
    for (const json& object : objects) pods.push_back(to_pod(object));
    std::vector<std::string> nodes;
    for (std::size_t p = 0; p < pods.size(); ++p) {
      const oracle::defaults::Pod pod = oracle::defaults::read_pod(objects[p]);
      const std::string own = profile_.nominated_node(facts_, pod);
      const ProfileAnswer answer = profile_.schedule(facts_, pod);
      const Result<Decision> decision = engines_.front().evaluate(pods[p]);
      if (!decision) return "place: " + decision.error().message;
      if (std::string wrong = best_error(engines_.front(), answer, *decision); !wrong.empty()) {
        return "place: pod " + objects[p].dump() + "\n" + wrong;
      }
      nodes.push_back(own);
      if (own.empty() && decision->candidates.empty()) continue;
      if (own.empty()) {
        nodes.back() = engines_.front().node_name(decision->candidates.front().node);
      }
      profile_.reserve(facts_, objects[p], nodes.back());
      for (std::size_t e = 0; e < engines_.size(); ++e) {
        const bool follows = e == 0 || configurations_[e].options.seed != 0;
        if (follows && !engines_[e].assume(pods[p], nodes.back())) return "assume: refused";
      }
    }
    for (std::size_t e = 1; e < engines_.size(); ++e) {
      if (configurations_[e].options.seed != 0) continue;
      const Result<std::vector<Placement>> placements = engines_[e].place(pods);
      if (!placements) return "place: " + placements.error().message;
      for (std::size_t p = 0; p < pods.size(); ++p) {
        std::string wrong =
            difference(configurations_[e].text() + " placement of pod " + std::to_string(p),
                       nodes[p], std::string(engines_[e].node_name((*placements)[p].node)));
        if (!wrong.empty()) return wrong;
      }
    }
    return check_state();
  }

  std::string fork() {
    Fork& fork = forks_.emplace_back();
    fork.facts = facts_;
    for (Engine& engine : engines_) {
      fork.digests.push_back(engine.digest());
      engine.fork();
    }
    return "";
  }

  std::string rollback() {
    facts_ = forks_.back().facts;
    const std::vector<std::uint64_t> digests = std::move(forks_.back().digests);
    forks_.pop_back();
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      engines_[e].rollback();
      std::string wrong = difference("digest after rollback", digests[e], engines_[e].digest());
      if (!wrong.empty()) return configurations_[e].text() + ": " + wrong;
    }
    return check_state();
  }

  std::string commit() {
    forks_.pop_back();
    for (Engine& engine : engines_) engine.commit();
    return check_state();
  }

  DefaultProfile profile_;
  oracle::defaults::Facts facts_;
  std::vector<Fork> forks_;
};

}  // namespace

json random_default_profile(Draws& draws) {
  json args = json::object();
  if (draws.one_in(4)) args["NodeAffinity"]["addedAffinity"] = added_affinity(draws);
  if (draws.one_in(3)) {
    args["PodTopologySpread"] = {{"defaultingType", "List"},
                                 {"defaultConstraints", default_constraints(draws)}};
  }
  if (draws.one_in(3)) {
    args["InterPodAffinity"] = {{"hardPodAffinityWeight", draws.pick(std::array{0, 1, 10, 100})},
                                {"ignorePreferredTermsOfExistingPods", draws.one_in(2)}};
  }
  const char* version = draws.pick(std::array{"1.35", "1.36", "1.37", "1.37"});
  if (version == std::string("1.37") && draws.one_in(3)) {
    args["VolumeBinding"]["shape"] = {{{"utilization", 0}, {"score", draws.between(0, 10)}},
                                      {{"utilization", 60}, {"score", draws.between(0, 10)}}};
  }
  // A score that is normalised over the nodes that pass, beside theirs.
  if (draws.one_in(2)) {
    args["LimitAware"]["defaultLimitToAllocatableRatio"] = {
        {"cpu", draws.pick(std::array{60, 100, 150})}};
  }
  return {{"version", version}, {"args", args}};
}

json random_applications_script(Draws& draws, int events) {
  RandomApplications applications(draws);
  json script = json::array();
  const bool local = draws.one_in(2);
  for (const json& object : applications.objects()) {
    script.push_back({{"op", "apply"}, {"object", local ? with_local_storage(object) : object}});
  }
  const bool check_often = draws.one_in(2);
  const auto some_pods = [&] {
    json pods = json::array();
    for (std::uint64_t p = 1 + draws.below(5); p > 0; --p) {
      pods.push_back(draws.one_in(6) ? applications.nominated_pod() : applications.pod_to_place());
    }
    return pods;
  };
  for (int e = 0; e < events; ++e) {
    script.push_back(applications.event());
    if (check_often || draws.one_in(10)) script.push_back({{"op", "check"}});
    if (draws.one_in(6)) {
      script.push_back({{"op", "prepare"},
                        {"pod", applications.pod_to_place()},
                        {"pieces", 1 + draws.below(6)}});
    }
    if (draws.one_in(2)) {
      script.push_back(
          {{"op", "schedule"}, {"pod", applications.pod_to_place()}, {"reserve", draws.one_in(2)}});
    }
    if (draws.one_in(8)) {
      script.push_back({{"op", draws.pick(std::array{"fork", "rollback", "commit", "rollback"})}});
    }
    if (draws.one_in(12)) script.push_back({{"op", "save"}, {"but", draws.below(3)}});
    if (draws.one_in(10)) {
      script.push_back({{"op", draws.one_in(2) ? "place" : "evaluate"}, {"pods", some_pods()}});
    }
  }
  script.push_back({{"op", "check"}, {"all", true}});
  return script;
}

std::optional<ScriptFailure> run_applications_script(const json& profile, const json& script) {
  static const std::vector<Configuration> all = configurations();
  ApplicationsRunner runner(profile, all);
  return play_script(script, [&](const json& step) { return runner.perform(step); });
}

std::string applications_failure_report(const json& profile, json script) {
  return report_failure(
      [&](const json& shorter) { return run_applications_script(profile, shorter); },
      "profile " + profile.dump(), std::move(script));
}

}  // namespace headroom
