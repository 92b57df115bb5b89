// The limits of the wire protocol. HelloReply sends them, errors name them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom {

inline constexpr std::uint16_t kProtocolVersion = 1;

// Of a frame without its size prefix. Before the hello a frame may have kHelloBytesMax.
inline constexpr std::size_t kFrameBytesMax = 8 << 20;
inline constexpr std::size_t kHelloBytesMax = 4 << 10;
inline constexpr std::size_t kClientNameBytesMax = 256;
// Connections at one time, refused ones not among them: of Unix sockets and of TCP each. On TLS a
// connection is one when it has shaken hands.
inline constexpr std::uint32_t kConnectionsMax = 256;
// Of each, those that have not said hello, or are being refused; then the oldest gives way.
inline constexpr std::uint32_t kConnectionsBeforeHelloMax = 64;
// A connection that said nothing for so long gives way to a new one where kConnectionsMax are open.
inline constexpr std::uint32_t kIdleSecondsMax = 30;
// Of replies that the peer has not taken yet; then the connection is closed.
inline constexpr std::size_t kQueuedBytesMax = 32 << 20;
// The same where the peer has taken nothing of them for so long.
inline constexpr std::uint32_t kStalledSecondsMax = 60;
// Memory for frames and replies of all connections; then one of the peer who has most is closed.
inline constexpr std::size_t kBufferedBytesMax = 256 << 20;
// A connection that has not said hello by then is closed.
inline constexpr std::uint32_t kHelloSecondsMax = 10;

inline constexpr std::uint32_t kChangesPerFactsMax = 1024;
inline constexpr std::uint32_t kPodsPerRequestMax = 1024;
inline constexpr std::uint32_t kCandidatesPerRequestMax = 16'384;
// Of NodesEvaluated, unless kFrameBytesMax ends it earlier; other nodes come with the next reply.
inline constexpr std::uint32_t kNodesPerReplyMax = 131'072;
// Of PostFiltered and ExplainedVictims, of ElasticQuotaStatusReply and CapacityQuotaStatusReply.
// More victims are an error, because some of them are no use; nodes, verdicts and reasons beyond
// are left out; quotas come with the next reply.
inline constexpr std::uint32_t kVictimsPerReplyMax = 16'384;
inline constexpr std::uint32_t kCandidateNodesPerReplyMax = 1024;
inline constexpr std::uint32_t kReasonsPerListMax = 64;
inline constexpr std::uint32_t kQuotasPerReplyMax = 1024;
// Of a CapacityCheck, CapacityPlan and CapacityReserve; of their replies and those that tell of
// quotas and reservations. Rows and skipped quotas beyond are left out and counted.
inline constexpr std::uint32_t kCapacityItemsPerRequestMax = 1024;
inline constexpr std::uint32_t kCapacityQuotaRowsPerReplyMax = 32'768;
inline constexpr std::uint32_t kBreakRowsMax = 256;
inline constexpr std::uint32_t kSkippedCapacityQuotasPerReplyMax = 256;
inline constexpr std::uint32_t kReservationsPerReplyMax = 1024;
// From now until a reservation of nodes lapses.
inline constexpr std::int64_t kNodeReservationSecondsMax = 604'800;
// Of one object.
inline constexpr std::uint32_t kResourcesPerListMax = 64;
inline constexpr std::size_t kLabelBytesMax = 512 << 10;  // labels, annotations, node selector
inline constexpr std::uint32_t kItemsPerListMax = 4096;   // containers, taints, terms, pods, ...
inline constexpr std::size_t kTextBytesMax = 1024;        // of a name, uid, label key, quantity
// Of one object, and of all pods of a request, when read: texts, and kItemBytes for each item of a
// list. A frame may refer to one text many times, so that it can say more than it holds.
inline constexpr std::size_t kObjectBytesMax = 2 << 20;
inline constexpr std::size_t kRequestBytesMax = 32 << 20;
inline constexpr std::size_t kItemBytes = 64;
// Of the JSON of an object that nodes and pods refer to, which says more than it holds, too.
inline constexpr std::size_t kReferredObjectBytesMax = 512 << 10;
// Of the message of an Error; what is longer is cut.
inline constexpr std::size_t kMessageBytesMax = 1024;
// Fed pods that wait for a node, and reserved pods that are not bound yet.
inline constexpr std::uint32_t kPendingPodsMax = 1'000'000;
inline constexpr std::uint32_t kReservedPodsMax = 1'000'000;

struct NamedLimit {
  const char* name;
  std::uint64_t value;
};
inline constexpr NamedLimit kNamedLimits[] = {
    {"kFrameBytesMax", kFrameBytesMax},
    {"kHelloBytesMax", kHelloBytesMax},
    {"kClientNameBytesMax", kClientNameBytesMax},
    {"kConnectionsMax", kConnectionsMax},
    {"kConnectionsBeforeHelloMax", kConnectionsBeforeHelloMax},
    {"kIdleSecondsMax", kIdleSecondsMax},
    {"kQueuedBytesMax", kQueuedBytesMax},
    {"kStalledSecondsMax", kStalledSecondsMax},
    {"kBufferedBytesMax", kBufferedBytesMax},
    {"kHelloSecondsMax", kHelloSecondsMax},
    {"kChangesPerFactsMax", kChangesPerFactsMax},
    {"kPodsPerRequestMax", kPodsPerRequestMax},
    {"kCandidatesPerRequestMax", kCandidatesPerRequestMax},
    {"kNodesPerReplyMax", kNodesPerReplyMax},
    {"kVictimsPerReplyMax", kVictimsPerReplyMax},
    {"kCandidateNodesPerReplyMax", kCandidateNodesPerReplyMax},
    {"kReasonsPerListMax", kReasonsPerListMax},
    {"kQuotasPerReplyMax", kQuotasPerReplyMax},
    {"kCapacityItemsPerRequestMax", kCapacityItemsPerRequestMax},
    {"kCapacityQuotaRowsPerReplyMax", kCapacityQuotaRowsPerReplyMax},
    {"kBreakRowsMax", kBreakRowsMax},
    {"kSkippedCapacityQuotasPerReplyMax", kSkippedCapacityQuotasPerReplyMax},
    {"kReservationsPerReplyMax", kReservationsPerReplyMax},
    {"kNodeReservationSecondsMax", kNodeReservationSecondsMax},
    {"kResourcesPerListMax", kResourcesPerListMax},
    {"kLabelBytesMax", kLabelBytesMax},
    {"kItemsPerListMax", kItemsPerListMax},
    {"kTextBytesMax", kTextBytesMax},
    {"kObjectBytesMax", kObjectBytesMax},
    {"kRequestBytesMax", kRequestBytesMax},
    {"kReferredObjectBytesMax", kReferredObjectBytesMax},
    {"kPendingPodsMax", kPendingPodsMax},
    {"kReservedPodsMax", kReservedPodsMax},
};

// One reply fits the queue, however large.
static_assert(2 * kFrameBytesMax <= kQueuedBytesMax);
static_assert(4 * kQueuedBytesMax <= kBufferedBytesMax);
static_assert(kHelloBytesMax > 2 * kClientNameBytesMax);
static_assert(kLabelBytesMax < kObjectBytesMax);

}  // namespace headroom
