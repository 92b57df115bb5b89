// CapacityFacts: the classes of its nodes and reservations: read anew, split, and numbered again.
#include <utility>
#include <vector>

#include "autoscaling/capacity_facts.h"
#include "layout/prefetch.h"
#include "objects/assert.h"

namespace headroom {

namespace {

// More classes or layouts than twice those in use, and this: time to drop the others.
constexpr std::size_t kIdleMax = 1024;

// Nodes whose labels are fetched ahead of those that are split; of twice as many what points to
// them.
constexpr std::size_t kAhead = 16;

}  // namespace

// Numbers are made anew in place: what memory ends in the midst of is nothing that could be read,
// and is dropped.
class CapacityFacts::Numbering {
 public:
  explicit Numbering(CapacityFacts& facts) : facts_(facts) {}
  ~Numbering() {
    if (!done_) facts_.drop_all();
  }
  Numbering(const Numbering&) = delete;
  Numbering& operator=(const Numbering&) = delete;
  void done() { done_ = true; }

 private:
  CapacityFacts& facts_;
  bool done_ = false;
};

void CapacityFacts::drop_all() noexcept {
  dropped_ = true;
  for (CountedNode& node : nodes_) node = {};
  table_.clear_classes([](std::uint32_t resource) { return resource; });
  reservations_.clear();
  expiries_.clear();
  changes_.clear();
  for (std::size_t& had : forks_) had = 0;
}

// Where memory ended labels_ may have more than are counted.
void CapacityFacts::count_new_classes() {
  while (table_.classes() < labels_.size()) table_.add_class(labels_);
}

void CapacityFacts::read_keys(const LabelSelector& selector) {
  for (const NodeSelectorRequirement& asked : selector) {
    if (labels_.read(asked.key)) split_classes();
  }
}

void CapacityFacts::split_classes() {
  Numbering numbering(*this);
  count_new_classes();
  // The class now. One of its own touches what the class touched that its nodes come from.
  const auto split = [&](std::uint32_t from, const auto& labels) {
    const std::uint32_t label_class = labels_.split(from, labels);
    if (table_.classes() < labels_.size()) table_.add_class(from);
    return label_class;
  };
  struct Moved {
    std::uint32_t from = 0;
    std::uint64_t nodes = 0;  // 0: all are counted where they are now
  };
  const std::uint32_t first = table_.classes();
  std::vector<Moved> moved;  // by class, from the first new one on
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i + 2 * kAhead < nodes_.size()) {
      prefetch_bytes(&nodes_[i + 2 * kAhead], sizeof(CountedNode));
      const std::string& ahead = nodes_[i + kAhead].labels.values;
      prefetch_bytes(ahead.data(), ahead.size());
    }
    CountedNode& node = nodes_[i];
    if (node.label_class == kNoClass) continue;
    const std::uint32_t from = node.label_class;
    node.label_class = split(from, node.labels);
    if (node.label_class == from) continue;
    HEADROOM_ASSERT(node.label_class >= first);
    note_node(static_cast<std::uint32_t>(i));
    moved.resize(table_.classes() - first);
    Moved& its = moved[node.label_class - first];
    its.from = from;
    ++its.nodes;
  }
  // Most classes move as a whole, and their sums with them.
  bool in_parts = false;
  for (std::uint32_t c = 0; c < moved.size(); ++c) {
    const bool whole = moved[c].nodes == table_.at(moved[c].from).nodes;
    if (whole) {
      table_.move_nodes(moved[c].from, first + c);
      moved[c].nodes = 0;
    }
    in_parts = in_parts || !whole;
  }
  for (std::size_t i = 0; in_parts && i < nodes_.size(); ++i) {
    const CountedNode& node = nodes_[i];
    if (node.label_class == kNoClass || node.label_class < first) continue;
    if (const Moved& its = moved[node.label_class - first]; its.nodes != 0) {
      table_.move_node(its.from, node.label_class, node.amounts);
    }
  }
  for (auto& [id, reservation] : reservations_) {
    for (auto& [node, left] : reservation.items) {
      if (node.label_class == kNoClass) continue;
      const std::uint32_t from = node.label_class;
      node.label_class = split(from, node.labels);
      if (node.label_class == from) continue;
      table_.move_reserved(from, node.label_class, node.amounts, left);
    }
  }
  numbering.done();
}

