// Runs one conformance case; see case.h.
#include "tools/conformance/case.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/engine.h"
#include "engine/profile/profile_reader.h"
#include "objects/pod_resources.h"
#include "objects/quantity.h"
#include "tools/conformance/capacity_quota_case.h"
#include "tools/conformance/case_facts.h"
#include "tools/conformance/case_runner.h"
#include "tools/conformance/default_profile_case.h"
#include "tools/conformance/upstream_case.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr std::array kConformancePlugins = {
    PluginId::kNodeResourcesFit,    PluginId::kNodeResourcesBalancedAllocation,
    PluginId::kLimitAware,          PluginId::kResourceLimitAware,
    PluginId::kLoadAwareScheduling, PluginId::kCapacityScheduling,
};
// These compute on quantities and pods alone: no engine, and only their own step.
constexpr std::string_view kQuantityPlugin = "Quantity";
constexpr std::string_view kPodResourcesPlugin = "PodResources";
// Of the autoscaler: no engine, and runners of its own.
constexpr std::string_view kCapacityQuotaPlugin = "CapacityQuota";

// cpu in milli, the rest whole, as the cases state it.
Result<json> amounts(const ResourceList& resources, bool keep_zero) {
  json result = json::object();
  for (const auto& [name, quantity] : resources) {
    const Result<std::int64_t> amount = resource_amount(name, quantity);
    if (!amount) return tl::unexpected<Error>(amount.error());
    if (keep_zero || *amount != 0) result[name] = *amount;
  }
  return result;
}

class EngineCaseRunner : private CaseRunner {
 public:
  std::vector<ConformanceDifference> run(const json& recorded) {
    if (!create(recorded)) return std::move(differences_);
    if (recorded.contains("now")) advance(engines_, recorded.at("now"));
    return play(
        recorded.value("objects", json::array()), recorded.at("steps"),
        [&](const json& object) { apply(engines_, object); },
        [&](const json& step) { perform(step); });
  }

 private:
  // --- Setting up ---

  bool create(const json& recorded) {
    const std::string name = recorded.at("plugin");
    const std::string mode = recorded.value("mode", "Upstream");
    if (mode != "Upstream" && mode != "Proposal") {
      differ("mode", "Upstream or Proposal", mode);
      return false;
    }
    version_ = recorded_version(recorded);
    if (name == kQuantityPlugin || name == kPodResourcesPlugin) return true;
    const Plugin* plugin = find_plugin(name);
    if (plugin == nullptr || std::find(kConformancePlugins.begin(), kConformancePlugins.end(),
                                       plugin->id) == kConformancePlugins.end()) {
      differ("plugin", name, "not supported");
      return false;
    }
    plugin_ = plugin->id;
    Profile profile;
    profile.mode = mode == "Upstream" ? Mode::kUpstream : Mode::kProposal;
    profile.kubernetes_version = version_;
    const std::string args = recorded.contains("args") ? recorded.at("args").dump() : "{}";
    if (const Result<void> read = read_plugin_args(plugin_, args, profile); !read) {
      differ("args", args, read.error().message);
      return false;
    }
    const bool apart = profile.mode == Mode::kUpstream && plugin->filters && plugin->scores;
    if (plugin->filters) profile.filters = {plugin_};
    if (plugin->scores && !apart) profile.scores = {{plugin_}};
    if (plugin_ == PluginId::kCapacityScheduling) {
      profile.capacity_scheduling = true;
      profile.filters = {PluginId::kNodeResourcesFit};
      if (profile.mode == Mode::kUpstream) {
        profile.filters = {PluginId::kNodeUnschedulable, PluginId::kNodeName,
                           PluginId::kTaintToleration, PluginId::kNodeAffinity,
                           PluginId::kNodeResourcesFit};
      }
    }
    if (!add_engine(profile)) return false;
    if (apart) {
      profile.filters.clear();
      profile.scores = {{plugin_}};
      if (!add_engine(profile)) return false;
    }
    return true;
  }

  bool add_engine(const Profile& profile) {
    Result<Engine> engine = Engine::create(profile, {.threads = 1});
    if (!engine) {
      differ("args", "accepted", engine.error().message);
      return false;
    }
    engines_.push_back(std::move(*engine));
    return true;
  }

  // --- Steps ---

  void perform(const json& step) {
    const std::string op = step.at("op");
    if (op == "schedule") return schedule(step);
    if (plugin_ == PluginId::kCapacityScheduling && step.contains("expect")) {
      json rest = step;
      rest.erase("expect");
      perform(rest);
      return compare(step.at("expect"), {{"quotaUsed", elastic_quota_used(engines_.front())}});
    }
    if (op == "quantity") return quantity(step);
    if (op == "podResources") return pod_resources(step);
    change(engines_, step);
  }

