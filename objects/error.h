// Errors are values: a code from a short closed enum and a message that names the field and the
// value. Assertions are for our own mistakes only; nothing a file, a peer or a user sends asserts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace headroom {

enum class ErrorCode : std::uint8_t {
  kInvalid,        // A value that cannot be used: the message names the field and the value.
  kNotFound,       // A node, pod or file that is not known.
  kConflict,       // The request contradicts the current facts.
  kLimitExceeded,  // Over a named limit: the message names the limit and the value.
  kUnsupported,    // Something that Headroom does not do: the message says what it accepts.
  kIo,             // The operating system refused: the message holds its words.
  kForbidden,      // The peer may not do this: the message names the role that may.
  kInternal,       // A fault of our own: nothing was changed.
};

inline constexpr std::size_t kErrorCodes = 8;

// The code's name as printed to people and scripts ("Invalid", "NotFound", ...).
const char* to_string(ErrorCode code);

// Copied it throws nothing, as tl::expected takes for granted: where there is no memory for the
// message the copy has none.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  Error() = default;
  Error(ErrorCode its_code, std::string its_message)
      : code(its_code), message(std::move(its_message)) {}
  Error(const Error& other) noexcept { *this = other; }
  Error(Error&&) noexcept = default;
  Error& operator=(const Error& other) noexcept {
    code = other.code;
    try {
      message = other.message;
    } catch (const std::bad_alloc&) {
      message.clear();
    }
    return *this;
  }
  Error& operator=(Error&&) noexcept = default;
  ~Error() = default;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace headroom
