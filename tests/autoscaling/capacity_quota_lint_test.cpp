// Findings about quotas: each kind by name, and what is said of selectors against all labels that
// they can tell apart.
#include "autoscaling/capacity_quota_lint.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "autoscaling/label_set.h"
#include "objects/objects.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"

namespace headroom::capacity_quota_lint_test {
namespace {

Node node_of(const std::string& name, StringMap labels, std::int64_t cores = 4) {
  return capacity_node_of(name, cpu_and_memory(cores * 1'000, cores << 30), std::move(labels));
}

CapacityQuotaUpsert capacity_quota_of(
    const std::string& name, LabelSelector selector, StringMap limits,
    CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota) {
  return {.quota = capacity_quota(name, std::move(limits), std::move(selector)),
          .quota_class = quota_class};
}

// "CapacityQuota/q Kind subject other", a line for each finding.
std::string findings(const std::vector<CapacityQuotaUpsert>& quotas, const std::vector<Node>& nodes,
                     const std::vector<Node>& templates = {},
                     const CapacityQuotasOptions& options = {}) {
  std::string text;
  for (const LintFinding& finding : lint(quotas, nodes, templates, options)) {
    text += finding.quota + " " + to_string(finding.kind);
    if (!finding.subject.empty()) text += " " + finding.subject;
    if (!finding.other.empty()) text += " < " + finding.other;
    text += '\n';
    EXPECT_FALSE(finding.message.empty());
  }
  return text;
}

const std::vector<Node> kNodes = {node_of("n1", {{"team", "a"}, {"zone", "x"}}),
                                  node_of("n2", {{"team", "b"}, {"zone", "x"}}, 8)};

TEST(CapacityQuotaLint, SaysNothingOfQuotasThatWork) {
  EXPECT_EQ("", findings({capacity_quota_of("a", {{"team", "In", {"a"}}}, {{"cpu", "8"}}),
                          capacity_quota_of("all", {}, {{"cpu", "32"}, {"memory", "64Gi"}}),
                          capacity_quota_of("frozen", {{"team", "In", {"b"}}}, {{"nodes", "0"}})},
                         kNodes));
}

TEST(CapacityQuotaLint, OfAnInvalidSpecOnlyThat) {
  EXPECT_EQ("CapacityQuota/limit InvalidSpec\nCapacityQuota/operator InvalidSpec\n",
            findings({capacity_quota_of("operator", {{"team", "Near", {"a"}}}, {}),
                      capacity_quota_of("limit", {{"nothing", "Exists", {}}}, {{"cpu", "4x"}})},
                     kNodes));
}

TEST(CapacityQuotaLint, NoLimits) {
  EXPECT_EQ("CapacityQuota/q NoLimits\n", findings({capacity_quota_of("q", {}, {})}, kNodes));
}

TEST(CapacityQuotaLint, ContradictorySelector) {
  const auto contradicts = [](LabelSelector selector) {
    return findings({capacity_quota_of("q", std::move(selector), {{"cpu", "8"}})}, kNodes);
  };
  const std::string finding = "CapacityQuota/q ContradictorySelector team\n";
  EXPECT_EQ(finding, contradicts({{"team", "In", {"a"}}, {"team", "NotIn", {"a", "b"}}}));
  EXPECT_EQ(finding, contradicts({{"team", "In", {"a"}}, {"team", "In", {"b"}}}));
  EXPECT_EQ(finding, contradicts({{"team", "Exists", {}}, {"team", "DoesNotExist", {}}}));
  EXPECT_EQ(finding, contradicts({{"team", "In", {"a"}}, {"team", "DoesNotExist", {}}}));
  EXPECT_EQ("", contradicts({{"team", "Exists", {}}, {"team", "NotIn", {"a"}}}));
  EXPECT_EQ("", contradicts({{"team", "In", {"a", "b"}}, {"team", "NotIn", {"a"}}}));
  // Nodes of that type do not count.
  EXPECT_EQ("CapacityQuota/q ContradictorySelector type\n",
            contradicts({{"type", "In", {"virtual-kubelet"}}}));
}

TEST(CapacityQuotaLint, SelectsNothing) {
  const CapacityQuotaUpsert quota =
      capacity_quota_of("q", {{"team", "In", {"a"}}, {"zone", "NotIn", {"x"}}}, {{"cpu", "8"}});
  EXPECT_EQ("CapacityQuota/q SelectsNothing\n", findings({quota}, kNodes));
  EXPECT_EQ("", findings({quota}, kNodes, {node_of("t", {{"team", "a"}, {"zone", "y"}})}));
  // A virtual node is none.
  EXPECT_EQ("CapacityQuota/q SelectsNothing\n",
            findings({quota}, kNodes,
                     {node_of("t", {{"team", "a"}, {"type", "virtual-kubelet"}, {"zone", "y"}}),
                      kNodes[0]}));
}

TEST(CapacityQuotaLint, LabelsThatNoTemplateHas) {
  const std::vector<Node> templates = {node_of("t", {{"team", "a"}})};
  const auto labels = [&](LabelSelector selector) {
    return findings({capacity_quota_of("q", std::move(selector), {{"cpu", "8"}})}, kNodes,
                    templates);
  };
  EXPECT_EQ("CapacityQuota/q UnknownLabelKey zone\n", labels({{"zone", "Exists", {}}}));
  EXPECT_EQ("CapacityQuota/q UnknownLabelKey zone\n", labels({{"zone", "In", {"x"}}}));
  EXPECT_EQ("CapacityQuota/q UnknownLabelValue team=b\n", labels({{"team", "In", {"a", "b"}}}));
  // What excludes may be on nodes only: the control plane is never a template.
  EXPECT_EQ("", labels({{"zone", "DoesNotExist", {}}}));
  EXPECT_EQ("", labels({{"team", "NotIn", {"b"}}}));
  EXPECT_EQ("CapacityQuota/q UnknownLabelValue team=c\n", labels({{"team", "NotIn", {"b", "c"}}}));
  EXPECT_EQ("CapacityQuota/q UnknownLabelKey spot\n", labels({{"spot", "DoesNotExist", {}}}));
  // Said once, as often as it is asked.
  EXPECT_EQ("CapacityQuota/q UnknownLabelKey zone\n",
            labels({{"zone", "In", {"x"}}, {"zone", "Exists", {}}}));
}

TEST(CapacityQuotaLint, DominatedByAQuotaOfMoreNodesAndNoHigherLimits) {
  const auto with = [](const char* cpu, const char* memory) {
    return findings(
        {capacity_quota_of("all", {}, {{"cpu", "32"}, {"memory", "64Gi"}}),
         capacity_quota_of("some", {{"team", "In", {"a"}}}, {{"cpu", cpu}, {"memory", memory}})},
        kNodes);
  };
  EXPECT_EQ("CapacityQuota/some Dominated < CapacityQuota/all\n", with("32", "64Gi"));
  EXPECT_EQ("CapacityQuota/some Dominated < CapacityQuota/all\n", with("40000m", "65Gi"));
  EXPECT_EQ("CapacityQuota/some Dominated cpu < CapacityQuota/all\n", with("33", "63Gi"));
  EXPECT_EQ("CapacityQuota/some Dominated memory < CapacityQuota/all\n", with("31", "64Gi"));
  EXPECT_EQ("", with("31", "63Gi"));
}

TEST(CapacityQuotaLint, ALimitOnAnotherResourceDominatesNothing) {
  EXPECT_EQ("", findings({capacity_quota_of("all", {}, {{"memory", "8Gi"}}),
                          capacity_quota_of("some", {{"team", "In", {"a"}}}, {{"cpu", "99"}})},
                         kNodes));
}

TEST(CapacityQuotaLint, FewerNodesDominateNothing) {
  EXPECT_EQ("", findings({capacity_quota_of("a", {{"team", "In", {"a"}}}, {{"cpu", "8"}}),
                          capacity_quota_of("x", {{"zone", "In", {"x"}}}, {{"cpu", "99"}})},
                         kNodes));
}

TEST(CapacityQuotaLint, OfEqualsTheLaterIsDominated) {
  const LabelSelector one = {{"team", "In", {"a"}}};
  const LabelSelector same = {{"team", "In", {"a", "b"}}, {"team", "NotIn", {"b"}}};
  EXPECT_EQ("CapacityQuota/q2 Dominated < CapacityQuota/q1\n",
            findings({capacity_quota_of("q2", one, {{"cpu", "8"}}),
                      capacity_quota_of("q1", same, {{"cpu", "8"}})},
                     kNodes));
}

TEST(CapacityQuotaLint, OtherLimitsOfTheClusterDominateToo) {
  EXPECT_EQ("CapacityQuota/q Dominated < cluster-wide\n",
            findings({capacity_quota_of("q", {}, {{"cpu", "64"}}),
                      capacity_quota_of("", {}, {{"cpu", "32"}}, CapacityQuotaClass::kClusterWide)},
                     kNodes));
}

TEST(CapacityQuotaLint, AliasesAreTheResourceThatTheyCount) {
  CapacityQuotasOptions options;
  options.aliases = {{"cores", "cpu"}};
  EXPECT_EQ("CapacityQuota/q Dominated < CapacityQuota/all\n",
            findings({capacity_quota_of("all", {}, {{"cores", "32"}}),
                      capacity_quota_of("q", {}, {{"cpu", "33"}})},
                     kNodes, {}, options));
  EXPECT_EQ("CapacityQuota/q NeverFits cores\n",
            findings({capacity_quota_of("q", {}, {{"cores", "3"}})}, kNodes, {}, options));
}

TEST(CapacityQuotaLint, NoQuotaIsDominatedByItself) {
  CapacityQuotasOptions options;
  options.aliases = {{"cores", "cpu"}};
  EXPECT_EQ("", findings({capacity_quota_of("q", {}, {{"cores", "32"}, {"cpu", "33"}})}, kNodes, {},
                         options));
}

TEST(CapacityQuotaLint, LimitsThatTakeNoNode) {
  const auto with = [](const char* resource, const char* limit) {
    return findings({capacity_quota_of("q", {}, {{resource, limit}})}, kNodes);
  };
  EXPECT_EQ("CapacityQuota/q NeverFits cpu\n", with("cpu", "3"));
  EXPECT_EQ("", with("cpu", "4"));
  EXPECT_EQ("", with("cpu", "0"));  // meant so
  EXPECT_EQ("CapacityQuota/q NeverFits memory\n", with("memory", "4095Mi"));
  EXPECT_EQ("", with("memory", "4Gi"));
  EXPECT_EQ("", with("nodes", "1"));
  EXPECT_EQ("", with("nvidia.com/gpu", "7"));  // of which no node has any
  std::vector<Node> nodes = kNodes;
  nodes.push_back(node_of("n3", {}));
  nodes.back().capacity.emplace_back("nvidia.com/gpu", Quantity::from_value(8));
  EXPECT_EQ("CapacityQuota/q NeverFits nvidia.com/gpu\n",
            findings({capacity_quota_of("q", {}, {{"nvidia.com/gpu", "7"}})}, nodes));
}

// --- What is proved of selectors, against every label that two of them can tell apart. ---

constexpr std::array<const char*, 2> kKeys = {"k", "l"};
constexpr std::array<const char*, 3> kValues = {"", "a", "b"};

LabelSelector random_selector(std::mt19937_64& random) {
  constexpr std::array<const char*, 4> kOperators = {"In", "NotIn", "Exists", "DoesNotExist"};
  LabelSelector selector;
  for (std::uint64_t count = random() % 4; count > 0; --count) {
    NodeSelectorRequirement& asked = selector.emplace_back();
    asked.key = kKeys[random() % kKeys.size()];
    asked.op = kOperators[random() % kOperators.size()];
    if (asked.op == "Exists" || asked.op == "DoesNotExist") continue;
    for (const char* value : kValues) {
      if (random() % 2 == 0) asked.values.emplace_back(value);
    }
    if (asked.values.empty()) asked.values.emplace_back("a");
  }
  return selector;
}

// Every key absent, of each value that selectors name, and of one that none names.
std::vector<StringMap> all_labels() {
  std::vector<std::optional<std::string>> choices = {std::nullopt, "other"};
  for (const char* value : kValues) choices.emplace_back(value);
  std::vector<StringMap> all;
  for (const auto& first : choices) {
    for (const auto& second : choices) {
      StringMap& labels = all.emplace_back();
      if (first) labels.emplace_back(kKeys[0], *first);
      if (second) labels.emplace_back(kKeys[1], *second);
    }
  }
  return all;
}

TEST(LabelSet, SaysOfSelectorsWhatAllLabelsSay) {
  constexpr int kRounds = 20'000;
  std::mt19937_64 random(test_seed());
  const std::vector<StringMap> all = all_labels();
  int contradictions = 0, inclusions = 0;
  for (int round = 0; round < kRounds; ++round) {
    const LabelSelector a = random_selector(random), b = random_selector(random);
    bool a_matches = false, within = true;
    for (const StringMap& labels : all) {
      a_matches = a_matches || matches(a, labels);
      within = within && (!matches(a, labels) || matches(b, labels));
    }
    ASSERT_EQ(a_matches, LabelSet(a).contradiction() == nullptr);
    ASSERT_EQ(within, LabelSet(a).within(LabelSet(b)));
    contradictions += a_matches ? 0 : 1;
    inclusions += within ? 1 : 0;
  }
  EXPECT_GT(contradictions, kRounds / 20);
  EXPECT_GT(inclusions, kRounds / 20);
  EXPECT_LT(inclusions, kRounds - kRounds / 20);
}

}  // namespace
}  // namespace headroom::capacity_quota_lint_test
