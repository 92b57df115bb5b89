#include "autoscaling/max_total.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace headroom {

namespace {

using Counts = std::vector<std::int64_t>;

Int128 sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), Int128{0});
}

// At most `count` nodes among `items`.
struct CountLimit {
  Int128 count = 0;
  std::vector<std::uint32_t> items;  // sorted
};

bool nested_or_apart(const CountLimit& a, const CountLimit& b) {
  std::vector<std::uint32_t> both;
  std::set_intersection(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                        std::back_inserter(both));
  return both.empty() || both.size() == a.items.size() || both.size() == b.items.size();
}

// The most nodes that a limit takes by itself: the frugal items first, each up to its most.
Int128 most_within(const MaxTotalLimit& limit, const Counts& counts_max) {
  auto items = limit.items;
  std::sort(items.begin(), items.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  Int128 count = 0, left = limit.headroom;
  for (const auto& [item, amount] : items) {
    const Int128 fits = std::min(left / amount, Int128{counts_max[item]});
    count += fits;
    left -= fits * amount;
    if (fits < counts_max[item]) break;
  }
  return count;
}

// Each limit as a number of nodes, and without limits that cut across others: a relaxation, whose
// optimum is found by going from inner sets to outer ones.
Int128 upper_bound(const Counts& counts_max, const std::vector<MaxTotalLimit>& limits) {
  std::vector<CountLimit> relaxed;
  for (const MaxTotalLimit& limit : limits) {
    CountLimit& count = relaxed.emplace_back();
    for (const auto& [item, amount] : limit.items) count.items.push_back(item);
    count.count = most_within(limit, counts_max);
  }
  // Tight limits are kept first.
  std::stable_sort(relaxed.begin(), relaxed.end(),
                   [](const CountLimit& a, const CountLimit& b) { return a.count < b.count; });
  std::vector<CountLimit> kept;
  for (CountLimit& limit : relaxed) {
    if (std::all_of(kept.begin(), kept.end(),
                    [&](const CountLimit& other) { return nested_or_apart(limit, other); })) {
      kept.push_back(std::move(limit));
    }
  }
  std::stable_sort(kept.begin(), kept.end(), [](const CountLimit& a, const CountLimit& b) {
    return a.items.size() < b.items.size();
  });
  // The sets so far that lie in no other, with the most that each can have.
  std::vector<CountLimit> sets;
  for (std::uint32_t i = 0; i < counts_max.size(); ++i) sets.push_back({counts_max[i], {i}});
  for (CountLimit& outer : kept) {
    Int128 inside = 0;
    std::erase_if(sets, [&](const CountLimit& set) {
      const bool in = std::binary_search(outer.items.begin(), outer.items.end(), set.items.front());
      if (in) inside += set.count;
      return in;
    });
    outer.count = std::min(outer.count, inside);
    sets.push_back(std::move(outer));
  }
  return std::accumulate(sets.begin(), sets.end(), Int128{0},
                         [](Int128 total, const CountLimit& set) { return total + set.count; });
}

class Search {
 public:
  Search(const Counts& counts_max, const std::vector<MaxTotalLimit>& limits)
      : counts_max_(counts_max), limits_(limits), touched_(counts_max.size()) {
    for (std::uint32_t l = 0; l < limits.size(); ++l) {
      left_.push_back(limits[l].headroom);
      for (const auto& [item, amount] : limits[l].items) touched_[item].push_back({l, amount});
    }
    counts_.assign(counts_max.size(), 0);
    // By the greatest share of a limit that one node takes.
    std::vector<double> shares(counts_max.size());
    for (std::uint32_t i = 0; i < counts_max.size(); ++i) {
      for (const auto& [limit, amount] : touched_[i]) {
        shares[i] = std::max(shares[i], static_cast<double>(amount) /
                                            (static_cast<double>(limits[limit].headroom) + 1));
      }
    }
    frugal_first_.resize(counts_max.size());
    std::iota(frugal_first_.begin(), frugal_first_.end(), 0u);
    std::stable_sort(frugal_first_.begin(), frugal_first_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return shares[a] < shares[b]; });
  }

  // All at their most, then every limit, those of few items first, takes from its greediest items.
  void trim() {
    Counts counts = counts_max_;
    std::vector<std::size_t> order(limits_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return limits_[a].items.size() < limits_[b].items.size();
    });
    for (const std::size_t l : order) {
      auto items = limits_[l].items;
      std::stable_sort(items.begin(), items.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
      Int128 left = limits_[l].headroom;
      // From the most frugal on, as many as there is room for.
      for (auto it = items.rbegin(); it != items.rend(); ++it) {
        counts[it->first] = std::min(counts[it->first], saturated(left / it->second));
        left -= static_cast<Int128>(counts[it->first]) * it->second;
      }
    }
    for (std::uint32_t i = 0; i < counts.size(); ++i) add(i, counts[i]);
    fill();
  }

  // As many as fit of one item after the other, the frugal ones first.
  void fill() {
    for (const std::uint32_t item : frugal_first_) add(item, room(item));
  }
  void fill_from(std::uint32_t first) {
    add(first, room(first));
    fill();
  }

  // One node of an item for two or more of another.
  bool exchange() {
    bool better = false;
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
      for (std::uint32_t other = 0; other < counts_.size() && counts_[i] > 0; ++other) {
        if (other == i) continue;
        add(i, -1);
        const std::int64_t gained = room(other);
        add(gained > 1 ? other : i, gained > 1 ? gained : 1);
        better = better || gained > 1;
      }
    }
    return better;
  }

  // Without an item, or with one node of it less, the others may gain more than is lost.
  void improve() {
    for (int round = 0; round < kImproveRoundsMax; ++round) {
      bool better = exchange();
      for (std::uint32_t i = 0; i < counts_.size(); ++i) {
        for (const bool whole : {false, true}) {
          if (counts_[i] == 0) break;
          const Counts counts = counts_;
          const std::vector<Int128> left = left_;
          const Int128 total = sum(counts_);
          add(i, whole ? -counts_[i] : -1);
          for (const std::uint32_t other : frugal_first_) {
            if (other != i) add(other, room(other));
          }
          add(i, room(i));
          if (sum(counts_) > total) {
            better = true;
          } else {
            counts_ = counts;
            left_ = left;
          }
        }
      }
      if (!better) return;
    }
  }

  const Counts& counts() const { return counts_; }

 private:
  std::int64_t room(std::uint32_t item) const {
    Int128 most = counts_max_[item] - counts_[item];
    for (const auto& [limit, amount] : touched_[item]) most = std::min(most, left_[limit] / amount);
    return saturated(most);
  }
  void add(std::uint32_t item, std::int64_t count) {
    counts_[item] += count;
    for (const auto& [limit, amount] : touched_[item]) {
      left_[limit] -= static_cast<Int128>(count) * amount;
    }
  }

  const Counts& counts_max_;
  const std::vector<MaxTotalLimit>& limits_;
  std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> touched_;  // limit and amount
  std::vector<std::uint32_t> frugal_first_;
  std::vector<Int128> left_;  // by limit
  Counts counts_;
};

}  // namespace

