#include "engine/table/kept_node.h"

#include <algorithm>
#include <utility>

#include "objects/hash.h"

namespace headroom {

std::size_t SharedImages::Hash::operator()(const ContainerImage& image) const {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(image.size_bytes));
  for (const std::string& name : image.names) {
    hash = mix(hash ^ keyed_hash(name));
  }
  return hash;
}

std::vector<SharedImage> SharedImages::share(std::span<const ContainerImage> images) {
  std::vector<SharedImage> shared;
  shared.reserve(images.size());
  for (const ContainerImage& image : images) {
    auto known = known_.find(image);
    if (known == known_.end()) {
      known = known_.insert(std::make_shared<const ContainerImage>(image)).first;
    }
    shared.push_back(*known);
  }
  if (known_.size() > 2 * used_ + kUnusedImagesMax) {
    forget_unused();
  }
  return shared;
}

void SharedImages::forget_unused() {
  std::erase_if(known_, [](const SharedImage& image) { return image.use_count() == 1; });
  used_ = known_.size();
}

namespace {

// What is kept elsewhere left out.
Node object_of(const Node& node) {
  const auto& [name, labels, annotations, unschedulable, taints, capacity, allocatable, deleting,
               images, declared_features] = node;
  return {.name = name,
          .labels = labels,
          .annotations = annotations,
          .unschedulable = unschedulable,
          .taints = taints,
          .capacity = {},
          .allocatable = allocatable,
          .deleting = false,
          .images = {},
          .declared_features = declared_features};
}

}  // namespace

KeptNode::KeptNode(const Node& node, std::vector<SharedImage> shared)
    : object(object_of(node)), images(std::move(shared)) {}

bool KeptNode::is_of(const Node& node, std::span<const ContainerImage> its_images) const {
  const auto& [name, labels, annotations, unschedulable, taints, capacity, allocatable, deleting,
               listed, declared_features] = node;
  return object.name == name && object.labels == labels && object.annotations == annotations &&
         object.unschedulable == unschedulable && object.taints == taints &&
         object.allocatable == allocatable && object.declared_features == declared_features &&
         std::equal(images.begin(), images.end(), its_images.begin(), its_images.end(),
                    [](const SharedImage& a, const ContainerImage& b) { return *a == b; });
}

Node KeptNode::whole() const {
  Node node = object;
  for (const SharedImage& image : images) {
    node.images.push_back(*image);
  }
  return node;
}

}  // namespace headroom