  void schedule(const json& step) {
    Pod pod;
    if (!read_pod(step.at("pod"), pod)) return;
    if (engines_.empty()) return differ("op", "schedule", "not supported for this plugin");
    if (plugin_ == PluginId::kCapacityScheduling) return preempt(step, pod);
    json got = json::object();
    // The first engine has the filter, the last one the score; they may be the same.
    for (Engine& engine : engines_) {
      const Result<std::vector<NodeDetail>> details = engine.evaluate_all(pod);
      if (!details) return differ("schedule", "an answer", details.error().message);
      if (!engine.profile().filters.empty()) add_filter(engine, *details, got);
      if (!engine.profile().scores.empty()) add_scores(engine, *details, got);
      compare_evaluate(engine, pod, *details);
    }
    got["preFilter"] = {{"code", to_string(Code::kSuccess)}};  // no plugin here rejects earlier
    compare(step.at("expect"), got);
  }

  // --- CapacityScheduling ---

  static json elastic_quota_used(const Engine& engine) {
    json all = json::object();
    for (const ElasticQuotaStatus& quota : engine.elastic_quota_status()) {
      json& used = all[quota.namespace_name] = json::object();
      for (const ElasticQuotaAmount& amount : quota.amounts) {
        if (amount.used != 0) used[amount.resource] = amount.used;
      }
    }
    return all;
  }

  void preempt(const json& step, const Pod& pod) {
    Engine& engine = engines_.front();
    const json& expected = step.at("expect");
    json got = {{"quotaUsed", elastic_quota_used(engine)}};
    const Result<PreFilterStatus> pre_filter = engine.pre_filter(pod);
    if (!pre_filter) return differ("preFilter", "an answer", pre_filter.error().message);
    got["preFilter"]["code"] = to_string(pre_filter->code);
    if (pre_filter->code != Code::kSuccess) got["preFilter"]["reasons"] = pre_filter->reasons;
    const Result<std::vector<NodeDetail>> details = engine.evaluate_all(pod);
    if (!details) return differ("schedule", "an answer", details.error().message);
    if (pre_filter->code == Code::kSuccess) compare_evaluate(engine, pod, *details);
    std::set<std::string> feasible;
    for (const NodeDetail& detail : *details) {
      if (detail.code == Code::kSuccess) feasible.emplace(engine.node_name(detail.node));
    }
    got["feasible"] = feasible;
    if (expected.contains("postFilter")) {
      got["postFilter"] = post_filter(engine, pod, expected.at("postFilter"));
    }
    compare(expected, got);
  }

  // As expected where that is a choice of several; else what came, less what was not expected.
  json post_filter(Engine& engine, const Pod& pod, const json& expected) {
    const Result<PostFilter> all = engine.post_filter(pod, {.candidates = true});
    const Result<PostFilter> bounded = engine.post_filter(pod);
    const Result<PostFilter> unbounded = engine.post_filter(pod, {.bound = false});
    if (!all || !bounded || !unbounded) return "no answer";
    const json got = answer_of(engine, *all);
    for (const PostFilter* other : {&*bounded, &*unbounded}) {
      json again = answer_of(engine, *other);
      json once = got;
      for (json* answer : {&again, &once}) {
        answer->erase("candidates");
        answer->erase("reasons");
      }
      if (again != once) differ("postFilter", once.dump(), again.dump());
    }
    json compared = json::object();
    for (const auto& [field, want] : expected.items()) {
      if (field == "anyOf") {
        json chosen = got;
        chosen.erase("candidates");
        const bool found = std::any_of(want.begin(), want.end(), [&](const json& one) {
          return std::all_of(one.items().begin(), one.items().end(), [&](const auto& part) {
            return chosen.contains(part.key()) && chosen.at(part.key()) == part.value();
          });
        });
        compared[field] = found ? want : chosen;
      } else if (field == "candidates" && engine.profile().mode == Mode::kProposal) {
        // Only the nodes with victims.
        compared[field] = json::object();
        for (const auto& [node, outcome] : got.at(field).items()) {
          if (outcome.contains("victims")) compared[field][node] = outcome;
        }
      } else if (got.contains(field)) {
        compared[field] = got.at(field);
      }
    }
    return compared;
  }

  static json answer_of(const Engine& engine, const PostFilter& answer) {
    const auto key = [](const Victim& victim) {
      return pod_key(victim.namespace_name, victim.name);
    };
    json got = {{"code", to_string(answer.code)},
                {"crossNodeWouldHelp", answer.cross_node_would_help}};
    if (!answer.reasons.empty()) got["reasons"] = answer.reasons;
    if (answer.nominated_node != kNoNode) {
      got["nominatedNode"] = engine.node_name(answer.nominated_node);
      std::set<std::string> victims;
      for (const Victim& victim : answer.victims) victims.insert(key(victim));
      got["victims"] = victims;
    }
    json& candidates = got["candidates"] = json::object();
    for (const NodeVictims& node : answer.candidates) {
      json& outcome = candidates[std::string(engine.node_name(node.node))];
      if (node.code != Code::kSuccess) {
        outcome = {{"code", to_string(node.code)}, {"reasons", node.reasons}};
        continue;
      }
      outcome = {{"numPDBViolations", node.pdb_violations}, {"victims", json::array()}};
      for (const Victim& victim : node.victims) outcome["victims"].push_back(key(victim));
    }
    return got;
  }

