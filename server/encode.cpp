#include "server/encode.h"

#include <algorithm>

#include "schema/limits.h"

namespace headroom {

namespace {

using flatbuffers::Offset;

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

Offset<flatbuffers::String> string(Builder& builder, std::string_view text) {
  return builder.CreateString(text.data(), text.size());
}

}  // namespace

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
  }
  return wire::ErrorCode::Invalid;
}

Offset<wire::HelloReply> encode_hello(Builder& builder, std::uint64_t incarnation,
                                      const Profile& profile) {
  std::vector<PluginId> ids = profile.filters;
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
        std::pair{"kPodsMax", kPodsMax}, std::pair{"kResourcesMax", kResourcesMax}}) {
    limits.push_back(wire::CreateLimit(builder, string(builder, name), value));
  }
  std::vector<Offset<flatbuffers::String>> names;
  for (int p = 0; p < kPluginCount; ++p) {
    names.push_back(string(builder, to_string(static_cast<PluginId>(p))));
  }
  const auto server = string(builder, "headroomd " HEADROOM_VERSION);
  const auto all_profiles = builder.CreateVector(profiles);
  const auto all_limits = builder.CreateVector(limits);
  return wire::CreateHelloReply(builder, kProtocolVersion, server, incarnation, all_profiles,
                                all_limits, builder.CreateVector(names));
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
  return wire::CreateExplained(builder, epoch, wire_code(explanation.code), explanation.total,
                               builder.CreateVector(terms));
}

Offset<wire::Decision> Encoder::encode(Builder& builder, const Decision& decision,
                                       const Engine& engine) {
  names_.clear();
  reasons_.clear();
  indices_.clear();
  totals_.clear();
  raw_scores_.clear();
  scores_.clear();
  places_.clear();
  for (const NodeScore& candidate : decision.candidates) {
    names_.push_back(string(builder, engine.node_name(candidate.node)));
    indices_.push_back(static_cast<std::uint32_t>(candidate.node));
    totals_.push_back(candidate.total);
    for (const PluginScore& score : candidate.plugins) {
      raw_scores_.push_back(score.raw);
      scores_.push_back(score.score);
    }
  }
  if (!decision.candidates.empty()) {
    for (const PluginScore& score : decision.candidates.front().plugins) {
      places_.push_back(static_cast<std::uint8_t>(score.plugin));
    }
  }
  for (const ReasonCount& count : decision.reasons) {
    reasons_.push_back(
        wire::CreateReasonCount(builder, string(builder, count.reason), count.nodes));
  }
  // Absent where empty: half the tables of an answer without scores.
  const auto vector = [&](const auto& items) {
    return items.empty() ? 0 : builder.CreateVector(items);
  };
  const auto names = vector(names_);
  const auto indices = vector(indices_);
  const auto totals = vector(totals_);
  const auto places = vector(places_);
  const auto raw_scores = vector(raw_scores_);
  const auto scores = vector(scores_);
  const auto reasons = vector(reasons_);
  return wire::CreateDecision(builder, wire_code(decision.code), decision.nodes, decision.feasible,
                              names, indices, totals, places, raw_scores, scores, reasons);
}

}  // namespace headroom
