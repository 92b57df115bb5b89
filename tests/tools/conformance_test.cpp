// The engine against every recorded case of the plugins that exist; and the runner of the cases
// itself, which must fail what it does not know.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tools/conformance/case.h"

namespace headroom::conformance_test {
namespace {

using nlohmann::json;

// "field: expected / got", a line for each difference.
std::string differences(const json& recorded) {
  std::string text;
  for (const ConformanceDifference& difference : run_conformance_case(recorded)) {
    text += difference.field + ": " + difference.expected + " / " + difference.got + "\n";
  }
  return text;
}

// All that are run; tools/test has the same list for the step conformance, and docs/exactness.md
// for who reads it.
constexpr const char* kFiles[] = {"capacity-quota",
                                  "capacity-scheduling",
                                  "default-profile",
                                  "image-locality",
                                  "inter-pod-affinity",
                                  "limit-aware",
                                  "load-aware",
                                  "node-affinity-score",
                                  "node-resources",
                                  "pod-resources",
                                  "pod-topology-spread",
                                  "proposal-capacity-quota",
                                  "proposal-capacity-scheduling",
                                  "proposal-limit-aware",
                                  "proposal-load-aware",
                                  "proposal-load-aware-prod",
                                  "proposal-resource-limit-aware",
                                  "quantities",
                                  "taint-toleration-score",
                                  "volumes"};

std::string read_source(const std::string& path) {
  std::ifstream file(HEADROOM_SOURCE_DIR + ("/" + path));
  return {std::istreambuf_iterator<char>(file), {}};
}

// The matches of `name` between `begins` and `ends`, in order.
std::vector<std::string> names_in(const std::string& text, const std::string& begins,
                                  const std::string& ends, const char* name) {
  const std::size_t first = text.find(begins);
  if (first == std::string::npos) return {};
  const std::size_t from = first + begins.size();
  const std::string part = text.substr(from, text.find(ends, from) - from);
  const std::regex pattern(name);
  std::vector<std::string> names;
  for (std::sregex_iterator match(part.begin(), part.end(), pattern), end; match != end; ++match) {
    names.push_back(match->str(1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ConformanceFiles, AreThoseOfToolsTestAndOfThePage) {
  const std::vector<std::string> files(std::begin(kFiles), std::end(kFiles));
  EXPECT_EQ(names_in(read_source("tools/test"), "for plugin in ", "; do", "([a-z-]+)"), files);
  EXPECT_EQ(names_in(read_source("docs/exactness.md"), "| what | files |\n| --- | --- |\n", "\n\n",
                     "`([a-z-]+)`"),
            files);
}

class ConformanceFile : public testing::TestWithParam<const char*> {};

TEST_P(ConformanceFile, AllCasesPass) {
  const std::string path =
      std::string(HEADROOM_SHARED_DIR) + "/conformance/" + GetParam() + ".jsonl";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "no " << path;
  for (std::string line; std::getline(file, line);) {
    const json recorded = json::parse(line);
    EXPECT_EQ(differences(recorded), "") << recorded.at("name");
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, ConformanceFile, testing::ValuesIn(kFiles), [](const auto& file) {
  std::string name = file.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(ConformanceRunner, SaysWhatDiffers) {
  EXPECT_EQ(differences(json::parse(R"({"plugin": "Quantity", "steps": [
              {"op": "quantity", "input": "1", "expect": {"valid": true, "value": 1}},
              {"op": "quantity", "input": "2", "expect": {"value": 3, "milliValue": 2001}},
              {"op": "quantity", "input": "3", "expect": {"value": 4}}]})")),
            "steps[1].milliValue: 2001 / 2000\nsteps[1].value: 3 / 2\n");
}

// The whole default profile, and a plugin of it: each field that is compared, made wrong.
TEST(ConformanceRunner, SaysWhatDiffersOfDefaultPlugins) {
  const auto of = [](const std::string& plugin, const std::string& expect) {
    return differences(json::parse(R"({"plugin": ")" + plugin +
                                   R"(", "source": "kubernetes v1.37.1", "args": {}, "objects": [
          {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
           "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
          {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"},
           "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}}],
         "steps": [{"op": "schedule", "pod": {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": "p", "namespace": "d", "uid": "u"},
           "spec": {"containers": [{"name": "c"}]}}, "expect": )" +
                                   expect + "}]}"));
  };
  const std::string taint = "node(s) had untolerated taint(s)";
  EXPECT_EQ(of("TaintToleration", R"({"preFilter": {"code": "Success"}, "filter": {
              "n1": {"code": "UnschedulableAndUnresolvable", "reasons": [")" +
                                      taint + R"("]},
              "n2": {"code": "Success"}}, "preScore": {"code": "Success"}, "scores": {"n2": 0},
              "normalizedScores": {"n2": 100}})"),
            "");
  EXPECT_EQ(of("TaintToleration", R"({"preFilter": {"code": "Unschedulable"}})"),
            R"(steps[0].preFilter: {"code":"Unschedulable"} / n1: )"
            R"({"code":"UnschedulableAndUnresolvable","reasons":[")" +
                taint + "\"]}\n");
  EXPECT_EQ(of("TaintToleration", R"({"filter": {"n2": {"code": "Success"}}})"),
            R"(steps[0].filter.n1: absent / {"code":"UnschedulableAndUnresolvable","reasons":[")" +
                taint + "\"]}\n");
  EXPECT_EQ(of("TaintToleration", R"({"preScore": {"code": "Skip"}, "scores": {},
                                      "normalizedScores": {"n2": 99}})"),
            "steps[0].normalizedScores.n2: 99 / 100\n"
            "steps[0].preScore.code: \"Skip\" / \"Success\"\n"
            "steps[0].scores.n2: absent / 0\n");
  EXPECT_EQ(of("DefaultProfile", R"({"best": "n1", "totals": {"n2": 400},
                                     "pluginScores": {"DynamicResources": {"n2": 0}}})"),
            "steps[0].best: \"n1\" / \"n2\"\n"
            "steps[0].pluginScores.ImageLocality: absent / {\"n2\":0}\n"
            "steps[0].pluginScores.NodeResourcesFit: absent / {\"n2\":97}\n"
            "steps[0].pluginScores.TaintToleration: absent / {\"n2\":300}\n"
            "steps[0].pluginScores.VolumeBinding: absent / {\"n2\":0}\n"
            "steps[0].totals.n2: 400 / 397\n");
}

// A preemption's answer is compared whole: with its code alone any victim would do.
TEST(ConformanceRunner, SaysWhatDiffersOfAPreemption) {
  const auto pod = [](const std::string& name, int priority, const std::string& node) {
    json made = json::parse(R"({"apiVersion": "v1", "kind": "Pod",
      "metadata": {"namespace": "d"}, "spec": {"containers": [
        {"name": "c", "resources": {"requests": {"cpu": "2"}}}]}})");
    made["metadata"]["name"] = made["metadata"]["uid"] = name;
    made["spec"]["priority"] = priority;
    if (!node.empty()) made["spec"]["nodeName"] = node;
    return made;
  };
  const auto of = [&](const json& post_filter) {
    json recorded = json::parse(R"({"plugin": "CapacityScheduling", "mode": "Proposal", "args": {},
      "now": "2026-01-01T00:00:00Z", "objects": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
         "status": {"allocatable": {"cpu": "2", "pods": "9"}}}]})");
    recorded["objects"].push_back(pod("low", 1, "n1"));
    recorded["steps"] = {{{"op", "schedule"},
                          {"pod", pod("high", 2, "")},
                          {"expect", {{"postFilter", post_filter}}}}};
    return differences(recorded);
  };
  const json right = {{"code", "Success"}, {"nominatedNode", "n1"}, {"victims", {"d/low"}}};
  EXPECT_EQ(of(right), "");
  for (const auto& [field, wrong] : {std::pair{"nominatedNode", json("n2")},
                                     {"victims", json({"d/other"})},
                                     {"crossNodeWouldHelp", json(true)},
                                     {"candidates", json::object()}}) {
    json changed = right;
    changed[field] = wrong;
    EXPECT_NE(of(changed), "") << field;
  }
}

