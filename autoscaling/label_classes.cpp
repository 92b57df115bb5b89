#include "autoscaling/label_classes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace headroom {

std::uint64_t LabelClasses::hash_of(const StringMap& labels) {
  std::uint64_t hash = labels.size();
  for (const auto& [key, value] : labels) hash = mix(hash ^ keyed_hash(key));
  return hash;
}

std::uint32_t LabelClasses::layout_of(const StringMap& labels) {
  const auto has_keys = [&](std::uint32_t id) {
    const std::vector<std::string>& keys = layouts_[id].keys;
    return std::equal(keys.begin(), keys.end(), labels.begin(), labels.end(),
                      [](const std::string& key, const auto& label) { return key == label.first; });
  };
  if (last_layout_ < layouts_.size() && has_keys(last_layout_)) return last_layout_;
  const std::uint64_t hash = hash_of(labels);
  const auto [begin, end] = layout_ids_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (has_keys(it->second)) return last_layout_ = it->second;
  }
  const auto id = static_cast<std::uint32_t>(layouts_.size());
  Layout& layout = layouts_.emplace_back();
  for (const auto& [key, value] : labels) layout.keys.push_back(key);
  for (std::uint32_t k = 0; k < read_keys_.size(); ++k) place(k, layout);
  layout_ids_.emplace(hash, id);
  return last_layout_ = id;
}

void LabelClasses::place(std::uint32_t read_key, Layout& layout) const {
  const std::string& key = read_keys_[read_key].key;
  const auto it = std::lower_bound(layout.keys.begin(), layout.keys.end(), key);
  if (it == layout.keys.end() || *it != key) return;
  layout.read.push_back({static_cast<std::uint32_t>(it - layout.keys.begin()), read_key});
}

bool LabelClasses::read(std::string_view key) {
  const auto known = [&](const ReadKey& read) { return read.key == key; };
  if (std::any_of(read_keys_.begin(), read_keys_.end(), known)) return false;
  const std::uint32_t read_key = keys_read();
  const auto before = [&](std::uint32_t k) { return read_keys_[k].key < key; };
  const auto after =
      std::partition_point(sorted_keys_.begin(), sorted_keys_.end(), before) - sorted_keys_.begin();
  // All memory first: where it ends nothing is read that was not.
  sorted_keys_.reserve(sorted_keys_.size() + 1);
  for (Layout& layout : layouts_) layout.read.reserve(layout.read.size() + 1);
  splits_.clear();
  last_splits_.assign(classes_.size(), {});
  ReadKey its;
  its.key = key;
  read_keys_.push_back(std::move(its));
  sorted_keys_.insert(sorted_keys_.begin() + after, read_key);
  for (Layout& layout : layouts_) place(read_key, layout);
  return true;
}

KeptLabels LabelClasses::keep(const StringMap& labels) {
  KeptLabels kept;
  kept.layout = layout_of(labels);
  auto offset = static_cast<std::uint32_t>((labels.size() + 1) * sizeof(std::uint32_t));
  std::size_t size = offset;
  for (const auto& [key, value] : labels) size += value.size();
  kept.values.resize(size);
  char* offsets = kept.values.data();
  for (const auto& [key, value] : labels) {
    std::memcpy(offsets, &offset, sizeof offset);
    offsets += sizeof offset;
    std::memcpy(kept.values.data() + offset, value.data(), value.size());
    offset += static_cast<std::uint32_t>(value.size());
  }
  std::memcpy(offsets, &offset, sizeof offset);
  return kept;
}

std::string_view LabelClasses::value_at(const KeptLabels& labels, std::uint32_t label) {
  std::uint32_t ends[2];
  std::memcpy(ends, labels.values.data() + label * sizeof ends[0], sizeof ends);
  return {labels.values.data() + ends[0], ends[1] - ends[0]};
}

StringMap LabelClasses::map_of(const KeptLabels& labels) const {
  const std::vector<std::string>& keys = layouts_[labels.layout].keys;
  StringMap map;
  map.reserve(keys.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) map.emplace_back(keys[i], value_at(labels, i));
  return map;
}

bool LabelClasses::is_of(std::uint32_t label_class, const StringMap& labels) const {
  const StringMap& its = classes_[label_class].labels;
  return std::all_of(read_keys_.begin(), read_keys_.end(), [&](const ReadKey& read) {
    const std::string* value = find(labels, read.key);
    const std::string* wanted = find(its, read.key);
    return value == nullptr || wanted == nullptr ? value == wanted : *value == *wanted;
  });
}

std::uint32_t LabelClasses::code(std::uint32_t read_key, std::string_view value) {
  ReadKey& key = read_keys_[read_key];
  if (const auto it = key.codes.find(value); it != key.codes.end()) return it->second;
  const auto next = static_cast<std::uint32_t>(key.values.size());
  key.values.emplace_back(value);
  key.codes.emplace(key.values.back(), next);
  return next;
}