  static void add_filter(const Engine& engine, const std::vector<NodeDetail>& details, json& got) {
    json& filter = got["filter"] = json::object();
    for (const NodeDetail& detail : details) {
      json& status = filter[std::string(engine.node_name(detail.node))];
      status["code"] = to_string(detail.code);
      if (!detail.reasons.empty()) status["reasons"] = detail.reasons;
    }
  }

  // A plugin that skips a pod leaves no line with any node.
  void add_scores(const Engine& engine, const std::vector<NodeDetail>& details, json& got) const {
    json scores = json::object();
    json normalized = json::object();
    json failed = json::object();
    bool scored = true;
    for (const NodeDetail& detail : details) {
      const std::string name(engine.node_name(detail.node));
      if (detail.code == Code::kError) failed[name]["code"] = to_string(detail.code);
      if (detail.code != Code::kSuccess) continue;
      scored = !detail.plugins.empty();
      for (const PluginScore& score : detail.plugins) {
        scores[name] = score.raw;
        normalized[name] = score.score;
      }
    }
    got["preScore"] = {{"code", scored ? "Success" : "Skip"}};
    got["scores"] = std::move(scores);
    got["normalizedScores"] = std::move(normalized);
    got["scoreStatus"] = std::move(failed);
  }

  void compare_evaluate(Engine& engine, const Pod& pod, const std::vector<NodeDetail>& details) {
    if (auto other = evaluate_difference(engine, pod, details)) {
      differ(other->field, std::move(other->expected), std::move(other->got));
    }
  }

  void quantity(const json& step) {
    const std::string input = step.at("input");
    const Result<Quantity> parsed = Quantity::parse(input);
    json got = {{"valid", parsed.has_value()}};
    if (parsed) {
      const Result<std::int64_t> milli = parsed->milli_value();
      const Result<std::int64_t> value = parsed->value();
      got["milliValue"] = milli ? json(*milli) : json(milli.error().message);
      got["value"] = value ? json(*value) : json(value.error().message);
      got["canonical"] = parsed->canonical();
      got["string"] = input;  // printing without canonicalising gives the text back
    }
    compare(step.at("expect"), got);
  }

  void pod_resources(const json& step) {
    Pod pod;
    if (!read_pod(step.at("pod"), pod)) return;
    json got = {{"qosClass", pod_qos_class(pod)}};
    const auto add = [&](const char* field, const ResourceList& resources, bool keep_zero) {
      const Result<json> listed = amounts(resources, keep_zero);
      got[field] = listed ? *listed : json(listed.error().message);
    };
    add("requests", pod_requests(pod), false);
    add("limits", pod_limits(pod), false);
    PodRequestsOptions as_node_info;
    as_node_info.resized_as = version_;
    add("nodeRequests", pod_requests(pod, as_node_info), false);
    add("nonZeroRequests", non_zero_requested(pod, version_), true);
    add("elasticQuotaRequests", elastic_quota_requests(pod), false);
    compare(step.at("expect"), got);
  }

  // --- Comparing ---

  // Every expected field, and within the fields that are by node every node. A status that is
  // expected without reasons is compared by its code alone.
  void compare(const json& expected, const json& got) {
    for (const auto& [field, want] : expected.items()) {
      if (!got.contains(field)) {
        differ(field, want.dump(), "not supported");
        continue;
      }
      const json& came = got.at(field);
      if (field == "filter" || field == "scores" || field == "normalizedScores" ||
          field == "scoreStatus") {
        compare_keys(field, want, came, same);
      } else if (field == "postFilter" ? want != came : !same(want, came)) {
        differ(field, want.dump(), came.dump());
      }
    }
  }

  static bool same(const json& want, const json& came) {
    const bool code_alone = want.is_object() && want.contains("code") && !want.contains("reasons");
    return code_alone ? want.at("code") == came.at("code") : want == came;
  }

  PluginId plugin_ = PluginId::kNodeName;
  KubernetesVersion version_ = KubernetesVersion::k137;
  std::vector<Engine> engines_;
};

}  // namespace

KubernetesVersion recorded_version(const json& recorded) {
  const std::string source = recorded.value("source", "");
  if (source.find("kubernetes v1.35.") != std::string::npos) return KubernetesVersion::k135;
  if (source.find("kubernetes v1.36.") != std::string::npos) return KubernetesVersion::k136;
  return Profile().kubernetes_version;
}

std::vector<ConformanceDifference> run_conformance_case(const json& recorded) {
  try {
    const std::string mode = recorded.value("mode", "Upstream");
    if (recorded.value("plugin", "") == kCapacityQuotaPlugin) {
      if (mode == "Upstream") return run_upstream_capacity_quota_case(recorded);
      if (mode == "Proposal") return run_capacity_quota_case(recorded);
    }
    if (is_default_plugin_case(recorded.value("plugin", ""))) {
      return run_default_profile_case(recorded);
    }
    return EngineCaseRunner().run(recorded);
  } catch (const json::exception& exception) {
    return {{"case", "the form that the README of the cases describes", exception.what()}};
  }
}

}  // namespace headroom
