#include "engine/decide/applied_rows.h"

#include <algorithm>

#include "layout/heap_bytes.h"
#include "objects/assert.h"
#include "objects/hash.h"

namespace headroom {

namespace {

constexpr std::uint32_t kNoEntry = UINT32_MAX;
// More entries than twice what there were, and these, are found anew: most are empty.
constexpr std::size_t kEmptyEntriesMax = 64;

}  // namespace

void AppliedRows::bring_up(CachedShape& found, ApplicationLook& look,
                           const Applications& applications, Application& application,
                           const PodShape& shape, bool kept) {
  const NodeTable& table = applications.table();
  const bool same =
      kept && application_version_ == application.version && shape_version_ == shape.version &&
      feasible_version_ == found.feasible_version() && class_changes_ == table.class_changes() &&
      entries_.size() <= 2 * found_ + kEmptyEntriesMax;
  application_version_ = 0;  // also where memory ends half way
  same_entries_ = same;
  std::vector<std::uint32_t>& rows = scratch();
  if (!same) {
    find(found, look, applications, application, kept);
  } else {
    rows.clear();
    for (const FineChange& change : application.fine_changes) {
      applications.rows_of(application.counters[change.counter], change.cell, rows);
    }
    for (const std::uint32_t row : rows) {
      move(found, look, applications, row);
    }
  }
  if (kept) {
    application.fine_changes.clear();
  }
  if (look.filters()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      ScoredRows& its = entries_[i];
      its.code = its.rows == 0 ? kClassRejection | kNoNodeReason
                 : kept        ? look.code(located_, i)
                               : look.code(its.row, nullptr, its.plain);
    }
  }
  look.score(entries_, true, kept ? &located_ : nullptr, same_entries_ && !look.filters());
  sum_up(look, applications);
  application_version_ = application.version;
  shape_version_ = shape.version;
  feasible_version_ = found.feasible_version();
  class_changes_ = table.class_changes();
}

std::vector<std::uint32_t>& AppliedRows::scratch() {
  static thread_local std::vector<std::uint32_t> its;
  return its;
}

// Which rows stand for which.
void AppliedRows::find(CachedShape& found, const ApplicationLook& look,
                       const Applications& applications, const Application& application,
                       bool kept) {
  const NodeTable& table = applications.table();
  const std::vector<std::uint32_t>& feasible = found.feasible_by_class(table);
  const std::vector<std::uint32_t>& first_rows = applications.first_rows();
  entries_.clear();
  located_.clear();
  ids_.clear();
  next_.clear();
  class_of_.clear();
  extras_.by_row.clear();
  entry_of_class_.assign(first_rows.size(), kNoEntry);
  for (std::uint32_t c = 1; c < feasible.size(); ++c) {
    if (feasible[c] != 0) {
      HEADROOM_ASSERT(first_rows[c] != kNoRow);
      entry_of_class_[c] = add(look, first_rows[c], feasible[c], true);
    }
  }
  classes_ = entries_.size();
  std::vector<std::uint32_t>& rows = scratch();
  rows.clear();
  applications.rows_apart(application, rows);
  for (const auto& [row, change] : look.expected()) {
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const std::uint32_t row : rows) {
    if (kept) {
      move(found, look, applications, row);
    } else if (const std::uint32_t its_class = table.node_class(row);
               its_class != kNoNodeClass && found.code(row) == 0) {
      HEADROOM_ASSERT(entry_of_class_[its_class] != kNoEntry);
      lose(entry_of_class_[its_class]);
      extras_.by_row.emplace_back(row, add(look, row, 1, false));
    }
  }
  found_ = entries_.size();
}

