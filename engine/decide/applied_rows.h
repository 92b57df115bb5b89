// AppliedRows: the feasible rows by what an application sees of them, and what it adds to each.
//
// All rows of a class are in the same domains of the keys that classes read, and so alike to an
// application, but for the rows in whose domains of other keys (hostnames) pods count. Of these,
// those of a class with the same sums are alike. One entry stands for each such set of rows.
// It is kept with the application: while no row turns feasible or infeasible and no class changes,
// a pod that comes or goes moves a row from one entry to another.
// Thread safety: one thread at a time. Cost: bring_up() is O(entries), and O(log rows apart) for
// each row that moved; anew it is O(classes + rows apart).
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/applications/look.h"
#include "engine/decide/cached_shape.h"

namespace headroom {

class AppliedRows final : public KeptWithApplication {
 public:
  // What the application adds to the answer of the columns, as both are now. `kept`: it is called
  // for no other application, and not while pods are expected.
  void bring_up(CachedShape& found, ApplicationLook& look, const Applications& applications,
                Application& application, const PodShape& shape, bool kept);

  const std::vector<ScoredRows>& entries() const { return entries_; }
  // Of a row that the columns let pass.
  const ScoredRows& entry_of(std::uint32_t row) const;
  const RowExtras& extras() const { return extras_; }
  std::uint32_t feasible() const { return feasible_; }
  bool rejects() const { return rejects_; }  // some row
  std::size_t bytes() const;

 private:
  void find(CachedShape& found, const ApplicationLook& look, const Applications& applications,
            const Application& application, bool kept);
  std::uint32_t add(const ApplicationLook& look, std::uint32_t row, std::uint32_t rows, bool plain);
  void move(const CachedShape& found, const ApplicationLook& look, const Applications& applications,
            std::uint32_t row);
  std::uint32_t entry_like(std::uint32_t node_class, const Applications& applications);
  // Of rows; a thread's.
  static std::vector<std::uint32_t>& scratch();
  void gain(std::uint32_t entry);
  void lose(std::uint32_t entry);
  void sum_up(const ApplicationLook& look, const Applications& applications);

  // Of what they are: while none of it changes, rows move at most.
  std::uint64_t application_version_ = 0, shape_version_ = 0, feasible_version_ = 0,
                class_changes_ = 0;
  std::vector<ScoredRows> entries_;  // classes, then rows apart
  std::size_t classes_ = 0;          // how many of them
  std::size_t found_ = 0;            // entries when they were found; since then some may be empty
  bool same_entries_ = false;        // none became empty or was so before
  LocatedRows located_;              // by entry
  std::vector<std::uint32_t> entry_of_class_;
  // By class and sums, hashed: the entry of rows that are alike, and the next of the same hash.
  tsl::robin_map<std::uint64_t, std::uint32_t> ids_;
  std::vector<std::uint32_t> next_, class_of_;  // by entry
  RowExtras extras_;
  std::uint32_t feasible_ = 0;
  bool rejects_ = false;
  LocatedRows one_;  // scratch
};

}  // namespace headroom
