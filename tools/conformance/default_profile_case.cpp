#include "tools/conformance/default_profile_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "engine/profile/profile_reader.h"
#include "tools/conformance/case_facts.h"
#include "tools/conformance/case_runner.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr std::string_view kDefaultProfileCase = "DefaultProfile";
constexpr std::array<PluginId, 9> kCasePlugins = {
    PluginId::kPodTopologySpread, PluginId::kInterPodAffinity, PluginId::kNodeAffinity,
    PluginId::kTaintToleration,   PluginId::kImageLocality,    PluginId::kVolumeRestrictions,
    PluginId::kNodeVolumeLimits,  PluginId::kVolumeBinding,    PluginId::kVolumeZone};
// Of DefaultProfile, and not in Headroom.
constexpr const char* kDynamicResources = "DynamicResources";

const PluginId* find_case_plugin(std::string_view name) {
  const auto* found = std::find_if(kCasePlugins.begin(), kCasePlugins.end(),
                                   [&](PluginId plugin) { return name == to_string(plugin); });
  return found == kCasePlugins.end() ? nullptr : found;
}

class DefaultProfileRunner : private CaseRunner {
 public:
  std::vector<ConformanceDifference> run(const json& recorded) {
    if (!create(recorded)) return std::move(differences_);
    if (recorded.contains("now")) advance(engines(), recorded.at("now"));
    return play(
        recorded.at("objects"), recorded.at("steps"), [&](const json& object) { apply(object); },
        [&](const json& step) { perform(step); });
  }

 private:
  // --- Setting up ---

  bool create(const json& recorded) {
    if (const std::string mode = recorded.value("mode", "Upstream"); mode != "Upstream") {
      differ("mode", "Upstream", mode);
      return false;
    }
    const std::string name = recorded.at("plugin");
    const json args = recorded.value("args", json::object());
    Profile profile;
    whole_ = name == kDefaultProfileCase;
    if (whole_) {
      profile = Profile::kube_scheduler(recorded_version(recorded));
      for (const auto& [plugin, its] : args.items()) {
        const Plugin* const found = find_plugin(plugin);
        if (found == nullptr) {
          differ("args", "a plugin", plugin);
          return false;
        }
        if (!read_args(found->id, its, profile)) return false;
      }
    } else {
      const PluginId plugin = *find_case_plugin(name);
      profile.mode = Mode::kUpstream;
      profile.kubernetes_version = recorded_version(recorded);
      if (!read_args(plugin, args, profile)) return false;
      if (plugin_of(plugin).filters) profile.filters = {plugin};
      if (plugin_of(plugin).scores) profile.scores = {{plugin}};
    }
    Result<Engine> engine = Engine::create(profile, {.threads = 1});
    if (!engine) {
      differ("args", "accepted", engine.error().message);
      return false;
    }
    engine_.emplace(std::move(*engine));
    return true;
  }

  bool read_args(PluginId plugin, const json& args, Profile& profile) {
    const Result<void> read = read_plugin_args(plugin, args.dump(), profile);
    if (!read) differ("args", args.dump(), read.error().message);
    return read.has_value();
  }

  std::span<Engine> engines() { return {&*engine_, 1}; }

  // --- Steps ---

  void perform(const json& step) {
    const std::string op = step.at("op");
    if (op == "schedule") return schedule(step);
    change(engines(), step);
    if (op == "apply") note_applied(step.at("object"));
    if (op == "delete") note_removed(step.at("object"));
  }

  void apply(const json& object) {
    CaseRunner::apply(engines(), object);
    note_applied(object);
  }

  void note_applied(const json& object) {
    if (object.at("kind") != "Node") return;
    const std::string name = object.at("metadata").at("name");
    if (std::find(applied_.begin(), applied_.end(), name) == applied_.end()) {
      applied_.push_back(name);
    }
  }

  void note_removed(const json& object) {
    if (object.at("kind") == "Node") {
      std::erase(applied_, object.at("metadata").at("name").get<std::string>());
    }
  }

  void schedule(const json& step) {
    Pod pod;
    if (!read_pod(step.at("pod"), pod)) return;
    const Result<std::vector<NodeDetail>> details = engine_->evaluate_all(pod);
    if (!details) return differ("schedule", "an answer", details.error().message);
    json expected = step.at("expect");
    compare_pre_filter(pod, expected, *details);
    json got = {{"filter", filter_of(*details)}};
    if (whole_) {
      if (expected.contains("pluginScores")) expected["pluginScores"].erase(kDynamicResources);
      add_whole_scores(*details, got);
    } else {
      add_plugin_scores(pod, *details, got);
    }
    compare(expected, got);
    if (auto other = evaluate_difference(*engine_, pod, *details)) {
      differ(other->field, std::move(other->expected), std::move(other->got));
    }
  }

  // --- What came ---

  std::string name_of(const NodeDetail& detail) const {
    return std::string(engine_->node_name(detail.node));
  }

  json status_of(const NodeDetail& detail) const {
    json status = {{"code", to_string(detail.code)}};
    std::vector<std::string> reasons = detail.reasons;
    std::sort(reasons.begin(), reasons.end());
    if (!reasons.empty()) status["reasons"] = reasons;
    if (whole_ && detail.code != Code::kSuccess) {
      status["rejectedBy"] = to_string(detail.rejected_by);
    }
    return status;
  }

