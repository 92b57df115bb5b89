#include "engine/classes/node_classes.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace headroom {

namespace {

void append_sized(std::string& key, std::string_view part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  key.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(part);
}

// How many values of labels the constraint asks for.
std::size_t values_asked_for(const ClassConstraint& constraint) {
  std::size_t count = constraint.node_selector.size();
  for (std::size_t t = 0; constraint.required && t < constraint.required->size(); ++t) {
    for (const NodeSelectorRequirement& requirement : (*constraint.required)[t].match_expressions) {
      count += requirement.values.size();
    }
  }
  return count;
}

// Calls `all` for each label key of which every value counts, `present` where having it does,
// `values` for each key with the values that are asked for, `name` for each node's name.
template <typename All, typename Present, typename Values, typename Name>
void each_read(const ClassConstraint& constraint, const std::vector<std::string>& keys, All all,
               Present present, Values values, Name name) {
  for (const std::string& key : keys) {
    all(key);
  }
  for (const auto& [key, wanted] : constraint.node_selector) {
    values(key, std::span(&wanted, 1));
  }
  const bool pinned = names_its_nodes(constraint.required);
  for (std::size_t t = 0; constraint.required && t < constraint.required->size(); ++t) {
    const NodeSelectorTerm& term = (*constraint.required)[t];
    for (const NodeSelectorRequirement& requirement : term.match_expressions) {
      if (requirement.op == "In" || requirement.op == "NotIn") {
        if (!requirement.values.empty()) {
          values(requirement.key, std::span(requirement.values));
        }
      } else if (requirement.op == "Exists" || requirement.op == "DoesNotExist") {
        present(requirement.key);
      } else {
        all(requirement.key);
      }
    }
    // Pinned pods look at their few nodes by name.
    for (std::size_t f = 0; !pinned && f < term.match_fields.size(); ++f) {
      for (const std::string& named : term.match_fields[f].values) {
        name(named);
      }
    }
  }
}

}  // namespace

// --- What is read ---

// Whether it is new.
bool NodeClasses::begin(Readers& readers) {
  const bool is_new = !readers;
  unread_ -= !is_new && *readers == 0;
  readers = readers.value_or(0) + 1;
  return is_new;
}

template <typename Map>
bool NodeClasses::begin(Map& counts, const typename Map::key_type& what) {
  const auto [known, is_new] = counts.try_emplace(what, 0);
  unread_ -= !is_new && known->second == 0;
  ++known.value();
  return is_new;
}

// `held`: some node has it.
void NodeClasses::end(Readers& readers, bool held) {
  HEADROOM_ASSERT(readers.value_or(0) != 0);
  if (--*readers != 0) {
    return;
  }
  held ? void(++unread_) : readers.reset();
}

template <typename Map>
bool NodeClasses::end(Map& counts, const typename Map::key_type& what, bool held) {
  const auto known = counts.find(what);
  HEADROOM_ASSERT(known != counts.end() && known->second != 0);
  if (--known.value() != 0) {
    return false;
  }
  held ? void(++unread_) : void(counts.erase(known));
  return held;
}

NodeClasses::Split NodeClasses::read(const ClassConstraint& constraint,
                                     const std::vector<std::string>& keys) {
  Split split;
  const auto of_key = [&](const std::string& key, Readers KeyReads::*readers) {
    if (begin(keys_[key].*readers) && labels_.has_key(key)) {
      new_reads(key).any = true;
      split.all = true;
    }
  };
  const bool at_once = values_asked_for(constraint) <= kLabelsATurn;
  each_read(
      constraint, keys, [&](const std::string& key) { of_key(key, &KeyReads::values_all); },
      [&](const std::string& key) { of_key(key, &KeyReads::presence); },
      [&](const std::string& key, std::span<const std::string> values) {
        keys_[key].values += values.size();
        if (!at_once) {
          put_off(key, values, true);
          return;
        }
        for (const std::string& value : values) {
          begin_label(key, NodeLabels::hash(key, value), split);
        }
      },
      [&](const std::string& name) {
        if (begin(names_, name)) {
          new_names_.insert(name);
          split.all = true;
        }
      });
  return split;
}

void NodeClasses::unread(const ClassConstraint& constraint, const std::vector<std::string>& keys) {
  const auto of_key = [&](const std::string& key, Readers KeyReads::*readers) {
    end(known_reads(key).*readers, labels_.has_key(key));
    drop_unread(key);
  };
  const bool at_once = values_asked_for(constraint) <= kLabelsATurn;
  each_read(
      constraint, keys, [&](const std::string& key) { of_key(key, &KeyReads::values_all); },
      [&](const std::string& key) { of_key(key, &KeyReads::presence); },
      [&](const std::string& key, std::span<const std::string> values) {
        if (!at_once) {
          put_off(key, values, false);
          return;
        }
        KeyReads& reads = known_reads(key);
        for (const std::string& value : values) {
          end_label(reads, NodeLabels::hash(key, value));
        }
        drop_unread(key);
      },
      [&](const std::string& name) { (void)end(names_, name, true); });
}

void NodeClasses::put_off(const std::string& key, std::span<const std::string> values,
                          bool begins) {
  if (put_off_.empty() || put_off_.back().key != key || put_off_.back().begins != begins) {
    put_off_.push_back({key, {}, begins});
  }
  for (const std::string& value : values) {
    put_off_.back().labels.push_back(NodeLabels::hash(key, value));
  }
}

