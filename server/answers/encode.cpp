#include "server/answers/encode.h"

#include <algorithm>

#include "engine/kept/referred_objects.h"
#include "objects/text/utf8_prefix.h"
#include "objects/writing/referred_json_writer.h"
#include "schema/limits.h"

namespace headroom {

namespace {

using flatbuffers::Offset;

// The order of roles is the wire's.
static_assert(static_cast<int>(Role::kLook) == static_cast<int>(wire::Role::Look));
static_assert(static_cast<int>(Role::kDecide) == static_cast<int>(wire::Role::Decide));
static_assert(static_cast<int>(Role::kFeed) == static_cast<int>(wire::Role::Feed));

// And that of codes.
static_assert(static_cast<int>(Code::kSuccess) == static_cast<int>(wire::Code::Success));
static_assert(static_cast<int>(Code::kError) == static_cast<int>(wire::Code::Error));
static_assert(static_cast<int>(Code::kUnschedulable) ==
              static_cast<int>(wire::Code::Unschedulable));
static_assert(static_cast<int>(Code::kUnschedulableAndUnresolvable) ==
              static_cast<int>(wire::Code::UnschedulableAndUnresolvable));

}  // namespace

std::string_view cut(std::string_view message) { return utf8_prefix(message, kMessageBytesMax); }

wire::Code wire_code(Code code) { return static_cast<wire::Code>(code); }

namespace {

Offset<wire::Profile> encode_profile(Builder& builder, const Profile& profile) {
  std::vector<PluginId> ids;
  if (profile.capacity_scheduling) ids.push_back(PluginId::kCapacityScheduling);
  ids.insert(ids.end(), profile.filters.begin(), profile.filters.end());
  for (const ScorePlugin& score : profile.scores) {
    if (std::find(ids.begin(), ids.end(), score.plugin) == ids.end()) ids.push_back(score.plugin);
  }
  std::vector<Offset<wire::Plugin>> plugins;
  for (const PluginId id : ids) {
    const auto score = std::find_if(profile.scores.begin(), profile.scores.end(),
                                    [&](const ScorePlugin& s) { return s.plugin == id; });
    plugins.push_back(wire::CreatePlugin(builder, write_text(builder, to_string(id)),
                                         score == profile.scores.end() ? 0 : score->weight));
  }
  const ReferredObjects referred(profile);
  std::vector<Offset<flatbuffers::String>> kinds;
  for (std::uint32_t k = 0; k < kReferredKindCount; ++k) {
    const auto kind = static_cast<ReferredKind>(k);
    if (referred.reads(kind)) kinds.push_back(write_text(builder, to_string(kind)));
  }
  return wire::CreateProfile(
      builder, write_text(builder, profile.scheduler_name),
      write_text(builder, profile.mode == Mode::kUpstream ? "Upstream" : "Proposal"),
      builder.CreateVector(plugins), builder.CreateVector(kinds),
      write_not_considered(builder, profile.considered()));
}

}  // namespace

Offset<wire::HelloReply> encode_hello(Builder& builder, const HelloAnswer& answer) {
  std::vector<Offset<wire::Profile>> profiles;
  for (const Profile* profile : answer.profiles) {
    profiles.push_back(encode_profile(builder, *profile));
  }
  std::vector<Offset<wire::Limit>> limits;
  for (const NamedLimit& limit : kNamedLimits) {
    limits.push_back(wire::CreateLimit(builder, write_text(builder, limit.name), limit.value));
  }
  for (const auto& [name, value] :
       {std::pair{"kTopKMax", kTopKMax}, std::pair{"kNodesMax", kNodesMax},
        std::pair{"kPodsMax", kPodsMax}, std::pair{"kResourcesMax", kResourcesMax},
        std::pair{"kElasticQuotasMax", kElasticQuotasMax},
        std::pair{"kPodDisruptionBudgetsMax", kPodDisruptionBudgetsMax},
        std::pair{"kPriorityClassesMax", kPriorityClassesMax},
        std::pair{"kReferredObjectsMax", kReferredObjectsMax}}) {
    limits.push_back(wire::CreateLimit(builder, write_text(builder, name), value));
  }
  std::vector<Offset<flatbuffers::String>> names;
  for (int p = 0; p < kPluginCount; ++p) {
    names.push_back(write_text(builder, to_string(static_cast<PluginId>(p))));
  }
  const auto server = write_text(builder, "headroomd " HEADROOM_VERSION);
  const auto all_profiles = builder.CreateVector(profiles);
  const auto all_limits = builder.CreateVector(limits);
  const auto all_names = builder.CreateVector(names);
  std::vector<wire::Role> roles;
  for (const Role role : kAllRoles) {
    if (answer.roles.contains(role)) roles.push_back(static_cast<wire::Role>(role));
  }
  const auto all_roles = builder.CreateVector(roles);
  return wire::CreateHelloReply(builder, kProtocolVersion, server, answer.incarnation, all_profiles,
                                all_limits, all_names, all_roles, write_text(builder, answer.owner),
                                answer.reservation_seconds);
}

Offset<wire::Explained> encode(Builder& builder, const Explanation& explanation,
                               std::uint64_t epoch) {
  const auto terms =
      write_list<wire::ExplainTerm>(builder, explanation.terms, [&](const ExplainTerm& term) {
        return wire::CreateExplainTerm(builder, write_shared_text(builder, to_string(term.plugin)),
                                       write_shared_text(builder, term.extension_point),
                                       write_shared_text(builder, term.resource), term.capacity,
                                       term.aggregate, term.need,
                                       write_shared_text(builder, term.formula), term.result,
                                       term.passed, write_text(builder, term.note));
      });
  return wire::CreateExplained(builder, epoch, wire_code(explanation.code), explanation.total,
                               terms, write_not_considered(builder, explanation.not_considered));
}

Offset<wire::BoundVolumesReply> encode_bound_volumes(Builder& builder,
                                                     const std::vector<ReferredObject>& objects,
                                                     std::uint64_t epoch) {
  const auto written =
      write_list<wire::ReferredObject>(builder, objects, [&](const ReferredObject& object) {
        return wire::CreateReferredObject(builder, write_text(builder, to_json(object)));
      });
  return wire::CreateBoundVolumesReply(builder, epoch, written);
}

namespace {

ListOffset<wire::ReasonCount> encode_reasons(Builder& builder, const Decision& decision) {
  return write_list_if_any<wire::ReasonCount>(
      builder, decision.reasons, [&](const ReasonCount& count) {
        return wire::CreateReasonCount(builder, write_text(builder, count.reason), count.nodes);
      });
}

Offset<wire::Decision> encode_without_candidates(Builder& builder, const Decision& decision) {
  const auto reasons = encode_reasons(builder, decision);
  const auto pre_filter = write_texts_if_any(builder, decision.pre_filter);
  const auto not_considered = write_not_considered(builder, decision.not_considered);
  return wire::CreateDecision(builder, wire_code(decision.code), decision.nodes, decision.feasible,
                              0, 0, 0, 0, 0, 0, reasons, pre_filter, not_considered);
}

}  // namespace

Offset<wire::Decision> Encoder::encode(Builder& builder, const Decision& decision,
                                       const Engine& engine, bool raw_scores) {
  const std::vector<NodeScore>& candidates = decision.candidates;
  const std::size_t count = candidates.size();
  if (count == 0) return encode_without_candidates(builder, decision);
  names_.resize(count);
  for (std::size_t c = 0; c < count; ++c) {
    names_[c] = write_text(builder, engine.node_name(candidates[c].node));
  }
  const auto names = builder.CreateVector(names_);
  // The numbers are written where they will lie.
  std::uint32_t* indices = nullptr;
  std::int64_t *totals = nullptr, *raws = nullptr;
  std::int32_t* scores = nullptr;
  std::uint8_t* plugins = nullptr;
  const auto all_indices = builder.CreateUninitializedVector(count, &indices);
  for (std::size_t c = 0; c < count; ++c) {
    indices[c] = static_cast<std::uint32_t>(candidates[c].node);
  }
  const auto all_totals = builder.CreateUninitializedVector(count, &totals);
  for (std::size_t c = 0; c < count; ++c) totals[c] = candidates[c].total;
  const std::size_t plugin_count = candidates.front().plugins.size();
  Offset<flatbuffers::Vector<std::uint8_t>> all_plugins;
  Offset<flatbuffers::Vector<std::int64_t>> all_raw_scores;
  Offset<flatbuffers::Vector<std::int32_t>> all_scores;
  if (plugin_count > 0) {
    all_plugins = builder.CreateUninitializedVector(plugin_count, &plugins);
    for (const PluginScore& score : candidates.front().plugins) {
      *plugins++ = static_cast<std::uint8_t>(score.plugin);
    }
    if (raw_scores) {
      all_raw_scores = builder.CreateUninitializedVector(count * plugin_count, &raws);
      for (const NodeScore& candidate : candidates) {
        for (const PluginScore& score : candidate.plugins) *raws++ = score.raw;
      }
    }
    all_scores = builder.CreateUninitializedVector(count * plugin_count, &scores);
    for (const NodeScore& candidate : candidates) {
      for (const PluginScore& score : candidate.plugins) *scores++ = score.score;
    }
  }
  const auto reasons = encode_reasons(builder, decision);
  const auto not_considered = write_not_considered(builder, decision.not_considered);
  return wire::CreateDecision(builder, wire_code(decision.code), decision.nodes, decision.feasible,
                              names, all_indices, all_totals, all_plugins, all_raw_scores,
                              all_scores, reasons, 0, not_considered);
}

}  // namespace headroom
