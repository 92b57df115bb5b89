// The engine's answers as wire tables.
//
// Thread safety: an Encoder is used by one thread. Cost: one copy of what is sent; no allocation
// once the builder and the scratch space have grown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "schema/headroom_generated.h"
#include "server/peer.h"

namespace headroom {

using Builder = flatbuffers::FlatBufferBuilder;

// A message of at most kMessageBytesMax, whole characters of it.
std::string_view cut(std::string_view message);
wire::ErrorCode wire_code(ErrorCode code);
wire::Code wire_code(Code code);
// Absent where it is empty.
flatbuffers::Offset<flatbuffers::Vector<wire::NotConsidered>> encode(Builder& builder,
                                                                     NotConsideredSet set);
// What the server says of itself, and of the peer.
struct HelloAnswer {
  std::uint64_t incarnation = 0;
  const Profile& profile;
  Roles roles;
  std::string owner;
  std::uint32_t reservation_seconds = 0;
};
flatbuffers::Offset<wire::HelloReply> encode_hello(Builder& builder, const HelloAnswer& answer);
flatbuffers::Offset<wire::Explained> encode(Builder& builder, const Explanation& explanation,
                                            std::uint64_t epoch);

// Decisions, many and often.
class Encoder {
 public:
  flatbuffers::Offset<wire::Decision> encode(Builder& builder, const Decision& decision,
                                             const Engine& engine, bool raw_scores = false);

 private:
  flatbuffers::Offset<wire::Decision> encode_without_candidates(Builder& builder,
                                                                const Decision& decision);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::ReasonCount>>> encode_reasons(
      Builder& builder, const Decision& decision);

  // Scratch: its memory is used again.
  std::vector<flatbuffers::Offset<flatbuffers::String>> names_;
  std::vector<flatbuffers::Offset<wire::ReasonCount>> reasons_;
};

}  // namespace headroom
