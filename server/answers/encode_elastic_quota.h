// Answers about quotas and preemption as wire tables.
//
// Each list is cut at its limit of schema/limits.h, except the victims of a preemption, of which
// none may be missing: the caller refuses an answer with too many.
// Thread safety: pure functions over the builder. Cost: one copy of what is sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "schema/headroom_generated.h"
#include "schema/write.h"

namespace headroom {

flatbuffers::Offset<wire::PostFiltered> encode(Builder& builder, const PostFilter& answer,
                                               const Engine& engine, std::uint64_t epoch);
// `quotas`: those of the reply and of all that follow.
flatbuffers::Offset<wire::ElasticQuotaStatusReply> encode(
    Builder& builder, std::span<const ElasticQuotaStatus> quotas, std::uint64_t epoch);
flatbuffers::Offset<wire::ExplainedVictims> encode(Builder& builder,
                                                   const std::vector<PodVerdict>& verdicts,
                                                   const Engine& engine, std::uint64_t epoch);

}  // namespace headroom
