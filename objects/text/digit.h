// Digits as Kubernetes' texts have them: of ASCII, whatever the locale.
#pragma once

namespace headroom {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace headroom
