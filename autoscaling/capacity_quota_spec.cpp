#include "autoscaling/capacity_quota_spec.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

namespace {

constexpr std::size_t kLabelNameBytesMax = 63;  // A label's value, and its key after the '/'.
constexpr std::size_t kLabelPrefixBytesMax = 253;

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

bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return is_label_name(key);
  return is_label_prefix(key.substr(0, slash)) && is_label_name(key.substr(slash + 1));
}

bool is_label_value(std::string_view value) { return value.empty() || is_label_name(value); }

Result<void> check_requirement(const NodeSelectorRequirement& asked) {
  const auto invalid = [&](const std::string& what) {
    return fail(ErrorCode::kInvalid, fmt::format("spec.selector: {}: {}", asked.key, what));
  };
  if (!is_label_key(asked.key)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("spec.selector: \"{}\" is not a label key", asked.key));
  }
  if (asked.op == "In" || asked.op == "NotIn") {
    if (asked.values.empty()) return invalid(asked.op + " needs values");
  } else if (asked.op == "Exists" || asked.op == "DoesNotExist") {
    if (!asked.values.empty()) return invalid(asked.op + " takes no values");
  } else {
    return invalid(
        fmt::format("operator \"{}\" is not In, NotIn, Exists or DoesNotExist", asked.op));
  }
  for (const std::string& value : asked.values) {
    if (!is_label_value(value)) return invalid(fmt::format("\"{}\" is not a label value", value));
  }
  return {};
}

Result<CapacityQuotaLimit> read_limit(const std::string& resource, const std::string& text,
                                      const StringMap& aliases) {
  const std::string field = "spec.limits.resources." + resource;
  if (resource.empty() || resource.size() > kCapacityQuotaResourceBytesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("{}: {} bytes in a name; kCapacityQuotaResourceBytesMax is {}", field,
                            resource.size(), kCapacityQuotaResourceBytesMax));
  }
  const Result<Quantity> quantity = Quantity::parse(text);
  if (!quantity) {
    return fail(quantity.error().code, fmt::format("{}: {}", field, quantity.error().message));
  }
  if (*quantity < Quantity()) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: \"{}\" is negative", field, text));
  }
  constexpr Int128 kNanosOfMilli = 1'000'000, kNanosOfUnit = 1'000'000'000;
  const std::string* alias = resource == kNodesResource ? nullptr : find(aliases, resource);
  const std::string& counted = alias == nullptr ? resource : *alias;
  return CapacityQuotaLimit{resource, counted,
                            quantity->nanos() / (counted == "cpu" ? kNanosOfMilli : kNanosOfUnit)};
}

}  // namespace

Result<void> check_selector(const LabelSelector& selector) {
  for (const NodeSelectorRequirement& asked : selector) {
    if (Result<void> ok = check_requirement(asked); !ok) return ok;
  }
  return {};
}

Result<CapacityQuotaSpec> read_capacity_quota_spec(const CapacityQuota& quota,
                                                   const StringMap& aliases) {
  if (Result<void> ok = check_selector(quota.selector); !ok) {
    return tl::unexpected<Error>(std::move(ok.error()));
  }
  if (quota.limits.size() > kCapacityQuotaLimitsMax) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("spec.limits.resources: {} entries are more than kCapacityQuotaLimitsMax ({})",
                    quota.limits.size(), kCapacityQuotaLimitsMax));
  }
  CapacityQuotaSpec spec;
  spec.selector = quota.selector;
  for (const auto& [resource, text] : quota.limits) {
    Result<CapacityQuotaLimit> limit = read_limit(resource, text, aliases);
    if (!limit) return tl::unexpected<Error>(std::move(limit.error()));
    spec.limits.push_back(std::move(*limit));
  }
  return spec;
}

}  // namespace headroom
