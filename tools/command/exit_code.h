// Exit codes of the headroom command, as its --help states them.
#pragma once

namespace headroom {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailures = 1;  // the run worked and found failures
inline constexpr int kExitBadInput = 2;  // what is given cannot be used, or the output not written

}  // namespace headroom
