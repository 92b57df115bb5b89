// AppliedRows: the feasible rows by what an application sees of them, and what it adds to each.
//
// All rows of a class are in the same domains of the keys that classes read, and so alike to an
// application, but for the rows in whose domains of other keys (hostnames) pods count. Of these,
// those of a class with the same sums are alike. One entry stands for each such set of rows. Where
// volumes have each row be looked at, those of a class that say the same are alike.
// It is kept with the application: a pod that comes or goes moves a row from one entry to another
// and changes what some find in their domains, a row that turns feasible or infeasible comes to its
// entry or leaves it, one that goes to another class moves; those alone are looked at again. All is
// found anew where a node left, where a class has its first feasible row or lost its last node,
// where its domains have other numbers, and where more rows changed than there are to look at.
// Thread safety: one thread at a time. Cost: bring_up() is O(rows and entries that changed), and
// O(entries) where that changes what the others are compared with, a row changed its class or a sum
// another; anew it is O(classes + rows apart), or O(rows) where each is looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/applications/look.h"
#include "engine/decide/cached_shape.h"
#include "engine/decide/row_extras.h"
#include "engine/decide/rows_apart.h"

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
  bool rejects() const { return extras_.rejects_classes || extras_.rejects_apart; }  // some row
  std::size_t bytes() const;

 private:
  // Scratch of a bring_up(); a thread's.
  struct Changes {
    std::vector<std::uint32_t> rows, turned;  // feasible or infeasible
    std::vector<ClassChange> moved;
    // Entries that were taken out, and how many rows of each PodTopologySpread counted.
    std::vector<std::uint32_t> entries, counted;
    std::vector<std::uint8_t> is_out;  // by entry
  };
  static Changes& changes();
  bool can_follow(const CachedShape& found, const NodeTable& table, const Application& application,
                  const PodShape& shape) const;
  void find(CachedShape& found, const ApplicationLook& look, const Applications& applications,
            const Application& application, bool kept);
  void find_by_row(const CachedShape& found, const ApplicationLook& look, const NodeTable& table);
  std::uint32_t add(std::uint32_t row, std::uint32_t node_class, std::uint32_t rows, bool plain);
  struct StateOfRow {
    std::uint32_t node_class;
    bool feasible;
  };
  bool move(const ApplicationLook& look, const Applications& applications,
            const Application& application, std::uint32_t row, StateOfRow before, StateOfRow now);
  std::uint32_t entry_now(std::uint32_t node_class, const ApplicationLook& look, std::uint32_t row);
  bool follow(CachedShape& found, const ApplicationLook& look, const Applications& applications,
              const Application& application);
  bool follow_classes(const ApplicationLook& look, const Applications& applications,
                      const std::vector<ClassChange>& changes);
  bool follow_rows(const CachedShape& found, const ApplicationLook& look,
                   const Applications& applications, const Application& application);
  bool find_codes(const ApplicationLook& look, bool all, bool kept, bool others_pass);
  void take_out(std::uint32_t entry);
  void put_in(std::uint32_t entry);
  void look_again(Extent& extent, std::size_t first, std::size_t last) const;
  void sum_up(const ApplicationLook& look, const Applications& applications, bool all);

  // Of what they are: while none of it changes, rows move, come and go at most.
  std::uint64_t application_version_ = 0, shape_version_ = 0, built_ = 0;
  std::uint64_t feasible_changes_ = 0, class_changes_ = 0;  // that were followed
  std::vector<ScoredRows> entries_;                         // classes, then rows apart
  std::vector<std::uint32_t> class_of_;                     // by entry
  std::size_t classes_ = 0;                                 // how many of them are of classes
  std::size_t found_ = 0;      // when they were found; since then some may be empty
  std::size_t looked_at_ = 0;  // classes and rows apart, then
  LocatedRows located_;        // by entry
  std::vector<std::uint32_t> entry_of_class_;
  RowsApart apart_;
  RowExtras extras_;

  // Of entries, as they were last put in.
  ScoreScale scale_;
  FilterScale filter_scale_;
  Extent extras_of_classes_, extras_apart_;  // of entries that pass
  std::uint32_t feasible_ = 0;
  std::uint32_t rejecting_classes_ = 0, rejecting_apart_ = 0;  // entries with rows
};

}  // namespace headroom
