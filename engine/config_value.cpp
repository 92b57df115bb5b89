// Strict access to configuration values; see config_value.h.
#include "engine/config_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <vector>

namespace headroom {
namespace {

// yaml-cpp's tags of a scalar in plain style, and of a quoted one.
constexpr std::string_view kPlainTag = "?";

bool is_plain(const YAML::Node& node) { return node.IsScalar() && node.Tag() == kPlainTag; }

}  // namespace

void ConfigValue::fields(std::initializer_list<Field> accepted) const {
  entries([&](const std::string& key, const ConfigValue& value) {
    const auto* field = std::find_if(accepted.begin(), accepted.end(),
                                     [&](const Field& candidate) { return candidate.name == key; });
    if (field == accepted.end()) {
      std::set<std::string_view> names;
      for (const Field& candidate : accepted) names.insert(candidate.name);
      value.fail(ErrorCode::kInvalid,
                 fmt::format("unknown field; accepted: {}", fmt::join(names, ", ")));
      return;
    }
    if (field->read && !value.node_.IsNull()) field->read(value);
  });
}

void ConfigValue::entries(
    const std::function<void(const std::string&, const ConfigValue&)>& read) const {
  if (failed()) return;
  if (!node_.IsMap()) {
    fail(ErrorCode::kInvalid, fmt::format("want an object, got {}", shown()));
    return;
  }
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    if (failed()) return;
    if (!entry.first.IsScalar()) {
      at(entry.first, path_).fail(ErrorCode::kInvalid, "want a name as the key");
      return;
    }
    const std::string& key = entry.first.Scalar();
    if (!seen.insert(key).second) {
      at(entry.first, path_of(key)).fail(ErrorCode::kInvalid, "stands here twice");
      return;
    }
    read(key, at(entry.second, path_of(key)));
  }
}

void ConfigValue::items(const std::function<void(const ConfigValue&)>& read) const {
  if (failed()) return;
  if (!node_.IsSequence()) {
    fail(ErrorCode::kInvalid, fmt::format("want a list, got {}", shown()));
    return;
  }
  std::size_t index = 0;
  for (const YAML::Node& item : node_) {
    if (failed()) return;
    read(at(item, fmt::format("{}[{}]", path_, index++)));
  }
}

std::string ConfigValue::text() const {
  if (failed()) return {};
  if (!node_.IsScalar()) {
    fail(ErrorCode::kInvalid, fmt::format("want a text, got {}", shown()));
    return {};
  }
  return node_.Scalar();
}

bool ConfigValue::boolean() const {
  if (failed()) return false;
  if (is_plain(node_) && node_.Scalar() == "true") return true;
  if (!is_plain(node_) || node_.Scalar() != "false") {
    fail(ErrorCode::kInvalid, fmt::format("want true or false, got {}", shown()));
  }
  return false;
}

std::int64_t ConfigValue::integer(std::int64_t min, std::int64_t max) const {
  if (failed()) return min;
  std::int64_t value = 0;
  const std::string_view text = is_plain(node_) ? std::string_view(node_.Scalar()) : "";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const bool octal = digits.size() > 1 && digits.front() == '0';
  if (error == std::errc::result_out_of_range) {
    fail(ErrorCode::kLimitExceeded, fmt::format("{} does not fit 64 bits", text));
    return min;
  }
  if (error != std::errc() || end != text.data() + text.size() || octal) {
    fail(ErrorCode::kInvalid, fmt::format("want an integer, got {}", shown()));
    return min;
  }
  if (value < min || value > max) {
    fail(ErrorCode::kInvalid, max == INT64_MAX
                                  ? fmt::format("{} is less than {}", value, min)
                                  : fmt::format("{} is not in [{}, {}]", value, min, max));
    return min;
  }
  return value;
}

bool ConfigValue::is_number() const {
  if (!is_plain(node_)) return false;
  const std::string& text = node_.Scalar();
  return !text.empty() &&
         (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-') &&
         text.back() != '%';
}

std::string ConfigValue::shown() const {
  if (node_.IsMap()) return "an object";
  if (node_.IsSequence()) return "a list";
  if (node_.IsScalar()) {
    return is_plain(node_) ? node_.Scalar() : fmt::format("\"{}\"", node_.Scalar());
  }
  return "null";
}

void ConfigValue::fail(ErrorCode code, std::string_view problem) const {
  if (failed()) return;
  std::string message = errors_->source;
  const YAML::Mark mark = node_.Mark();
  if (errors_->lines && !mark.is_null()) message += fmt::format(":{}", mark.line + 1);
  if (!path_.empty()) message += fmt::format(": {}", path_);
  errors_->first = Error{code, fmt::format("{}: {}", message, problem)};
}

std::string ConfigValue::path_of(std::string_view key) const {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-';
  });
  if (!plain) return fmt::format("{}[\"{}\"]", path_, key);
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

}  // namespace headroom
