// Finds the ends of JSON values.
#include "objects/json_text.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace headroom {

namespace {

enum Class : std::uint8_t { kOther, kQuote, kOpen, kClose };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  classes['"'] = kQuote;
  classes['{'] = classes['['] = kOpen;
  classes['}'] = classes[']'] = kClose;
  return classes;
}

constexpr auto kClasses = make_classes();

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Eight spaces: kubectl indents by up to 30 of them.
constexpr std::uint64_t kSpaces = 0x2020202020202020;

bool eight_spaces(const char* text) {
  std::uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  return word == kSpaces;
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
    while (offset_ < text_.size() && !is_space(text_[offset_]) && text_[offset_] != ',' &&
           kClasses[static_cast<unsigned char>(text_[offset_])] == kOther) {
      ++offset_;
    }
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

bool JsonCursor::skip_brackets() {
  std::size_t depth = 0;
  const char* const begin = text_.data();
  const std::size_t size = text_.size();
  while (offset_ < size) {
    switch (kClasses[static_cast<unsigned char>(begin[offset_])]) {
      case kOther:
        if (begin[offset_] == ' ') {
          while (offset_ + 8 <= size && eight_spaces(begin + offset_)) offset_ += 8;
          while (offset_ < size && begin[offset_] == ' ') ++offset_;
        } else {
          ++offset_;
        }
        break;
      case kQuote:
        if (!skip_string()) return false;
        break;
      case kOpen:
        ++depth;
        ++offset_;
        break;
      default:
        ++offset_;
        if (--depth == 0) return true;
    }
  }
  return false;
}

}  // namespace headroom
