// Strict access to configuration values; see config_value.h.
#include "engine/profile/config_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <vector>

#include "objects/text/digit.h"

namespace headroom {
void ConfigValue::fields(std::span<const Field> accepted) const {
  entries([&](const std::string& key, const ConfigValue& value) {
    const auto field = std::find_if(accepted.begin(), accepted.end(),
                                    [&](const Field& candidate) { return candidate.name == key; });
    if (field == accepted.end()) {
      std::set<std::string_view> names;
      for (const Field& candidate : accepted) names.insert(candidate.name);
      value.fail(ErrorCode::kInvalid,
                 fmt::format("unknown field; accepted: {}", fmt::join(names, ", ")));
      return;
    }
    if (field->read && !value.is_null()) field->read(value);
  });
}

void ConfigValue::entries(
    const std::function<void(const std::string&, const ConfigValue&)>& read) const {
  if (failed()) return;
  if (!is(YamlValue::Kind::kMap)) {
    fail(ErrorCode::kInvalid, fmt::format("want an object, got {}", shown()));
    return;
  }
  std::set<std::string> seen;
  const std::vector<YamlValue>& items = value_->items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (failed()) return;
    if (items[i].kind != YamlValue::Kind::kScalar) {
      at(items[i], path_).fail(ErrorCode::kInvalid, "want a name as the key");
      return;
    }
    const std::string& key = items[i].scalar;
    if (!seen.insert(key).second) {
      at(items[i], path_of(key)).fail(ErrorCode::kInvalid, "stands here twice");
      return;
    }
    read(key, at(items[i + 1], path_of(key)));
  }
}

void ConfigValue::items(const std::function<void(const ConfigValue&)>& read) const {
  if (failed()) return;
  if (!is(YamlValue::Kind::kList)) {
    fail(ErrorCode::kInvalid, fmt::format("want a list, got {}", shown()));
    return;
  }
  std::size_t index = 0;
  for (const YamlValue& item : value_->items) {
    if (failed()) return;
    read(at(item, fmt::format("{}[{}]", path_, index++)));
  }
}

std::string ConfigValue::text() const {
  if (failed()) return {};
  if (!is(YamlValue::Kind::kScalar)) {
    fail(ErrorCode::kInvalid, fmt::format("want a text, got {}", shown()));
    return {};
  }
  return value_->scalar;
}

bool ConfigValue::boolean() const {
  if (failed()) return false;
  if (is_plain() && value_->scalar == "true") return true;
  if (!is_plain() || value_->scalar != "false") {
    fail(ErrorCode::kInvalid, fmt::format("want true or false, got {}", shown()));
  }
  return false;
}

std::int64_t ConfigValue::integer(std::int64_t min, std::int64_t max) const {
  if (failed()) return min;
  std::int64_t value = 0;
  const std::string_view text = is_plain() ? std::string_view(value_->scalar) : "";
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
  if (!is_plain()) return false;
  const std::string& text = value_->scalar;
  return !text.empty() && (is_digit(text[0]) || text[0] == '-') && text.back() != '%';
}

std::string ConfigValue::shown() const {
  if (is(YamlValue::Kind::kMap)) return "an object";
  if (is(YamlValue::Kind::kList)) return "a list";
  if (is(YamlValue::Kind::kScalar)) {
    return is_plain() ? value_->scalar : fmt::format("\"{}\"", value_->scalar);
  }
  return "null";
}

void ConfigValue::fail(ErrorCode code, std::string_view problem) const {
  if (failed()) return;
  std::string message = errors_->source;
  if (errors_->lines && value_->line != 0) message += fmt::format(":{}", value_->line);
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

std::vector<YamlValue> read_config(std::string_view text, ConfigErrors& errors) {
  auto documents = read_yaml(text, kConfigLimits);
  if (documents) return std::move(*documents);
  const YamlError& error = documents.error();
  const std::string where = errors.lines && error.line != 0
                                ? fmt::format("{}:{}", errors.source, error.line)
                                : errors.source;
  errors.first = Error{error.code, fmt::format("{}: {}", where, error.problem)};
  return {};
}

}  // namespace headroom
