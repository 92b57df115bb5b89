#include "tools/conformance/case_runner.h"

#include <variant>

#include "objects/reading/object_reader.h"

namespace headroom {

void CaseRunner::differ(std::string_view field, std::string expected, std::string got) {
  differences_.push_back({at_.empty() ? std::string(field) : fmt::format("{}.{}", at_, field),
                          std::move(expected), std::move(got)});
}

void CaseRunner::check(std::string_view field, const Result<void>& result) {
  if (!result) differ(field, "accepted", result.error().message);
}

bool CaseRunner::read_pod(const nlohmann::json& object, Pod& pod) {
  Result<Object> read = read_object(object.dump(), at_);
  if (!read) {
    differ("pod", "accepted", read.error().message);
    return false;
  }
  if (!std::holds_alternative<Pod>(*read)) {
    differ("pod.kind", "Pod", value_or_absent(object, "kind"));
    return false;
  }
  pod = std::get<Pod>(std::move(*read));
  return true;
}

}  // namespace headroom