  json filter_of(const std::vector<NodeDetail>& details) const {
    json filter = json::object();
    for (const NodeDetail& detail : details) filter[name_of(detail)] = status_of(detail);
    return filter;
  }

  // A PreFilter that rejects: every node says so. `expected` loses what is compared here.
  void compare_pre_filter(const Pod& pod, json& expected, const std::vector<NodeDetail>& details) {
    if (!expected.contains("preFilter")) return;
    const json want = expected.at("preFilter");
    expected.erase("preFilter");
    const std::string code = want.at("code");
    if (code == "Success" || code == "Skip") return compare_passed_pre_filter(pod, want, details);
    for (const NodeDetail& detail : details) {
      if (status_of(detail) != want) {
        return differ("preFilter", want.dump(),
                      fmt::format("{}: {}", name_of(detail), status_of(detail).dump()));
      }
    }
  }

  // The engine does not tell one that passes from one that is skipped; but then a plugin by itself
  // rejects no node, and where nodes are named, no other one passes.
  void compare_passed_pre_filter(const Pod& pod, const json& want,
                                 const std::vector<NodeDetail>& details) {
    const Result<Decision> decision = engine_->evaluate(pod, {.top_k = 1});
    if (!decision) return differ("schedule", "an answer", decision.error().message);
    if (!decision->pre_filter.empty()) {
      return differ("preFilter", want.dump(), json(decision->pre_filter).dump());
    }
    std::set<std::string> named;
    if (want.contains("nodeNames")) named = want.at("nodeNames");
    const bool skips = !whole_ && want.at("code") == "Skip";
    for (const NodeDetail& detail : details) {
      if ((skips && !passes(detail)) ||
          (!named.empty() && passes(detail) && !named.contains(name_of(detail)))) {
        return differ("preFilter", want.dump(),
                      fmt::format("{}: {}", name_of(detail), status_of(detail).dump()));
      }
    }
  }

  static bool passes(const NodeDetail& detail) { return detail.code == Code::kSuccess; }

  // A plugin that skips the pod leaves no line with any node; one that fails, no scores at all.
  void add_plugin_scores(const Pod& pod, const std::vector<NodeDetail>& details, json& got) {
    Decision decision;
    const Result<void> decided = engine_->evaluate(pod, {.top_k = 1}, decision);
    if (!decided) return differ("schedule", "an answer", decided.error().message);
    if (decision.code == Code::kError && std::any_of(details.begin(), details.end(), passes)) {
      got["preScore"] = {{"code", "Error"}};
      return;
    }
    json scores = json::object(), normalized = json::object();
    for (const NodeDetail& detail : details) {
      for (const PluginScore& score : detail.plugins) {
        scores[name_of(detail)] = score.raw;
        normalized[name_of(detail)] = score.score;
      }
    }
    got["preScore"] = {{"code", scores.empty() ? "Skip" : "Success"}};
    got["scores"] = std::move(scores);
    got["normalizedScores"] = std::move(normalized);
  }

  void add_whole_scores(const std::vector<NodeDetail>& details, json& got) const {
    json plugins = json::object(), totals = json::object();
    for (const NodeDetail& detail : details) {
      if (!passes(detail)) continue;
      totals[name_of(detail)] = detail.total;
      for (const PluginScore& score : detail.plugins) {
        plugins[to_string(score.plugin)][name_of(detail)] = weight_of(score.plugin) * score.score;
      }
    }
    got["best"] = best_of(totals);
    got["pluginScores"] = std::move(plugins);
    got["totals"] = std::move(totals);
  }

  std::int64_t weight_of(PluginId plugin) const {
    const std::vector<ScorePlugin>& scores = engine_->profile().scores;
    return std::find_if(scores.begin(), scores.end(),
                        [&](const ScorePlugin& score) { return score.plugin == plugin; })
        ->weight;
  }

  // Of equals the node applied first: an engine's rows may have another order, that in which facts
  // first mentioned the nodes.
  std::string best_of(const json& totals) const {
    std::string best;
    for (const std::string& name : applied_) {
      if (totals.contains(name) && (best.empty() || totals.at(name) > totals.at(best))) best = name;
    }
    return best;
  }

  // --- Comparing ---

  // Every expected field, and within those that are objects every key of either side.
  void compare(const json& expected, const json& got) {
    for (const auto& [field, want] : expected.items()) {
      if (!got.contains(field)) {
        differ(field, want.dump(), "not supported");
      } else {
        compare_field(field, want, got.at(field));
      }
    }
  }

  void compare_field(const std::string& field, const json& want, const json& came) {
    if (!want.is_object() || !came.is_object()) {
      if (want != came) differ(field, want.dump(), came.dump());
      return;
    }
    compare_keys(field, want, came, [](const json& a, const json& b) { return a == b; });
  }

  bool whole_ = false;  // DefaultProfile
  std::optional<Engine> engine_;
  std::vector<std::string> applied_;  // nodes, in the order in which they were first applied
};

}  // namespace

bool is_default_plugin_case(std::string_view plugin) {
  return plugin == kDefaultProfileCase || find_case_plugin(plugin) != nullptr;
}

std::vector<ConformanceDifference> run_default_profile_case(const json& recorded) {
  return DefaultProfileRunner().run(recorded);
}

}  // namespace headroom
