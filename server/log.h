// Structured logs on standard error, as text or one JSON object a line, whatever a peer sent.
//
// Thread safety: what is made may be called from any thread, and copied. Cost: a write for each
// line that the level lets through; how many there are is log_limit.h's matter.
#pragma once

#include <string>

#include "objects/error.h"
#include "server/log_function.h"

namespace headroom {

struct LogOptions {
  std::string format = "text";  // or json
  std::string level = "info";   // debug, info, warning, error
};

// kInvalid naming the option and what is accepted.
Result<LogFunction> make_log(const LogOptions& options);

}  // namespace headroom
