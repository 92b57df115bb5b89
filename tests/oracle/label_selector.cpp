// See label_selector.h.
#include "oracle/label_selector.h"

#include <algorithm>
#include <string_view>

namespace oracle {
namespace {

constexpr std::size_t kNameMax = 63;     // qualifiedNameMaxLength, LabelValueMaxLength
constexpr std::size_t kPrefixMax = 253;  // DNS1123SubdomainMaxLength

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kNameMax) return false;
  if (!is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool is_dns_label(std::string_view text) {
  if (text.empty() || !is_lower_or_digit(text.front()) || !is_lower_or_digit(text.back())) {
    return false;
  }
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

// DNS labels joined by dots.
bool is_subdomain(std::string_view text) {
  if (text.size() > kPrefixMax) return false;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!is_dns_label(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return is_dns_label(text);
}

std::string requirement_error(const headroom::NodeSelectorRequirement& asked) {
  if (asked.op == "In" || asked.op == "NotIn") {
    if (asked.values.empty()) return asked.op + " without values";
  } else if (asked.op == "Exists" || asked.op == "DoesNotExist") {
    if (!asked.values.empty()) return asked.op + " with values";
  } else {
    return "operator " + asked.op;
  }
  if (!is_label_key(asked.key)) return "key " + asked.key;
  for (const std::string& value : asked.values) {
    if (!is_label_value(value)) return "value " + value;
  }
  return "";
}

bool holds(const headroom::NodeSelectorRequirement& asked, const headroom::StringMap& labels) {
  for (const auto& [key, value] : labels) {
    if (key != asked.key) continue;
    const bool listed =
        std::find(asked.values.begin(), asked.values.end(), value) != asked.values.end();
    return asked.op == "Exists" || (asked.op == "In" && listed) || (asked.op == "NotIn" && !listed);
  }
  return asked.op == "NotIn" || asked.op == "DoesNotExist";
}

}  // namespace

bool is_label_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_name(text);
  return is_subdomain(text.substr(0, slash)) && is_name(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) { return text.empty() || is_name(text); }

std::string selector_error(const headroom::LabelSelector& selector) {
  for (const headroom::NodeSelectorRequirement& asked : selector) {
    if (std::string error = requirement_error(asked); !error.empty()) return error;
  }
  return "";
}

bool selects(const headroom::LabelSelector& selector, const headroom::StringMap& labels) {
  return std::all_of(
      selector.begin(), selector.end(),
      [&](const headroom::NodeSelectorRequirement& asked) { return holds(asked, labels); });
}

}  // namespace oracle
