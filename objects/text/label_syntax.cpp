#include "objects/text/label_syntax.h"

#include <algorithm>

namespace headroom {

namespace {

bool is_lower_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z'); }

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_label_name(std::string_view text) {
  return !text.empty() && text.size() <= kLabelNameBytesMax && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

// A DNS subdomain: labels of lower-case letters, digits and '-', joined by '.'.
bool is_label_prefix(std::string_view text) {
  if (text.size() > kLabelPrefixBytesMax) return false;
  for (;;) {
    const std::size_t end = text.find('.');
    const std::string_view part = text.substr(0, end);
    if (part.empty() || !is_lower_alphanumeric(part.front()) ||
        !is_lower_alphanumeric(part.back()) || !std::all_of(part.begin(), part.end(), [](char c) {
          return is_lower_alphanumeric(c) || c == '-';
        })) {
      return false;
    }
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return is_label_name(key);
  return is_label_prefix(key.substr(0, slash)) && is_label_name(key.substr(slash + 1));
}

bool is_label_value(std::string_view value) { return value.empty() || is_label_name(value); }

}  // namespace headroom
