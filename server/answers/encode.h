// The engine's answers as wire tables.
//
// Thread safety: an Encoder is used by one thread. Cost: one copy of what is sent; no allocation
// once the builder and the scratch space have grown, but for more than some dozen reasons.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "schema/codes.h"
#include "schema/headroom_generated.h"
#include "schema/write.h"
#include "server/peer.h"

namespace headroom {

// A message of at most kMessageBytesMax, whole characters of it.
std::string_view cut(std::string_view message);
wire::Code wire_code(Code code);
// What the server says of itself, and of the peer.
struct HelloAnswer {
  std::uint64_t incarnation = 0;
  const std::vector<const Profile*>& profiles;  // the peer's first
  Roles roles;
  std::string owner;
  std::uint32_t reservation_seconds = 0;
};
flatbuffers::Offset<wire::HelloReply> encode_hello(Builder& builder, const HelloAnswer& answer);
flatbuffers::Offset<wire::Explained> encode(Builder& builder, const Explanation& explanation,
                                            std::uint64_t epoch);
flatbuffers::Offset<wire::BoundVolumesReply> encode_bound_volumes(
    Builder& builder, const std::vector<ReferredObject>& objects, std::uint64_t epoch);

// Decisions, many and often.
class Encoder {
 public:
  flatbuffers::Offset<wire::Decision> encode(Builder& builder, const Decision& decision,
                                             const Engine& engine, bool raw_scores = false);

 private:
  std::vector<TextOffset> names_;  // scratch: its memory is used again
};

}  // namespace headroom
