#include "engine/applications/images.h"

#include <algorithm>
#include <utility>

#include "objects/assert.h"

namespace headroom {

namespace {

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kLeastBytes = 23 * kMebibyte, kMostBytesPerImage = 1000 * kMebibyte;

// The largest size by name: a node may list one under several sizes.
std::map<std::string_view, std::int64_t> images_of(const Node* node) {
  std::map<std::string_view, std::int64_t> sizes;
  for (std::size_t i = 0; node != nullptr && i < node->images.size(); ++i) {
    for (const std::string& name : node->images[i].names) {
      // Of a name that comes twice the first counts.
      sizes.emplace(name, node->images[i].size_bytes);
    }
  }
  return sizes;
}

}  // namespace

void Images::change(std::uint32_t row, const Node* before, const Node* after) {
  if (before != nullptr && after != nullptr && before->images == after->images) {
    return;
  }
  const auto were = images_of(before), now = images_of(after);
  if (row >= of_row_.size()) {
    if (now.empty()) {
      return;  // and had none
    }
    of_row_.resize(row + 1);
  }
  std::vector<ImageId>& of_row = of_row_[row];
  of_row.clear();
  for (const auto& [name, size] : now) {
    const auto [known, is_new] = ids_.try_emplace(
        std::string(name), free_.empty() ? static_cast<ImageId>(images_.size()) : free_.back());
    if (is_new && free_.empty()) {
      images_.emplace_back();
    } else if (is_new) {
      free_.pop_back();
    }
    Image& image = images_[known->second];
    ++image.nodes;
    ++image.sizes[size];
    of_row.push_back(known->second);
  }
  std::sort(of_row.begin(), of_row.end());
  for (const auto& [name, size] : were) {
    const auto known = ids_.find(name);
    HEADROOM_ASSERT(known != ids_.end());
    Image& image = images_[known->second];
    if (const auto its = image.sizes.find(size); --its->second == 0) {
      image.sizes.erase(its);
    }
    if (--image.nodes == 0) {
      free_.push_back(known->second);
      ids_.erase(known);
    }
  }
}

std::int64_t Images::scaled_size(std::string_view name, std::uint32_t nodes) const {
  const auto known = ids_.find(name);
  if (known == ids_.end()) {
    return 0;
  }
  const Image& image = images_[known->second];
  const double share = static_cast<double>(image.nodes) / static_cast<double>(nodes);
  return static_cast<std::int64_t>(static_cast<double>(image.sizes.rbegin()->first) * share);
}

bool Images::on_row(std::uint32_t row, std::string_view name) const {
  const auto known = ids_.find(name);
  return known != ids_.end() && row < of_row_.size() &&
         std::binary_search(of_row_[row].begin(), of_row_[row].end(), known->second);
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
