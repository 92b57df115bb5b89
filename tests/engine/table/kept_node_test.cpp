// Nodes as the cluster keeps them, and the images that they share.
#include "engine/table/kept_node.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace headroom {

namespace {

ContainerImage image(const std::string& name, std::int64_t size_bytes = 1 << 20) {
  return {.names = {name + "@sha256:0", name + ":v1"}, .size_bytes = size_bytes};
}

Node listing(std::vector<ContainerImage> images) {
  Node node;
  node.name = "n1";
  node.labels = {{"pool", "a"}};
  node.taints = {{.key = "gpu", .value = "", .effect = "NoSchedule"}};
  node.allocatable = {{"cpu", Quantity::from_value(4)}};
  node.images = std::move(images);
  return node;
}

TEST(SharedImages, EqualOnesAreOne) {
  SharedImages all;
  const auto here = all.share(std::vector{image("a"), image("b")});
  const auto there = all.share(std::vector{image("b"), image("a"), image("a", 7)});
  EXPECT_EQ(here[0], there[1]);
  EXPECT_EQ(here[1], there[0]);
  EXPECT_NE(there[2], there[1]) << "another size";
  EXPECT_EQ(*there[2], image("a", 7));
  EXPECT_EQ(all.size(), 3u);
}

TEST(SharedImages, NamesThatJoinToTheSameAreOthers) {
  SharedImages all;
  const auto shared = all.share(std::vector<ContainerImage>{
      {.names = {"ab", "c"}}, {.names = {"a", "bc"}}, {.names = {"c", "ab"}}, {.names = {"ab"}}});
  EXPECT_EQ(all.size(), 4u);
  EXPECT_NE(shared[0], shared[1]);
}

TEST(SharedImages, ThoseThatNoNodeListsAreForgotten) {
  SharedImages all;
  const auto stay = all.share(std::vector{image("stays")});
  for (int i = 0; i < 10'000; ++i) {
    (void)all.share(std::vector{image("passing-" + std::to_string(i))});
    ASSERT_LE(all.size(), 2 * (stay.size() + 1) + kUnusedImagesMax);
  }
  EXPECT_EQ(all.share(std::vector{image("stays")})[0], stay[0]) << "one that is listed stays";
}

TEST(KeptNode, IsTheNodeButForWhatNobodyReads) {
  SharedImages all;
  Node node = listing({image("a"), image("b")});
  const KeptNode kept(node, all.share(node.images));
  EXPECT_EQ(kept.whole(), node);
  EXPECT_TRUE(kept.object.images.empty());
  node.capacity = {{"cpu", Quantity::from_value(5)}};
  node.deleting = true;
  EXPECT_TRUE(kept.is_of(node, node.images));
  EXPECT_EQ(KeptNode(node, all.share(node.images)).whole(), kept.whole());
}

TEST(KeptNode, KnowsEachFieldThatIsAnother) {
  SharedImages all;
  const Node node = listing({image("a"), image("b")});
  const KeptNode kept(node, all.share(node.images));
  const auto differs = [&](auto change) {
    Node other = node;
    change(other);
    return !kept.is_of(other, other.images);
  };
  EXPECT_FALSE(differs([](Node&) {}));
  EXPECT_TRUE(differs([](Node& n) { n.name = "n2"; }));
  EXPECT_TRUE(differs([](Node& n) { n.labels[0].second = "b"; }));
  EXPECT_TRUE(differs([](Node& n) { n.annotations = {{"a", "b"}}; }));
  EXPECT_TRUE(differs([](Node& n) { n.unschedulable = true; }));
  EXPECT_TRUE(differs([](Node& n) { n.taints.clear(); }));
  EXPECT_TRUE(differs([](Node& n) { n.allocatable[0].second = Quantity::from_value(3); }));
  EXPECT_TRUE(differs([](Node& n) { n.declared_features = {"f"}; }));
  EXPECT_TRUE(differs([](Node& n) { n.images[1].size_bytes = 1; }));
  EXPECT_TRUE(differs([](Node& n) { n.images.pop_back(); }));
  EXPECT_TRUE(differs([](Node& n) { n.images.push_back(image("c")); }));
  EXPECT_TRUE(differs([](Node& n) { std::swap(n.images[0], n.images[1]); }));
}

}  // namespace

}  // namespace headroom
