// Nodes as the cluster keeps them, and the parts that they share.
#include "engine/kept/kept_node.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headroom {

namespace {

ContainerImage image(const std::string& name, std::int64_t size_bytes = 1 << 20) {
  return {.names = {name + "@sha256:0", name + ":v1"}, .size_bytes = size_bytes};
}

Node a_node() {
  Node node;
  node.name = "n1";
  node.labels = {{"kubernetes.io/hostname", "n1"}, {"pool", "a"}};
  node.taints = {{.key = "gpu", .value = "", .effect = "NoSchedule"}};
  node.allocatable = {{"cpu", Quantity::from_value(4)}, {"memory", Quantity::from_value(1 << 30)}};
  node.images = {image("a"), image("b")};
  return node;
}

TEST(SharedValues, EqualOnesAreOne) {
  SharedParts parts;
  const auto a = parts.images.share(image("a")), b = parts.images.share(image("b"));
  const auto larger = parts.images.share(image("a", 7));
  EXPECT_EQ(parts.images.share(image("a")), a);
  EXPECT_NE(a, b);
  EXPECT_NE(a, larger) << "another size";
  EXPECT_EQ(*larger, image("a", 7));
  EXPECT_EQ(parts.images.size(), 3u);
}

TEST(SharedValues, WhatJoinsToTheSameTextIsAnother) {
  SharedParts parts;
  std::vector<SharedImage> images;
  for (const ContainerImage& one : std::vector<ContainerImage>{{.names = {"ab", "c"}},
                                                               {.names = {"a", "bc"}},
                                                               {.names = {"c", "ab"}},
                                                               {.names = {"ab"}}}) {
    images.push_back(parts.images.share(one));
    EXPECT_EQ(*images.back(), one);
  }
  EXPECT_EQ(parts.images.size(), images.size());
  std::vector<SharedLabel> labels;
  for (const Label& label :
       {Label("ab", "c"), Label("a", "bc"), Label("c", "ab"), Label("abc", "")}) {
    labels.push_back(parts.labels.share(label));
    EXPECT_EQ(*labels.back(), label);
  }
  EXPECT_EQ(parts.labels.size(), labels.size());
}

TEST(SharedValues, QuantitiesStayAsTheyAreWritten) {
  SharedParts parts;
  const auto keep = [&](const char* memory) {
    Node node;
    node.allocatable = {{"memory", Quantity::parse(memory).value()}};
    return parts.traits.share(node);
  };
  const auto binary = keep("1Gi"), decimal = keep("1073741824");
  ASSERT_EQ(binary->allocatable, decimal->allocatable);
  EXPECT_EQ(binary->allocatable.front().second.canonical(), "1Gi");
  EXPECT_EQ(decimal->allocatable.front().second.canonical(), "1073741824");
  EXPECT_EQ(parts.traits.size(), 2u);
}

TEST(SharedValues, ThoseThatNobodyHoldsAreForgotten) {
  SharedParts parts;
  std::vector<SharedImage> held;
  for (int i = 0; i < 1'000; ++i) held.push_back(parts.images.share(image(std::to_string(i))));
  EXPECT_EQ(parts.images.size(), 1'000u);
  held.resize(10);
  for (int i = 0; i < 10'000; ++i) {
    (void)parts.images.share(image("passing-" + std::to_string(i)));
    ASSERT_LE(parts.images.size(), 2'000u) << "with each that comes some go";
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(parts.images.share(image(std::to_string(i))), held[i]) << "one that is held stays";
  }
  EXPECT_LE(parts.images.size(), 1'100u);
}

TEST(KeptNode, SharesWhatIsTheSameOnOthers) {
  SharedParts parts;
  Node node = a_node();
  const KeptNode here(node, node.images, parts);
  node.name = "n2";
  node.labels[0].second = "n2";
  node.images.pop_back();
  const KeptNode there(node, node.images, parts);
  EXPECT_NE(*find(here.labels, "kubernetes.io/hostname"),
            *find(there.labels, "kubernetes.io/hostname"));
  EXPECT_EQ(find(here.labels, "pool"), find(there.labels, "pool")) << "one object";
  EXPECT_EQ(parts.label_lists.size(), 1u);
  EXPECT_NE(here.labels, there.labels);
  EXPECT_EQ(here.labels, KeptNode(a_node(), {}, parts).labels);
  EXPECT_EQ(here.traits, there.traits);
  EXPECT_EQ(here.images[0], there.images[0]);
  EXPECT_TRUE(here.shares(parts) && there.shares(parts));
  EXPECT_FALSE(there.shares(SharedParts()));
}

TEST(KeptNode, FindsItsLabels) {
  SharedParts parts;
  Node node;
  EXPECT_EQ(find(KeptNode(node, {}, parts).labels, "a"), nullptr);
  for (int i = 10; i < 40; ++i) {
    node.labels.emplace_back("key-" + std::to_string(i), std::to_string(i));
  }
  const KeptNode kept(node, {}, parts);
  for (const auto& [key, value] : node.labels) {
    ASSERT_NE(find(kept.labels, key), nullptr) << key;
    EXPECT_EQ(*find(kept.labels, key), value);
  }
  EXPECT_EQ(find(kept.labels, "key-1"), nullptr);
  EXPECT_EQ(find(kept.labels, "key-400"), nullptr);
  EXPECT_EQ(find(kept.labels, "z"), nullptr);
}

TEST(KeptNode, HasItsLabelsInOrderAndNoOthers) {
  SharedParts parts;
  const std::string hostname = "kubernetes.io/hostname";
  for (const StringMap& labels : std::vector<StringMap>{{},
                                                        {{hostname, "n"}},
                                                        {{"a", ""}, {hostname, "n"}, {"z", "1"}},
                                                        {{hostname, "n"}, {"z", "1"}},
                                                        {{"a", ""}, {hostname, "n"}},
                                                        {{"a", ""}, {"z", "1"}}}) {
    Node node;
    node.labels = labels;
    const KeptNode kept(node, {}, parts);
    EXPECT_EQ(kept.whole("n").labels, labels);
    EXPECT_TRUE(kept.labels.are(labels));
    EXPECT_EQ(kept.labels.hostname() != nullptr, find(labels, hostname) != nullptr);
    for (const Label& taken : labels) {
      StringMap fewer = labels;
      std::erase_if(fewer, [&](const Label& label) { return label == taken; });
      EXPECT_FALSE(kept.labels.are(fewer));
      EXPECT_FALSE(SharedLabels(fewer, parts).are(labels));
      EXPECT_EQ(find(SharedLabels(fewer, parts), taken.first), nullptr);
    }
  }
}

TEST(KeptNode, IsSelectedAsItsObjectIs) {
  SharedParts parts;
  const Node node = a_node();
  const KeptNode kept(node, {}, parts);
  for (const char* op : {"In", "NotIn", "Exists", "DoesNotExist"}) {
    for (const char* key : {"pool", "zone"}) {
      for (const char* value : {"a", "b"}) {
        const LabelSelector selector = {{key, op, {value}}};
        EXPECT_EQ(matches(selector, kept.labels), matches(selector, node.labels)) << key << op;
      }
    }
  }
}

TEST(KeptNode, IsTheNodeButForWhatNobodyReads) {
  SharedParts parts;
  Node node = a_node();
  const KeptNode kept(node, node.images, parts);
  EXPECT_EQ(kept.whole(node.name), node);
  node.capacity = {{"cpu", Quantity::from_value(5)}};
  node.deleting = true;
  EXPECT_TRUE(kept.is_of(node, node.images));
  EXPECT_EQ(KeptNode(node, node.images, parts).whole("n"), kept.whole("n"));
  EXPECT_TRUE(KeptNode(node, {}, parts).whole("n").images.empty());
}

TEST(KeptNode, KnowsEachFieldThatIsAnother) {
  SharedParts parts;
  const Node node = a_node();
  const KeptNode kept(node, node.images, parts);
  const auto differs = [&](auto change) {
    Node other = node;
    change(other);
    return !kept.is_of(other, other.images);
  };
  EXPECT_FALSE(differs([](Node&) {}));
  EXPECT_TRUE(differs([](Node& n) { n.labels[1].second = "b"; }));
  EXPECT_TRUE(differs([](Node& n) { n.labels.pop_back(); }));
  EXPECT_TRUE(differs([](Node& n) { n.labels.emplace_back("zone", "z"); }));
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
