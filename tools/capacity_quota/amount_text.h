// Amounts of a resource as Kubernetes quantities that a person reads, and as bars.
//
// Amounts are those of autoscaling/capacity_quota_answers.h: cpu in thousandths, all else in whole
// units.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "objects/objects.h"

namespace headroom {

class AmountText {
 public:
  // `aliases`: what a limit's resource counts, where that has another name.
  explicit AmountText(StringMap aliases = {}) : aliases_(std::move(aliases)) {}

  // cpu in cores ("12.5"), what is counted in bytes in binary units ("62.8Gi", at most two
  // decimals, with "~" before what is rounded), all else as a number.
  std::string amount(std::string_view resource, Int128 amount) const;
  // The smallest limit that Kubernetes takes and that is not below `amount`, exact: whole cores,
  // whole Mi where the amount is above that, whole units. "9", "294913Mi".
  std::string limit(std::string_view resource, Int128 amount) const;

 private:
  std::string_view counted(std::string_view resource) const;

  StringMap aliases_;
};

// "[######==......]  62%": used, reserved and headroom as shares of the limit. Of a limit that is
// exceeded: the limit as shares of what is there, "[#####=|!!!!]": all after the | is too much. Of
// a limit of 0 that holds: "[------]    -".
std::string bar_text(Int128 limit, Int128 used, Int128 reserved, std::size_t cells);

}  // namespace headroom