// Whether a PreFilter that passes was skipped is not told apart; that it passes is.
TEST(ConformanceRunner, HoldsAPreFilterThatPassesAgainstTheNodes) {
  const auto of = [](const char* names, const json& pre_filter) {
    json recorded = json::parse(R"({"plugin": "NodeAffinity", "now": "2026-01-01T00:00:00Z",
      "objects": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
                  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}}]})");
    const json pod = json::parse(std::string(R"({"apiVersion": "v1", "kind": "Pod",
      "metadata": {"name": "p", "uid": "p"}, "spec": {"containers": [{"name": "c"}],
      "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": )") +
                                 names + "}]}}}}}");
    recorded["steps"] = {
        {{"op", "schedule"}, {"pod", pod}, {"expect", {{"preFilter", pre_filter}}}}};
    return differences(recorded);
  };
  const char* one = R"([{"key": "metadata.name", "operator": "In", "values": ["n1"]}])";
  const char* none = R"([{"key": "metadata.name", "operator": "In", "values": ["n1"]},
                         {"key": "metadata.name", "operator": "In", "values": ["n2"]}])";
  EXPECT_EQ(of(one, {{"code", "Success"}}), "");
  EXPECT_EQ(of(one, {{"code", "Success"}, {"nodeNames", {"n1"}}}), "");
  EXPECT_NE(of(one, {{"code", "Success"}, {"nodeNames", {"n2"}}}), "");
  EXPECT_NE(of(one, {{"code", "Skip"}}), "");
  EXPECT_NE(of(none, {{"code", "Success"}}), "");
  EXPECT_NE(of(none, {{"code", "Skip"}}), "");
}

