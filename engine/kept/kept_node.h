// KeptNode: a node object as the cluster keeps it, but for the name, which its row has.
// SharedParts: what nodes have in common, each part once for all of them.
//
// A node of a real cluster lists 50 images under two names each, has a dozen labels, and has what
// its machine type has to allocate; most of that stands on many nodes, and of labels all but the
// hostname on those of its pool and zone. Thread safety and invariant: as of SharedValues. Cost:
// keeping a node is a hash of all that it says, 16 bytes for each image, and what stands nowhere
// else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kept/shared_values.h"
#include "objects/objects.h"

namespace headroom {

using Label = std::pair<std::string, std::string>;

// What the nodes of a pool say alike.
struct NodeTraits {
  StringMap annotations;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceList allocatable;
  std::vector<std::string> declared_features;

  explicit NodeTraits(const Node& node);
};

using SharedLabel = std::shared_ptr<const Label>;
using LabelList = std::vector<SharedLabel>;
using SharedImage = std::shared_ptr<const ContainerImage>;

struct SharedParts {
  struct Identity {
    static std::size_t hash(const Label& label);
    static std::size_t hash(const LabelList& labels);  // of which equal ones are one
    static std::size_t hash(const NodeTraits& traits);
    static std::size_t hash(const Node& node);  // its traits'
    static std::size_t hash(const ContainerImage& image);
    static std::size_t hash(const std::vector<std::int64_t>& amounts);
    static bool equal(const Label& a, const Label& b) { return a == b; }
    static bool equal(const LabelList& a, const LabelList& b) { return a == b; }
    // Quantities that are equal and written otherwise (1Gi, 1073741824) stay what they are.
    static bool equal(const NodeTraits& a, const NodeTraits& b);
    static bool equal(const Node& a, const NodeTraits& b);
    static bool equal(const ContainerImage& a, const ContainerImage& b) { return a == b; }
    static bool equal(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
      return a == b;
    }
  };
  SharedValues<Label, Identity> labels;
  SharedValues<LabelList, Identity> label_lists;
  SharedValues<NodeTraits, Identity> traits;
  SharedValues<ContainerImage, Identity> images;
  SharedValues<std::vector<std::int64_t>, Identity> amounts;  // NodeFacts::allocatable
};

// A node's labels: the list of all but the hostname, and that.
class SharedLabels {
 public:
  SharedLabels(const StringMap& labels, SharedParts& parts);

  const std::string* find(std::string_view key) const;
  // By key, as a StringMap.
  template <typename Visit>
  void for_each(Visit visit) const {
    bool to_come = hostname_ != nullptr;
    for (const SharedLabel& label : *others_) {
      if (to_come && hostname_->first < label->first) {
        visit(*hostname_);
        to_come = false;
      }
      visit(*label);
    }
    if (to_come) {
      visit(*hostname_);
    }
  }
  // nullptr: it has none.
  const Label* hostname() const { return hostname_.get(); }
  bool are(const StringMap& labels) const;
  // Whether each is the one of its equals that `parts` has.
  bool are_of(const SharedParts& parts) const;
  friend bool operator==(const SharedLabels&, const SharedLabels&) = default;

 private:
  std::shared_ptr<const LabelList> others_;
  SharedLabel hostname_;
};

inline const std::string* find(const SharedLabels& labels, std::string_view key) {
  return labels.find(key);
}
bool matches(const LabelSelector& selector, const SharedLabels& labels);

// Of the object all else but images that nobody asks for, capacity and deleting, which nobody
// reads.
struct KeptNode {
  SharedLabels labels;
  std::shared_ptr<const NodeTraits> traits;
  std::vector<SharedImage> images;  // in the object's order

  // Equal parts are those of `parts`. `images`: the node's, or none.
  KeptNode(const Node& node, std::span<const ContainerImage> images, SharedParts& parts);
  // Whether `node`, of that row, with those images would be kept as this.
  bool is_of(const Node& node, std::span<const ContainerImage> its_images) const;
  // For validate(): whether its parts are those that others share.
  bool shares(const SharedParts& parts) const;
  // As an object.
  Node whole(const std::string& name) const;
};

}  // namespace headroom
