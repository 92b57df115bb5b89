// LabelSet: the labels that a selector accepts, as a set, so that selectors can be compared.
//
// Per key it holds which values are accepted and whether the key may be absent. Keys are
// independent, so emptiness and inclusion are exact.
//
// Thread safety: a plain value.
#pragma once

#include <map>
#include <set>
#include <string>

#include "objects/objects.h"

namespace headroom {

class LabelSet {
 public:
  // Of a selector that check_selector() takes.
  explicit LabelSet(const LabelSelector& selector);

  // Accepts only what the requirement accepts too.
  void narrow(const NodeSelectorRequirement& asked);
  // The first key of which no value, nor its absence, is accepted; nullptr: some labels are
  // accepted.
  const std::string* contradiction() const;
  // All labels that this set accepts are in `other`.
  bool within(const LabelSet& other) const;

 private:
  struct Values {
    bool absent = true;   // is accepted
    bool all_but = true;  // `listed` are those that are not accepted, or those that are
    std::set<std::string> listed;
    bool empty() const { return !absent && !all_but && listed.empty(); }
    bool within(const Values& other) const;
  };
  static Values of(const NodeSelectorRequirement& asked);
  static Values both(const Values& a, const Values& b);

  std::map<std::string, Values> keys_;  // keys that are not here may be anything
};

}  // namespace headroom
