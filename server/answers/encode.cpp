#include "server/answers/encode.h"

#include <algorithm>

#include "schema/limits.h"

namespace headroom {

namespace {

using flatbuffers::Offset;

// The order of roles is the wire's.
static_assert(static_cast<int>(Role::kLook) == static_cast<int>(wire::Role::Look));
static_assert(static_cast<int>(Role::kDecide) == static_cast<int>(wire::Role::Decide));
static_assert(static_cast<int>(Role::kFeed) == static_cast<int>(wire::Role::Feed));

Offset<flatbuffers::String> string(Builder& builder, std::string_view text) {
  return builder.CreateString(text.data(), text.size());
}

}  // namespace

std::string_view cut(std::string_view message) {
  if (message.size() <= kMessageBytesMax) return message;
  std::size_t end = kMessageBytesMax;
  while (end > 0 && (message[end] & 0xC0) == 0x80) --end;
  return message.substr(0, end);
}

wire::Code wire_code(Code code) {
  switch (code) {
    case Code::kSuccess:
      return wire::Code::Success;
    case Code::kError:
      return wire::Code::Error;
    case Code::kUnschedulable:
      return wire::Code::Unschedulable;
    case Code::kUnschedulableAndUnresolvable:
      return wire::Code::UnschedulableAndUnresolvable;
  }
  return wire::Code::Error;
}

wire::ErrorCode wire_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return wire::ErrorCode::Invalid;
    case ErrorCode::kNotFound:
      return wire::ErrorCode::NotFound;
    case ErrorCode::kConflict:
      return wire::ErrorCode::Conflict;
    case ErrorCode::kLimitExceeded:
      return wire::ErrorCode::LimitExceeded;
    case ErrorCode::kUnsupported:
      return wire::ErrorCode::Unsupported;
    case ErrorCode::kIo:
      return wire::ErrorCode::Io;
    case ErrorCode::kForbidden:
      return wire::ErrorCode::Forbidden;
    case ErrorCode::kInternal:
      return wire::ErrorCode::Internal;
  }
  return wire::ErrorCode::Invalid;
}

Offset<flatbuffers::Vector<wire::NotConsidered>> encode(Builder& builder, NotConsideredSet set) {
  if (set.empty()) return 0;
  const std::vector<NotConsidered> list = set.list();
  wire::NotConsidered* items = nullptr;
  const auto written = builder.CreateUninitializedVector(list.size(), &items);
  for (const NotConsidered what : list) *items++ = static_cast<wire::NotConsidered>(what);
  return written;
}

Offset<wire::HelloReply> encode_hello(Builder& builder, const HelloAnswer& answer) {
  const Profile& profile = answer.profile;
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
    plugins.push_back(wire::CreatePlugin(builder, string(builder, to_string(id)),
                                         score == profile.scores.end() ? 0 : score->weight));
  }
  const std::vector<Offset<wire::Profile>> profiles = {wire::CreateProfile(
      builder, string(builder, profile.scheduler_name),
      string(builder, profile.mode == Mode::kUpstream ? "Upstream" : "Proposal"),
      builder.CreateVector(plugins))};
  std::vector<Offset<wire::Limit>> limits;
  for (const NamedLimit& limit : kNamedLimits) {
    limits.push_back(wire::CreateLimit(builder, string(builder, limit.name), limit.value));
  }
  for (const auto& [name, value] :
       {std::pair{"kTopKMax", kTopKMax}, std::pair{"kNodesMax", kNodesMax},
        std::pair{"kPodsMax", kPodsMax}, std::pair{"kResourcesMax", kResourcesMax},
        std::pair{"kElasticQuotasMax", kElasticQuotasMax},
        std::pair{"kPodDisruptionBudgetsMax", kPodDisruptionBudgetsMax},
        std::pair{"kPriorityClassesMax", kPriorityClassesMax}}) {
    limits.push_back(wire::CreateLimit(builder, string(builder, name), value));
  }
  std::vector<Offset<flatbuffers::String>> names;
  for (int p = 0; p < kPluginCount; ++p) {
    names.push_back(string(builder, to_string(static_cast<PluginId>(p))));
  }
  const auto server = string(builder, "headroomd " HEADROOM_VERSION);
  const auto all_profiles = builder.CreateVector(profiles);
  const auto all_limits = builder.CreateVector(limits);
  const auto all_names = builder.CreateVector(names);
  std::vector<wire::Role> roles;
  for (const Role role : kAllRoles) {
    if (answer.roles.contains(role)) roles.push_back(static_cast<wire::Role>(role));
  }
  const auto all_roles = builder.CreateVector(roles);
  return wire::CreateHelloReply(builder, kProtocolVersion, server, answer.incarnation, all_profiles,
                                all_limits, all_names, all_roles, string(builder, answer.owner),
                                answer.reservation_seconds);
}

Offset<wire::Explained> encode(Builder& builder, const Explanation& explanation,
                               std::uint64_t epoch) {
  std::vector<Offset<wire::ExplainTerm>> terms;
  for (const ExplainTerm& term : explanation.terms) {
    terms.push_back(wire::CreateExplainTerm(
        builder, builder.CreateSharedString(to_string(term.plugin)),
        builder.CreateSharedString(term.extension_point), builder.CreateSharedString(term.resource),
        term.capacity, term.aggregate, term.need, builder.CreateSharedString(term.formula),
        term.result, term.passed, string(builder, term.note)));
  }
  const auto all_terms = builder.CreateVector(terms);
  return wire::CreateExplained(builder, epoch, wire_code(explanation.code), explanation.total,
                               all_terms, headroom::encode(builder, explanation.not_considered));
}

Offset<wire::Decision> Encoder::encode(Builder& builder, const Decision& decision,
                                       const Engine& engine, bool raw_scores) {
  const std::vector<NodeScore>& candidates = decision.candidates;
  const std::size_t count = candidates.size();
  if (count == 0) return encode_without_candidates(builder, decision);
  names_.resize(count);
  for (std::size_t c = 0; c < count; ++c) {
    names_[c] = string(builder, engine.node_name(candidates[c].node));
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
  const auto not_considered = headroom::encode(builder, decision.not_considered);
  return wire::CreateDecision(builder, wire_code(decision.code), decision.nodes, decision.feasible,
                              names, all_indices, all_totals, all_plugins, all_raw_scores,
                              all_scores, reasons, 0, not_considered);
}

Offset<wire::Decision> Encoder::encode_without_candidates(Builder& builder,
                                                          const Decision& decision) {
  const auto reasons = encode_reasons(builder, decision);
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> pre_filter;
  if (!decision.pre_filter.empty()) {
    names_.clear();
    for (const std::string& reason : decision.pre_filter) {
      names_.push_back(string(builder, reason));
    }
    pre_filter = builder.CreateVector(names_);
  }
  const auto not_considered = headroom::encode(builder, decision.not_considered);
  return wire::CreateDecision(builder, wire_code(decision.code), decision.nodes, decision.feasible,
                              0, 0, 0, 0, 0, 0, reasons, pre_filter, not_considered);
}

// Absent where there is none.
Offset<flatbuffers::Vector<Offset<wire::ReasonCount>>> Encoder::encode_reasons(
    Builder& builder, const Decision& decision) {
  if (decision.reasons.empty()) return 0;
  reasons_.clear();
  for (const ReasonCount& count : decision.reasons) {
    reasons_.push_back(
        wire::CreateReasonCount(builder, string(builder, count.reason), count.nodes));
  }
  return builder.CreateVector(reasons_);
}

}  // namespace headroom
