#include "engine/decide/applied_rows.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <utility>

#include "layout/heap_bytes.h"
#include "objects/assert.h"
#include "objects/hash.h"

namespace headroom {

namespace {

constexpr std::uint32_t kNoEntry = RowsApart::kNoEntry;
// More entries than twice what there were, and these, are found anew: most are empty.
constexpr std::size_t kEmptyEntriesMax = 64;
// So many changes of rows are followed however few there are to look at.
constexpr std::uint64_t kFollowAlways = 16;
// Of an entry without rows.
constexpr std::uint32_t kEmpty = kClassRejection | kNoNodeReason;

// Rows that PodTopologySpread's score counts.
std::uint32_t counted_rows(const ScoredRows& its) {
  return its.code == 0 && !its.ignored ? its.rows : 0;
}

// Calls visit(i) where values[i] is the value. Mostly none of many is: so many are compared at
// once.
template <typename Visit>
void each_equal(const std::vector<DomainId>& values, DomainId value, Visit visit) {
  constexpr std::size_t kTogether = 32;
  for (std::size_t first = 0; first < values.size(); first += kTogether) {
    const std::size_t last = std::min(values.size(), first + kTogether);
    std::uint32_t equal = 0;
    if (last - first == kTogether) {
      for (std::size_t i = 0; i < kTogether; ++i) {
        equal |= values[first + i] == value ? 1U : 0U;
      }
    } else {
      equal = 1;
    }
    for (std::size_t i = first; equal != 0 && i < last; ++i) {
      if (values[i] == value) {
        visit(i);
      }
    }
  }
}

}  // namespace

AppliedRows::Changes& AppliedRows::changes() {
  static thread_local Changes its;
  return its;
}

void AppliedRows::bring_up(CachedShape& found, ApplicationLook& look,
                           const Applications& applications, Application& application,
                           const PodShape& shape, bool kept) {
  const NodeTable& table = applications.table();
  bool same = kept && can_follow(found, table, application, shape);
  application_version_ = 0;  // also where memory ends half way
  Changes& changed = changes();
  changed.entries.clear();
  changed.counted.clear();
  changed.is_out.assign(entries_.size(), 0);
  extras_.classes = table.columns().node_class;
  same = same && follow(found, look, applications, application);
  if (!same) {
    find(found, look, applications, application, kept);
  }
  if (kept) {
    application.standing_changes.clear();
    application.sum_changes.clear();
  }
  const bool others_pass = feasible_changes_ != found.feasible_changes().version() ||
                           class_changes_ != table.class_changes().version();
  bool all = find_codes(look, !same, kept, others_pass);
  if (all) {
    look.score(entries_, true, kept ? &located_ : nullptr, scale_);
  } else {
    all = look.rescore(entries_, changed.entries, located_, scale_);
  }
  sum_up(look, applications, all);
  application_version_ = application.version;
  shape_version_ = shape.version;
  built_ = found.built();
  feasible_changes_ = found.feasible_changes().version();
  class_changes_ = table.class_changes().version();
}

bool AppliedRows::can_follow(const CachedShape& found, const NodeTable& table,
                             const Application& application, const PodShape& shape) const {
  const FeasibleChanges& feasible = found.feasible_changes();
  const ClassChanges& classes = table.class_changes();
  return application_version_ == application.version && shape_version_ == shape.version &&
         built_ == found.built() && entries_.size() <= 2 * found_ + kEmptyEntriesMax &&
         feasible.leads_from(feasible_changes_) && classes.leads_from(class_changes_) &&
         (feasible.version() - feasible_changes_) + (classes.version() - class_changes_) <=
             std::max<std::uint64_t>(looked_at_, kFollowAlways);
}

// Which rows stand for which.
void AppliedRows::find(CachedShape& found, const ApplicationLook& look,
                       const Applications& applications, const Application& application,
                       bool kept) {
  const NodeTable& table = applications.table();
  const std::vector<std::uint32_t>& feasible = found.feasible_by_class(table);
  const std::vector<std::uint32_t>& first_rows = applications.first_rows();
  entries_.clear();
  class_of_.clear();
  located_.clear(application.counters.size());
  apart_.begin(applications, application);
  extras_.by_row.clear();
  extras_.entries.clear();
  extras_.apart = kept ? &apart_ : nullptr;
  classes_ = 0;
  if (application.volumes_by_row) {
    find_by_row(found, look, table);
    return;
  }
  entry_of_class_.assign(first_rows.size(), kNoEntry);
  for (std::uint32_t c = 1; c < feasible.size(); ++c) {
    if (feasible[c] != 0) {
      HEADROOM_ASSERT(first_rows[c] != kNoRow);
      entry_of_class_[c] = add(first_rows[c], c, feasible[c], true);
      if (kept) {
        look.locate(first_rows[c], true, located_);
      }
    }
  }
  classes_ = entries_.size();
  looked_at_ = classes_;
  std::vector<std::uint32_t> rows;
  const auto add_row = [&](std::uint32_t row) { rows.push_back(row); };
  apart_.each(add_row);
  look.each_apart(add_row);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  looked_at_ += rows.size();
  for (const std::uint32_t row : rows) {
    const std::uint32_t its_class = table.node_class(row);
    if (its_class == kNoNodeClass || found.code(row) != 0) {
      continue;
    }
    HEADROOM_ASSERT(entry_of_class_[its_class] != kNoEntry);
    --entries_[entry_of_class_[its_class]].rows;
    if (kept) {
      ++entries_[entry_now(its_class, look, row)].rows;
    } else {
      extras_.by_row.emplace_back(row, add(row, its_class, 1, false));
    }
  }
  found_ = entries_.size();
}

void AppliedRows::find_by_row(const CachedShape& found, const ApplicationLook& look,
                              const NodeTable& table) {
  extras_.entries.assign(table.size(), kNoEntry);
  const auto add_row = [&](std::uint32_t row) {
    if (found.is_feasible(row) && extras_.entries[row] == kNoEntry) {
      extras_.entries[row] = add(row, table.node_class(row), 1, false);
    }
  };
  apart_.each(add_row);
  look.each_expected(add_row);
  // By class and what its volumes say: code, or score.
  tsl::robin_map<std::uint64_t, std::uint32_t, MixedHash> rejected, passing;
  for (std::uint32_t row = 0; row < table.size(); ++row) {
    if (!found.is_feasible(row) || extras_.entries[row] != kNoEntry) {
      continue;
    }
    const std::uint32_t node_class = table.node_class(row);
    const auto [code, score] = look.volumes()->say(row);
    const auto next = static_cast<std::uint32_t>(entries_.size());
    const auto [its, is_new] =
        (code != 0 ? rejected : passing)
            .try_emplace(std::uint64_t{node_class} << 32U |
                             (code != 0 ? code : static_cast<std::uint32_t>(score)),
                         next);
    if (is_new) {
      add(row, node_class, 0, false);
    }
    extras_.entries[row] = its->second;
    ++entries_[its->second].rows;
  }
  found_ = entries_.size();
}

std::uint32_t AppliedRows::add(std::uint32_t row, std::uint32_t node_class, std::uint32_t rows,
                               bool plain) {
  ScoredRows& its = entries_.emplace_back();
  its.row = row;
  its.rows = rows;
  its.plain = plain;
  its.code = kEmpty;
  class_of_.push_back(node_class);
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

// The entry of the class's rows that are as the row is now; one without rows where there was none.
std::uint32_t AppliedRows::entry_now(std::uint32_t node_class, const ApplicationLook& look,
                                     std::uint32_t row) {
  const RowsApart::Alike alike =
      apart_.meet([&](std::size_t k) { return apart_.standing(k, row); });
  if (alike == RowsApart::kAsItsClass) {
    return entry_of_class_[node_class];
  }
  std::uint32_t& its = apart_.entry(node_class, alike);
  if (its == kNoEntry) {
    its = add(row, node_class, 0, false);
    look.locate(row, false, located_);
  }
  return its;
}

// The classes that rows went to or came from since: what stands for them is still theirs. False: it
// is not, or a node left, whose domains nobody knows any more.
bool AppliedRows::follow_classes(const ApplicationLook& look, const Applications& applications,
                                 const std::vector<ClassChange>& changes) {
  const std::vector<std::uint32_t>& first_rows = applications.first_rows();
  entry_of_class_.resize(first_rows.size(), kNoEntry);
  extras_.by_class.resize(first_rows.size(), -1);
  for (const ClassChange& change : changes) {
    if (change.to == kNoNodeClass) {
      return false;
    }
    for (const std::uint32_t its_class : {change.from, change.to}) {
      const std::uint32_t its = entry_of_class_[its_class];
      if (its != kNoEntry && (first_rows[its_class] == kNoRow ||
                              !look.is_located(first_rows[its_class], located_, its))) {
        return false;
      }
    }
  }
  const NodeTable& table = applications.table();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    // What a class says any of its rows says. Of one without a node no entry has rows.
    if (table.node_class(entries_[i].row) != class_of_[i] && first_rows[class_of_[i]] != kNoRow) {
      entries_[i].row = first_rows[class_of_[i]];
    }
  }
  return true;
}

// The rows that changed since, to the entries of what they are now. False: one has none yet.
bool AppliedRows::follow_rows(const CachedShape& found, const ApplicationLook& look,
                              const Applications& applications, const Application& application) {
  std::vector<std::uint32_t>& rows = changes().rows;
  std::vector<std::uint32_t>& turned = changes().turned;
  std::vector<ClassChange>& moved = changes().moved;
  rows.clear();
  turned.clear();
  moved.clear();
  for (const StandingChange& change : application.standing_changes) {
    applications.each_row(application.fine_sums[change.sums]->key(), change.domain,
                          [&](std::uint32_t row) { rows.push_back(row); });
  }
  found.feasible_changes().each_after(feasible_changes_,
                                      [&](std::uint32_t row) { turned.push_back(row); });
  rows.insert(rows.end(), turned.begin(), turned.end());
  const NodeTable& table = applications.table();
  table.class_changes().each_after(class_changes_, [&](const ClassChange& change) {
    moved.push_back(change);
    rows.push_back(change.row);
  });
  if (!moved.empty() && !follow_classes(look, applications, moved)) {
    return false;
  }
  const auto by_row = [](const ClassChange& a, const ClassChange& b) { return a.row < b.row; };
  std::stable_sort(moved.begin(), moved.end(), by_row);
  std::sort(turned.begin(), turned.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const std::uint32_t row : rows) {
    const auto [first, last] = std::equal_range(turned.begin(), turned.end(), row);
    const auto went = std::lower_bound(moved.begin(), moved.end(), ClassChange{row, 0, 0}, by_row);
    const StateOfRow now{table.node_class(row), found.is_feasible(row)};
    // As often as it turned since, and in the class that it went from first.
    const StateOfRow before{went != moved.end() && went->row == row ? went->from : now.node_class,
                            now.feasible != ((last - first) % 2 == 1)};
    if (!move(look, applications, application, row, before, now)) {
      return false;
    }
  }
  return true;
}

// What changed since: rows, and sums. False: they have to be found anew.
bool AppliedRows::follow(CachedShape& found, const ApplicationLook& look,
                         const Applications& applications, const Application& application) {
  // The search by class takes what it counts as it is.
  (void)found.feasible_by_class(applications.table());
  if (!follow_rows(found, look, applications, application)) {
    return false;
  }
  const std::size_t counters = application.counters.size();
  for (const SumChange& change : application.sum_changes) {
    const std::int64_t sum =
        application.cell(application.counters[change.counter], change.domain).sum;
    each_equal(located_.domains[change.counter], change.domain, [&](std::size_t entry) {
      std::int64_t& known = located_.sums[entry * counters + change.counter];
      if (known != sum) {
        take_out(static_cast<std::uint32_t>(entry));
        known = sum;
      }
    });
  }
  return true;
}

// To the entry of what the row is now, from that of what it was when changes were last followed;
// to none, or from none, where it is not feasible. False: no row of its class was feasible then.
bool AppliedRows::move(const ApplicationLook& look, const Applications& applications,
                       const Application& application, std::uint32_t row, StateOfRow before,
                       StateOfRow now) {
  if (now.feasible && entry_of_class_[now.node_class] == kNoEntry) {
    return false;
  }
  const auto standing_before = [&](std::size_t k) {
    const std::uint32_t domain = applications.domain_of(application.fine_sums[k]->key(), row);
    for (const StandingChange& change : application.standing_changes) {
      if (change.sums == k && change.domain == domain) {
        return change.before;
      }
    }
    return apart_.standing(k, row);
  };
  std::uint32_t from = kNoEntry, to = kNoEntry;
  if (before.feasible) {
    const RowsApart::Alike alike = apart_.meet(standing_before);
    from = alike == RowsApart::kAsItsClass ? entry_of_class_[before.node_class]
                                           : apart_.entry(before.node_class, alike);
    HEADROOM_ASSERT(from != kNoEntry);
  }
  if (now.feasible) {
    to = entry_now(now.node_class, look, row);
  }
  if (from == to) {
    return true;
  }
  if (from != kNoEntry) {
    take_out(from);
    HEADROOM_ASSERT(entries_[from].rows != 0);
    --entries_[from].rows;
  }
  if (to != kNoEntry) {
    take_out(to);
    ++entries_[to].rows;
  }
  return true;
}

// Of those that changed, or of all entries. `others_pass`: rows turned feasible or infeasible, or
// went to another class; else without filters the same rows pass. True: the scores of all are to be
// made anew.
bool AppliedRows::find_codes(const ApplicationLook& look, bool all, bool kept, bool others_pass) {
  FilterScale filter_scale = kept && look.filters() ? look.filter_scale() : FilterScale();
  all |= filter_scale != filter_scale_;
  filter_scale_ = std::move(filter_scale);
  const auto find_code = [&](std::uint32_t i) {
    ScoredRows& its = entries_[i];
    its.code = its.rows == 0     ? kEmpty
               : !look.filters() ? 0
               : kept            ? look.code(located_, i)
                                 : look.code(its.row, nullptr, its.plain);
  };
  if (all) {
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      find_code(i);
    }
    return true;
  }
  std::int64_t more = 0;
  bool others_count = false;
  const Changes& changed = changes();
  for (std::size_t k = 0; k < changed.entries.size(); ++k) {
    find_code(changed.entries[k]);
    const std::uint32_t counted = counted_rows(entries_[changed.entries[k]]);
    more += std::int64_t{counted} - changed.counted[k];
    others_count |= (counted != 0) != (changed.counted[k] != 0);
  }
  // Spreading counts the rows that pass, and their domains.
  return (others_pass || look.filters()) && !scale_.sizes.empty() && (more != 0 || others_count);
}