std::uint32_t AppliedRows::add(const ApplicationLook& look, std::uint32_t row, std::uint32_t rows,
                               bool plain) {
  ScoredRows& its = entries_.emplace_back();
  its.row = row;
  its.rows = rows;
  its.plain = plain;
  if (look.locates()) {
    look.locate(row, plain, located_);
  }
  next_.push_back(kNoEntry);
  class_of_.push_back(kNoNodeClass);  // of no rows alike
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

// To the entry of what the row is now.
void AppliedRows::move(const CachedShape& found, const ApplicationLook& look,
                       const Applications& applications, std::uint32_t row) {
  const std::uint32_t its_class = applications.table().node_class(row);
  if (its_class == kNoNodeClass || found.code(row) != 0) {
    return;
  }
  const std::uint32_t of_class = entry_of_class_[its_class];
  HEADROOM_ASSERT(of_class != kNoEntry);
  auto& by_row = extras_.by_row;
  const auto place = by_row.begin() + (extras_.place_of(row) - by_row.cbegin());
  const bool was_apart = place != by_row.end() && place->first == row;
  const std::uint32_t before = was_apart ? place->second : of_class;
  one_.clear();
  look.locate(row, false, one_);
  const bool is_apart =
      std::any_of(one_.sums.begin(), one_.sums.end(), [](std::int64_t sum) { return sum != 0; });
  const std::uint32_t now = is_apart ? entry_like(its_class, applications) : of_class;
  if (now == before) {
    return;
  }
  lose(before);
  gain(now);
  if (!is_apart) {
    by_row.erase(place);
  } else if (was_apart) {
    place->second = now;
  } else {
    by_row.insert(place, {row, now});
  }
}

// The entry of the class's rows that are as one_.
std::uint32_t AppliedRows::entry_like(std::uint32_t node_class, const Applications& applications) {
  std::uint64_t hash = mix(node_class);
  for (const std::int64_t sum : one_.sums) {
    hash = mix(hash ^ static_cast<std::uint64_t>(sum));
  }
  const std::size_t counters = one_.sums.size();
  const auto [known, is_new] = ids_.try_emplace(hash, static_cast<std::uint32_t>(entries_.size()));
  std::uint32_t* id = &known.value();
  while (!is_new && *id != kNoEntry) {
    const auto sums = located_.sums.begin() + static_cast<std::ptrdiff_t>(*id * counters);
    if (class_of_[*id] == node_class && std::equal(one_.sums.begin(), one_.sums.end(), sums)) {
      return *id;
    }
    id = &next_[*id];
  }
  *id = static_cast<std::uint32_t>(entries_.size());
  ScoredRows& its = entries_.emplace_back();
  its.row = applications.first_rows()[node_class];
  its.rows = 0;
  next_.push_back(kNoEntry);
  class_of_.push_back(node_class);
  located_.add(one_, 0);
  same_entries_ = false;
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

void AppliedRows::gain(std::uint32_t entry) {
  if (entries_[entry].rows++ == 0) {
    entries_[entry].code = 0;
    same_entries_ = false;
  }
}

void AppliedRows::lose(std::uint32_t entry) {
  if (--entries_[entry].rows == 0) {
    entries_[entry].code = kClassRejection | kNoNodeReason;
    same_entries_ = false;
  }
}

// What the entries add to rows, and how many these are.
void AppliedRows::sum_up(const ApplicationLook& look, const Applications& applications) {
  feasible_ = 0;
  rejects_ = false;
  extras_.classes = applications.table().columns().node_class;
  extras_.by_class.assign(entry_of_class_.size(), -1);
  extras_.by_entry.resize(entries_.size());
  extras_.more = nullptr;
  extras_.greatest = 0;
  extras_.greatest_apart = -1;
  extras_.rejects_classes = extras_.rejects_apart = false;
  extras_.same.reset();
  bool all_same = true;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const ScoredRows& its = entries_[i];
    const std::int32_t extra = its.code == 0 ? static_cast<std::int32_t>(its.total) : -1;
    const bool rejected = its.code != 0 && its.rows != 0;
    extras_.by_entry[i] = extra;
    (i < classes_ ? extras_.rejects_classes : extras_.rejects_apart) |= rejected;
    rejects_ |= rejected;
    if (its.rows != 0) {
      all_same = all_same && extra >= 0 && extra == extras_.same.value_or(extra);
      extras_.same = extra;
    }
    if (its.code == 0) {
      feasible_ += its.rows;
      extras_.greatest = std::max(extras_.greatest, extra);
      extras_.greatest_apart =
          i < classes_ ? extras_.greatest_apart : std::max(extras_.greatest_apart, extra);
    }
  }
  // By the class that it stands for: its row may be in a finer one by now, where others read more.
  for (std::uint32_t c = 0; c < entry_of_class_.size(); ++c) {
    if (const std::uint32_t entry = entry_of_class_[c]; entry != kNoEntry) {
      extras_.by_class[c] = extras_.by_entry[entry];
    }
  }
  if (!all_same) {
    extras_.same.reset();
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
  const auto found = extras_.find(row);
  return entries_[found != extras_.by_row.end() ? found->second
                                                : entry_of_class_[extras_.classes[row]]];
}

std::size_t AppliedRows::bytes() const {
  return allocated_bytes(sizeof(*this)) +
         allocated_bytes(entries_.capacity() * sizeof(ScoredRows)) + located_.bytes() +
         one_.bytes() + heap_bytes(entry_of_class_) + heap_bytes(next_) +
         allocated_bytes(ids_.bucket_count() * 24) + heap_bytes(extras_.by_class) +
         heap_bytes(extras_.by_entry) + allocated_bytes(extras_.by_row.capacity() * 8);
}

}  // namespace headroom
