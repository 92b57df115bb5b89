#include "server/answers/encode_elastic_quota.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "schema/limits.h"
#include "server/answers/encode.h"

namespace headroom {

namespace {

using flatbuffers::Offset;

// Two names, and 64 bytes for each resource: a page of quotas fits a frame.
static_assert(kQuotasPerReplyMax * (2 * kTextBytesMax + kResourcesMax * 64) +
                  kResourcesMax * kTextBytesMax <
              kFrameBytesMax);

ListOffset<flatbuffers::String> reasons(Builder& builder, const std::vector<std::string>& items) {
  return write_list_if_any<flatbuffers::String>(
      builder, std::span(items).first(std::min<std::size_t>(items.size(), kReasonsPerListMax)),
      [&](const std::string& reason) { return write_shared_text(builder, reason); });
}

Offset<wire::Victim> encode(Builder& builder, const Victim& victim, const Engine& engine) {
  const auto namespace_name = write_shared_text(builder, victim.namespace_name);
  const auto name = builder.CreateString(victim.name);
  const auto uid = builder.CreateString(victim.uid);
  return wire::CreateVictim(builder, namespace_name, name, uid, victim.priority,
                            write_shared_text(builder, engine.node_name(victim.node)));
}

ListOffset<wire::Victim> victims(Builder& builder, const std::vector<Victim>& items,
                                 const Engine& engine) {
  return write_list_if_any<wire::Victim>(
      builder, items, [&](const Victim& victim) { return encode(builder, victim, engine); });
}

Offset<wire::NodeVictims> encode(Builder& builder, const NodeVictims& node, const Engine& engine) {
  const auto node_name = write_shared_text(builder, engine.node_name(node.node));
  const auto node_reasons = reasons(builder, node.reasons);
  const auto node_victims = victims(builder, node.victims, engine);
  return wire::CreateNodeVictims(builder, node_name, wire_code(node.code), node_reasons,
                                 node_victims, node.pdb_violations);
}

// How many of the first candidates a reply takes.
std::size_t candidates_that_fit(const std::vector<NodeVictims>& candidates) {
  const std::size_t most = std::min<std::size_t>(candidates.size(), kCandidateNodesPerReplyMax);
  std::size_t victims = 0, count = 0;
  while (count < most) {
    victims += candidates[count].victims.size();
    if (victims > kVictimsPerReplyMax) break;
    ++count;
  }
  return count;
}

}  // namespace

Offset<wire::PostFiltered> encode(Builder& builder, const PostFilter& answer, const Engine& engine,
                                  std::uint64_t epoch) {
  const auto nominated_node = write_shared_text(builder, engine.node_name(answer.nominated_node));
  const auto all_victims = victims(builder, answer.victims, engine);
  const auto all_reasons = reasons(builder, answer.reasons);
  const std::size_t fitting = candidates_that_fit(answer.candidates);
  const auto candidates = write_list_if_any<wire::NodeVictims>(
      builder, std::span(answer.candidates).first(fitting),
      [&](const NodeVictims& node) { return encode(builder, node, engine); });
  const auto not_considered = write_not_considered(builder, answer.not_considered);
  wire::PostFilteredBuilder reply(builder);
  reply.add_epoch(epoch);
  reply.add_code(wire_code(answer.code));
  reply.add_nominated_node(nominated_node);
  reply.add_victims(all_victims);
  reply.add_pdb_violations(answer.pdb_violations);
  reply.add_reasons(all_reasons);
  reply.add_cross_node(answer.cross_node);
  reply.add_cross_node_would_help(answer.cross_node_would_help);
  reply.add_victims_at_least(answer.victims_at_least);
  reply.add_candidates(candidates);
  reply.add_candidates_left_out(static_cast<std::uint32_t>(answer.candidates.size() - fitting));
  reply.add_nodes_dry_run(answer.nodes_dry_run);
  reply.add_nodes_ruled_out(answer.nodes_ruled_out);
  reply.add_stays_nominated(answer.stays_nominated);
  reply.add_not_considered(not_considered);
  return reply.Finish();
}

Offset<wire::ElasticQuotaStatusReply> encode(Builder& builder,
                                             std::span<const ElasticQuotaStatus> quotas,
                                             std::uint64_t epoch) {
  const std::size_t count = std::min<std::size_t>(quotas.size(), kQuotasPerReplyMax);
  const auto written = write_list_if_any<wire::ElasticQuotaState>(
      builder, quotas.first(count), [&](const ElasticQuotaStatus& quota) {
        const auto namespace_name = builder.CreateString(quota.namespace_name);
        const auto name = builder.CreateString(quota.name);
        const auto amounts = write_list_if_any<wire::ElasticQuotaAmount>(
            builder, quota.amounts, [&](const ElasticQuotaAmount& amount) {
              return wire::CreateElasticQuotaAmount(
                  builder, write_shared_text(builder, amount.resource), amount.min, amount.max,
                  amount.used, amount.nominated);
            });
        return wire::CreateElasticQuotaState(builder, namespace_name, name, quota.over_min,
                                             amounts);
      });
  return wire::CreateElasticQuotaStatusReply(builder, epoch, written, count < quotas.size());
}

Offset<wire::ExplainedVictims> encode(Builder& builder, const std::vector<PodVerdict>& verdicts,
                                      const Engine& engine, std::uint64_t epoch) {
  const std::size_t count = std::min<std::size_t>(verdicts.size(), kVictimsPerReplyMax);
  const auto pods = write_list_if_any<wire::PodVerdict>(
      builder, std::span(verdicts).first(count), [&](const PodVerdict& verdict) {
        const auto pod = encode(builder, verdict.pod, engine);
        return wire::CreatePodVerdict(builder, pod, verdict.victim,
                                      write_shared_text(builder, verdict.why));
      });
  return wire::CreateExplainedVictims(builder, epoch, pods,
                                      static_cast<std::uint32_t>(verdicts.size() - count));
}

}  // namespace headroom
