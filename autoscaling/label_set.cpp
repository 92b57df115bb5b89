#include "autoscaling/label_set.h"

#include <algorithm>
#include <iterator>

namespace headroom {

LabelSet::LabelSet(const LabelSelector& selector) {
  for (const NodeSelectorRequirement& asked : selector) narrow(asked);
}

void LabelSet::narrow(const NodeSelectorRequirement& asked) {
  Values& values = keys_[asked.key];
  values = both(values, of(asked));
}

const std::string* LabelSet::contradiction() const {
  const auto none =
      std::find_if(keys_.begin(), keys_.end(), [](const auto& key) { return key.second.empty(); });
  return none == keys_.end() ? nullptr : &none->first;
}

bool LabelSet::within(const LabelSet& other) const {
  if (contradiction() != nullptr) return true;
  return std::all_of(other.keys_.begin(), other.keys_.end(), [&](const auto& key) {
    const auto mine = keys_.find(key.first);
    return (mine == keys_.end() ? Values{} : mine->second).within(key.second);
  });
}

LabelSet::Values LabelSet::of(const NodeSelectorRequirement& asked) {
  Values values;
  values.absent = asked.op == "NotIn" || asked.op == "DoesNotExist";
  values.all_but = asked.op == "NotIn" || asked.op == "Exists";
  values.listed = {asked.values.begin(), asked.values.end()};
  return values;
}

LabelSet::Values LabelSet::both(const Values& a, const Values& b) {
  Values result;
  result.absent = a.absent && b.absent;
  result.all_but = a.all_but && b.all_but;
  const auto into = std::inserter(result.listed, result.listed.end());
  const auto &first = a.listed, &second = b.listed;
  if (a.all_but && b.all_but) {
    std::set_union(first.begin(), first.end(), second.begin(), second.end(), into);
  } else if (a.all_but) {
    std::set_difference(second.begin(), second.end(), first.begin(), first.end(), into);
  } else if (b.all_but) {
    std::set_difference(first.begin(), first.end(), second.begin(), second.end(), into);
  } else {
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), into);
  }
  return result;
}

// There are more label values than any list has: all but some are never within some.
bool LabelSet::Values::within(const Values& other) const {
  if (absent && !other.absent) return false;
  const auto includes = [](const std::set<std::string>& all, const std::set<std::string>& some) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  };
  if (all_but) return other.all_but && includes(listed, other.listed);
  if (!other.all_but) return includes(other.listed, listed);
  return std::none_of(listed.begin(), listed.end(),
                      [&](const std::string& value) { return other.listed.count(value) != 0; });
}

}  // namespace headroom