TEST(ConformanceRunner, FailsWhatItDoesNotKnow) {
  EXPECT_EQ(differences(json::parse(R"({"plugin": "NodePorts", "steps": []})")),
            "plugin: NodePorts / not supported\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "CapacityQuota", "mode": "X", "steps": []})")),
            "mode: Upstream or Proposal / X\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "CapacityQuota", "args": {"x": 1},
                                        "steps": [{"op": "schedule"}]})")),
            "args.x: 1 / not supported\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "CapacityQuota",
                                        "steps": [{"op": "schedule"}]})")),
            "steps[0].op: schedule / not supported\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "Quantity", "mode": "X", "steps": []})")),
            "mode: Upstream or Proposal / X\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "Quantity", "steps": [{"op": "checkQuota"}]})")),
            "steps[0].op: checkQuota / not supported\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "Quantity", "steps": [
              {"op": "quantity", "input": "1", "expect": {"colour": "red"}}]})")),
            "steps[0].colour: \"red\" / not supported\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "LimitAware", "steps": [
              {"op": "delete", "object": {}, "expect": {"quotaUsed": {}}}]})")),
            "steps[0].expect: {\"quotaUsed\":{}} / not supported after delete\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "LimitAware", "steps": [
              {"op": "delete", "object": {"kind": "Ingress", "metadata": {"name": "s"}}}]})")),
            "steps[0].object: accepted / kind: Ingress is not supported\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "LimitAware", "args": {"x": 1}, "steps": []})")),
            "args: {\"x\":1} / LimitAware args: x: unknown field; accepted: apiVersion, "
            "defaultLimitToAllocatableRatio, kind, resources, scoringResourceWeights\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "DefaultProfile", "mode": "Proposal", "args": {},
                                        "objects": [], "steps": []})")),
            "mode: Upstream / Proposal\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "DefaultProfile", "args": {"Foo": {}},
                                        "objects": [], "steps": []})")),
            "args: a plugin / Foo\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "TaintToleration", "args": {}, "objects": [],
                                        "steps": [{"op": "schedul"}]})")),
            "steps[0].op: schedul / not supported\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "Quantity"})")),
            "case: the form that the README of the cases describes / "
            "[json.exception.out_of_range.403] key 'steps' not found\n");
}

}  // namespace
}  // namespace headroom::conformance_test
