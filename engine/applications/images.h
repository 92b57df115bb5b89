// Images: which container images nodes have, and what ImageLocality makes of them.
//
// Source: kube-scheduler v1.37 plugins/imagelocality. An image's size is that of the node that says
// the largest (kube-scheduler keeps that of the node that it saw first). Thread safety: one writer,
// or any number of readers. Cost: a node is O(its images); a look is a binary search.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

class Images {
 public:
  // The row's node has these now, and had those.
  void change(std::uint32_t row, const Node* before, const Node* after);

  // What the nodes that have it count for in a score: size times their share of all nodes.
  std::int64_t scaled_size(std::string_view name, std::uint32_t nodes) const;
  bool on_row(std::uint32_t row, std::string_view name) const;

 private:
  using ImageId = std::uint32_t;
  struct Image {
    std::uint32_t nodes = 0;
    std::map<std::int64_t, std::uint32_t> sizes;  // and the nodes that say so
  };

  BytesMap<std::string, ImageId> ids_;
  std::vector<Image> images_;
  std::vector<ImageId> free_;
  std::vector<std::vector<ImageId>> of_row_;  // sorted; of rows from its size on there are none
};

// A name without a tag has the tag latest.
std::string image_with_tag(const std::string& name);

// The score of a node that has images of that scaled size, of so many that the pod names.
std::int64_t image_score(std::int64_t scaled_sizes, std::uint32_t count);

}  // namespace headroom
