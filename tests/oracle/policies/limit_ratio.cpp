// See limit_ratio.h.
#include "oracle/policies/limit_ratio.h"

#include <stdexcept>

#include "oracle/digit.h"

namespace oracle {
namespace {

const char kRatioAnnotation[] = "node.koordinator.sh/limit-to-allocatable";

// "125%": digits, with a sign where Go's Atoi takes one.
std::optional<std::int64_t> read_percent(const std::string& text, bool allow_sign) {
  if (text.empty() || text.back() != '%') return std::nullopt;
  std::size_t at = 0;
  bool negative = false;
  if (allow_sign && (text[0] == '+' || text[0] == '-')) negative = text[at++] == '-';
  if (at + 1 == text.size()) return std::nullopt;
  std::int64_t percent = 0;
  for (; at + 1 < text.size(); ++at) {
    if (!is_digit(text[at])) return std::nullopt;
    percent = percent * 10 + (text[at] - '0');
    if (percent > INT32_MAX) return std::nullopt;
  }
  return negative ? -percent : percent;
}

// Upstream: map[ResourceName]intstr.IntOrString; null is 0, an integer must fit int32.
std::optional<Ratio> read_upstream(const Json& map) {
  Ratio ratio;
  if (map.is_null()) return ratio;
  if (!map.is_object()) return std::nullopt;
  for (const auto& [name, value] : map.items()) {
    if (value.is_null()) {
      ratio[name] = 0;
    } else if (value.is_string()) {
      ratio[name] = read_percent(value.get<std::string>(), /*allow_sign=*/true);
    } else if (value.is_number_integer() && value.get<std::int64_t>() <= INT32_MAX &&
               value.get<std::int64_t>() >= INT32_MIN) {
      ratio[name] = value.get<std::int64_t>();
    } else {
      return std::nullopt;
    }
  }
  return ratio;
}

// Proposal: a map of R to a non-negative integer or a string of digits and %.
std::optional<Ratio> read_proposal(const Json& map) {
  Ratio ratio;
  if (!map.is_object()) return std::nullopt;
  for (const auto& [name, value] : map.items()) {
    std::optional<std::int64_t> percent;
    if (value.is_string()) {
      percent = read_percent(value.get<std::string>(), /*allow_sign=*/false);
    } else if (value.is_number_integer()) {
      percent = value.get<std::int64_t>();
    }
    if (!percent || *percent < 0 || *percent > INT32_MAX) return std::nullopt;
    ratio[name] = percent;
  }
  return ratio;
}

}  // namespace

std::optional<Ratio> node_ratio(const Cycle& cycle, const Json& node) {
  const Json& fallback = child(*cycle.args, "defaultLimitToAllocatableRatio");
  const Json& annotation = child(node, "metadata", "annotations", kRatioAnnotation);
  std::optional<Json> written;
  if (annotation.is_string()) written = parse_json(annotation.get<std::string>());
  if (cycle.mode == Mode::kUpstream) {
    if (!annotation.is_string()) return read_upstream(fallback);
    return written ? read_upstream(*written) : std::nullopt;
  }
  if (written) {
    if (std::optional<Ratio> ratio = read_proposal(*written)) return ratio;
  }
  if (fallback.is_null()) return Ratio{};
  std::optional<Ratio> ratio = read_proposal(fallback);
  if (!ratio) throw std::invalid_argument("defaultLimitToAllocatableRatio: bad ratio");
  return ratio;
}

}  // namespace oracle
