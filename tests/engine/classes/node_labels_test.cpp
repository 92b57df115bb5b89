// What is kept of nodes' labels: who has one, and the columns of keys with few values.
#include "engine/classes/node_labels.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom::node_labels_test {
namespace {

KeptNode kept_of(StringMap labels) {
  static SharedParts parts;
  Node node;
  node.labels = std::move(labels);
  return KeptNode(node, {}, parts);
}

NodeLabels::Holders holders_of(const NodeLabels& labels, const char* key, const char* value) {
  return labels.holders_of(NodeLabels::hash(key, value));
}

TEST(NodeLabels, AColumnHasANumberForEachValue) {
  NodeLabels labels;
  const KeptNode x = kept_of({{"zone", "x"}}), y = kept_of({{"zone", "y"}}), none = kept_of({});
  EXPECT_EQ(labels.column("zone"), nullptr);
  labels.change(0, nullptr, &x);
  labels.change(1, nullptr, &none);
  labels.change(2, nullptr, &y);
  labels.change(4, nullptr, &x);
  EXPECT_EQ(*labels.column("zone"), (NodeLabels::Column{1, 0, 2, 0, 1}));
  EXPECT_EQ(holders_of(labels, "zone", "x").count, 2u);
  EXPECT_EQ(holders_of(labels, "zone", "x").number, 1u);
  EXPECT_EQ(holders_of(labels, "zone", "y").row, 2u) << "the only one";
  EXPECT_EQ(holders_of(labels, "zone", "z").count, 0u);
  EXPECT_EQ(holders_of(labels, "zon", "ex").count, 0u);
  EXPECT_TRUE(labels.is_kept(4, x));
  EXPECT_FALSE(labels.is_kept(4, y));
  EXPECT_FALSE(labels.is_kept(5, x));
}

TEST(NodeLabels, ANodeThatChangesKeepsTheNumberOfWhatItKeeps) {
  NodeLabels labels;
  const KeptNode before = kept_of({{"arch", "arm"}, {"zone", "x"}});
  const KeptNode after = kept_of({{"disk", "ssd"}, {"zone", "x"}});
  labels.change(0, nullptr, &before);
  const std::uint64_t version = labels.version("zone");
  labels.change(0, &before, &after);
  EXPECT_EQ(labels.version("zone"), version);
  EXPECT_EQ(*labels.column("zone"), NodeLabels::Column{1});
  EXPECT_EQ(holders_of(labels, "zone", "x").row, 0u);
  EXPECT_FALSE(labels.has_key("arch"));
  EXPECT_EQ(labels.column("arch"), nullptr);
  EXPECT_TRUE(labels.has_key("disk"));
}

TEST(NodeLabels, ANumberThatMayMeanAnotherValueIsOfAnotherVersion) {
  NodeLabels labels;
  const KeptNode x = kept_of({{"zone", "x"}}), y = kept_of({{"zone", "y"}}),
                 z = kept_of({{"zone", "z"}});
  labels.change(0, nullptr, &x);
  labels.change(1, nullptr, &y);
  const std::uint64_t version = labels.version("zone");
  labels.change(0, &x, nullptr);
  EXPECT_NE(labels.version("zone"), version);
  labels.change(0, nullptr, &z);
  EXPECT_EQ(holders_of(labels, "zone", "z").number, 1u);
  EXPECT_EQ(*labels.column("zone"), (NodeLabels::Column{1, 2}));

  const std::uint64_t before = labels.version("zone");
  labels.change(0, &z, nullptr);
  labels.change(1, &y, nullptr);
  EXPECT_FALSE(labels.has_key("zone"));
  labels.change(1, nullptr, &x);
  EXPECT_NE(labels.version("zone"), before) << "nor does a key that comes back have the same";
}

TEST(NodeLabels, AKeyOfManyValuesHasNoColumn) {
  NodeLabels labels;
  std::vector<KeptNode> nodes;
  for (std::uint32_t row = 0; row <= NodeLabels::kColumnValuesMax; ++row) {
    nodes.push_back(kept_of({{"host", std::to_string(row)}}));
  }
  for (std::uint32_t row = 0; row < NodeLabels::kColumnValuesMax; ++row) {
    labels.change(row, nullptr, &nodes[row]);
  }
  ASSERT_NE(labels.column("host"), nullptr);
  EXPECT_EQ(labels.column("host")->back(), NodeLabels::kColumnValuesMax);
  labels.change(NodeLabels::kColumnValuesMax, nullptr, &nodes.back());
  EXPECT_EQ(labels.column("host"), nullptr);
  for (std::uint32_t row = 0; row < NodeLabels::kColumnValuesMax; ++row) {
    EXPECT_TRUE(labels.is_kept(row, nodes[row]));
    labels.change(row, &nodes[row], nullptr);
  }
  EXPECT_EQ(labels.column("host"), nullptr) << "one is left";
  EXPECT_EQ(holders_of(labels, "host", "255").row, 255u);
  labels.change(NodeLabels::kColumnValuesMax, &nodes.back(), &nodes.front());
  EXPECT_EQ(labels.column("host"), nullptr) << "it was never without any";
  labels.change(NodeLabels::kColumnValuesMax, &nodes.front(), nullptr);
  labels.change(0, nullptr, &nodes.front());
  EXPECT_EQ(*labels.column("host"), NodeLabels::Column{1});
}

TEST(NodeLabels, OfManyKeysTheFirstHaveColumns) {
  NodeLabels labels;
  std::vector<KeptNode> nodes;
  for (std::uint32_t row = 0; row <= NodeLabels::kColumnsMax; ++row) {
    nodes.push_back(kept_of({{"key-" + std::to_string(row), "v"}}));
    labels.change(row, nullptr, &nodes.back());
  }
  EXPECT_NE(labels.column("key-255"), nullptr);
  EXPECT_EQ(labels.column("key-256"), nullptr);
  EXPECT_EQ(holders_of(labels, "key-256", "v").row, 256u) << "found all the same";
  EXPECT_TRUE(labels.is_kept(256, nodes.back()));
  labels.change(7, &nodes[7], nullptr);
  labels.change(256, &nodes.back(), nullptr);
  labels.change(256, nullptr, &nodes.back());
  EXPECT_NE(labels.column("key-256"), nullptr) << "another one went";
  labels.change(7, nullptr, &nodes[7]);
  EXPECT_EQ(labels.column("key-7"), nullptr);
}

}  // namespace
}  // namespace headroom::node_labels_test
