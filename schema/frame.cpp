#include "schema/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace headroom {

namespace {

constexpr std::size_t kPrefixBytes = sizeof(flatbuffers::uoffset_t);
constexpr std::size_t kRoomBytesMin = 64 << 10;
// Memory that an idle connection may keep.
constexpr std::size_t kKeptBytesMax = 1 << 20;
constexpr std::size_t kAlignment = 8;

}  // namespace

const char* to_string(FrameFault fault) {
  return fault == FrameFault::kOversized ? "oversized" : "malformed";
}

std::span<std::uint8_t> FrameBuffer::room() {
  if (begin_ == end_) begin_ = end_ = 0;
  const auto waits = bytes_.begin() + static_cast<std::ptrdiff_t>(begin_);
  const auto end = bytes_.begin() + static_cast<std::ptrdiff_t>(end_);
  if (bytes_.size() > kKeptBytesMax && waiting() < kRoomBytesMin) {
    // A large frame has passed: its memory goes.
    std::vector<std::uint8_t> smaller(waits, end);
    smaller.resize(2 * kRoomBytesMin);
    end_ = waiting();
    begin_ = 0;
    bytes_ = std::move(smaller);
    aligned_ = {};
  } else if (bytes_.size() - end_ < kRoomBytesMin) {
    if (begin_ > 0) std::copy(waits, end, bytes_.begin());
    end_ = waiting();
    begin_ = 0;
    if (bytes_.size() - end_ < kRoomBytesMin) {
      bytes_.resize(std::max(end_ * 2, 2 * kRoomBytesMin));
    }
  }
  return std::span(bytes_).subspan(end_);
}

Result<FrameBuffer::Received> FrameBuffer::next() {
  if (waiting() < kPrefixBytes) {
    return Received{};
  }
  const std::size_t size = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(bytes_.data() + begin_);
  if (size > frame_bytes_max_) {
    fault_ = FrameFault::kOversized;
    return fail(ErrorCode::kLimitExceeded, fmt::format("frame of {} bytes: {} is {}", size,
                                                       frame_bytes_max_ == kFrameBytesMax
                                                           ? "kFrameBytesMax"
                                                           : "kHelloBytesMax, before the hello,",
                                                       frame_bytes_max_));
  }
  if (waiting() < kPrefixBytes + size) {
    return Received{};
  }
  std::span<const std::uint8_t> frame(bytes_.data() + begin_, kPrefixBytes + size);
  begin_ += frame.size();
  if (reinterpret_cast<std::uintptr_t>(frame.data()) % kAlignment != 0) {
    aligned_.assign(frame.begin(), frame.end());
    frame = aligned_;
  }
  flatbuffers::Verifier verifier(frame.data(), frame.size());
  // What is shorter has no file identifier to look at.
  constexpr std::size_t kBytesMin = kPrefixBytes + 2 * sizeof(flatbuffers::uoffset_t);
  if (frame.size() < kBytesMin || !wire::VerifySizePrefixedFrameBuffer(verifier)) {
    fault_ = FrameFault::kMalformed;
    return fail(ErrorCode::kInvalid,
                fmt::format("frame of {} bytes: not a Frame of the HDRM schema", size));
  }
  return Received{wire::GetSizePrefixedFrame(frame.data()), frame};
}

}  // namespace headroom
