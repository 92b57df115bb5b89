// Where a JSON value ends. Brackets are counted 64 bytes at a time: strings are most of a dump.
#include "objects/reading/json_text.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace headroom {

namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr bool ends_scalar(char c) {
  return is_space(c) || c == ',' || c == '"' || c == '[' || c == ']' || c == '{' || c == '}';
}

constexpr std::size_t kBlockBytes = 64;

// A bit for each of 64 bytes, the first byte's lowest.
struct Block {
  std::uint64_t quotes = 0, backslashes = 0, opening = 0, closing = 0;
};

#if defined(__aarch64__)
using Bytes = uint8x16_t;
Bytes load(const char* text) { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(text)); }
Bytes with_bits(Bytes bytes, char bits) {
  return vorrq_u8(bytes, vdupq_n_u8(static_cast<std::uint8_t>(bits)));
}
// A bit for each byte: whether it is `c`.
std::uint64_t equal(Bytes bytes, char c) {
  constexpr Bytes kBits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const Bytes found = vandq_u8(vceqq_u8(bytes, vdupq_n_u8(static_cast<std::uint8_t>(c))), kBits);
  return vaddv_u8(vget_low_u8(found)) | std::uint64_t{vaddv_u8(vget_high_u8(found))} << 8;
}
#else
using Bytes = __m128i;
Bytes load(const char* text) { return _mm_loadu_si128(reinterpret_cast<const Bytes*>(text)); }
Bytes with_bits(Bytes bytes, char bits) { return _mm_or_si128(bytes, _mm_set1_epi8(bits)); }
// A bit for each byte: whether it is `c`.
std::uint64_t equal(Bytes bytes, char c) {
  return static_cast<std::uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))));
}
#endif

Block read_block(const char* text) {
  Block block;
  for (unsigned i = 0; i < kBlockBytes; i += sizeof(Bytes)) {
    const Bytes bytes = load(text + i);
    // '[' and '{', and ']' and '}', differ in this bit only.
    const Bytes folded = with_bits(bytes, '{' ^ '[');
    block.quotes |= equal(bytes, '"') << i;
    block.backslashes |= equal(bytes, '\\') << i;
    block.opening |= equal(folded, '{') << i;
    block.closing |= equal(folded, '}') << i;
  }
  return block;
}

// The quotes that no backslash escapes; it does so within strings only. `escape`: whether the first
// byte of this block, and then of the next, is escaped.
std::uint64_t string_quotes(const Block& block, bool in_string, bool& escape) {
  const std::uint64_t escaped = escape ? 1 : 0;
  std::uint64_t quotes = block.quotes & ~escaped, backslashes = block.backslashes & ~escaped;
  escape = false;
  while (backslashes != 0) {
    const std::uint64_t bit = backslashes & -backslashes, next = bit << 1;
    backslashes ^= bit;
    if ((std::popcount(quotes & (bit - 1)) % 2 != 0) == in_string) continue;
    quotes &= ~next;
    backslashes &= ~next;
    escape = next == 0;
  }
  return quotes;
}

// Each bit: whether an odd number of bits is set up to and with it.
std::uint64_t prefix_xor(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

char JsonCursor::peek() {
  while (offset_ < text_.size() && is_space(text_[offset_])) ++offset_;
  return offset_ < text_.size() ? text_[offset_] : '\0';
}

bool JsonCursor::take(char c) {
  if (peek() != c || offset_ == text_.size()) return false;
  ++offset_;
  return true;
}

bool JsonCursor::value(std::string_view& out) {
  const char first = peek();
  const std::size_t start = offset_;
  if (offset_ == text_.size()) return false;
  if (first == '"') {
    if (!skip_string()) return false;
  } else if (first == '{' || first == '[') {
    if (!skip_brackets()) return false;
  } else {
    while (offset_ < text_.size() && !ends_scalar(text_[offset_])) ++offset_;
    if (offset_ == start) return false;
  }
  out = text_.substr(start, offset_ - start);
  return true;
}

// From the opening quote to behind the closing one.
bool JsonCursor::skip_string() {
  const char* const begin = text_.data();
  const char* const end = begin + text_.size();
  const char* at = begin + offset_ + 1;
  while (true) {
    const char* quote =
        static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (quote == nullptr) return false;
    const char* before = quote;
    while (before > at && before[-1] == '\\') --before;
    at = quote + 1;
    if ((quote - before) % 2 == 0) break;
  }
  offset_ = static_cast<std::size_t>(at - begin);
  return true;
}

// From the opening bracket to behind the one that closes it. Where the text ends before: to its
// end, or to the quote of a string that does not end.
bool JsonCursor::skip_brackets() {
  std::size_t depth = 0, last_quote = 0;
  std::uint64_t in_string = 0;  // All bits, where the block before ends in a string.
  bool escape = false;
  for (std::size_t at = offset_; at < text_.size(); at += kBlockBytes) {
    const char* bytes = text_.data() + at;
    std::array<char, kBlockBytes> last{};
    if (text_.size() - at < kBlockBytes) {
      std::copy(bytes, text_.data() + text_.size(), last.begin());
      bytes = last.data();
    }
    const Block block = read_block(bytes);
    const std::uint64_t quotes = escape || block.backslashes != 0
                                     ? string_quotes(block, in_string != 0, escape)
                                     : block.quotes;
    if (quotes != 0) {
      last_quote = at + kBlockBytes - 1 - static_cast<std::size_t>(std::countl_zero(quotes));
    }
    const std::uint64_t strings = prefix_xor(quotes) ^ in_string;
    in_string = strings >> 63 != 0 ? ~std::uint64_t{0} : 0;
    const std::uint64_t opening = block.opening & ~strings;
    for (std::uint64_t rest = opening | (block.closing & ~strings); rest != 0; rest &= rest - 1) {
      if ((opening & rest & -rest) != 0) {
        ++depth;
      } else if (--depth == 0) {
        offset_ = at + static_cast<std::size_t>(std::countr_zero(rest)) + 1;
        return true;
      }
    }
  }
  offset_ = in_string != 0 ? last_quote : text_.size();
  return false;
}

}  // namespace headroom