NodeClasses::Split NodeClasses::read_on() {
  HEADROOM_ASSERT(has_put_off());
  Split split;
  PutOff& next = put_off_.front();
  for (std::size_t i = 0; i < kLabelsATurn && !next.labels.empty(); ++i) {
    const std::uint64_t label = next.labels.back();
    next.labels.pop_back();
    next.begins ? begin_label(next.key, label, split) : end_label(known_reads(next.key), label);
  }
  if (next.labels.empty()) {
    drop_unread(next.key);
    put_off_.pop_front();
  }
  return split;
}

void NodeClasses::begin_label(const std::string& key, std::uint64_t label, Split& split) {
  if (!begin(counts_of(label), label)) {
    return;
  }
  if (const NodeLabels::Holders its = labels_.holders_of(label); its.count != 0) {
    NewReads& reads = new_reads(key);
    reads.values.insert(label);
    reads.numbers.set(its.number);
    its.row == UINT32_MAX ? void(split.all = true) : split.rows.push_back(its.row);
  }
}

void NodeClasses::end_label(KeyReads& reads, std::uint64_t label) {
  HEADROOM_ASSERT(reads.values != 0);
  --reads.values;
  reads.has_unread |= end(counts_of(label), label, labels_.holders_of(label).count != 0);
}

NodeClasses::KeyReads& NodeClasses::known_reads(const std::string& key) {
  const auto known = keys_.find(key);
  HEADROOM_ASSERT(known != keys_.end());
  return known.value();
}

void NodeClasses::drop_unread(const std::string& key) {
  if (known_reads(key).none()) {
    keys_.erase(key);
  }
}

NodeClasses::NewReads& NodeClasses::new_reads(const std::string& key) {
  const auto [known, is_new] = new_keys_.try_emplace(key);
  if (is_new) {
    known.value().version = labels_.version(key);
  }
  return known.value();
}

bool NodeClasses::begin_turn() {
  bool by_column = new_names_.empty();
  for (auto at = new_keys_.begin(); at != new_keys_.end(); ++at) {
    const bool same = at->second.version == labels_.version(at->first);
    at.value().column = same ? labels_.column(at->first) : nullptr;
    by_column = by_column && at->second.column != nullptr;
  }
  return !by_column;
}

bool NodeClasses::split(const std::string& name, const KeptNode& node, std::uint32_t row,
                        std::string& has) const {
  bool any = false;
  const auto add_text = [&](const std::string* text) {
    any = any || text != nullptr;
    has.push_back(text != nullptr ? '\2' : '\1');
    append_sized(has, text != nullptr ? std::string_view(*text) : std::string_view());
  };
  for (const auto& [key, reads] : new_keys_) {
    if (reads.column != nullptr) {
      const NodeLabels::Number number = row < reads.column->size() ? (*reads.column)[row] : 0;
      const bool counts = number != 0 && (reads.any || reads.numbers[number]);
      any = any || counts;
      has.push_back('\3');
      has.push_back(static_cast<char>(counts ? number : 0));
      continue;
    }
    const std::string* value = find(node.labels, key);
    const bool counts =
        value != nullptr && (reads.any || reads.values.contains(NodeLabels::hash(key, *value)));
    add_text(counts ? value : nullptr);
  }
  if (!new_names_.empty()) {
    add_text(new_names_.contains(name) ? &name : nullptr);
  }
  return any;
}

void NodeClasses::end_split() {
  new_keys_.clear();
  new_names_.clear();
}

// --- Classes ---

void NodeClasses::forget() {
  const auto forget_unread = [](auto& counts) {
    for (auto at = counts.begin(); at != counts.end();) {
      at = at->second == 0 ? counts.erase(at) : std::next(at);
    }
  };
  for (auto at = keys_.begin(); unread_ != 0 && at != keys_.end();) {
    KeyReads& reads = at.value();
    for (Readers* readers : {&reads.values_all, &reads.presence}) {
      if (readers->value_or(1) == 0) {
        readers->reset();
      }
    }
    reads.has_unread = false;
    at = reads.none() ? keys_.erase(at) : std::next(at);
  }
  for (std::size_t t = 0; unread_ != 0 && t < labels_read_.size(); ++t) {
    forget_unread(labels_read_[t]);
  }
  forget_unread(names_);
  unread_ = 0;
  classes_.resize(1);
  ids_.clear();
  ++generation_;
}

std::uint32_t NodeClasses::classify(const std::string& node_name, const KeptNode& node) {
  NodeClass found;
  std::string key;
  node.labels.for_each([&](const Label& label) {
    const auto& [name, value] = label;
    const auto known = keys_.find(name);
    if (known == keys_.end()) {
      return;
    }
    const KeyReads& reads = known->second;
    bool counts = reads.values_all.has_value();
    if (!counts && reads.any_value()) {
      const std::uint64_t hash = NodeLabels::hash(name, value);
      counts = counts_of(hash).contains(hash);
    }
    if (!counts && !reads.presence) {
      return;
    }
    append_sized(key, name);
    key.push_back(counts ? '\2' : '\1');
    if (counts) {
      append_sized(key, value);
    }
    found.labels.push_back({name, counts ? std::optional(value) : std::nullopt});
  });
  key.push_back('\1');
  for (const Taint& taint : node.traits->taints) {
    append_sized(key, taint.key);
    append_sized(key, taint.value);
    append_sized(key, taint.effect);
  }
  key.push_back(node.traits->unschedulable ? '\2' : '\1');
  if (names_.contains(node_name)) {
    found.name = node_name;
    append_sized(key, node_name);
  }
  const auto [position, added] = ids_.try_emplace(std::move(key), size());
  if (added) {
    found.taints = node.traits->taints;
    found.unschedulable = node.traits->unschedulable;
    classes_.push_back(std::move(found));
  }
  return position->second;
}

}  // namespace headroom
