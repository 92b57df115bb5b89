// See capacity_quota_total.h.
#include "oracle/quotas/capacity_quota_total.h"

#include <algorithm>
#include <set>

#include "oracle/quotas/capacity_quota_rows.h"

namespace oracle {
namespace {

// One limit: what it needs of one node of each item.
struct Row {
  Int128 headroom = 0;
  std::vector<std::int64_t> needs;
};

std::vector<Row> rows_of(const CapacityQuotas& quotas,
                         const std::vector<CapacityQuotaItem>& items) {
  std::vector<Row> rows;
  for (const CapacityQuotas::Limit& limit : quotas.limits()) {
    Row row{limit.headroom(), {}};
    for (const CapacityQuotaItem& item : items) row.needs.push_back(limit.amount(item.node));
    rows.push_back(row);
  }
  return rows;
}

// The most of one item alone.
std::int64_t alone(const std::vector<Row>& rows, const std::vector<CapacityQuotaItem>& items,
                   std::size_t item) {
  std::int64_t most = items[item].count;
  for (const Row& row : rows) {
    if (row.needs[item] > 0) most = std::min(most, most_nodes(row.headroom, row.needs[item]));
  }
  return most;
}

// Items from `item` on, each as often as rows still allow.
std::int64_t best_from(std::vector<Row>& rows, const std::vector<CapacityQuotaItem>& items,
                       std::size_t item) {
  if (item == items.size()) return 0;
  const std::int64_t most = alone(rows, items, item);
  std::int64_t best = 0;
  for (std::int64_t count = 0; count <= most; ++count) {
    best = std::max(best, count + best_from(rows, items, item + 1));
    for (Row& row : rows) row.headroom -= row.needs[item];
  }
  for (Row& row : rows) row.headroom += static_cast<Int128>(most + 1) * row.needs[item];
  return best;
}

}  // namespace

std::optional<std::int64_t> best_total(const CapacityQuotas& quotas,
                                       const std::vector<CapacityQuotaItem>& items,
                                       std::int64_t choices_max) {
  std::vector<Row> rows = rows_of(quotas, items);
  std::int64_t choices = 1;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::int64_t most = alone(rows, items, i);
    if (most >= choices_max / choices) return std::nullopt;
    choices *= most + 1;
  }
  return best_from(rows, items, 0);
}

std::optional<Int128> nested_total(const CapacityQuotas& quotas,
                                   const std::vector<CapacityQuotaItem>& items) {
  using Set = std::set<std::size_t>;
  struct Part {
    Set items;
    Int128 most = 0;
  };
  std::vector<Part> limits;
  for (const Row& row : rows_of(quotas, items)) {
    Part part;
    std::int64_t need = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (row.needs[i] == 0) continue;
      if (need != 0 && row.needs[i] != need) return std::nullopt;
      need = row.needs[i];
      part.items.insert(i);
    }
    if (need == 0) continue;
    part.most = most_nodes(row.headroom, need);
    limits.push_back(part);
  }
  std::stable_sort(limits.begin(), limits.end(),
                   [](const Part& a, const Part& b) { return a.items.size() < b.items.size(); });

  // What the limits so far hold: parts that do not overlap.
  std::vector<Part> parts;
  for (std::size_t i = 0; i < items.size(); ++i) parts.push_back({{i}, items[i].count});
  for (const Part& limit : limits) {
    Part merged{limit.items, 0};
    std::vector<Part> others;
    for (const Part& part : parts) {
      const bool within = std::includes(limit.items.begin(), limit.items.end(), part.items.begin(),
                                        part.items.end());
      const bool apart = std::none_of(part.items.begin(), part.items.end(),
                                      [&](std::size_t i) { return limit.items.contains(i); });
      if (!within && !apart) return std::nullopt;
      if (within) merged.most += part.most;
      if (!within) others.push_back(part);
    }
    merged.most = std::min(merged.most, limit.most);
    others.push_back(merged);
    parts = others;
  }
  Int128 total = 0;
  for (const Part& part : parts) total += part.most;
  return total;
}

}  // namespace oracle
