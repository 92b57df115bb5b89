#include "engine/applications/images.h"

#include <algorithm>
#include <utility>

#include "objects/assert.h"

namespace headroom {

namespace {

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kLeastBytes = 23 * kMebibyte, kMostBytesPerImage = 1000 * kMebibyte;

}  // namespace

Images::ImageId Images::id_of(const std::string& name) {
  if (const auto known = ids_.find(std::string_view(name)); known != ids_.end()) {
    return known->second;
  }
  const ImageId id = free_.next([this] {
    images_.emplace_back();
    return static_cast<ImageId>(images_.size() - 1);
  });
  ids_.emplace(name, id);
  free_.take();
  return id;
}

std::vector<Images::Listed> Images::list(const KeptNode* node) {
  std::vector<Listed> listed;
  for (std::size_t i = 0; node != nullptr && i < node->images.size(); ++i) {
    for (const std::string& name : node->images[i]->names) {
      listed.push_back({id_of(name), node->images[i]->size_bytes});
    }
  }
  // Of a name that comes twice the first counts.
  std::stable_sort(listed.begin(), listed.end(),
                   [](const Listed& a, const Listed& b) { return a.image < b.image; });
  listed.erase(std::unique(listed.begin(), listed.end(),
                           [](const Listed& a, const Listed& b) { return a.image == b.image; }),
               listed.end());
  return listed;
}

void Images::change(std::uint32_t row, const KeptNode* before, const KeptNode* after) {
  // Equal ones are one object.
  if (before != nullptr && after != nullptr && before->images == after->images) {
    return;
  }
  const std::vector<Listed> now = list(after), were = list(before);
  if (row >= of_row_.size()) {
    if (now.empty()) {
      return;  // and had none
    }
    of_row_.resize(row + 1);
  }
  std::vector<ImageId> of_row;
  of_row.reserve(now.size());
  for (const auto& [id, size_bytes] : now) {
    ++images_[id].nodes;
    ++images_[id].sizes[size_bytes];
    of_row.push_back(id);
  }
  of_row_[row] = std::move(of_row);
  for (const auto& [id, size_bytes] : were) {
    Image& image = images_[id];
    const auto size = image.sizes.find(size_bytes);
    HEADROOM_ASSERT(size != image.sizes.end());
    if (--size->second == 0) {
      image.sizes.erase(size);
    }
    --image.nodes;
  }
  if (before != nullptr) {
    forget_unused(*before);
  }
}

const std::vector<Images::ImageId>& Images::of(std::size_t row) const {
  static const std::vector<ImageId> kNone;
  return row < of_row_.size() ? of_row_[row] : kNone;
}

void Images::forget_unused(const KeptNode& node) {
  for (const SharedImage& image : node.images) {
    for (const std::string& name : image->names) {
      const auto known = ids_.find(std::string_view(name));
      if (known != ids_.end() && images_[known->second].nodes == 0) {
        free_.give(known->second);
        ids_.erase(known);
      }
    }
  }
}

bool Images::says_as(const Images& other) const {
  std::vector<ImageId> others(images_.size());
  for (const auto& [name, id] : ids_) {
    const auto its = other.ids_.find(std::string_view(name));
    if (its == other.ids_.end() || images_[id].nodes != other.images_[its->second].nodes ||
        images_[id].sizes != other.images_[its->second].sizes) {
      return false;
    }
    others[id] = its->second;
  }
  bool same = ids_.size() == other.ids_.size();
  for (std::size_t row = 0; row < std::max(of_row_.size(), other.of_row_.size()); ++row) {
    std::vector<ImageId> its;
    for (const ImageId id : of(row)) {
      its.push_back(others[id]);
    }
    std::sort(its.begin(), its.end());
    same = same && its == other.of(row);
  }
  return same;
}

std::int64_t Images::scaled_size(std::string_view name, std::uint32_t nodes) const {
  const auto known = ids_.find(name);
  if (known == ids_.end()) {
    return 0;
  }
  const Image& image = images_[known->second];
  const double share = static_cast<double>(image.nodes) / static_cast<double>(nodes);
  // No score has room for more (image_score()), and a pod's sum stays within int64.
  constexpr double kSizeMax = 1LL << 50;
  return static_cast<std::int64_t>(
      std::min(static_cast<double>(image.sizes.rbegin()->first) * share, kSizeMax));
}

bool Images::on_row(std::uint32_t row, std::string_view name) const {
  const auto known = ids_.find(name);
  return known != ids_.end() && std::binary_search(of(row).begin(), of(row).end(), known->second);
}

std::string image_with_tag(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return name.find(':', slash == std::string::npos ? 0 : slash) == std::string::npos
             ? name + ":latest"
             : name;
}

std::int64_t image_score(std::int64_t scaled_sizes, std::uint32_t count) {
  const std::int64_t most = kMostBytesPerImage * count;
  // A pod without images has its limits the wrong way round: the lower one holds.
  const std::int64_t sum = scaled_sizes < kLeastBytes ? kLeastBytes : std::min(scaled_sizes, most);
  return 100 * (sum - kLeastBytes) / (most - kLeastBytes);
}

}  // namespace headroom
