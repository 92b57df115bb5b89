// PodUid: what tells a pod from others of its name before and after it. A UUID as Kubernetes writes
// one, which nearly each is, takes 16 bytes; any other text lies apart.
//
// A plain value. Thread safety: one writer, or any number of readers. Invariant: equal where their
// texts are. Cost: O(36), and of another text a copy.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace headroom {

class PodUid {
 public:
  PodUid() = default;  // of the text ""
  explicit PodUid(std::string_view text);
  PodUid(const PodUid& uid)
      : bytes_(uid.bytes_),
        other_(uid.other_ == nullptr ? nullptr : std::make_unique<const std::string>(*uid.other_)) {
  }
  PodUid(PodUid&&) noexcept = default;
  PodUid& operator=(PodUid&&) noexcept = default;

  std::string text() const;
  friend bool operator==(const PodUid& uid, std::string_view text) {
    return uid.other_ != nullptr ? *uid.other_ == text : uid.is_uuid(text);
  }

 private:
  using Bytes = std::array<std::uint8_t, 16>;

  // False where it is none, or written otherwise: in capitals, say.
  static bool read_uuid(std::string_view text, Bytes& bytes);
  bool is_uuid(std::string_view text) const;

  Bytes bytes_{};                             // all 0: the text is "", where there is no other
  std::unique_ptr<const std::string> other_;  // no UUID, or that of zeros
};

}  // namespace headroom
