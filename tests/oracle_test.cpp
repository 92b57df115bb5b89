// Runs the oracle over the shared conformance cases; every field of every expectation must agree.
#include "oracle/oracle.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "oracle/pod_resources.h"

namespace {

using oracle::Answer;
using oracle::Json;
using oracle::Mode;
using oracle::Oracle;

// The oracle set up for the one plugin of a case.
Oracle make_oracle(const Json& one_case) {
  const std::string plugin = one_case.at("plugin");
  const bool upstream = one_case.value("mode", "Upstream") == "Upstream";
  Json config{{"args", {{plugin, one_case.value("args", Json::object())}}},
              {"scores", {{{"plugin", plugin}, {"weight", 1}}}},
              {"filters", Json::array()},
              {"scoreAll", upstream}};
  if (plugin != "ResourceLimitAware" && plugin != "NodeResourcesBalancedAllocation") {
    config["filters"].push_back(plugin);
  }
  return Oracle(upstream ? Mode::kUpstream : Mode::kProposal, config);
}

Json coded(oracle::Code code) { return Json{{"code", to_string(code)}}; }

// The answer in the form of the cases' `expect`.
Json to_expect(const Answer& answer, bool with_reasons) {
  Json filter = Json::object(), scores = Json::object(), normalized = Json::object(),
       failed = Json::object();
  for (const auto& [node, status] : answer.filter) {
    filter[node] = coded(status.code);
    if (with_reasons && !status.reasons.empty()) filter[node]["reasons"] = status.reasons;
  }
  for (const auto& [node, score] : answer.scores.at(0).nodes) {
    if (score.code != oracle::Code::kSuccess) {
      failed[node] = coded(score.code);
      continue;
    }
    scores[node] = score.raw;
    normalized[node] = score.normalized;
  }
  return Json{{"preFilter", coded(answer.pre_filter)},
              {"preScore", coded(answer.scores.at(0).pre_score)},
              {"filter", filter},
              {"scores", scores},
              {"normalizedScores", normalized},
              {"scoreStatus", failed}};
}

bool has_reasons(const Json& expect) {
  if (!expect.contains("filter")) return false;
  for (const Json& status : expect.at("filter")) {
    if (status.contains("reasons")) return true;
  }
  return false;
}

// Amounts above zero.
Json positive(const oracle::Amounts& amounts) {
  Json result = Json::object();
  for (const auto& [name, units] : amounts) {
    if (units != 0) result[name] = units;
  }
  return result;
}

Json pod_resources(const Json& pod) {
  oracle::RequestsOptions with_status;
  with_status.use_status = true;
  return Json{{"requests", positive(oracle::to_units(oracle::pod_requests(pod)))},
              {"limits", positive(oracle::to_units(oracle::pod_limits(pod)))},
              {"nodeRequests", positive(oracle::to_units(oracle::pod_requests(pod, with_status)))},
              {"nonZeroRequests", oracle::to_units(oracle::non_zero_requests(pod, true))},
              {"elasticQuotaRequests", positive(oracle::elastic_quota_requests(pod))},
              {"qosClass", oracle::pod_qos_class(pod)}};
}

Json quantity(const std::string& input) {
  const std::optional<oracle::Quantity> parsed = oracle::parse_quantity(input);
  if (!parsed) return Json{{"valid", false}};
  return Json{{"valid", true},
              {"value", oracle::value_of(parsed->nano)},
              {"milliValue", oracle::milli_value_of(parsed->nano)},
              {"canonical", oracle::canonical(*parsed)},
              {"string", oracle::print(*parsed)}};
}

// What the oracle says to a step that expects something.
Json perform(Oracle& oracle, const Json& step) {
  const std::string op = step.at("op");
  if (op == "apply") oracle.apply(step.at("object"));
  if (op == "delete") oracle.remove(step.at("object"));
  if (op == "advance") oracle.advance(step.at("now"));
  if (op == "reserve") oracle.reserve(step.at("pod"), step.at("node"));
  if (op == "unreserve") oracle.unreserve(step.at("pod"), step.at("node"));
  if (op == "quantity") return quantity(step.at("input"));
  if (op == "podResources") return pod_resources(step.at("pod"));
  if (op == "schedule") {
    return to_expect(oracle.schedule(step.at("pod")), has_reasons(step.at("expect")));
  }
  return Json::object();
}

// The fields of `expect` that differ, as text; "" when all agree.
std::string differences(const Json& expect, const Json& actual) {
  std::string text;
  for (const auto& [field, value] : expect.items()) {
    if (actual.contains(field) && actual.at(field) == value) continue;
    text += "  " + field + ": expected " + value.dump() + "\n  " + field + ": came     " +
            (actual.contains(field) ? actual.at(field).dump() : "nothing") + "\n";
  }
  return text;
}

std::string run_case(const Json& one_case) {
  std::string text;
  const bool is_cycle = one_case.contains("objects");
  Oracle oracle = is_cycle && one_case.at("plugin") != "PodResources"
                      ? make_oracle(one_case)
                      : Oracle(Mode::kUpstream, Json::object());
  if (one_case.contains("now")) oracle.advance(one_case.at("now"));
  if (is_cycle) {
    for (const Json& object : one_case.at("objects")) oracle.apply(object);
  }
  int number = 0;
  for (const Json& step : one_case.at("steps")) {
    const Json actual = perform(oracle, step);
    if (step.contains("expect")) {
      const std::string differs = differences(step.at("expect"), actual);
      if (!differs.empty()) text += " step " + std::to_string(number) + "\n" + differs;
    }
    ++number;
  }
  return text;
}

class Conformance : public testing::TestWithParam<const char*> {};

TEST_P(Conformance, EveryFieldAgrees) {
  const std::filesystem::path path = std::filesystem::path(HEADROOM_SHARED_DIR) / "conformance" /
                                     (GetParam() + std::string(".jsonl"));
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "no " << path << ": set HEADROOM_SHARED_DIR";
  int passed = 0, failed = 0;
  for (std::string line; std::getline(file, line);) {
    const Json one_case = Json::parse(line);
    const std::string differs = run_case(one_case);
    ++(differs.empty() ? passed : failed);
    EXPECT_EQ(differs, "") << one_case.at("name");
  }
  EXPECT_GT(passed, 0);
  RecordProperty("passed", passed);
  RecordProperty("failed", failed);
  std::cout << GetParam() << ": " << passed << " passed, " << failed << " failed\n";
}

INSTANTIATE_TEST_SUITE_P(Files, Conformance,
                         testing::Values("quantities", "pod-resources", "node-resources",
                                         "limit-aware", "load-aware", "proposal-limit-aware",
                                         "proposal-resource-limit-aware", "proposal-load-aware"),
                         [](const auto& file) {
                           std::string name = file.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

// The reason for which the filters reject `node` for `pod`; "" when they pass it.
std::string rejection(const Json& node, const Json& pod) {
  Oracle oracle(
      Mode::kProposal,
      Json{{"filters", {"NodeAffinity", "TaintToleration", "NodeName", "NodeUnschedulable"}}});
  oracle.apply(node);
  const oracle::NodeStatus status = oracle.schedule(pod).filter.at("n1");
  if (status.code == oracle::Code::kSuccess) return "";
  EXPECT_EQ(status.code, oracle::Code::kUnschedulableAndUnresolvable);
  return status.plugin + ": " + status.reasons.at(0);
}

Json make_node(const Json& spec) {
  return Json{{"kind", "Node"},
              {"metadata", {{"name", "n1"}, {"labels", {{"zone", "a"}, {"size", "5"}}}}},
              {"spec", spec}};
}

TEST(NodeFilters, RejectInSchedulerOrder) {
  const Json open = make_node(Json::object());
  const Json tainted = make_node(Json::parse(
      R"({"taints":[{"key":"soft","effect":"PreferNoSchedule"},
                     {"key":"k","value":"v","effect":"NoSchedule"}]})"));
  const Json closed = make_node(Json::parse(R"({"unschedulable":true})"));
  const auto reject = [](const Json& node, const char* spec) {
    return rejection(node, Json{{"kind", "Pod"}, {"spec", Json::parse(spec)}});
  };
  EXPECT_EQ(reject(open, "{}"), "");
  EXPECT_EQ(reject(closed, R"({"nodeName":"n2"})"),
            "NodeUnschedulable: node(s) were unschedulable");
  EXPECT_EQ(reject(closed, R"({"tolerations":[{"operator":"Exists"}]})"), "");
  EXPECT_EQ(reject(tainted, R"({"nodeName":"n2"})"),
            "NodeName: node(s) didn't match the requested node name");
  EXPECT_EQ(reject(tainted, "{}"), "TaintToleration: node(s) had untolerated taint {k: v}");
  EXPECT_EQ(reject(tainted, R"({"tolerations":[{"key":"k","value":"v"}]})"), "");
  EXPECT_EQ(reject(open, R"({"nodeSelector":{"zone":"a"}})"), "");
  EXPECT_EQ(reject(open, R"({"nodeSelector":{"zone":"b"}})"),
            "NodeAffinity: node(s) didn't match Pod's node affinity/selector");
}

TEST(NodeFilters, AffinityOperators) {
  const auto matches = [](const std::string& term) {
    const Json affinity{{"nodeAffinity",
                         {{"requiredDuringSchedulingIgnoredDuringExecution",
                           {{"nodeSelectorTerms", Json::array({Json::parse(term)})}}}}}};
    const Json pod{{"kind", "Pod"}, {"spec", {{"affinity", affinity}}}};
    return rejection(make_node(Json::object()), pod).empty();
  };
  const auto expression = [&](const std::string& requirement) {
    return matches(R"({"matchExpressions":[)" + requirement + "]}");
  };
  EXPECT_TRUE(expression(R"({"key":"zone","operator":"In","values":["b","a"]})"));
  EXPECT_FALSE(expression(R"({"key":"zone","operator":"NotIn","values":["a"]})"));
  EXPECT_TRUE(expression(R"({"key":"rack","operator":"NotIn","values":["a"]})"));
  EXPECT_TRUE(expression(R"({"key":"zone","operator":"Exists"})"));
  EXPECT_TRUE(expression(R"({"key":"rack","operator":"DoesNotExist"})"));
  EXPECT_TRUE(expression(R"({"key":"size","operator":"Gt","values":["4"]})"));
  EXPECT_FALSE(expression(R"({"key":"size","operator":"Lt","values":["5"]})"));
  EXPECT_FALSE(expression(R"({"key":"rack","operator":"Lt","values":["5"]})"));
  EXPECT_FALSE(matches("{}"));
  EXPECT_TRUE(
      matches(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]})"));
  EXPECT_FALSE(
      matches(R"({"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n1"]}]})"));
}

// 50 + (50 + sW - s0) / 2: 75 when the pod changes nothing (reference 3.2).
TEST(BalancedAllocation, ScoreChange) {
  Oracle oracle(Mode::kUpstream,
                Json{{"scores", {{{"plugin", "NodeResourcesBalancedAllocation"}}}},
                     {"args", {{"NodeResourcesBalancedAllocation", {{"scoreChange", true}}}}}});
  Json node = make_node(Json::object());
  node["status"]["allocatable"] = Json{{"cpu", "4"}, {"memory", "4Gi"}};
  oracle.apply(node);
  const auto score = [&](const char* requests) {
    const Json pod{
        {"spec", {{"containers", {{{"resources", {{"requests", Json::parse(requests)}}}}}}}}};
    return oracle.schedule(pod).scores.at(0).nodes.at("n1").raw;
  };
  EXPECT_EQ(score(R"({"cpu":"1","memory":"1Gi"})"), 75);
  EXPECT_EQ(score(R"({"cpu":"2"})"), 62);
}

}  // namespace
