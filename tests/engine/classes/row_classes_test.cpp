// Splits of classes in turns, while nodes change: at the end each node is in the class that it is
// classified into, and no two nodes that a selector tells apart share one.
#include "engine/classes/row_classes.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/seed.h"
#include "workloads/random.h"

namespace headroom::row_classes_test {
namespace {

constexpr std::uint32_t kRows = 60;

struct Cluster {
  NodeTable table;
  SharedParts parts;
  Facts facts;
  RowClasses classes{table, facts};

  Cluster() {
    facts.nodes.resize(kRows);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      (void)table.acquire_row();
      facts.nodes[row].name = "n" + std::to_string(row);
    }
  }
  // nullopt: none.
  void change(std::uint32_t row, const std::optional<Node>& node) {
    auto kept = node ? std::make_unique<const KeptNode>(*node, node->images, parts) : nullptr;
    classes.change_node(row, facts.nodes[row].node.get(), kept.get());
    facts.nodes[row].node = std::move(kept);
  }
};

// Few values, so that they come and go, and others get their numbers.
std::optional<Node> random_node(Random& random, std::uint32_t row) {
  if (random.permille(150)) {
    return std::nullopt;
  }
  Node node;
  node.name = "n" + std::to_string(row);
  for (const char* key : {"a", "b", "host"}) {
    const std::uint32_t values = key[0] == 'h' ? 400 : random.permille(500) ? 3 : 40;
    if (random.permille(700)) {
      node.labels.emplace_back(key, std::to_string(random.below(values)));
    }
  }
  return node;
}

ClassConstraint random_constraint(Random& random) {
  ClassConstraint constraint;
  const std::string key = random.permille(100) ? "host" : random.permille(500) ? "a" : "b";
  if (random.permille(600)) {
    constraint.node_selector = {{key, std::to_string(random.below(12))}};
    return constraint;
  }
  NodeSelectorTerm term;
  const char* const ops[] = {"In", "NotIn", "Exists", "Gt"};
  NodeSelectorRequirement its{key, ops[random.below(4)], {}};
  if (its.op != "Exists") {
    its.values.push_back(std::to_string(random.below(12)));
  }
  if (its.op[0] != 'G' && random.permille(150)) {  // more than a turn reads
    its.op = random.permille(500) ? "In" : "NotIn";
    for (std::size_t v = NodeClasses::kLabelsATurn * (1 + random.below(3)); v != 0; --v) {
      its.values.push_back(std::to_string(random.below(400)));
    }
  }
  if (random.permille(200)) {
    term.match_fields.push_back(
        {"metadata.name", "NotIn", {"n" + std::to_string(random.below(kRows))}});
  }
  term.match_expressions.push_back(std::move(its));
  constraint.required = {std::move(term)};
  return constraint;
}

Node node_in(const char* zone) {
  Node node;
  node.labels = {{"zone", zone}};
  return node;
}

// Between two turns no node has the value any more that the first one split by, and another value
// has its number.
TEST(RowClasses, AValueThatGetsTheNumberOfOneThatIsReadIsNoOther) {
  Cluster cluster;
  for (std::uint32_t row = 0; row < 3; ++row) {
    cluster.change(row, node_in(row < 2 ? "x" : "y"));
  }
  ClassConstraint constraint;
  constraint.node_selector = {{"zone", "x"}};
  cluster.classes.read(constraint);
  ASSERT_FALSE(cluster.classes.split([] { return true; }));
  ASSERT_NE(cluster.classes.of(0), cluster.classes.of(1)) << "the first row's turn";
  cluster.change(0, node_in("y"));
  cluster.change(1, node_in("y"));
  cluster.change(2, node_in("z"));
  const auto holders = cluster.classes.labels().holders_of(NodeLabels::hash("zone", "z"));
  ASSERT_EQ(holders.number, 1u) << "as x had";
  ASSERT_TRUE(cluster.classes.split(kInOneTurn));
  EXPECT_EQ(cluster.classes.of(2), cluster.classes.of(0)) << "nobody tells y and z apart";
}

TEST(RowClasses, SplitsInTurnsWhileNodesChange) {
  const std::uint64_t seed = test_seed();
  for (std::uint64_t round = 0; round < 200; ++round) {
    SCOPED_TRACE("HEADROOM_SEED=" + std::to_string(seed + round));
    Random random({seed + round, 0xC1A55});
    Cluster cluster;
    std::vector<ClassConstraint> read;
    for (std::uint32_t row = 0; row < kRows; ++row) {
      cluster.change(row, random_node(random, row));
    }
    for (int step = 0; step < 300; ++step) {
      if (random.permille(120)) {
        read.push_back(random_constraint(random));
        cluster.classes.read(read.back());
      } else if (random.permille(60) && !read.empty()) {
        cluster.classes.unread(read.front());
        read.erase(read.begin());
      } else if (random.permille(300)) {
        const std::uint32_t row = random.below(kRows);
        cluster.change(row, random_node(random, row));
        cluster.classes.limit();
      } else if (!cluster.classes.all_split()) {
        std::uint32_t left = 1 + random.below(20);
        (void)cluster.classes.split([&] { return --left == 0; });
      }
    }
    ASSERT_TRUE(cluster.classes.split(kInOneTurn));
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const KeptNode* node = cluster.facts.nodes[row].node.get();
      const std::uint32_t its = cluster.classes.of(row);
      ASSERT_EQ(its == kNoNodeClass, node == nullptr) << row;
      if (node == nullptr) {
        continue;
      }
      ASSERT_EQ(its, cluster.classes.classes().classify(cluster.facts.nodes[row].name, *node))
          << row;
      ASSERT_TRUE(cluster.classes.labels().is_kept(row, *node)) << row;
      for (const ClassConstraint& constraint : read) {
        const NodeAffinity affinity(constraint);
        const NodeClass& its_class = cluster.classes.classes().at(its);
        NodeClass whole{
            {}, node->traits->taints, node->traits->unschedulable, cluster.facts.nodes[row].name};
        node->labels.for_each([&](const Label& label) {
          whole.labels.push_back({label.first, label.second});
        });
        ASSERT_EQ(affinity.passes(its_class, its_class.name), affinity.passes(whole, whole.name))
            << row;
      }
    }
  }
}

}  // namespace
}  // namespace headroom::row_classes_test
