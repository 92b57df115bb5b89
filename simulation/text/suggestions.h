// What a person may have meant by a name that there is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

inline constexpr std::size_t kSuggestionsMax = 5;

// The names that have the wanted one's last part, after '/', in them: "; did you mean a, b"; any,
// if none has: "; there is a, b, ..."; without names: "; there is no node".
std::string suggestions(std::vector<std::string> names, std::string_view wanted,
                        std::string_view what);

}  // namespace headroom
