#include "engine/kept/pod_uid.h"

namespace headroom {

namespace {

constexpr std::size_t kUuidLength = 36;

constexpr bool is_dash_place(std::size_t place) {
  return place == 8 || place == 13 || place == 18 || place == 23;
}

// By character: 16 where it is no digit as Kubernetes writes it. A table, as no branch is foreseen
// that depends on digits.
constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(16);
  for (std::uint8_t value = 0; value < 16; ++value) {
    digits[static_cast<std::uint8_t>("0123456789abcdef"[value])] = value;
  }
  return digits;
}();

}  // namespace

PodUid::PodUid(std::string_view text) {
  if (!text.empty() && (!read_uuid(text, bytes_) || bytes_ == Bytes{})) {
    other_ = std::make_unique<const std::string>(text);
  }
}

std::string PodUid::text() const {
  if (other_ != nullptr) {
    return *other_;
  }
  std::string text;
  for (std::size_t b = 0; b < bytes_.size() && bytes_ != Bytes{}; ++b) {
    if (is_dash_place(text.size())) {
      text += '-';
    }
    text += "0123456789abcdef"[bytes_[b] >> 4];
    text += "0123456789abcdef"[bytes_[b] & 15];
  }
  return text;
}

bool PodUid::read_uuid(std::string_view text, Bytes& bytes) {
  if (text.size() != kUuidLength) {
    return false;
  }
  std::size_t place = 0;
  std::uint8_t any = 0;  // all digits together: below 16 where each is
  bool dashes = true;
  const auto digit = [&] {
    const std::uint8_t value = kDigits[static_cast<std::uint8_t>(text[place++])];
    any |= value;
    return value;
  };
  for (std::uint8_t& byte : bytes) {
    if (is_dash_place(place)) {
      dashes = text[place++] == '-' && dashes;
    }
    const std::uint8_t high = digit(), low = digit();
    byte = static_cast<std::uint8_t>(high << 4 | low);
  }
  return dashes && any < 16;
}

bool PodUid::is_uuid(std::string_view text) const {
  Bytes bytes{};
  return text.empty() ? bytes_ == bytes
                      : read_uuid(text, bytes) && bytes == bytes_ && bytes != Bytes{};
}

}  // namespace headroom
