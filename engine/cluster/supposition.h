// Supposition: what would be if a pod counted elsewhere, for the time of a look.
//
//   Supposition supposed(cluster);
//   supposed.leave_out(pod);                // as the rules see an incoming pod
//   supposed.add_nominated(pod, shape);     // until it goes, the table says so
//
// The destructor takes all of it back, the last first; meanwhile no event may come, and no fork.
// No fact changes but the epoch. What is supposed reaches as far as a look needs: a pod that is
// left out counts nowhere, one that is nominated only where the shape's filters would say otherwise
// because of it, and to no score.
// Thread safety: that of the cluster. Cost: nothing where nothing is to be supposed, else what an
// event of each pod costs, and its undoing.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "engine/cluster/cluster.h"

namespace headroom {

class Supposition {
 public:
  explicit Supposition(Cluster& cluster) : cluster_(cluster), holds_(cluster.shapes()) {}
  Supposition(const Supposition&) = delete;
  Supposition& operator=(const Supposition&) = delete;
  ~Supposition();

  // The pod does not count where it is now (mode Proposal: an incoming pod that is already on a
  // node is not counted there) and is nominated nowhere. What it chose of volumes is free, but
  // where it is assumed on the row `binds`.
  void leave_out(const Pod& pod, std::uint32_t binds = kNoRow);
  // The pods of at least the pod's priority which are nominated to a node count there. The shape is
  // the pod's.
  void add_nominated(const Pod& pod, PodShape& shape);
  // The row is as `options` say. Errors, of a pod in `with` that cannot be used, come before
  // anything is done.
  Result<void> change(std::uint32_t row, const FilterOptions& options);

 private:
  // What was done. Of a pod that counts now, or counts no more, the row has to be derived again.
  struct LeftOut {
    PodId pod;
    std::uint32_t row;
  };
  struct Withdrawn {
    PodId pod;
  };
  struct BroughtBack {
    PodId pod;
  };
  // The volumes that it chose.
  struct ChosenAside {
    PodId pod;
  };
  // The contributions of a pod that is nominated, alone.
  struct Nominated {
    PodId pod;
    std::uint32_t row;
  };
  // A pod that is assumed on the row: its facts, and how it counted.
  struct Assumed {
    PodId pod;
    std::uint32_t row, counted_row;
    bool nominated;
    PodFacts before;
  };
  using Step = std::variant<LeftOut, Withdrawn, BroughtBack, ChosenAside, Nominated, Assumed>;

  void leave_out(PodId id);
  void withdraw(PodId id);
  void bring_back(PodId id);
  void assume(const Pod& object, const PodShape& shape, std::uint32_t row);
  std::uint32_t code_of(const PodShape& shape, std::uint32_t row) const;

  struct TakeBack;

  Cluster& cluster_;
  ShapeHolds holds_;
  std::vector<Step> steps_;
  std::optional<Journal> journal_;  // the cluster's own, meanwhile: asking changes no fact
};

}  // namespace headroom