MaxTotal max_total(std::vector<std::int64_t> counts_max, std::vector<MaxTotalLimit> limits) {
  for (MaxTotalLimit& limit : limits) {
    limit.headroom = std::max(limit.headroom, Int128{0});
    for (const auto& [item, amount] : limit.items) {
      counts_max[item] = std::min(counts_max[item], saturated(limit.headroom / amount));
    }
  }
  MaxTotal answer;
  Search trimmed(counts_max, limits);
  trimmed.trim();
  answer.counts = trimmed.counts();
  const auto take = [&](Search& search) {
    if (counts_max.size() <= kImproveItemsMax) search.improve();
    if (sum(search.counts()) > sum(answer.counts)) answer.counts = search.counts();
  };
  take(trimmed);
  Search frugal(counts_max, limits);
  frugal.fill();
  take(frugal);
  // The items of which the most fit alone, each as the first.
  std::vector<std::uint32_t> order(counts_max.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return counts_max[a] > counts_max[b]; });
  for (std::size_t i = 0; i < std::min(order.size(), kStartsMax); ++i) {
    Search search(counts_max, limits);
    search.fill_from(order[i]);
    take(search);
  }
  answer.total = saturated(sum(answer.counts));
  answer.upper_bound = saturated(upper_bound(counts_max, limits));
  return answer;
}

}  // namespace headroom
