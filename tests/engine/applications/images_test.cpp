// Images by name, and what nodes list of them.
#include "engine/applications/images.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "workloads/random.h"

namespace headroom {

namespace {

constexpr std::uint32_t kRows = 12;

std::vector<ContainerImage> random_images(Random& random) {
  std::vector<ContainerImage> images(random.below(4));
  for (ContainerImage& image : images) {
    image.size_bytes = random.below(3);
    for (std::uint64_t left = random.below(4); left > 0; --left) {
      image.names.push_back("image-" + std::to_string(random.below(8)));
    }
  }
  return images;
}

// Counts by name, as ImageLocality's rules have them.
void expect_counted(const Images& images, const std::vector<std::unique_ptr<KeptNode>>& nodes) {
  for (int n = 0; n < 8; ++n) {
    const std::string name = "image-" + std::to_string(n);
    std::int64_t largest = 0, with = 0;
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const SharedImage* first = nullptr;
      for (std::size_t i = 0; nodes[row] != nullptr && i < nodes[row]->images.size(); ++i) {
        const SharedImage& image = nodes[row]->images[i];
        const bool has =
            std::find(image->names.begin(), image->names.end(), name) != image->names.end();
        first = first == nullptr && has ? &image : first;
      }
      EXPECT_EQ(images.on_row(row, name), first != nullptr);
      with += first != nullptr ? 1 : 0;
      largest = first != nullptr ? std::max(largest, (*first)->size_bytes) : largest;
    }
    EXPECT_EQ(images.scaled_size(name, 1), largest * with) << name;
  }
}

TEST(Images, AreWhatNodesList) {
  Random random{5};
  SharedParts parts;
  Images images;
  std::vector<std::unique_ptr<KeptNode>> nodes(kRows);
  for (int step = 0; step < 3'000; ++step) {
    const auto row = static_cast<std::uint32_t>(random.below(kRows));
    auto node = random.permille(200)
                    ? nullptr
                    : std::make_unique<KeptNode>(Node(), random_images(random), parts);
    images.change(row, nodes[row].get(), node.get());
    nodes[row] = std::move(node);
    expect_counted(images, nodes);
    // Counted anew, in another order, the names have other numbers.
    Images again;
    for (std::uint32_t r = kRows; r-- > 0;) {
      again.change(r, nullptr, nodes[r].get());
    }
    ASSERT_TRUE(images.says_as(again) && again.says_as(images)) << step;
    // And with one node less they say something else, unless it lists nothing.
    again.change(row, nodes[row].get(), nullptr);
    bool lists = false;
    for (std::size_t i = 0; nodes[row] != nullptr && i < nodes[row]->images.size(); ++i) {
      lists = lists || !nodes[row]->images[i]->names.empty();
    }
    ASSERT_EQ(images.says_as(again), !lists) << step;
    ASSERT_EQ(again.says_as(images), !lists) << step;
  }
}

}  // namespace

}  // namespace headroom
