// Applications::validate(): are the counters what the pods come to?
#include <fmt/format.h>

#include <map>
#include <utility>

#include "engine/applications/applications.h"

namespace headroom {

namespace {

// By domain that some pod feeds.
std::map<std::uint32_t, FedCell> cells_of(const Counter& counter,
                                          const std::vector<std::unique_ptr<FineSums>>& fine_sums) {
  std::map<std::uint32_t, FedCell> cells(counter.cells.begin(), counter.cells.end());
  if (!counter.fine()) {
    return cells;
  }
  const FineSums& sums = *fine_sums[counter.sums];
  sums.by_domain().each([&](DomainId domain, FineSums::Standing standing) {
    if (const FedCell& cell = sums.cell(standing, counter.number); cell.pods != 0) {
      cells.emplace(domain, cell);
    }
  });
  return cells;
}

}  // namespace

Result<void> Applications::validate_volumes() {
  VolumeIndex index(topology_);
  index.read(referred_);
  chosen_volumes_.tell(index);
  bool same = index == volume_index_ && chosen_volumes_.consistent();
  for (std::uint32_t row = 0; row < row_volumes_.size(); ++row) {
    const RowVolumes& its = row_volumes_[row];
    std::uint32_t volumes = 0, ephemeral = 0;
    for (const PodId id : its.pods) {
      for (const Volume& volume : peers_.at(facts_.pods[id].peer).volumes) {
        ++volumes;
        ephemeral += volume.ephemeral ? 1 : 0;
      }
    }
    const NodeFacts& facts = facts_.nodes[row];
    same = same && volumes == its.volumes && ephemeral == its.ephemeral &&
           (facts.node == nullptr ||
            its.csi_node == referred_.find<CsiNode>(ReferredKind::kCsiNode, facts.name));
  }
  return same ? Result<void>()
              : fail(ErrorCode::kConflict,
                     "validate: volumes by label, by claim "
                     "or by node differ from the objects");
}

Result<void> Applications::validate_images() const {
  return images_.says_as(images_of_nodes())
             ? Result<void>()
             : fail(ErrorCode::kConflict, "validate: images differ from what nodes list");
}

bool Applications::has_first_rows() {
  find_first_rows();
  const std::vector<std::uint32_t> first_rows = look_for_first_rows();
  return std::equal(first_rows.begin() + 1, first_rows.end(), first_rows_.begin() + 1);
}

Result<void> Applications::validate() {
  if (broken_) {
    mend();
  }
  if (auto checked = validate_volumes(); !checked) {
    return checked;
  }
  if (auto checked = validate_images(); !checked) {
    return checked;
  }
  if (!has_first_rows()) {
    return fail(ErrorCode::kConflict, "validate: a row is not the first of its class");
  }
  for (std::uint32_t left = count(); left > 0; --left) {
    if (auto checked = validate_next(); !checked) {
      return checked;
    }
  }
  return {};
}

Result<void> Applications::validate_next() {
  if (broken_) {
    mend();
  }
  if (check_order_.empty()) {
    return {};
  }
  check_order_.splice(check_order_.end(), check_order_, check_order_.begin());
  return validate(*check_order_.back());
}

Result<void> Applications::validate(Application& application) {
  if (!is_current(application)) {
    return {};
  }
  const Whole whole(*this);
  prepare(application);
  const std::vector<Counter> before = application.counters;
  const std::vector<std::unique_ptr<FineSums>> fine_before = std::move(application.fine_sums);
  bool same = true;
  for (const SpreadConstraint& constraint : application.hard) {
    same = same && constraint.domains == count_domains_by_row(application, constraint);
  }
  std::map<PeerId, std::size_t> feeds;
  for (const auto& [id, its] : application.feeds) {
    feeds.emplace(id, its.size());
  }
  // Held meanwhile, so that keys and their domains keep their numbers, which are history.
  std::vector<TopologyKeyId> held;
  for (const TopologyKeyId key : application.keys) {
    held.push_back(topology_.hold(topology_.name(key)));
  }
  application.described = false;
  prepare(application);
  for (const TopologyKeyId key : held) {
    topology_.release(key);
  }
  // In what order keys came is history.
  same = same && std::all_of(before.begin(), before.end(), [&](const Counter& counter) {
           const Counter* again = nullptr;
           for (const Counter& other : application.counters) {
             if (other.kind == counter.kind && other.key == counter.key &&
                 other.index == counter.index) {
               again = &other;
             }
           }
           if (again == nullptr) {
             return cells_of(counter, fine_before).empty();
           }
           return cells_of(counter, fine_before) == cells_of(*again, application.fine_sums);
         });
  std::map<PeerId, std::size_t> feeds_now;
  for (const auto& [id, its] : application.feeds) {
    feeds_now.emplace(id, its.size());
  }
  if (!same || feeds != feeds_now) {
    return fail(ErrorCode::kConflict,
                fmt::format("validate: the counters of an application in namespace {} differ from "
                            "its pods",
                            application.namespace_name));
  }
  return {};
}

}  // namespace headroom
