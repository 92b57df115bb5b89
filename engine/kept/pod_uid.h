// PodUid: what tells a pod from others of its name before and after it. A UUID as Kubernetes writes
// one, which nearly each is, takes 16 bytes; any other text lies apart.
//
// A plain value. Thread safety: one writer, or any number of readers. Invariant: equal where their
// texts are. Cost: O(36), and of another text a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

class PodUid {
 public:
  PodUid() = default;  // of the text ""
  explicit PodUid(std::string_view text);
  PodUid(const PodUid& uid);
  PodUid(PodUid&&) noexcept = default;
  PodUid& operator=(PodUid&&) noexcept = default;

  std::string text() const;
  friend bool operator==(const PodUid& uid, std::string_view text);

 private:
  struct Uuid {
    std::uint64_t high = 0, low = 0;
    friend bool operator==(const Uuid&, const Uuid&) = default;
  };

  // nullopt: it is none, or that of zeros, or written otherwise: in capitals, say.
  static std::optional<Uuid> uuid_of(std::string_view text);
  std::string_view other() const { return {other_.get(), static_cast<std::size_t>(uuid_.high)}; }
  void set_other(std::string_view text);

  Uuid uuid_;                            // of another text its size, first
  std::unique_ptr<const char[]> other_;  // nullptr: it is the UUID, or "" where that is of zeros
};

}  // namespace headroom
