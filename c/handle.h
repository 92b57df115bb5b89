// Handles: what stands behind a headroom_engine or a headroom_capacity_quotas, and the guard
// through which every call that can fail goes: errors, lack of memory and any exception become a
// status and a text.
//
// Thread safety: one thread at a time for a handle.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "c/headroom.h"
#include "objects/error.h"

namespace headroom {

// A caller's text: NULL counts as "".
inline std::string_view text_of(const char* text) { return text == nullptr ? "" : text; }
// Of an object whose kind has one; as in JSON "" is none.
inline const char* namespace_of(const char* text) {
  return text == nullptr || *text == '\0' ? "default" : text;
}

// What an argument must not be.
inline tl::unexpected<Error> fail_null(const char* argument) {
  return fail(ErrorCode::kInvalid, std::string(argument) + ": NULL");
}
// Flags are 0 or 1, so that another meaning of the rest can be added.
inline Result<bool> flag_of(std::int32_t flag, const char* argument) {
  if (flag == 0 || flag == 1) return flag == 1;
  return fail(ErrorCode::kInvalid,
              std::string(argument) + ": " + std::to_string(flag) + " is neither 0 nor 1");
}

// A struct of options that starts with its size, of a caller with another headroom.h perhaps: what
// that did not have is 0, and so is all for NULL. `first_size`: of the struct as it first was.
template <typename Options>
Result<Options> options_of(const Options* from, std::size_t first_size) {
  Options options{};
  if (from == nullptr) return options;
  const std::size_t size = from->struct_size;
  if (size < first_size) {
    return fail(ErrorCode::kInvalid, "struct_size: " + std::to_string(size) + " is less than the " +
                                         std::to_string(first_size) +
                                         " of any headroom.h; the struct's _DEFAULT sets it");
  }
  if (size > sizeof(Options)) {
    return fail(ErrorCode::kUnsupported, "struct_size: " + std::to_string(size) +
                                             " is of a newer headroom.h; this library knows " +
                                             std::to_string(sizeof(Options)));
  }
  std::memcpy(&options, from, size);
  return options;
}

// Takes a fork back or keeps it, by `close`; `open`: how many there are.
template <typename Close>
Result<void> close_fork(std::size_t open, const Close& close) {
  if (open == 0) return fail(ErrorCode::kInvalid, "no fork is open");
  close();
  return {};
}

inline headroom_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return HEADROOM_INVALID;
    case ErrorCode::kNotFound:
      return HEADROOM_NOT_FOUND;
    case ErrorCode::kConflict:
      return HEADROOM_CONFLICT;
    case ErrorCode::kLimitExceeded:
      return HEADROOM_LIMIT_EXCEEDED;
    case ErrorCode::kUnsupported:
      return HEADROOM_UNSUPPORTED;
    case ErrorCode::kIo:
      return HEADROOM_IO;
    case ErrorCode::kForbidden:  // what a server says; nothing of this library
    case ErrorCode::kInternal:
      return HEADROOM_INTERNAL;
  }
  return HEADROOM_INTERNAL;
}

// Calls `call`, which returns a Result<void>. `error` is changed where that fails.
template <typename Call>
headroom_status guarded(std::string& error, const Call& call) noexcept {
  try {
    try {
      Result<void> done = call();
      if (done) return HEADROOM_OK;
      error = std::move(done.error().message);
      return status_of(done.error().code);
    } catch (const std::bad_alloc&) {
      error = "no memory";  // short enough to need none
      return HEADROOM_NO_MEMORY;
    } catch (const std::exception& exception) {
      error = exception.what();
    }
  } catch (...) {
    error = "unknown";
  }
  return HEADROOM_INTERNAL;
}

// The same on a handle, which `call` is given.
template <typename Handle, typename Call>
headroom_status guarded(Handle* handle, const Call& call) noexcept {
  if (handle == nullptr) return HEADROOM_INVALID;
  return guarded(handle->error, [&] { return call(*handle); });
}

// What `look` says of the handle; `otherwise` without one and without memory.
template <typename Handle, typename Value, typename Look>
Value looked(const Handle* handle, Value otherwise, const Look& look) noexcept {
  if (handle == nullptr) return otherwise;
  try {
    return look(*handle);
  } catch (...) {
    return otherwise;
  }
}

}  // namespace headroom
