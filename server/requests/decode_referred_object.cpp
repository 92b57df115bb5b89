// Objects that nodes and pods refer to: one reader for dumps and for what is fed.
#include <fmt/format.h>

#include "objects/reading/object_reader.h"
#include "schema/frame.h"
#include "schema/limits.h"
#include "server/requests/decode.h"

namespace headroom {

Result<ReferredObject> decode(const wire::ReferredObject& in) {
  const std::string_view json = text(in.json());
  if (json.size() > kReferredObjectBytesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("json: {} bytes: kReferredObjectBytesMax is {}", json.size(),
                            kReferredObjectBytesMax));
  }
  Result<Object> object = read_object(json, "json");
  if (!object) return tl::unexpected(object.error());
  if (auto* referred = std::get_if<ReferredObject>(&*object)) return std::move(*referred);
  return fail(ErrorCode::kUnsupported,
              "json: an object of a kind that nodes and pods do not refer to");
}

Result<ReferredKind> decode(const wire::RemovedReferredObject& in) {
  const std::string_view name = text(in.kind());
  const std::optional<ReferredKind> kind = parse_referred_kind(name);
  if (kind) return *kind;
  return fail(ErrorCode::kUnsupported,
              fmt::format("kind: \"{}\" is none that nodes and pods refer to",
                          name.substr(0, kTextBytesMax)));
}

}  // namespace headroom
