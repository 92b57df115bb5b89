// What objects/ and the schema both number: error codes, and what nothing considers.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "objects/error.h"
#include "objects/not_considered.h"
#include "schema/write.h"

namespace headroom {

// The wire's codes are one further, because its 0 is none.
constexpr wire::ErrorCode wire_code(ErrorCode code) {
  return static_cast<wire::ErrorCode>(static_cast<int>(code) + 1);
}
static_assert(wire_code(ErrorCode::kInvalid) == wire::ErrorCode::Invalid);
static_assert(wire_code(ErrorCode::kNotFound) == wire::ErrorCode::NotFound);
static_assert(wire_code(ErrorCode::kConflict) == wire::ErrorCode::Conflict);
static_assert(wire_code(ErrorCode::kLimitExceeded) == wire::ErrorCode::LimitExceeded);
static_assert(wire_code(ErrorCode::kUnsupported) == wire::ErrorCode::Unsupported);
static_assert(wire_code(ErrorCode::kIo) == wire::ErrorCode::Io);
static_assert(wire_code(ErrorCode::kForbidden) == wire::ErrorCode::Forbidden);
static_assert(wire_code(ErrorCode::kInternal) == wire::ErrorCode::Internal);
static_assert(static_cast<std::size_t>(wire::ErrorCode::MAX) == kErrorCodes);

// None, and one that is not known: kInvalid.
constexpr ErrorCode code_of(wire::ErrorCode code) {
  const auto number = static_cast<std::size_t>(code);
  return number == 0 || number > kErrorCodes ? ErrorCode::kInvalid
                                             : static_cast<ErrorCode>(number - 1);
}

static_assert(static_cast<std::uint32_t>(wire::NotConsidered::MAX) + 1 == kNotConsideredCount);

// Absent where it is empty.
inline flatbuffers::Offset<flatbuffers::Vector<wire::NotConsidered>> write_not_considered(
    Builder& builder, NotConsideredSet set) {
  if (set.empty()) return 0;
  const std::vector<NotConsidered> list = set.list();
  wire::NotConsidered* items = nullptr;
  const auto written = builder.CreateUninitializedVector(list.size(), &items);
  for (const NotConsidered what : list) *items++ = static_cast<wire::NotConsidered>(what);
  return written;
}

}  // namespace headroom
