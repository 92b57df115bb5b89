#include "server/requests/size_check.h"

#include <fmt/format.h>

#include "schema/limits.h"

namespace headroom {

std::string too_many_bytes(std::size_t bytes) {
  return fmt::format("{} bytes: kTextBytesMax is {}", bytes, kTextBytesMax);
}

std::string too_many_items(std::size_t items) {
  return fmt::format("{} items: kItemsPerListMax is {}", items, kItemsPerListMax);
}

Result<void> check_text(const char* field, std::string_view text) {
  if (text.size() <= kTextBytesMax) return {};
  return fail(ErrorCode::kLimitExceeded, fmt::format("{}: {}", field, too_many_bytes(text.size())));
}

Result<void> check_items(const char* field, std::size_t items) {
  if (items <= kItemsPerListMax) return {};
  return fail(ErrorCode::kLimitExceeded, fmt::format("{}: {}", field, too_many_items(items)));
}

}  // namespace headroom
