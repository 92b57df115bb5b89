// A digit of ASCII.
#pragma once

namespace oracle {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace oracle