// Before what the entry finds changes.
void AppliedRows::take_out(std::uint32_t entry) {
  Changes& changed = changes();
  changed.is_out.resize(entries_.size());
  if (std::exchange(changed.is_out[entry], 1) != 0) {
    return;
  }
  const ScoredRows& its = entries_[entry];
  const bool passed = its.rows != 0 && its.code == 0;
  changed.entries.push_back(entry);
  changed.counted.push_back(counted_rows(its));
  if (passed) {
    scale_.take_out(its);
    feasible_ -= its.rows;
    (entry < classes_ ? extras_of_classes_ : extras_apart_).remove(extras_.by_entry[entry]);
  } else if (its.rows != 0) {
    --(entry < classes_ ? rejecting_classes_ : rejecting_apart_);
  }
}

void AppliedRows::put_in(std::uint32_t entry) {
  const ScoredRows& its = entries_[entry];
  const std::int32_t extra = its.code == 0 ? static_cast<std::int32_t>(its.total) : -1;
  extras_.by_entry[entry] = extra;
  if (entry < classes_) {
    extras_.by_class[class_of_[entry]] = extra;
  }
  if (its.code == 0) {
    feasible_ += its.rows;
    (entry < classes_ ? extras_of_classes_ : extras_apart_).add(extra);
  } else if (its.rows != 0) {
    ++(entry < classes_ ? rejecting_classes_ : rejecting_apart_);
  }
}

