#include "simulation/text/not_considered_text.h"

#include <fmt/format.h>

#include "simulation/text/table.h"

namespace headroom {

std::string not_considered_text(NotConsidered what, std::uint64_t pods, bool there) {
  const bool one = pods == 1;
  std::string asks = fmt::format("{} {}", one ? "asks for" : "ask for", to_string(what));
  if (what == NotConsidered::kSchedulingGates) {
    asks = one ? "has scheduling gates" : "have scheduling gates";
  } else if (what == NotConsidered::kSchedulerName) {
    asks = one ? "names another scheduler" : "name another scheduler";
  } else if (what == NotConsidered::kPreferNoScheduleTaints) {
    asks = fmt::format("{} not tolerate {}", one ? "does" : "do", to_string(what));
  }
  return fmt::format("{} {}{} {}, which was not considered", grouped(pods), one ? "pod" : "pods",
                     there ? (one ? " that was there before" : " that were there before") : "",
                     asks);
}

std::vector<std::string> names_of(NotConsideredSet set) {
  std::vector<std::string> names;
  for (const NotConsidered what : set.list()) names.emplace_back(to_string(what));
  return names;
}

}  // namespace headroom
