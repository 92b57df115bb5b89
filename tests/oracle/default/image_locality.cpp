// See image_locality.h.
#include "oracle/default/image_locality.h"

#include <algorithm>

namespace oracle::defaults {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kLeast = 23 * kMebibyte;
constexpr std::int64_t kMostPerImage = 1000 * kMebibyte;

// "Names without `:` after the last `/` get `:latest`; no other aliases".
std::string normalized(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t from = slash == std::string::npos ? 0 : slash;
  return name.find(':', from) == std::string::npos ? name + ":latest" : name;
}

const ImageOnNode* find_image(const Node& node, const std::string& name) {
  for (const ImageOnNode& image : node.images) {
    if (std::find(image.names.begin(), image.names.end(), name) != image.names.end()) return &image;
  }
  return nullptr;
}

}  // namespace

Status ImageLocalityPlugin::pre_score(const std::vector<const Node*>& /*feasible*/) { return {}; }

// "int(float(size)·(float(nodes with it)/float(all nodes)))"; "one size a name, from the node seen
// first": here the one that was applied first of those that have it now.
std::int64_t ImageLocalityPlugin::scaled_size(const std::string& name) const {
  const ImageOnNode* first = nullptr;
  std::int64_t with = 0, all = 0;
  for (const Node* node : facts().nodes()) {
    const ImageOnNode* image = find_image(*node, name);
    if (first == nullptr) first = image;
    if (image != nullptr) ++with;
    ++all;
  }
  if (first == nullptr) return 0;
  const double spread = static_cast<double>(with) / static_cast<double>(all);
  return static_cast<std::int64_t>(static_cast<double>(first->size_bytes) * spread);
}

std::int64_t ImageLocalityPlugin::score(const Node& node) {
  std::vector<std::string> names = pod().images;
  std::int64_t count = static_cast<std::int64_t>(names.size());
  for (const Volume& volume : pod().volumes) {
    // "1.36: image volumes score. 1.37: they count in n".
    if (!volume.image || version() == Version::k135) continue;
    names.push_back(*volume.image);
    if (version() >= Version::k137) ++count;
  }
  std::int64_t sum = 0;
  for (const std::string& name : names) {
    if (find_image(node, normalized(name)) != nullptr) sum += scaled_size(normalized(name));
  }
  // Not std::clamp: a pod without containers would have the limits the wrong way round.
  const std::int64_t most = kMostPerImage * count;
  sum = sum < kLeast ? kLeast : std::min(sum, most);
  return 100 * (sum - kLeast) / (most - kLeast);
}

}  // namespace oracle::defaults
