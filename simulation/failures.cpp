#include "simulation/failures.h"

#include <algorithm>
#include <utility>

namespace headroom {

namespace {

// persistentvolumeclaim "data" not found: without the name.
std::string without_names(std::string text) {
  for (std::size_t begin = text.find(" \""); begin != std::string::npos;
       begin = text.find(" \"", begin)) {
    const std::size_t end = text.find('"', begin + 2);
    text.erase(begin, end == std::string::npos ? end : end + 1 - begin);
  }
  return text;
}

}  // namespace

std::string main_reason(const Decision& decision) {
  if (!decision.pre_filter.empty()) {
    // Of a quota, whose words name amounts, all alike.
    return decision.code == Code::kUnschedulable ? "rejected by its ElasticQuota"
                                                 : without_names(decision.pre_filter.front());
  }
  if (decision.reasons.empty()) return to_string(decision.code);
  const ReasonCount* main = &decision.reasons.front();
  for (const ReasonCount& reason : decision.reasons) {
    if (reason.nodes > main->nodes) main = &reason;
  }
  return std::string(main->reason);
}

void Failures::add(const Decision& decision) {
  ++reports_[main_reason(decision)].pods_mainly;
  if (!decision.pre_filter.empty()) return;
  for (const ReasonCount& reason : decision.reasons) {
    ++reports_[std::string(reason.reason)].pods_also;
  }
}

std::vector<FailureReport> Failures::sorted() const {
  std::vector<FailureReport> sorted;
  for (const auto& [reason, report] : reports_) {
    sorted.push_back(report);
    sorted.back().reason = reason;
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.pods_mainly, a.pods_also) > std::pair(b.pods_mainly, b.pods_also);
  });
  return sorted;
}

}  // namespace headroom
