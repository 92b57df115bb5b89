// Reading JSON without surprises: what is absent, null or of another type reads as empty.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace oracle {

using Json = nlohmann::json;

// The member of that name, or null.
const Json& child(const Json& object, const std::string& key);

// The member reached through several names, or null.
template <typename... Rest>
const Json& child(const Json& object, const std::string& key, const Rest&... rest) {
  return child(child(object, key), rest...);
}

// The member's text, or "".
std::string text(const Json& object, const std::string& key);

// The member's whole number, when it is one.
std::optional<std::int64_t> integer(const Json& object, const std::string& key);

// The text as JSON; nullopt when it is not, or when anything follows it.
std::optional<Json> parse_json(const std::string& text);

}  // namespace oracle
