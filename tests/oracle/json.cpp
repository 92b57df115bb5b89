// See json.h.
#include "oracle/json.h"

namespace oracle {

const Json& child(const Json& object, const std::string& key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string text(const Json& object, const std::string& key) {
  const Json& member = child(object, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

std::optional<std::int64_t> integer(const Json& object, const std::string& key) {
  const Json& member = child(object, key);
  if (!member.is_number_integer()) return std::nullopt;
  return member.get<std::int64_t>();
}

std::optional<Json> parse_json(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return std::nullopt;
  return parsed;
}

}  // namespace oracle
