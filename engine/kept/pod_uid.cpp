#include "engine/kept/pod_uid.h"

#include <array>
#include <cstring>
#include <utility>

namespace headroom {

namespace {

constexpr std::size_t kUuidLength = 36, kHalfDigits = 16;
constexpr const char* kDigits = "0123456789abcdef";

constexpr bool is_dash_place(std::size_t place) {
  return place == 8 || place == 13 || place == 18 || place == 23;
}

// By character: 16 where it is no digit as Kubernetes writes it. A table, as no branch is foreseen
// that depends on digits.
constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(16);
  for (std::uint8_t value = 0; value < 16; ++value) {
    values[static_cast<std::uint8_t>(kDigits[value])] = value;
  }
  return values;
}();

}  // namespace

PodUid::PodUid(std::string_view text) {
  if (const std::optional<Uuid> uuid = uuid_of(text); uuid) {
    uuid_ = *uuid;
  } else if (!text.empty()) {
    set_other(text);
  }
}

PodUid::PodUid(const PodUid& uid) : uuid_(uid.uuid_) {
  if (uid.other_ != nullptr) {
    set_other(uid.other());
  }
}

void PodUid::set_other(std::string_view text) {
  auto copy = std::make_unique<char[]>(text.size());
  std::memcpy(copy.get(), text.data(), text.size());
  other_ = std::move(copy);
  uuid_ = {text.size(), 0};
}

bool operator==(const PodUid& uid, std::string_view text) {
  if (uid.other_ != nullptr) {
    return uid.other() == text;
  }
  return text.empty() ? uid.uuid_ == PodUid::Uuid() : PodUid::uuid_of(text) == uid.uuid_;
}

std::string PodUid::text() const {
  if (other_ != nullptr) {
    return std::string(other());
  }
  std::string text;
  for (std::size_t d = 0; d < 2 * kHalfDigits && uuid_ != Uuid(); ++d) {
    if (is_dash_place(text.size())) {
      text += '-';
    }
    const std::uint64_t half = d < kHalfDigits ? uuid_.high : uuid_.low;
    text += kDigits[half >> (60 - d % kHalfDigits * 4) & 15];
  }
  return text;
}

std::optional<PodUid::Uuid> PodUid::uuid_of(std::string_view text) {
  if (text.size() != kUuidLength) {
    return std::nullopt;
  }
  Uuid uuid;
  std::uint8_t any = 0;  // all digits together: below 16 where each is one
  bool dashes = true;
  for (std::size_t place = 0; place < kUuidLength; ++place) {
    if (is_dash_place(place)) {
      dashes = text[place] == '-' && dashes;
      continue;
    }
    const std::uint8_t value = kValues[static_cast<std::uint8_t>(text[place])];
    any = static_cast<std::uint8_t>(any | value);
    // The first half ends before the dash at 18.
    std::uint64_t& half = place < 18 ? uuid.high : uuid.low;
    half = half << 4 | (value & 15);
  }
  return dashes && any < 16 && uuid != Uuid() ? std::optional(uuid) : std::nullopt;
}

}  // namespace headroom
