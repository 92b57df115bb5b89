// Frames: size-prefixed FlatBuffers in a stream of bytes, verified before they are read.
//
// FrameBuffer is the receiving end: bytes go in as they come, frames come out. It holds no more
// than twice what was received and not taken yet, whatever a size prefix promises.
// Thread safety: one thread at a time. Cost: a frame is read in place, once, to verify it; it is
// copied only where it does not begin at a multiple of eight bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "objects/assert.h"
#include "objects/error.h"
#include "schema/headroom_generated.h"
#include "schema/limits.h"

namespace headroom {

// Why a stream cannot go on; names a metric's label as well ("oversized", "malformed").
enum class FrameFault : std::uint8_t { kOversized, kMalformed };
const char* to_string(FrameFault fault);

class FrameBuffer {
 public:
  // Frames above `frame_bytes_max` are refused as soon as their prefix is there.
  explicit FrameBuffer(std::size_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}
  void set_frame_bytes_max(std::size_t bytes) { frame_bytes_max_ = bytes; }

  // Where to receive the next bytes; never empty. Ends the life of the last frame.
  std::span<std::uint8_t> room();
  void received(std::size_t bytes) {
    HEADROOM_ASSERT(bytes <= bytes_.size() - end_);
    end_ += bytes;
  }

  struct Received {
    const wire::Frame* frame = nullptr;   // nullptr: not all of it is there yet
    std::span<const std::uint8_t> bytes;  // of the frame, with its prefix
  };
  // The next frame; valid until the next call of next() or room(). An error (kLimitExceeded naming
  // kFrameBytesMax, or kInvalid) ends the stream: the next frame's start is not known.
  Result<Received> next();
  FrameFault fault() const { return fault_; }
  std::size_t waiting() const { return end_ - begin_; }
  // Memory that it holds.
  std::size_t held_bytes() const { return bytes_.capacity() + aligned_.capacity(); }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint8_t> aligned_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t frame_bytes_max_;
  FrameFault fault_ = FrameFault::kMalformed;
};

// Of a list that may be absent.
template <typename T>
std::uint32_t size_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}

// The text of a string that may be absent.
inline std::string_view text(const flatbuffers::String* string) {
  return string == nullptr ? std::string_view() : std::string_view(string->c_str(), string->size());
}

inline std::span<const std::uint8_t> bytes_of(const flatbuffers::FlatBufferBuilder& finished) {
  return {finished.GetBufferPointer(), finished.GetSize()};
}

template <typename Body>
void finish_frame(flatbuffers::FlatBufferBuilder& builder, std::uint64_t id,
                  flatbuffers::Offset<Body> body) {
  wire::FinishSizePrefixedFrameBuffer(
      builder, wire::CreateFrame(builder, id, wire::BodyTraits<Body>::enum_value, body.Union()));
}

}  // namespace headroom
