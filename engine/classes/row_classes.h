// RowClasses: which class the node of each row is in, and the splits of classes.
//
// A selector that reads something new splits the classes of the nodes that have it. That is done
// row by row, in turns; shapes from before it read nothing by which the new classes differ, so what
// is cached for them stays right. Thread safety: one thread at a time. Cost: a node's change is
// O(its labels); a split O(nodes) in all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/classes/node_classes.h"
#include "engine/options.h"
#include "engine/table/facts.h"
#include "engine/table/node_table.h"

namespace headroom {

class RowClasses {
 public:
  RowClasses(NodeTable& table, const Facts& facts)
      : table_(table), facts_(facts), classes_(labels_) {}

  // The row's node is about to change from one to another; nullptr: none.
  void change_node(std::uint32_t row, const KeptNode* before, const KeptNode* node);
  // Drops classes that no node has any more once they are most: ids mean others then.
  void limit();
  void begin_anew();

  // Somebody begins to read; see NodeClasses. Returns the number of the last split that has to be
  // done before a decision by what is read.
  std::uint64_t read(const ClassConstraint& constraint, const std::vector<std::string>& keys = {});
  void unread(const ClassConstraint& constraint, const std::vector<std::string>& keys = {}) {
    classes_.unread(constraint, keys);
  }
  // True when nothing of the splits is left.
  bool split(const Pause& pause);
  void split_row(std::uint32_t row);  // ahead of its turn
  bool has_split(std::uint64_t number) const { return number <= splits_done_; }
  bool all_split() const { return splits_done_ == splits_begun_; }
  // The class that it came from in a split of which a shape whose last split is that number reads
  // nothing; 0: none.
  std::uint32_t parent_of(std::uint32_t node_class, std::uint64_t split) const;

  NodeClasses& classes() { return classes_; }
  const NodeClasses& classes() const { return classes_; }
  const NodeLabels& labels() const { return labels_; }
  std::uint32_t of(std::uint32_t row) const { return table_.node_class(row); }
  std::uint32_t nodes_in(std::uint32_t node_class) const {
    return node_class < sizes_.size() ? sizes_[node_class] : 0;
  }

 private:
  struct Origin {
    std::uint32_t parent = 0;       // 0: it came otherwise
    std::uint64_t splits_done = 0;  // the last one then
  };

  void add(const NodeClasses::Split& split);
  void set(std::uint32_t row, std::uint32_t node_class);
  void split_in_turn(std::uint32_t row);
  void touch(std::uint32_t row) const;

  NodeTable& table_;
  const Facts& facts_;
  NodeLabels labels_;
  NodeClasses classes_;
  std::vector<std::uint32_t> sizes_;  // by class
  std::vector<Origin> origins_;       // by class
  std::uint64_t splits_begun_ = 0, splits_done_ = 0;
  // Where the splits go on: with these rows, then with all from a row on.
  std::vector<std::uint32_t> split_rows_;
  std::uint32_t split_at_ = UINT32_MAX;
  // The class that nodes of one class (its bytes) which have the same go to, until all are split.
  BytesMap<std::string, std::uint32_t> split_to_;
  std::string split_key_;  // scratch
};

}  // namespace headroom
