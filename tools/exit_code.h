// Exit codes of the headroom command, as its --help states them.
#pragma once

namespace headroom {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailures = 1;  // the run worked and found failures
inline constexpr int kExitBadInput = 2;  // the command line, a file or an object cannot be used

}  // namespace headroom
