#include "engine/kept/kept_node.h"

#include <algorithm>

#include "objects/hash.h"
#include "objects/labels.h"

namespace headroom {

namespace {

template <typename NodeOrTraits>
std::size_t hash_of_traits(const NodeOrTraits& node) {
  std::uint64_t hash = node.unschedulable;
  const auto add = [&](std::uint64_t value) { hash = mix(hash ^ value); };
  add(node.annotations.size());
  add(node.taints.size());
  add(node.allocatable.size());
  for (const auto& [key, value] : node.annotations) {
    add(keyed_hash(key));
    add(keyed_hash(value));
  }
  for (const Taint& taint : node.taints) {
    add(keyed_hash(taint.key));
    add(keyed_hash(taint.value));
    add(keyed_hash(taint.effect));
  }
  for (const auto& [name, quantity] : node.allocatable) {
    add(keyed_hash(name));
    add(static_cast<std::uint64_t>(quantity.nanos()));
  }
  for (const std::string& feature : node.declared_features) {
    add(keyed_hash(feature));
  }
  return hash;
}

template <typename NodeOrTraits>
bool equal_traits(const NodeOrTraits& a, const NodeTraits& b) {
  const auto as_written = [](const auto& x, const auto& y) {
    return x == y && x.second.format() == y.second.format();
  };
  return a.annotations == b.annotations && a.unschedulable == b.unschedulable &&
         a.taints == b.taints &&
         std::equal(a.allocatable.begin(), a.allocatable.end(), b.allocatable.begin(),
                    b.allocatable.end(), as_written) &&
         a.declared_features == b.declared_features;
}

}  // namespace

std::size_t SharedParts::Identity::hash(const Label& label) {
  return mix(keyed_hash(label.first) ^ mix(keyed_hash(label.second)));
}

std::size_t SharedParts::Identity::hash(const LabelList& labels) {
  std::uint64_t hash = labels.size();
  for (const SharedLabel& label : labels) {
    hash = mix(hash ^ reinterpret_cast<std::uintptr_t>(label.get()));
  }
  return hash;
}

std::size_t SharedParts::Identity::hash(const NodeTraits& traits) { return hash_of_traits(traits); }

std::size_t SharedParts::Identity::hash(const Node& node) { return hash_of_traits(node); }

std::size_t SharedParts::Identity::hash(const ContainerImage& image) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(image.size_bytes));
  for (const std::string& name : image.names) {
    hash = mix(hash ^ keyed_hash(name));
  }
  return hash;
}

std::size_t SharedParts::Identity::hash(const std::vector<std::int64_t>& amounts) {
  // Not from the data of an empty list, which is null.
  return amounts.empty()
             ? 0
             : keyed_hash(std::string_view(reinterpret_cast<const char*>(amounts.data()),
                                           amounts.size() * sizeof(std::int64_t)));
}

bool SharedParts::Identity::equal(const NodeTraits& a, const NodeTraits& b) {
  return equal_traits(a, b);
}

bool SharedParts::Identity::equal(const Node& a, const NodeTraits& b) { return equal_traits(a, b); }

SharedLabels::SharedLabels(const StringMap& labels, SharedParts& parts) {
  LabelList others;
  others.reserve(labels.size());
  for (const Label& label : labels) {
    SharedLabel shared = parts.labels.share(label);
    if (label.first == kHostnameLabel) {
      hostname_ = std::move(shared);
    } else {
      others.push_back(std::move(shared));
    }
  }
  others_ = parts.label_lists.share(others);
}

const std::string* SharedLabels::find(std::string_view key) const {
  if (key == kHostnameLabel) {
    return hostname_ == nullptr ? nullptr : &hostname_->second;
  }
  const auto found = std::lower_bound(
      others_->begin(), others_->end(), key,
      [](const SharedLabel& label, std::string_view k) { return label->first < k; });
  return found == others_->end() || (*found)->first != key ? nullptr : &(*found)->second;
}

bool SharedLabels::are(const StringMap& labels) const {
  bool same = true;
  auto next = labels.begin();
  for_each([&](const Label& label) { same = same && next != labels.end() && *next++ == label; });
  return same && next == labels.end();
}

bool SharedLabels::are_of(const SharedParts& parts) const {
  return parts.label_lists.has(others_) &&
         std::all_of(others_->begin(), others_->end(),
                     [&](const SharedLabel& label) { return parts.labels.has(label); }) &&
         (hostname_ == nullptr || parts.labels.has(hostname_));
}

bool matches(const LabelSelector& selector, const SharedLabels& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const NodeSelectorRequirement& asked) {
    return holds(asked, labels.find(asked.key));
  });
}

NodeTraits::NodeTraits(const Node& node)
    : annotations(node.annotations),
      unschedulable(node.unschedulable),
      taints(node.taints),
      allocatable(node.allocatable),
      declared_features(node.declared_features) {}

KeptNode::KeptNode(const Node& node, std::span<const ContainerImage> its_images, SharedParts& parts)
    : labels(node.labels, parts), traits(parts.traits.share(node)) {
  images.reserve(its_images.size());
  for (const ContainerImage& image : its_images) {
    images.push_back(parts.images.share(image));
  }
}

bool KeptNode::is_of(const Node& node, std::span<const ContainerImage> its_images) const {
  // All that a node has: with a field more this does not compile.
  const auto& [name, its_labels, annotations, unschedulable, taints, capacity, allocatable,
               deleting, listed, features] = node;
  return labels.are(its_labels) && traits->annotations == annotations &&
         traits->unschedulable == unschedulable && traits->taints == taints &&
         traits->allocatable == allocatable && traits->declared_features == features &&
         std::equal(images.begin(), images.end(), its_images.begin(), its_images.end(),
                    [](const SharedImage& a, const ContainerImage& b) { return *a == b; });
}

bool KeptNode::shares(const SharedParts& parts) const {
  return parts.traits.has(traits) && labels.are_of(parts) &&
         std::all_of(images.begin(), images.end(),
                     [&](const SharedImage& image) { return parts.images.has(image); });
}

Node KeptNode::whole(const std::string& name) const {
  Node node{.name = name,
            .labels = {},
            .annotations = traits->annotations,
            .unschedulable = traits->unschedulable,
            .taints = traits->taints,
            .capacity = {},
            .allocatable = traits->allocatable,
            .deleting = false,
            .images = {},
            .declared_features = traits->declared_features};
  labels.for_each([&](const Label& label) { node.labels.push_back(label); });
  for (const SharedImage& image : images) {
    node.images.push_back(*image);
  }
  return node;
}

}  // namespace headroom
