#include "engine/table/node_classes.h"

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

std::uint64_t label_hash(std::string_view key, std::string_view value) {
  static thread_local std::string text;
  text.clear();
  append_sized(text, key);
  return keyed_hash(text.append(value));
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
        values(requirement.key, std::span(requirement.values));
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

// --- What nodes have ---

void NodeClasses::count_labels(const Node& node, std::uint32_t row, int sign) {
  for (const auto& [key, value] : node.labels) {
    const std::uint64_t hash = label_hash(key, value);
    if (sign > 0) {
      ++label_keys_[key];
      Holders& its = holders_[hash];
      // A node that changes has it twice for a moment.
      its.row = ++its.count == 1 || its.row == row ? row : UINT32_MAX;
      continue;
    }
    const auto found = label_keys_.find(key);
    const auto its = holders_.find(hash);
    HEADROOM_ASSERT(found != label_keys_.end() && its != holders_.end());
    if (--found.value() == 0) {
      label_keys_.erase(found);
    }
    if (--its.value().count == 0) {
      holders_.erase(its);
    }
  }
}

const NodeClasses::Holders* NodeClasses::holders(std::uint64_t label) const {
  const auto found = holders_.find(label);
  return found == holders_.end() ? nullptr : &found->second;
}

NodeClasses::Holders NodeClasses::holders_of(std::string_view key, std::string_view value) const {
  const Holders* its = holders(label_hash(key, value));
  return its == nullptr ? Holders() : *its;
}

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
void NodeClasses::end(Map& counts, const typename Map::key_type& what, bool held) {
  const auto known = counts.find(what);
  HEADROOM_ASSERT(known != counts.end() && known->second != 0);
  if (--known.value() != 0) {
    return;
  }
  held ? void(++unread_) : void(counts.erase(known));
}

NodeClasses::Split NodeClasses::read(const ClassConstraint& constraint,
                                     const std::vector<std::string>& keys) {
  Split split;
  const auto of_key = [&](const std::string& key, Readers KeyReads::*readers) {
    if (begin(keys_[key].*readers) && label_keys_.contains(key)) {
      new_keys_[key].any = true;
      split.all = true;
    }
  };
  each_read(
      constraint, keys, [&](const std::string& key) { of_key(key, &KeyReads::values_all); },
      [&](const std::string& key) { of_key(key, &KeyReads::presence); },
      [&](const std::string& key, std::span<const std::string> values) {
        if (values.empty()) {
          return;
        }
        LabelCounts& read = keys_[key].values;
        for (const std::string& value : values) {
          const std::uint64_t label = label_hash(key, value);
          const Holders* its = begin(read, label) ? holders(label) : nullptr;
          if (its != nullptr) {
            new_keys_[key].values.insert(label);
            its->row == UINT32_MAX ? void(split.all = true) : split.rows.push_back(its->row);
          }
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
  const auto known = [&](const std::string& key) {
    const auto found = keys_.find(key);
    HEADROOM_ASSERT(found != keys_.end());
    return found;
  };
  const auto drop = [&](auto found) {
    if (found->second.none()) {
      keys_.erase(found);
    }
  };
  const auto of_key = [&](const std::string& key, Readers KeyReads::*readers) {
    const auto found = known(key);
    end(found.value().*readers, label_keys_.contains(key));
    drop(found);
  };
  each_read(
      constraint, keys, [&](const std::string& key) { of_key(key, &KeyReads::values_all); },
      [&](const std::string& key) { of_key(key, &KeyReads::presence); },
      [&](const std::string& key, std::span<const std::string> values) {
        if (values.empty()) {
          return;
        }
        const auto found = known(key);
        for (const std::string& value : values) {
          const std::uint64_t label = label_hash(key, value);
          end(found.value().values, label, holders(label) != nullptr);
        }
        drop(found);
      },
      [&](const std::string& name) { end(names_, name, true); });
}

bool NodeClasses::split(const Node& node, std::string& has) const {
  bool any = false;
  const auto add = [&](const std::string* text) {
    any = any || text != nullptr;
    has.push_back(text != nullptr ? '\2' : '\1');
    append_sized(has, text != nullptr ? std::string_view(*text) : std::string_view());
  };
  for (const auto& [key, reads] : new_keys_) {
    const std::string* value = find(node.labels, key);
    const bool counts =
        value != nullptr && (reads.any || reads.values.contains(label_hash(key, *value)));
    add(counts ? value : nullptr);
  }
  add(!new_names_.empty() && new_names_.contains(node.name) ? &node.name : nullptr);
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
    forget_unread(reads.values);
    at = reads.none() ? keys_.erase(at) : std::next(at);
  }
  forget_unread(names_);
  unread_ = 0;
  classes_.resize(1);
  ids_.clear();
  ++generation_;
}

std::uint32_t NodeClasses::classify(const Node& node) {
  NodeClass found;
  std::string key;
  for (const auto& [name, value] : node.labels) {
    const auto known = keys_.find(name);
    if (known == keys_.end()) {
      continue;
    }
    const KeyReads& reads = known->second;
    const bool counts = reads.values_all || reads.values.contains(label_hash(name, value));
    if (!counts && !reads.presence) {
      continue;
    }
    append_sized(key, name);
    key.push_back(counts ? '\2' : '\1');
    if (counts) {
      append_sized(key, value);
    }
    found.labels.push_back({name, counts ? std::optional(value) : std::nullopt});
  }
  key.push_back('\1');
  for (const Taint& taint : node.taints) {
    append_sized(key, taint.key);
    append_sized(key, taint.value);
    append_sized(key, taint.effect);
  }
  key.push_back(node.unschedulable ? '\2' : '\1');
  if (names_.contains(node.name)) {
    found.name = node.name;
    append_sized(key, node.name);
  }
  const auto [position, added] = ids_.try_emplace(std::move(key), size());
  if (added) {
    found.taints = node.taints;
    found.unschedulable = node.unschedulable;
    classes_.push_back(std::move(found));
  }
  return position->second;
}

}  // namespace headroom
