// KeptNode: a node object as the cluster keeps it. SharedImages: what its images are kept in, each
// once for all nodes that list it.
//
// A node of a real cluster lists 50 images under two names each, 15 KB in all, and most of them
// stand on many nodes. Thread safety: one writer, or any number of readers; who holds an image
// may outlive SharedImages. Invariant: of equal images that some node lists there is one. Cost:
// share() is a hash of each image's names and 16 bytes for it, and what stands nowhere else.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "objects/objects.h"

namespace headroom {

inline constexpr std::size_t kUnusedImagesMax = 1024;

using SharedImage = std::shared_ptr<const ContainerImage>;

class SharedImages {
 public:
  std::vector<SharedImage> share(std::span<const ContainerImage> images);
  // With those that no node lists any more, of which there may be as many as of others and
  // kUnusedImagesMax.
  std::size_t size() const { return known_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const ContainerImage& image) const;
    std::size_t operator()(const SharedImage& image) const { return (*this)(*image); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const SharedImage& a, const SharedImage& b) const { return a == b; }
    bool operator()(const ContainerImage& a, const SharedImage& b) const { return a == *b; }
    bool operator()(const SharedImage& a, const ContainerImage& b) const { return *a == b; }
  };

  void forget_unused();

  std::unordered_set<SharedImage, Hash, Equal> known_;
  std::size_t used_ = 0;  // when unused ones were last forgotten
};

struct KeptNode {
  Node object;  // without images, and without capacity and deleting, which nobody reads
  std::vector<SharedImage> images;  // the object's, in its order

  explicit KeptNode(const Node& node, std::vector<SharedImage> shared = {});
  // Whether `node` with those images would be kept as this.
  bool is_of(const Node& node, std::span<const ContainerImage> its_images) const;
  // With its images.
  Node whole() const;
};

}  // namespace headroom
