// See cached_and_plain.h.
#include "tests/engine/random/cached_and_plain.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/engine/random/random_cluster.h"
#include "tests/support/answer_text.h"
#include "tests/support/random_applications.h"

namespace headroom {
namespace {

using nlohmann::json;

// Profiles of all plugins, with quotas of cores and preemption.
Profile profile_of_applications(Draws& draws) {
  const auto version = static_cast<KubernetesVersion>(draws.below(3));
  Profile profile = draws.one_in(2) ? Profile::standard() : Profile::kube_scheduler(version);
  profile.mode = draws.one_in(3) ? Mode::kUpstream : Mode::kProposal;
  profile.capacity_scheduling = true;
  profile.capacity_scheduling_args.cross_node_preemption =
      profile.mode == Mode::kProposal && !draws.one_in(3);
  return profile;
}

json elastic_quota_of(const std::string& space, std::int64_t min, std::int64_t max) {
  return {
      {"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
      {"kind", "ElasticQuota"},
      {"metadata", {{"name", "quota"}, {"namespace", space}}},
      {"spec", {{"min", {{"cpu", std::to_string(min)}}}, {"max", {{"cpu", std::to_string(max)}}}}}};
}

// Where events and pods come from.
struct Source {
  std::vector<json> first;  // before all others
  std::function<json()> event, pod;
};

Source of_applications(Draws& draws) {
  const auto applications = std::make_shared<RandomApplications>(draws);
  Source source;
  for (json& object : applications->objects()) {
    source.first.push_back({{"op", "apply"}, {"object", std::move(object)}});
  }
  for (const char* space : {"red", "green", "blue"}) {
    const std::int64_t min = draws.between(0, 6), max = min + draws.between(0, 6);
    if (draws.one_in(3)) continue;
    source.first.push_back({{"op", "apply"}, {"object", elastic_quota_of(space, min, max)}});
  }
  source.event = [applications] { return applications->event(); };
  source.pod = [applications, &draws] {
    json pod = applications->pod_to_place();
    // Above all others: there is somebody to go.
    if (draws.one_in(2)) pod["spec"]["priority"] = 9;
    return pod;
  };
  return source;
}

Source of_columns(Draws& draws, const Profile& profile) {
  const auto cluster = std::make_shared<RandomCluster>(draws, profile);
  Source source;
  source.event = [cluster] { return cluster->event(); };
  source.pod = [cluster] { return cluster->pod_to_place(); };
  return source;
}

class CachedAndPlain {
 public:
  CachedAndPlain(Draws& draws, const Profile& profile)
      : draws_(draws),
        cached_(create(profile, {.shape_cache_bytes_max =
                                     draws.one_in(4) ? 1 : EngineOptions().shape_cache_bytes_max,
                                 .threads = 1})),
        plain_(create(profile, {.shape_cache = false, .threads = 1})),
        bulk_(plain_.bulk()) {}

  std::optional<std::string> apply(const json& event) {
    const Result<void> applied = apply_event(cached_, event);
    if (applied.has_value() != apply_event(plain_, event).has_value()) return "applied by one";
    note_deletion(event);
    return valid();
  }

  // A fork, or the end of one.
  std::optional<std::string> change_forks() {
    if (digests_.empty() || draws_.one_in(2)) {
      digests_.push_back(cached_.digest());
      cached_.fork();
      plain_.fork();
      return std::nullopt;
    }
    const bool kept = draws_.one_in(3);
    for (Engine* engine : {&cached_, &plain_}) kept ? engine->commit() : engine->rollback();
    const bool restored = kept || cached_.digest() == digests_.back();
    digests_.pop_back();
    return restored ? valid() : "not restored by a rollback";
  }

  std::optional<std::string> ask(const Pod& pod) {
    const std::uint32_t top_k = draws_.one_in(2) ? 1 : 16;
    const std::string cached = decision(cached_, pod, top_k), plain = decision(plain_, pod, top_k);
    if (cached != plain) return "cached " + cached + ", plain " + plain;
    if (!cached_.profile().capacity_scheduling) return valid();
    const std::string bounded = preemption(cached_, pod, /*bound=*/true);
    for (const bool bound : {true, false}) {
      const std::string other = preemption(plain_, pod, bound);
      if (bounded != other) return "cached " + bounded + ", plain " + other;
    }
    if (auto wrong = without_victims(pod)) return wrong;
    return valid();
  }

  std::optional<std::string> end() {
    if (const Result<void> valid = plain_.validate(); !valid) return valid.error().message;
    if (cached_.digest() != plain_.digest()) return "other digests";
    return std::nullopt;
  }

 private:
  static Engine create(const Profile& profile, const EngineOptions& options) {
    Result<Engine> engine = Engine::create(profile, options);
    if (!engine) throw std::invalid_argument(engine.error().message);
    return std::move(*engine);
  }
  std::optional<std::string> valid() {
    const Result<void> valid = cached_.validate();
    return valid ? std::nullopt : std::optional<std::string>(valid.error().message);
  }
  static std::string decision(Engine& engine, const Pod& pod, std::uint32_t top_k) {
    const Result<Decision> decision = engine.evaluate(pod, {.top_k = top_k});
    return decision ? decision_text(engine, *decision) : decision.error().message;
  }
  // Who would have to go, without the cost.
  static std::string preemption(Engine& engine, const Pod& pod, bool bound) {
    const Result<PostFilter> answer = engine.post_filter(pod, {.bound = bound});
    if (!answer) return answer.error().message;
    std::string text = to_string(answer->code);
    text.append(" ").append(engine.node_name(answer->nominated_node));
    for (const Victim& victim : answer->victims) {
      text += " " + victim.namespace_name + "/" + victim.name;
    }
    return text + (answer->cross_node ? " across" : "") +
           (answer->cross_node_would_help ? " across would help" : "");
  }
  std::optional<std::string> without_victims(const Pod& pod) {
    // kube-scheduler takes uses of a ReadWriteOncePod claim off by name, whatever the namespace.
    if (!pod.volumes.empty()) return std::nullopt;
    const Result<PostFilter> answer = cached_.post_filter(pod);
    if (!answer || answer->code != Code::kSuccess) return std::nullopt;
    const std::string node(cached_.node_name(answer->nominated_node));
    cached_.fork();
    for (const Victim& victim : answer->victims) {
      cached_.remove_pod(victim.namespace_name, victim.name);
    }
    const NodeDetail detail = cached_.filter(pod, node).value();
    cached_.rollback();
    // The quotas of scheduler-plugins leave nominated pods out when they look at a dry run first; a
    // score that fails is nothing that preemption asks for.
    if (detail.code == Code::kSuccess || detail.code == Code::kError ||
        (cached_.profile().mode == Mode::kUpstream &&
         detail.rejected_by == PluginId::kCapacityScheduling) ||
        (detail.rejected_by == PluginId::kPodTopologySpread && takes_off_more(pod, *answer))) {
      return std::nullopt;
    }
    return node + " does not take " + pod.name + " once the victims are gone, " +
           detail.reasons.front() + ": " + preemption(cached_, pod, /*bound=*/true);
  }

  void note_deletion(const json& event) {
    const json metadata = event.value("object", json::object()).value("metadata", json::object());
    if (metadata.contains("deletionTimestamp")) deleted_.insert(metadata.at("name"));
  }
  // A dry run of kube-scheduler's PodTopologySpread takes pods off that it never counted: those
  // that terminate, and any under an empty selector.
  bool takes_off_more(const Pod& pod, const PostFilter& answer) const {
    return std::any_of(answer.victims.begin(), answer.victims.end(),
                       [this](const Victim& its) { return deleted_.contains(its.name); }) ||
           std::any_of(pod.topology_spread.begin(), pod.topology_spread.end(),
                       [](const TopologySpreadConstraint& its) {
                         return its.selector && its.selector->empty();
                       });
  }

  Draws& draws_;
  std::set<std::string> deleted_;  // names of pods that were told to terminate
  Engine cached_, plain_;
  const Engine::Bulk bulk_;
  std::vector<std::uint64_t> digests_;  // at the open forks
};

}  // namespace

std::optional<std::string> disagreement(Draws& draws, int events_max) {
  const bool applications = draws.one_in(2);
  const Profile profile =
      applications ? profile_of_applications(draws) : random_profile(draws).profile;
  CachedAndPlain both(draws, profile);
  const Source source = applications ? of_applications(draws) : of_columns(draws, profile);
  for (const json& event : source.first) {
    if (auto wrong = both.apply(event)) return wrong;
  }
  for (int e = 0; e < events_max && !draws.used_up(); ++e) {
    if (auto wrong = both.apply(source.event())) return wrong;
    if (draws.one_in(8)) {
      if (auto wrong = both.change_forks()) return wrong;
    }
    if (draws.one_in(2)) continue;
    if (auto wrong = both.ask(to_pod(source.pod()))) return wrong;
  }
  return both.end();
}

}  // namespace headroom
