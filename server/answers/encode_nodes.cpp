#include "server/answers/encode_nodes.h"

#include <algorithm>
#include <string_view>

#include "schema/limits.h"

namespace headroom {

namespace {

using flatbuffers::Offset;

constexpr std::uint16_t kFeasiblePlace = 0xFFFF;  // as the schema has it
constexpr std::size_t kVerdictsPerReplyMax = kFeasiblePlace;
// Bounds of what the builder adds to the texts, with padding: to a string and its offset, to a
// verdict and its offset, to the reply as a whole.
constexpr std::size_t kStringBytes = 16;
constexpr std::size_t kVerdictBytes = 64;
constexpr std::size_t kReplyBytes = 256;
constexpr std::size_t kRowBytes = sizeof(std::uint16_t) + sizeof(std::int64_t);

// With names of up to 43 bytes the page ends by their number.
static_assert(kNodesPerReplyMax * (kRowBytes + 52) < kFrameBytesMax);

std::size_t bytes_of(const NodeVerdict& verdict) {
  std::size_t bytes = kVerdictBytes;
  for (const std::string_view reason : verdict.reasons) bytes += reason.size() + kStringBytes;
  return bytes;
}

}  // namespace

Offset<wire::NodesEvaluated> NodesEncoder::encode(Builder& builder, const NodesDecision& decision,
                                                  const Engine& engine, std::uint64_t epoch) {
  const std::size_t end = write_rows(builder, decision, engine, 0, false);
  return finish(builder, decision, epoch, 0, end, false);
}

Offset<wire::NodesEvaluated> NodesEncoder::encode_page(Builder& builder,
                                                       const NodesDecision& decision,
                                                       const Engine& engine, std::uint64_t epoch,
                                                       std::uint32_t from) {
  const auto first = std::partition_point(
      decision.rows.begin(), decision.rows.end(),
      [&](const NodeStanding& row) { return static_cast<std::uint32_t>(row.node) < from; });
  const auto begin = static_cast<std::size_t>(first - decision.rows.begin());
  const std::size_t end = write_rows(builder, decision, engine, begin, true);
  return finish(builder, decision, epoch, begin, end, true);
}

std::size_t NodesEncoder::write_rows(Builder& builder, const NodesDecision& decision,
                                     const Engine& engine, std::size_t first, bool paged) {
  names_.clear();
  verdicts_.clear();
  places_.clear();
  place_known_.assign(decision.verdicts.size(), kFeasiblePlace);
  pre_filter_ = write_texts_if_any(builder, decision.pre_filter);
  std::size_t row = first;
  for (; row < decision.rows.size(); ++row) {
    const NodeStanding& standing = decision.rows[row];
    const std::string_view name = engine.node_name(standing.node);
    const bool rejected = standing.verdict != kFeasible;
    const bool is_new = rejected && place_known_[standing.verdict] == kFeasiblePlace;
    if (paged && row != first) {
      const std::size_t written = builder.GetSize() + kReplyBytes +
                                  (row - first + 1) * (kRowBytes + sizeof(Offset<void>)) +
                                  verdicts_.size() * sizeof(Offset<void>);
      const std::size_t its_own =
          name.size() + kStringBytes + (is_new ? bytes_of(decision.verdicts[standing.verdict]) : 0);
      if (row - first == kNodesPerReplyMax || written + its_own > kFrameBytesMax ||
          (is_new && verdicts_.size() == kVerdictsPerReplyMax)) {
        break;
      }
    }
    if (is_new) {
      const NodeVerdict& verdict = decision.verdicts[standing.verdict];
      const auto reasons = write_list<flatbuffers::String>(
          builder, verdict.reasons,
          [&](std::string_view reason) { return write_text(builder, reason); });
      place_known_[standing.verdict] = static_cast<std::uint16_t>(verdicts_.size());
      verdicts_.push_back(wire::CreateNodeVerdict(builder, wire_code(verdict.code),
                                                  static_cast<std::uint8_t>(verdict.rejected_by),
                                                  reasons));
    }
    places_.push_back(rejected ? place_known_[standing.verdict] : kFeasiblePlace);
    names_.push_back(write_text(builder, name));
  }
  return row;
}

Offset<wire::NodesEvaluated> NodesEncoder::finish(Builder& builder, const NodesDecision& decision,
                                                  std::uint64_t epoch, std::size_t first,
                                                  std::size_t end, bool paged) {
  const auto verdicts = builder.CreateVector(verdicts_);
  const auto names = builder.CreateVector(names_);
  const auto places = builder.CreateVector(places_);
  Offset<flatbuffers::Vector<std::int64_t>> totals;
  if (paged) {
    std::int64_t* all = nullptr;
    totals = builder.CreateUninitializedVector(end - first, &all);
    for (std::size_t row = first; row < end; ++row) *all++ = decision.rows[row].total;
  }
  const std::uint32_t next =
      end < decision.rows.size() ? static_cast<std::uint32_t>(decision.rows[end].node) : 0;
  return wire::CreateNodesEvaluated(builder, epoch, decision.nodes, pre_filter_, verdicts, names,
                                    places, totals, next,
                                    write_not_considered(builder, decision.not_considered));
}

}  // namespace headroom
