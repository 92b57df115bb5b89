// Node classes: kube-scheduler's filters over one class, which nodes share one, and when reading
// something new of labels or a name splits them.
#include "engine/table/node_class.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/classes/node_classes.h"
#include "engine/engine.h"
#include "engine/table/node_table.h"
#include "tests/support/objects.h"

namespace headroom::node_class_test {
namespace {

struct NamedNode {
  std::string name;
  KeptNode node;
};

std::uint32_t classify(NodeClasses& classes, const NamedNode& its) {
  return classes.classify(its.name, its.node);
}

bool is_split(NodeClasses& classes, const NamedNode& its, std::uint32_t row) {
  std::string has;
  (void)classes.begin_turn();
  return classes.split(its.name, its.node, row, has);
}

using Requirements = std::vector<NodeSelectorRequirement>;
using Names = std::vector<std::string>;

NodeClass class_of(StringMap labels, std::vector<Taint> taints = {}) {
  NodeClass node;
  for (auto& [key, value] : labels) node.labels.push_back({key, value});
  node.taints = std::move(taints);
  return node;
}

ClassConstraint tolerating(std::vector<Toleration> tolerations) {
  ClassConstraint pod;
  pod.tolerations = std::move(tolerations);
  return pod;
}

ClassConstraint requiring(std::vector<NodeSelectorTerm> terms) {
  ClassConstraint pod;
  pod.required = std::move(terms);
  return pod;
}

NodeSelectorTerm expressions(Requirements requirements) { return {std::move(requirements), {}}; }
NodeSelectorTerm fields(Requirements requirements) { return {{}, std::move(requirements)}; }

bool passes_node_affinity(const ClassConstraint& pod, const NodeClass& node,
                          std::string_view node_name) {
  return NodeAffinity(pod).passes(node, node_name);
}

bool matches(const NodeSelectorRequirement& requirement, const StringMap& labels) {
  return passes_node_affinity(requiring({expressions({requirement})}), class_of(labels), "n");
}

// --- Taints ---

TEST(Tolerations, EachField) {
  const Taint taint{"gpu", "a100", "NoSchedule"};
  struct Case {
    Toleration toleration;
    bool tolerated;
  };
  const Case cases[] = {
      {{"gpu", "", "a100", "NoSchedule"}, true},
      {{"gpu", "Equal", "a100", "NoSchedule"}, true},
      {{"gpu", "Equal", "a100", ""}, true},
      {{"gpu", "Equal", "v100", ""}, false},
      {{"gpu", "Equal", "", ""}, false},
      {{"gpu", "Equal", "a100", "NoExecute"}, false},
      {{"cpu", "Equal", "a100", ""}, false},
      {{"gpu", "Exists", "", ""}, true},
      {{"gpu", "Exists", "", "NoExecute"}, false},
      {{"cpu", "Exists", "", ""}, false},
      {{"", "Exists", "", ""}, true},
      {{"", "Exists", "", "NoSchedule"}, true},
      {{"", "Exists", "", "NoExecute"}, false},
      {{"gpu", "exists", "", ""}, false},
      {{"gpu", "In", "a100", ""}, false},
  };
  for (const auto& [toleration, tolerated] : cases) {
    const Taint* found = untolerated_taint(tolerating({toleration}), class_of({}, {taint}));
    EXPECT_EQ(found == nullptr, tolerated) << toleration.key << ' ' << toleration.op << ' '
                                           << toleration.value << ' ' << toleration.effect;
  }
}

TEST(Tolerations, TheFirstTaintThatIsNotTolerated) {
  const NodeClass node = class_of({}, {{"soft", "", "PreferNoSchedule"},
                                       {"a", "", "NoSchedule"},
                                       {"b", "", "NoExecute"},
                                       {"c", "", "NoSchedule"}});
  EXPECT_EQ(untolerated_taint({}, node), &node.taints[1]);
  EXPECT_EQ(untolerated_taint(tolerating({{"a", "Exists", "", ""}}), node), &node.taints[2]);
  EXPECT_EQ(untolerated_taint(
                tolerating({{"", "Exists", "", "NoExecute"}, {"a", "Exists", "", ""}}), node),
            &node.taints[3]);
  EXPECT_EQ(untolerated_taint(tolerating({{"", "Exists", "", ""}}), node), nullptr);
  EXPECT_EQ(untolerated_taint({}, class_of({}, {{"soft", "", "PreferNoSchedule"}})), nullptr);
}

TEST(Unschedulable, IsATaintOfItsOwn) {
  NodeClass node;
  EXPECT_TRUE(passes_node_unschedulable({}, node));
  node.unschedulable = true;
  EXPECT_FALSE(passes_node_unschedulable({}, node));
  EXPECT_EQ(untolerated_taint({}, node), nullptr);
  for (const Toleration& toleration :
       {Toleration{"node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"},
        Toleration{"node.kubernetes.io/unschedulable", "", "", ""},
        Toleration{"", "Exists", "", ""}}) {
    EXPECT_TRUE(passes_node_unschedulable(tolerating({toleration}), node));
  }
  EXPECT_FALSE(passes_node_unschedulable(
      tolerating({{"node.kubernetes.io/unschedulable", "Exists", "", "NoExecute"}}), node));
}

// Which of two filters that both reject a node is named: NodeName is first from 1.37 on.
TEST(ClassFilters, TheOrderIsThatOfTheVersion) {
  using enum KubernetesVersion;
  Node node;
  node.name = "n1";
  node.unschedulable = true;
  Pod pod;
  pod.namespace_name = "default";
  pod.name = "p";
  pod.node_name = "elsewhere";
  for (const auto& [version, first] :
       {std::pair{k135, PluginId::kNodeUnschedulable},
        std::pair{k136, PluginId::kNodeUnschedulable}, std::pair{k137, PluginId::kNodeName}}) {
    Profile profile;
    profile.kubernetes_version = version;
    profile.filters = {PluginId::kNodeUnschedulable, PluginId::kNodeName};
    Engine engine = Engine::create(profile).value();
    ASSERT_TRUE(engine.upsert(node).has_value());
    const Result<NodeDetail> detail = engine.filter(pod, "n1");
    ASSERT_TRUE(detail.has_value()) << detail.error().message;
    EXPECT_EQ(detail->code, Code::kUnschedulableAndUnresolvable);
    EXPECT_EQ(detail->rejected_by, first);
    // Who comes behind is not asked.
    const Result<Explanation> explanation = engine.explain(pod, "n1");
    ASSERT_TRUE(explanation.has_value()) << explanation.error().message;
    ASSERT_EQ(explanation->terms.size(), 1u);
    EXPECT_EQ(explanation->terms[0].plugin, first);
    EXPECT_FALSE(explanation->terms[0].passed);
  }
}

// --- Affinity ---

TEST(NodeAffinity, Operators) {
  const StringMap labels = {{"cores", "16"}, {"zone", "a"}};
  struct Case {
    NodeSelectorRequirement requirement;
    bool matches;
  };
  const Case cases[] = {
      {{"zone", "In", {"a", "b"}}, true},
      {{"zone", "In", {"b"}}, false},
      {{"rack", "In", {"a"}}, false},
      {{"zone", "NotIn", {"b"}}, true},
      {{"zone", "NotIn", {"b", "a"}}, false},
      {{"rack", "NotIn", {"a"}}, true},
      {{"zone", "Exists", {}}, true},
      {{"rack", "Exists", {}}, false},
      {{"zone", "DoesNotExist", {}}, false},
      {{"rack", "DoesNotExist", {}}, true},
      {{"cores", "Gt", {"15"}}, true},
      {{"cores", "Gt", {"16"}}, false},
      {{"cores", "Lt", {"17"}}, true},
      {{"cores", "Lt", {"16"}}, false},
      {{"cores", "Lt", {"9223372036854775807"}}, true},
      {{"zone", "Gt", {"0"}}, false},
      {{"zone", "Lt", {"0"}}, false},
      {{"rack", "Lt", {"5"}}, false},
  };
  for (const auto& [requirement, matched] : cases) {
    EXPECT_EQ(matches(requirement, labels), matched)
        << requirement.key << ' ' << requirement.op << ' '
        << (requirement.values.empty() ? "" : requirement.values[0]);
  }
}

// What apimachinery refuses matches nothing, even where the operator would hold.
TEST(NodeAffinity, InvalidRequirementsMatchNothing) {
  const StringMap labels = {{"cores", "16"}, {"zone", "a"}};
  const Requirements invalid = {
      {"zone", "In", {}},
      {"rack", "NotIn", {}},
      {"zone", "Exists", {"a"}},
      {"rack", "DoesNotExist", {"a"}},
      {"cores", "Gt", {}},
      {"cores", "Gt", {"1", "2"}},
      {"cores", "Gt", {"1.5"}},
      {"cores", "Gt", {""}},
      {"cores", "Gt", {"+"}},
      {"cores", "Gt", {"-5"}},  // integers, but no values of a label
      {"cores", "Gt", {"+5"}},
      {"zone", "NotIn", {"b", "a value"}},
      {"no key", "DoesNotExist", {}},
      {"", "DoesNotExist", {}},
      {"cores", "Gt", {" 1"}},
      {"cores", "Lt", {"9223372036854775808"}},
      {"zone", "in", {"a"}},
      {"zone", "", {"a"}},
  };
  for (const NodeSelectorRequirement& requirement : invalid) {
    EXPECT_FALSE(matches(requirement, labels)) << requirement.key << ' ' << requirement.op;
  }
}

TEST(NodeAffinity, RequirementsAreAndTermsAreOr) {
  const NodeClass node = class_of({{"rack", "7"}, {"zone", "a"}});
  const NodeSelectorRequirement in_a{"zone", "In", {"a"}}, in_b{"zone", "In", {"b"}},
      rack{"rack", "Exists", {}}, named{"metadata.name", "In", {"n"}};
  const auto passes = [&](std::vector<NodeSelectorTerm> terms) {
    return passes_node_affinity(requiring(std::move(terms)), node, "n");
  };
  EXPECT_TRUE(passes({expressions({in_a, rack})}));
  EXPECT_FALSE(passes({expressions({in_a, in_b})}));
  EXPECT_TRUE(passes({expressions({in_b}), expressions({in_a})}));
  EXPECT_FALSE(passes({})) << "no term matches nothing";
  EXPECT_FALSE(passes({NodeSelectorTerm{}})) << "a term without requirements matches nothing";
  EXPECT_TRUE(passes({NodeSelectorTerm{}, expressions({rack})}));
  EXPECT_TRUE(passes({{{in_a}, {named}}}));
  EXPECT_FALSE(passes({{{in_b}, {named}}}));
  EXPECT_TRUE(passes_node_affinity({}, node, "n")) << "no affinity at all";
}

TEST(NodeAffinity, FieldsKnowTheNameOnly) {
  const auto passes = [](const NodeSelectorRequirement& requirement) {
    return passes_node_affinity(requiring({fields({requirement})}), class_of({{"x", "n"}}), "n");
  };
  EXPECT_TRUE(passes({"metadata.name", "In", {"n"}}));
  EXPECT_FALSE(passes({"metadata.name", "In", {"m"}}));
  EXPECT_TRUE(passes({"metadata.name", "NotIn", {"m"}}));
  EXPECT_FALSE(passes({"metadata.name", "NotIn", {"n"}}));
  EXPECT_FALSE(passes({"metadata.name", "In", {"n", "m"}})) << "one value only";
  EXPECT_FALSE(passes({"metadata.name", "Exists", {}}));
  EXPECT_FALSE(passes({"x", "In", {"n"}}));
  EXPECT_TRUE(passes({"x", "NotIn", {"n"}})) << "another field is empty";
}

TEST(NodeAffinity, SelectorAndAffinityBoth) {
  ClassConstraint pod = requiring({expressions({{"zone", "Exists", {}}})});
  pod.node_selector = {{"rack", "7"}};
  EXPECT_TRUE(passes_node_affinity(pod, class_of({{"rack", "7"}, {"zone", "a"}}), "n"));
  EXPECT_FALSE(passes_node_affinity(pod, class_of({{"rack", "8"}, {"zone", "a"}}), "n"));
  EXPECT_FALSE(passes_node_affinity(pod, class_of({{"zone", "a"}}), "n"));
  EXPECT_FALSE(passes_node_affinity(pod, class_of({{"rack", "7"}}), "n"));
}

TEST(NodeAffinity, PinnedWhereEveryTermNamesItsNodes) {
  const NodeSelectorTerm n = fields({{"metadata.name", "In", {"n"}}});
  const NodeSelectorTerm m = fields({{"metadata.name", "In", {"m"}}});
  const NodeSelectorTerm not_n = fields({{"metadata.name", "NotIn", {"n"}}});
  const NodeSelectorTerm zone = expressions({{"zone", "Exists", {}}});
  EXPECT_EQ(ClassConstraint{}.pinned(), std::nullopt);
  EXPECT_EQ(requiring({}).pinned(), std::nullopt);
  EXPECT_EQ(requiring({n}).pinned(), Names{"n"});
  EXPECT_EQ(requiring({n, m, n}).pinned(), (Names{"m", "n"})) << "sorted, each once";
  EXPECT_EQ(requiring({n, NodeSelectorTerm{}}).pinned(), std::nullopt)
      << "an empty term names none, though it matches none";
  EXPECT_EQ(requiring({n, zone}).pinned(), std::nullopt);
  EXPECT_EQ(requiring({not_n}).pinned(), std::nullopt);
  EXPECT_EQ(requiring({{zone.match_expressions, n.match_fields}}).pinned(), Names{"n"});
}

// --- Classes ---

NamedNode kept_of(std::string name, StringMap labels, std::vector<Taint> taints = {},
                  bool unschedulable = false) {
  static SharedParts parts;
  Node node;
  node.unschedulable = unschedulable;
  node.labels = std::move(labels);
  node.taints = std::move(taints);
  return {std::move(name), KeptNode(node, {}, parts)};
}

TEST(NodeClasses, LabelsCountOnceTheyAreRead) {
  NodeLabels labels;
  NodeClasses classes(labels);
  const NamedNode a = kept_of("a", {{"rack", "1"}, {"zone", "x"}});
  const NamedNode b = kept_of("b", {{"rack", "2"}, {"zone", "x"}});
  labels.change(0, nullptr, &a.node);
  labels.change(1, nullptr, &b.node);
  EXPECT_EQ(classify(classes, a), classify(classes, b));
  EXPECT_NE(classify(classes, a), kNoNodeClass);
  EXPECT_TRUE(classes.at(classify(classes, a)).labels.empty());

  const std::uint64_t generation = classes.generation();
  const ClassConstraint zone = requiring({expressions({{"zone", "Exists", {}}})});
  EXPECT_TRUE(classes.read(zone).all);
  EXPECT_EQ(classes.generation(), generation) << "ids keep their meaning";
  EXPECT_TRUE(is_split(classes, a, 0) && is_split(classes, b, 1));
  const NamedNode without = kept_of("c", {{"rack", "3"}});
  labels.change(2, nullptr, &without.node);
  EXPECT_FALSE(is_split(classes, without, 2));
  EXPECT_EQ(classify(classes, a), classify(classes, b));
  EXPECT_EQ(classes.at(classify(classes, a)).labels,
            (std::vector<ClassLabel>{{"zone", std::nullopt}}))
      << "that it has one";
  EXPECT_TRUE(classes.read(zone).none()) << "known already";

  ClassConstraint rack;
  rack.node_selector = {{"rack", "1"}};
  EXPECT_EQ(classes.read(rack).rows, std::vector<std::uint32_t>{0}) << "the node that has it";
  EXPECT_NE(classify(classes, a), classify(classes, b));
  EXPECT_EQ(classify(classes, kept_of("c", {})), 1u)
      << "nodes without the keys stay where they are";
  EXPECT_EQ(classes.size(), 4u) << "none; that of no keys; of the zone; of the rack in it";
  EXPECT_TRUE(classes.read({}).none());
  const NamedNode c = kept_of("c", {{"rack", "1"}});
  labels.change(2, &without.node, &c.node);
  EXPECT_TRUE(is_split(classes, c, 2)) << "until all have been classified";
  const NamedNode d = kept_of("d", {{"rack", "2"}});
  labels.change(2, &c.node, &d.node);
  EXPECT_FALSE(is_split(classes, d, 2)) << "nobody asks for it";
  classes.end_split();
  EXPECT_FALSE(is_split(classes, a, 0) || is_split(classes, b, 1));

  classes.forget();
  EXPECT_GT(classes.generation(), generation);
  EXPECT_EQ(classes.size(), 1u);
  EXPECT_NE(classify(classes, a), classify(classes, b)) << "what is read is still known";
  EXPECT_EQ(classes.size(), 3u);
}

// A tenant may select by any key: where no node has it nothing is to be told apart, until one does.
TEST(NodeClasses, AKeyThatNoNodeHasSplitsNothing) {
  NodeLabels labels;
  NodeClasses classes(labels);
  const NamedNode plain = kept_of("a", {{"zone", "x"}}), marked = kept_of("b", {{"invented", "1"}});
  labels.change(0, nullptr, &plain.node);
  EXPECT_TRUE(classes.read(requiring({expressions({{"invented", "Exists", {}}})})).none());
  EXPECT_TRUE(classes.read(requiring({expressions({{"zone", "In", {"y"}}})})).none());
  EXPECT_FALSE(is_split(classes, plain, 0));
  EXPECT_NE(classify(classes, plain), classify(classes, marked)) << "a node that comes later";
  labels.change(1, nullptr, &marked.node);
  labels.change(1, &marked.node, nullptr);
  labels.change(0, &plain.node, nullptr);
  EXPECT_TRUE(classes.read(requiring({expressions({{"zone", "Exists", {}}})})).none()) << "no more";
}

// Of a label each operator reads what it needs, and no more.
TEST(NodeClasses, ValuesCountWhereTheyAreAskedFor) {
  const NamedNode nodes[] = {kept_of("n", {}), kept_of("n", {{"a", "1"}}),
                             kept_of("n", {{"a", "2"}}), kept_of("n", {{"a", "3"}})};
  const auto ids = [&](const ClassConstraint& constraint, const Names& keys) {
    const NodeLabels labels;
    NodeClasses classes(labels);
    classes.read(constraint, keys);
    std::vector<std::uint32_t> all;
    for (const NamedNode& node : nodes) all.push_back(classify(classes, node));
    return all;
  };
  using Ids = std::vector<std::uint32_t>;
  ClassConstraint selector;
  selector.node_selector = {{"a", "2"}};
  EXPECT_EQ(ids(selector, {}), (Ids{1, 1, 2, 1}));
  const auto by = [](const char* op, Names values) {
    return requiring({expressions({{"a", op, std::move(values)}})});
  };
  EXPECT_EQ(ids(by("In", {"2", "3"}), {}), (Ids{1, 1, 2, 3}));
  EXPECT_EQ(ids(by("NotIn", {"1"}), {}), (Ids{1, 2, 1, 1}));
  EXPECT_EQ(ids(by("Exists", {}), {}), (Ids{1, 2, 2, 2}));
  EXPECT_EQ(ids(by("DoesNotExist", {}), {}), (Ids{1, 2, 2, 2}));
  EXPECT_EQ(ids(by("Gt", {"1"}), {}), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(ids({}, {"a"}), (Ids{1, 2, 3, 4}));
}

// What is put off is read in the order in which it was asked for, kLabelsATurn labels at a time.
TEST(NodeClasses, TheLabelsOfALongSelectorArePutOff) {
  NodeLabels labels;
  const NamedNode nodes[] = {kept_of("n", {{"host", "a"}}), kept_of("n", {{"host", "b"}}),
                             kept_of("n", {{"rack", "1"}}), kept_of("n", {{"rack", "2"}})};
  for (std::uint32_t row = 0; row < std::size(nodes); ++row) {
    labels.change(row, nullptr, &nodes[row].node);
  }
  NodeClasses classes(labels);
  const auto ids = [&] {
    std::vector<std::uint32_t> all;
    for (const NamedNode& node : nodes) all.push_back(classify(classes, node));
    return all;
  };
  using Ids = std::vector<std::uint32_t>;
  Names hosts{"b"};
  for (std::size_t v = 0; v < 2 * NodeClasses::kLabelsATurn - 1; ++v) {
    hosts.push_back("no-" + std::to_string(v));
  }
  const ClassConstraint constraint =
      requiring({expressions({{"host", "In", hosts}, {"rack", "Exists", {}}})});
  EXPECT_TRUE(classes.read(constraint).all) << "the rack is read at once";
  EXPECT_EQ(ids(), (Ids{1, 1, 2, 2})) << "nodes that come before its turn";
  EXPECT_TRUE(classes.read_on().none()) << "the last ones first";
  ASSERT_TRUE(classes.has_put_off());
  EXPECT_EQ(classes.read_on().rows, std::vector<std::uint32_t>{1});
  ASSERT_FALSE(classes.has_put_off());
  EXPECT_EQ(ids(), (Ids{1, 3, 2, 2}));

  classes.unread(constraint);
  EXPECT_TRUE(classes.read(constraint).none()) << "told apart still";
  EXPECT_EQ(classes.unread_count(), 0u) << "the rack is read again, the hosts are to be unread";
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_TRUE(classes.read_on().none());
  }
  ASSERT_FALSE(classes.has_put_off());
  EXPECT_EQ(classes.unread_count(), 0u);

  classes.unread(constraint);
  EXPECT_EQ(classes.unread_count(), 1u) << "the rack";
  (void)classes.read_on();
  (void)classes.read_on();
  EXPECT_EQ(classes.unread_count(), 2u) << "b, of the hosts";
  classes.end_split();
  classes.forget();
  EXPECT_EQ(ids(), (Ids{1, 1, 1, 1})) << "nobody reads any more";
}

// One node has it, and then others, and at last one that is not known.
TEST(NodeClasses, AValueOfOneNodeSplitsThatNode) {
  const auto asking = [](const char* value) {
    ClassConstraint pod;
    pod.node_selector = {{"host", value}};
    return pod;
  };
  NodeLabels labels;
  NodeClasses classes(labels);
  const auto host = [](const char* value) { return kept_of("n", {{"host", value}}); };
  for (const auto& [row, value] :
       {std::pair(0u, "a"), {1u, "b"}, {2u, "b"}, {3u, "c"}, {4u, "c"}}) {
    const NamedNode node = host(value);
    labels.change(row, nullptr, &node.node);
  }
  const NamedNode c = host("c");
  labels.change(3, &c.node, nullptr);
  EXPECT_EQ(classes.read(asking("a")).rows, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(classes.read(asking("b")).all);
  EXPECT_TRUE(classes.read(asking("c")).all);
  EXPECT_TRUE(classes.read(asking("d")).none());
  EXPECT_EQ(classes.unread_count(), 0u);
  classes.unread(asking("a"));
  EXPECT_EQ(classes.unread_count(), 1u);
  EXPECT_TRUE(classes.read(asking("a")).none()) << "told apart still";
  EXPECT_EQ(classes.unread_count(), 0u);
  classes.unread(asking("a"));
  classes.unread(asking("d"));
  EXPECT_EQ(classes.unread_count(), 1u) << "what no node has is told apart nowhere";
  classes.end_split();
  classes.forget();
  EXPECT_EQ(classes.unread_count(), 0u);
  EXPECT_EQ(classes.read(asking("a")).rows, std::vector<std::uint32_t>{0}) << "anew";
}

TEST(NodeClasses, AMissingLabelIsNotAnEmptyOne) {
  const NodeLabels labels;
  NodeClasses classes(labels);
  classes.read({}, {"a", "b"});
  const NamedNode nodes[] = {kept_of("n", {}), kept_of("n", {{"a", ""}}), kept_of("n", {{"b", ""}}),
                             kept_of("n", {{"a", ""}, {"b", ""}}), kept_of("n", {{"a", "b"}})};
  for (std::uint32_t i = 0; i < std::size(nodes); ++i) {
    EXPECT_EQ(classify(classes, nodes[i]), i + 1);
  }
}

TEST(NodeClasses, TaintsAndTheUnschedulableMarkAlwaysCount) {
  const NodeLabels labels;
  NodeClasses classes(labels);
  const NamedNode nodes[] = {kept_of("n", {}),
                             kept_of("n", {}, {}, true),
                             kept_of("n", {}, {{"a", "", "NoSchedule"}}),
                             kept_of("n", {}, {{"a", "", "NoExecute"}}),
                             kept_of("n", {}, {{"", "a", "NoSchedule"}}),
                             kept_of("n", {}, {{"a", "", "NoSchedule"}, {"b", "", "NoSchedule"}})};
  for (std::uint32_t i = 0; i < std::size(nodes); ++i) {
    EXPECT_EQ(classify(classes, nodes[i]), i + 1);
    EXPECT_EQ(classes.at(i + 1).taints, nodes[i].node.traits->taints);
    EXPECT_EQ(classes.at(i + 1).unschedulable, nodes[i].node.traits->unschedulable);
    EXPECT_EQ(classify(classes, nodes[i]), i + 1) << "the same again";
  }
}

TEST(NodeAffinity, LongListsAndManyNamesAnswerAsShortOnesDo) {
  std::vector<std::string> values;
  for (int v = 0; v < 4000; ++v) values.push_back("v" + std::to_string(v));
  EXPECT_TRUE(matches({"zone", "In", values}, {{"zone", "v3999"}}));
  EXPECT_FALSE(matches({"zone", "In", values}, {{"zone", "v4000"}}));
  EXPECT_FALSE(matches({"zone", "In", values}, {}));
  EXPECT_FALSE(matches({"zone", "NotIn", values}, {{"zone", "v0"}}));
  EXPECT_TRUE(matches({"zone", "NotIn", values}, {{"zone", "v"}}));
  EXPECT_TRUE(matches({"zone", "NotIn", values}, {}));
  std::vector<NodeSelectorTerm> terms;
  for (const std::string& value : values) {
    terms.push_back({{{"zone", "In", {"z-" + value}}}, {{"metadata.name", "In", {value}}}});
  }
  terms.push_back(expressions({{"rack", "Exists", {}}}));
  const ClassConstraint pod = requiring(std::move(terms));
  const NodeAffinity affinity(pod);
  EXPECT_TRUE(affinity.passes(class_of({{"zone", "z-v17"}}), "v17"));
  EXPECT_FALSE(affinity.passes(class_of({{"zone", "z-v17"}}), "v18")) << "another one's zone";
  EXPECT_FALSE(affinity.passes(class_of({{"zone", "z-v17"}}), "v4000"));
  EXPECT_TRUE(affinity.passes(class_of({{"rack", ""}}), "v4000")) << "a term of no name";
}

// A selector that excludes nodes by name gives each of them a class; one that pins does not.
TEST(NodeClasses, NamesCountWhereTheyAreExcluded) {
  const NodeLabels labels;
  NodeClasses classes(labels);
  EXPECT_TRUE(classes.read(requiring({fields({{"metadata.name", "In", {"a"}}})})).none());
  EXPECT_EQ(classify(classes, kept_of("a", {})), classify(classes, kept_of("b", {})));
  EXPECT_TRUE(classes.read(requiring({fields({{"metadata.name", "NotIn", {"a"}}})})).all);
  EXPECT_TRUE(is_split(classes, kept_of("a", {}), 0));
  EXPECT_FALSE(is_split(classes, kept_of("b", {}), 1));
  const std::uint32_t a = classify(classes, kept_of("a", {}));
  const std::uint32_t b = classify(classes, kept_of("b", {}));
  EXPECT_NE(a, b);
  EXPECT_EQ(b, classify(classes, kept_of("c", {})));
  EXPECT_EQ(classes.at(a).name, "a");
  EXPECT_EQ(classes.at(b).name, "");
}

// Pinned by one term, but free by another: then names are read.
TEST(NodeClasses, NamesCountWhereOnlySomeTermsPin) {
  const NodeLabels labels;
  NodeClasses classes(labels);
  EXPECT_TRUE(classes
                  .read(requiring({fields({{"metadata.name", "In", {"a"}}}),
                                   expressions({{"zone", "Exists", {}}})}))
                  .all);
  EXPECT_NE(classify(classes, kept_of("a", {})), classify(classes, kept_of("b", {})));
}

// --- In a cluster ---

Node hostname_node(int number) {
  const std::string name = "node-" + std::to_string(number);
  return node_of(name, cores(4), {{"kubernetes.io/hostname", name}});
}

Pod hostname_pod(int number) {
  Pod pod;
  pod.namespace_name = "default";
  pod.name = "pod";
  pod.node_selector = {{"kubernetes.io/hostname", "node-" + std::to_string(number)}};
  return pod;
}

std::string chosen(Engine& engine, const Pod& pod) {
  const Result<Decision> decision = engine.evaluate(pod, {});
  EXPECT_TRUE(decision);
  return decision->candidates.empty()
             ? ""
             : std::string(engine.node_name(decision->candidates.front().node));
}

// An autoscaled cluster whose pods select by hostname: each such node a class of its own.
TEST(NodeClasses, ThoseOfGoneNodesAreForgotten) {
  Engine engine = *Engine::create(Profile::standard(), {.threads = 1});
  EXPECT_EQ(chosen(engine, hostname_pod(0)), "");
  constexpr int kNodes = 5000, kAtOnce = 10;
  for (int n = 0; n < kNodes; ++n) {
    ASSERT_TRUE(engine.upsert(hostname_node(n)));
    if (n >= kAtOnce) {
      engine.remove_node(hostname_node(n - kAtOnce).name);
    }
    ASSERT_LT(engine.stats().node_classes, 1100u);
    ASSERT_EQ(chosen(engine, hostname_pod(n)), hostname_node(n).name);
  }
  EXPECT_EQ(chosen(engine, hostname_pod(kNodes - kAtOnce - 1)), "");
  EXPECT_TRUE(engine.validate());
}

TEST(NodeClasses, ANewSelectorKeepsWhatIsCached) {
  Engine engine = *Engine::create(Profile::standard(), {.threads = 1});
  for (int n = 0; n < 40; ++n) {
    Node node = hostname_node(n);
    node.labels.clear();
    if (n % 4 == 0) {
      node.labels = {{"disk", "fast"}};
    }
    ASSERT_TRUE(engine.upsert(node));
  }
  Pod plain = hostname_pod(0), selecting = hostname_pod(0);
  plain.node_selector.clear();
  selecting.node_selector = {{"disk", "fast"}};
  EXPECT_EQ(engine.evaluate(plain)->feasible, 40u);
  EXPECT_EQ(engine.evaluate(selecting)->feasible, 10u);
  EXPECT_EQ(engine.evaluate(plain)->feasible, 40u);
  EXPECT_EQ(engine.stats().cold_passes, 2u);
  EXPECT_EQ(engine.stats().rows_replayed, 0u) << "new classes change no answer of known shapes";
  EXPECT_TRUE(engine.validate());
}

// --- In turns ---

const Pause kAtOnce = [] { return true; };  // one piece of work a turn

// How many turns it takes until a decision for the pod costs nothing new.
int turns(Engine& engine, const Pod& pod) {
  int count = 1;
  while (!*engine.prepare(pod, kAtOnce)) ++count;
  return count;
}

TEST(Preparation, TakesTurnsByNodesAndClassesAndKnownShapesDoNotWaitForIt) {
  Engine engine = *Engine::create(Profile::standard(), {.threads = 1});
  constexpr int kNodes = 40;
  for (int n = 0; n < kNodes; ++n) ASSERT_TRUE(engine.upsert(hostname_node(n)));
  Pod plain = hostname_pod(0);
  plain.node_selector.clear();
  ASSERT_EQ(engine.evaluate(plain)->feasible, 40u);
  // All but one hostname, so that each has a class.
  const auto but = [](int number) {
    Pod pod = hostname_pod(0);
    pod.node_selector.clear();
    Names others;
    for (int n = 0; n < kNodes; ++n) {
      if (n != number) others.push_back(hostname_node(n).name);
    }
    pod.required_node_affinity = {expressions({{"kubernetes.io/hostname", "NotIn", others}})};
    return pod;
  };
  Decision decision;
  // One piece for each node to be told apart, and then one for each class.
  int count = 0;
  while (!*engine.evaluate(but(7), {}, kAtOnce, decision)) {
    ++count;
    EXPECT_EQ(turns(engine, plain), 1) << "a known shape has nothing to wait for";
    EXPECT_EQ(engine.evaluate(plain)->feasible, 40u);
    EXPECT_EQ(engine.filter(but(7), "node-7")->code, Code::kSuccess);
    EXPECT_NE(engine.filter(but(7), "node-39")->code, Code::kSuccess);
  }
  EXPECT_GE(count, 2 * (kNodes - 1));
  ASSERT_EQ(decision.candidates.size(), 1u);
  EXPECT_EQ(engine.node_name(decision.candidates.front().node), "node-7");
  EXPECT_EQ(turns(engine, but(7)), 1);
  EXPECT_GE(turns(engine, but(8)), kNodes) << "a new shape asks every class";
  EXPECT_TRUE(engine.validate());
}

TEST(Preparation, AHostnameMoreCostsItsNodeAndNoOther) {
  Engine engine = *Engine::create(Profile::standard(), {.threads = 1});
  for (int n = 0; n < 40; ++n) ASSERT_TRUE(engine.upsert(hostname_node(n)));
  for (int n = 0; n < 3; ++n) {
    EXPECT_LE(turns(engine, hostname_pod(n)), 5 + n) << "the shape, and what it reads, are pieces";
    EXPECT_EQ(chosen(engine, hostname_pod(n)), hostname_node(n).name);
    EXPECT_EQ(engine.stats().node_classes, 2u + static_cast<unsigned>(n));
  }
  EXPECT_TRUE(engine.validate());
}

TEST(Preparation, NodesMayComeGoAndChangeBetweenTurns) {
  Engine engine = *Engine::create(Profile::standard(), {.threads = 1});
  for (int n = 0; n < 40; ++n) ASSERT_TRUE(engine.upsert(hostname_node(n)));
  Pod reads_rack = hostname_pod(0);
  reads_rack.node_selector = {{"rack", "r1"}};
  Pod by_number = hostname_pod(0);  // reads every value
  by_number.node_selector.clear();
  by_number.required_node_affinity = {expressions({{"kubernetes.io/hostname", "Gt", {"5"}}})};
  for (int turn = 0; turn < 20; ++turn) ASSERT_FALSE(*engine.prepare(by_number, kAtOnce));
  ASSERT_TRUE(engine.upsert(hostname_node(50)));
  engine.remove_node("node-3");
  Node changed = hostname_node(39);
  changed.labels = {{"kubernetes.io/hostname", "node-50"}, {"rack", "r1"}};
  ASSERT_TRUE(engine.upsert(changed));
  // A second key is read while the first one's nodes are still being told apart.
  ASSERT_FALSE(*engine.prepare(reads_rack, kAtOnce));
  EXPECT_TRUE(engine.validate());
  EXPECT_EQ(engine.evaluate(by_number)->feasible, 0u) << "the rest at once";
  EXPECT_EQ(engine.evaluate(hostname_pod(50))->feasible, 2u);
  EXPECT_EQ(engine.evaluate(reads_rack)->feasible, 1u);
  EXPECT_EQ(engine.evaluate(hostname_pod(3))->feasible, 0u);
  EXPECT_TRUE(engine.validate());
}

// A shape that is prepared after another one changes the classes that the other's nodes are in.
TEST(Preparation, ShapesOfABatchMayTellNodesApartForEachOther) {
  Engine engine = *Engine::create(Profile::standard(), {.threads = 1});
  for (int n = 0; n < 40; ++n) ASSERT_TRUE(engine.upsert(hostname_node(n)));
  Pod plain = hostname_pod(0);
  plain.node_selector.clear();
  const auto decisions = engine.evaluate(std::vector<Pod>{plain, hostname_pod(7)});
  ASSERT_TRUE(decisions);
  EXPECT_EQ((*decisions)[0].feasible, 40u);
  EXPECT_EQ((*decisions)[1].feasible, 1u);
}

// By count: nothing is asked of the nodes for keys that none of them has.
TEST(Preparation, InventedKeysTakeOneTurnEach) {
  Engine engine = *Engine::create(Profile::standard(), {.threads = 1});
  for (int n = 0; n < 40; ++n) ASSERT_TRUE(engine.upsert(hostname_node(n)));
  for (int key = 0; key < 100; ++key) {
    Pod pod = hostname_pod(0);
    pod.node_selector = {{"invented-" + std::to_string(key), "v"}};
    EXPECT_LE(turns(engine, pod), 3) << "the shape, what it reads, the rest";
    EXPECT_EQ(engine.evaluate(pod)->feasible, 0u);
  }
  EXPECT_EQ(engine.stats().node_classes, 1u);
}

// A DaemonSet's pods name their nodes: on them they are alike, in a decision they are not.
TEST(NodeClasses, PodsThatNameTheirNodesCountAsOneShape) {
  Engine engine = *Engine::create(Profile::standard(), {.threads = 1});
  constexpr int kNodes = 100;
  const auto pod_of = [](int number) {
    Pod pod;
    pod.namespace_name = "kube-system";
    pod.name = "agent-" + std::to_string(number);
    pod.containers.resize(1);
    pod.containers[0].requests = {{"cpu", Quantity::from_milli(500)}};
    const std::string name = hostname_node(number).name;
    pod.required_node_affinity = {NodeSelectorTerm{{}, {{"metadata.name", "In", {name}}}}};
    return pod;
  };
  for (int n = 0; n < kNodes; ++n) {
    ASSERT_TRUE(engine.upsert(hostname_node(n)));
    Pod bound = pod_of(n);
    bound.node_name = hostname_node(n).name;
    ASSERT_TRUE(engine.upsert(bound));
  }
  EXPECT_EQ(engine.stats().shapes, 1u);
  for (const int n : {7, 70}) {
    Pod another = pod_of(n);
    another.name += "-another";
    EXPECT_EQ(chosen(engine, another), hostname_node(n).name);
    ASSERT_TRUE(engine.place(std::vector<Pod>{another}));
  }
  EXPECT_EQ(engine.stats().shapes, 1u);
  EXPECT_TRUE(engine.validate());
  // Many at once, beside one that names none; and one that is asked for by its shape.
  Pod anywhere = pod_of(0);
  anywhere.name = "anywhere";
  anywhere.required_node_affinity.reset();
  const std::vector<Pod> pods = {pod_of(3), anywhere, pod_of(5), pod_of(3)};
  const auto decisions = engine.evaluate(pods);
  ASSERT_TRUE(decisions);
  for (const std::size_t p : {0, 2, 3}) {
    EXPECT_EQ((*decisions)[p].feasible, 1u);
    EXPECT_EQ(engine.node_name((*decisions)[p].candidates.front().node),
              pods[p].required_node_affinity->front().match_fields.front().values.front());
  }
  EXPECT_EQ((*decisions)[1].feasible, 100u);
  Decision by_shape;
  ASSERT_TRUE(engine.evaluate(*engine.shape_of(pod_of(9)), {}, by_shape));
  EXPECT_EQ(engine.node_name(by_shape.candidates.front().node), hostname_node(9).name);
  EXPECT_EQ(engine.stats().shapes, 2u);
  // Placed and bound pods of one kind add up to the same state.
  const std::uint64_t placed = engine.digest();
  for (const int n : {7, 70}) {
    Pod another = pod_of(n);
    another.name += "-another";
    engine.forget(another.namespace_name, another.name, another.uid, hostname_node(n).name);
    ASSERT_TRUE(engine.assume(another, hostname_node(n).name));
  }
  EXPECT_EQ(engine.digest(), placed);
}

}  // namespace
}  // namespace headroom::node_class_test
