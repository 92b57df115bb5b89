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
#include <utility>
#include <vector>

#include "engine/kept/kept_node.h"
#include "layout/free_numbers.h"
#include "objects/hash.h"

namespace headroom {

class Images {
 public:
  // The row's node has these now, and had those; nullptr: there is none.
  void change(std::uint32_t row, const KeptNode* before, const KeptNode* after);

  // What the nodes that have it count for in a score: size times their share of all nodes.
  std::int64_t scaled_size(std::string_view name, std::uint32_t nodes) const;
  bool on_row(std::uint32_t row, std::string_view name) const;
  // Whether the same is known of the same names, whatever their numbers.
  bool says_as(const Images& other) const;

 private:
  using ImageId = std::uint32_t;
  struct Image {
    std::uint32_t nodes = 0;
    std::map<std::int64_t, std::uint32_t> sizes;  // and the nodes that say so
  };
  struct Listed {
    ImageId image;
    std::int64_t size_bytes;
  };

  ImageId id_of(const std::string& name);
  // A node's names, by number, each once.
  std::vector<Listed> list(const KeptNode* node);
  void forget_unused(const KeptNode& node);
  const std::vector<ImageId>& of(std::size_t row) const;

  BytesMap<std::string, ImageId> ids_;
  std::vector<Image> images_;
  FreeNumbers free_;
  std::vector<std::vector<ImageId>> of_row_;  // sorted; of rows from its size on there are none
};

// A name without a tag has the tag latest.
std::string image_with_tag(const std::string& name);

// The score of a node that has images of that scaled size, of so many that the pod names.
std::int64_t image_score(std::int64_t scaled_sizes, std::uint32_t count);

}  // namespace headroom
