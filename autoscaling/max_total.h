// max_total: the most nodes of several templates together, under limits that several of them touch.
//
// An integer program; Headroom finds a good choice and a bound that no choice passes. Where the
// sets of templates that limits touch are nested or apart, and each limit's amounts are equal, both
// are the optimum: the bound is the recursion over the nested sets, and trimming the sets from the
// innermost on reaches it.
//
// Thread safety: a pure function. Cost: O(templates * limits^2), as each limit's set of templates
// is held against the sets that are kept; for up to kImproveItemsMax templates O(templates^2 *
// limits) more.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"

namespace headroom {

inline constexpr int kImproveRoundsMax = 8;           // of trying to do better than a first choice
inline constexpr std::size_t kImproveItemsMax = 128;  // of more templates, first choices stay
inline constexpr std::size_t kStartsMax = 8;          // first choices that begin with one template

// Together the items may have at most `headroom` of a resource.
struct MaxTotalLimit {
  Int128 headroom = 0;                                        // below 0 counts as 0
  std::vector<std::pair<std::uint32_t, std::int64_t>> items;  // item and its amount, above 0
};

// `counts_max`: the most of each item on its own.
MaxTotal max_total(std::vector<std::int64_t> counts_max, std::vector<MaxTotalLimit> limits);

}  // namespace headroom
