// The engine against every recorded case of the plugins that exist; and the runner of the cases
// itself, which must fail what it does not know.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/conformance/case.h"

namespace headroom {
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

INSTANTIATE_TEST_SUITE_P(Shared, ConformanceFile,
                         testing::Values("quantities", "pod-resources", "limit-aware", "load-aware",
                                         "node-resources", "proposal-limit-aware",
                                         "proposal-resource-limit-aware", "proposal-load-aware",
                                         "capacity-scheduling", "proposal-capacity-scheduling",
                                         "capacity-quota", "proposal-capacity-quota"),
                         [](const auto& file) {
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
              {"op": "delete", "object": {"kind": "Service", "metadata": {"name": "s"}}}]})")),
            "steps[0].object.kind: Service / not supported\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "LimitAware", "args": {"x": 1}, "steps": []})")),
            "args: {\"x\":1} / LimitAware args: x: unknown field; accepted: apiVersion, "
            "defaultLimitToAllocatableRatio, kind, resources, scoringResourceWeights\n");
  EXPECT_EQ(differences(json::parse(R"({"plugin": "Quantity"})")),
            "case: the form that the README of the cases describes / "
            "[json.exception.out_of_range.403] key 'steps' not found\n");
}

}  // namespace
}  // namespace headroom