std::uint32_t CapacityFacts::classify(const KeptLabels& labels) {
  const std::uint32_t label_class = labels_.classify(labels);
  count_new_classes();
  return label_class;
}

std::uint32_t CapacityFacts::classify(const StringMap& labels) {
  const std::uint32_t label_class = labels_.classify(labels);
  count_new_classes();
  return label_class;
}

void CapacityFacts::tidy() {
  const bool idle = labels_.size() > 2 * table_.classes_with_nodes();
  if (labels_.layouts() > 2 * layouts_kept_ + kIdleMax) {
    rebuild();
  } else if (idle && labels_.size() > 2 * classes_kept_ + kIdleMax) {
    drop_idle_classes();
  }
}

void CapacityFacts::drop_idle_classes() {
  ++edition_;
  count_new_classes();
  std::vector<bool> held;
  for (std::uint32_t c = 0; c < table_.classes(); ++c) held.push_back(table_.at(c).nodes > 0);
  for (const auto& [id, reservation] : reservations_) {
    for (const ReservedItem& item : reservation.items) {
      if (item.node.label_class != kNoClass) held[item.node.label_class] = true;
    }
  }
  // Memory may end before anything is changed.
  LabelClasses labels = labels_;
  const std::vector<std::uint32_t> numbers = labels.keep_only(held);
  table_.keep_only(numbers);
  labels_ = std::move(labels);
  for (CountedNode& node : nodes_) {
    if (node.label_class != kNoClass) node.label_class = numbers[node.label_class];
  }
  for (auto& [id, reservation] : reservations_) {
    for (ReservedItem& item : reservation.items) {
      if (item.node.label_class != kNoClass) item.node.label_class = numbers[item.node.label_class];
    }
  }
  classes_kept_ = labels_.size();
  tell_audits([](CapacityAuditNotes& notes) { notes = {}; });  // they begin anew
}

void CapacityFacts::rebuild() {
  if (dropped_) return;
  ++edition_;
  CapacityResources numbers, first_numbers;
  LabelClasses labels, no_labels;
  // From here on: what is assigned needs no memory.
  Numbering numbering(*this);
  numbers = std::move(resources_);
  resources_ = std::move(first_numbers);
  labels = std::move(labels_);
  labels_ = std::move(no_labels);
  const auto renumber = [&](ResourceAmounts& amounts) {
    for (ResourceAmount& had : amounts) {
      had.resource = resources_.add(numbers.name(had.resource));
    }
  };
  const auto keep = [&](CountedNode& node) {
    node.labels = labels_.keep(labels.map_of(node.labels));
    renumber(node.amounts);
  };
  for (const auto& [key, uses] : key_uses_) labels_.read(key);
  table_.clear_classes(
      [&](std::uint32_t resource) { return resources_.add(numbers.name(resource)); });
  for (CountedNode& node : nodes_) {
    if (node.name.empty()) continue;
    keep(node);
    if (!node.counts) continue;
    node.label_class = classify(node.labels);
    table_.add_counted_node(node.label_class, node.amounts);
  }
  for (auto& [id, reservation] : reservations_) {
    for (auto& [node, left] : reservation.items) {
      renumber(node.amounts);
      if (node.label_class == kNoClass) continue;
      node.label_class = classify(node.labels);
      table_.add_counted_reserved(node.label_class, node.amounts, left);
    }
  }
  for (Before& before : changes_) {
    if (auto* node = std::get_if<NodeBefore>(&before); node != nullptr && node->facts) {
      keep(*node->facts);
    }
    if (auto* held = std::get_if<ReservationBefore>(&before);
        held != nullptr && held->reservation) {
      for (ReservedItem& item : held->reservation->items) renumber(item.node.amounts);
    }
  }
  classes_kept_ = labels_.size();
  layouts_kept_ = labels_.layouts();
  numbering.done();
  tell_audits([](CapacityAuditNotes& notes) { notes = {}; });  // they begin anew
}

}  // namespace headroom