// For the extent of these entries, of which one went.
void AppliedRows::look_again(Extent& extent, std::size_t first, std::size_t last) const {
  if (extent.known()) {
    return;
  }
  extent = {};
  for (std::size_t i = first; i < last; ++i) {
    if (entries_[i].code == 0) {
      extent.add(extras_.by_entry[i]);
    }
  }
}

// What the entries add to rows, and how many these are.
void AppliedRows::sum_up(const ApplicationLook& look, const Applications& applications, bool all) {
  extras_.by_entry.resize(entries_.size(), -1);
  if (all) {
    extras_.by_class.assign(entry_of_class_.size(), -1);
    feasible_ = rejecting_classes_ = rejecting_apart_ = 0;
    extras_of_classes_ = extras_apart_ = {};
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      put_in(i);
    }
  } else {
    const std::vector<std::uint32_t>& changed = changes().entries;
    std::for_each(changed.begin(), changed.end(), [this](std::uint32_t i) { put_in(i); });
    look_again(extras_of_classes_, 0, classes_);
    look_again(extras_apart_, classes_, entries_.size());
  }
  const std::int64_t highest = std::max(extras_of_classes_.highest, extras_apart_.highest);
  const std::int64_t lowest = std::min(extras_of_classes_.lowest, extras_apart_.lowest);
  extras_.rejects_classes =
      rejecting_classes_ != 0 || (!extras_.entries.empty() && rejecting_apart_ != 0);
  extras_.rejects_apart = rejecting_apart_ != 0;
  extras_.greatest = static_cast<std::int32_t>(std::max<std::int64_t>(highest, 0));
  extras_.greatest_apart =
      static_cast<std::int32_t>(std::max<std::int64_t>(extras_apart_.highest, -1));
  extras_.more = nullptr;
  extras_.same.reset();
  if (lowest == highest && !rejects()) {
    extras_.same = static_cast<std::int32_t>(highest);
  }
  if (look.most_image_score() != 0) {
    std::int64_t weight = 0;
    for (const ApplicationScore& score : applications.scores()) {
      weight += score.plugin == PluginId::kImageLocality ? score.weight : 0;
    }
    extras_.greatest += static_cast<std::int32_t>(weight * look.most_image_score());
    extras_.more = [&look, weight](std::uint32_t row) {
      return static_cast<std::int32_t>(weight * look.image_score(row));
    };
  }
}

const ScoredRows& AppliedRows::entry_of(std::uint32_t row) const {
  const std::uint32_t its = extras_.entry(row);
  return entries_[its != kNoEntry ? its : entry_of_class_[extras_.classes[row]]];
}

std::size_t AppliedRows::bytes() const {
  return allocated_bytes(sizeof(*this)) +
         allocated_bytes(entries_.capacity() * sizeof(ScoredRows)) + heap_bytes(class_of_) +
         located_.bytes() + heap_bytes(entry_of_class_) + apart_.bytes() +
         heap_bytes(extras_.by_class) + heap_bytes(extras_.by_entry) + heap_bytes(extras_.entries) +
         allocated_bytes(extras_.by_row.capacity() * 8);
}

}  // namespace headroom
