#include "simulation/text/suggestions.h"

#include <fmt/format.h>

#include <utility>

namespace headroom {

std::string suggestions(std::vector<std::string> names, std::string_view wanted,
                        std::string_view what) {
  if (names.empty()) return fmt::format("; there is no {}", what);
  const std::string_view part = wanted.substr(wanted.find('/') + 1);
  std::vector<std::string> alike;
  for (const std::string& name : names) {
    if (!part.empty() && name.find(part) != std::string::npos) alike.push_back(name);
  }
  const char* lead = alike.empty() ? "there is" : "did you mean";
  if (alike.empty()) alike = std::move(names);
  const bool more = alike.size() > kSuggestionsMax;
  if (more) alike.resize(kSuggestionsMax);
  return fmt::format("; {} {}{}", lead, fmt::join(alike, ", "), more ? ", ..." : "");
}

}  // namespace headroom