// As a key of class_ids_.
std::string_view LabelClasses::bytes_of(const std::vector<std::uint32_t>& codes) {
  std::size_t size = codes.size();
  while (size > 0 && codes[size - 1] == 0) --size;
  // Not from the data of an empty list, which is null.
  if (size == 0) return "";
  return {reinterpret_cast<const char*>(codes.data()), size * sizeof(std::uint32_t)};
}

std::uint32_t LabelClasses::find_or_add(const std::vector<std::uint32_t>& codes) {
  const std::string_view bytes = bytes_of(codes);
  const std::size_t size = bytes.size() / sizeof(std::uint32_t);
  if (const auto it = class_ids_.find(bytes); it != class_ids_.end()) return it->second;
  const std::uint32_t id = this->size();
  Class added;
  added.codes.assign(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(size));
  added.labels.reserve(size);
  for (const std::uint32_t k : sorted_keys_) {
    const ReadKey& key = read_keys_[k];
    if (k < size && codes[k] != 0) added.labels.emplace_back(key.key, key.values[codes[k]]);
  }
  // Known once it is there. Where memory ends between the two nobody is of it.
  classes_.push_back(std::move(added));
  class_ids_.emplace(std::string(bytes), id);
  return id;
}

std::uint32_t LabelClasses::classify(const KeptLabels& labels) {
  codes_.assign(read_keys_.size(), 0);
  for (const Position& position : layouts_[labels.layout].read) {
    codes_[position.read_key] = code(position.read_key, value_at(labels, position.label));
  }
  return find_or_add(codes_);
}

std::uint32_t LabelClasses::classify(const StringMap& labels) {
  codes_.assign(read_keys_.size(), 0);
  for (std::uint32_t k = 0; k < read_keys_.size(); ++k) {
    if (const std::string* value = find(labels, read_keys_[k].key)) codes_[k] = code(k, *value);
  }
  return find_or_add(codes_);
}

std::optional<std::uint32_t> LabelClasses::find_class(const StringMap& labels) {
  codes_.assign(read_keys_.size(), 0);
  for (std::uint32_t k = 0; k < read_keys_.size(); ++k) {
    const std::string* value = find(labels, read_keys_[k].key);
    if (value == nullptr) continue;
    const auto known = read_keys_[k].codes.find(*value);
    if (known == read_keys_[k].codes.end()) return std::nullopt;
    codes_[k] = known->second;
  }
  const auto it = class_ids_.find(bytes_of(codes_));
  return it == class_ids_.end() ? std::nullopt : std::optional(it->second);
}

StringMap LabelClasses::read_of(const StringMap& labels) const {
  StringMap read;
  for (const std::uint32_t k : sorted_keys_) {
    const std::string& key = read_keys_[k].key;
    if (const std::string* value = find(labels, key)) read.emplace_back(key, *value);
  }
  return read;
}

std::vector<std::uint32_t> LabelClasses::keep_only(const std::vector<bool>& kept) {
  const std::vector<Class> classes = std::exchange(classes_, {});
  class_ids_.clear();
  for (ReadKey& key : read_keys_) {
    key.codes.clear();
    key.values = {{}};
  }
  std::vector<std::uint32_t> numbers(classes.size(), kDropped);
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    if (kept[c]) numbers[c] = classify(classes[c].labels);
  }
  splits_.clear();
  last_splits_.assign(classes_.size(), {});
  return numbers;
}

std::uint32_t LabelClasses::split(std::uint32_t before, std::string_view value) {
  const std::uint32_t last = keys_read() - 1;
  LastSplit* known = before < last_splits_.size() ? &last_splits_[before] : nullptr;
  if (known != nullptr && known->code != 0 && read_keys_[last].values[known->code] == value) {
    return known->to;
  }
  const std::uint32_t value_code = code(last, value);
  const std::uint64_t both = std::uint64_t{before} << 32 | value_code;
  auto its = splits_.find(both);
  if (its == splits_.end()) {
    codes_ = classes_[before].codes;
    codes_.resize(read_keys_.size());
    codes_[last] = value_code;
    const std::uint32_t found = find_or_add(codes_);
    its = splits_.emplace(both, found).first;
  }
  if (known != nullptr) *known = {value_code, its->second};
  return its->second;
}

std::uint32_t LabelClasses::split(std::uint32_t before, const KeptLabels& labels) {
  const std::vector<Position>& read = layouts_[labels.layout].read;
  // A layout's positions are in the order in which keys were first read.
  if (read.empty() || read.back().read_key + 1 != read_keys_.size()) return before;
  return split(before, value_at(labels, read.back().label));
}

std::uint32_t LabelClasses::split(std::uint32_t before, const StringMap& labels) {
  const std::string* value = find(labels, read_keys_.back().key);
  return value == nullptr ? before : split(before, *value);
}

}  // namespace headroom
