// Names of the error codes.
#include "objects/error.h"

namespace headroom {

const char* to_string(ErrorCode code) {
  // No default: the compiler reports a code without a name.
  switch (code) {
    case ErrorCode::kInvalid:
      return "Invalid";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kConflict:
      return "Conflict";
    case ErrorCode::kLimitExceeded:
      return "LimitExceeded";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kIo:
      return "Io";
    case ErrorCode::kForbidden:
      return "Forbidden";
    case ErrorCode::kInternal:
      return "Internal";
  }
  return "Unknown";
}

}  // namespace headroom
