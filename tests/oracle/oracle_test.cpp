// Runs the oracle over the shared conformance cases; every field of every expectation must agree.
#include "oracle/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  if (plugin == "CapacityScheduling") {
    // capacity-scheduling.md and proposal.md: the filters beside the plugin's own.
    config["capacityScheduling"] = true;
    config["scores"] = Json::array();
    config["filters"] = {"NodeResourcesFit"};
    if (upstream) {
      for (const char* filter :
           {"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity"}) {
        config["filters"].push_back(filter);
      }
    }
    return Oracle(upstream ? Mode::kUpstream : Mode::kProposal, config);
  }
  if (plugin != "ResourceLimitAware" && plugin != "NodeResourcesBalancedAllocation") {
    config["filters"].push_back(plugin);
  }
  return Oracle(upstream ? Mode::kUpstream : Mode::kProposal, config);
}

Json coded(oracle::Code code) { return Json{{"code", to_string(code)}}; }

// Amounts above zero.
Json positive(const oracle::Amounts& amounts) {
  Json result = Json::object();
  for (const auto& [name, units] : amounts) {
    if (units != 0) result[name] = units;
  }
  return result;
}

Json to_json(const oracle::Status& status, bool with_reasons) {
  Json json = coded(status.code);
  if (with_reasons && !status.reasons.empty()) json["reasons"] = status.reasons;
  return json;
}

Json to_json(const oracle::NodeVictims& node, bool with_reasons) {
  if (node.status.code != oracle::Code::kSuccess) return to_json(node.status, with_reasons);
  Json victims = Json::array();
  for (const oracle::PodView& victim : node.victims) victims.push_back(victim.key);
  return Json{{"victims", victims}, {"numPDBViolations", node.pdb_violations}};
}

Json to_json(const oracle::PostFilter& answer, bool with_reasons) {
  Json json = to_json(answer.status, with_reasons);
  if (answer.status.code == oracle::Code::kSuccess) {
    json["nominatedNode"] = answer.nominated_node;
    json["victims"] = answer.victims;
  }
  if (answer.candidates) {
    json["candidates"] = Json::object();
    for (const auto& [name, node] : *answer.candidates) {
      json["candidates"][name] = to_json(node, with_reasons);
    }
  }
  if (answer.cross_node_would_help) json["crossNodeWouldHelp"] = *answer.cross_node_would_help;
  return json;
}

// The answer of CapacityScheduling in the form of `expect`; Proposal's cases have no reasons.
Json to_capacity_expect(const Oracle& oracle, const Answer& answer, bool with_reasons) {
  Json json{{"preFilter", to_json(answer.pre_filter, with_reasons)}, {"quotaUsed", Json::object()}};
  for (const auto& [space, amounts] : oracle.elastic_quota_used()) {
    json["quotaUsed"][space] = positive(amounts);
  }
  if (answer.pre_filter.code == oracle::Code::kSuccess) {
    json["feasible"] = Json::array();
    for (const auto& [name, status] : answer.filter) {
      if (status.code == oracle::Code::kSuccess) json["feasible"].push_back(name);
    }
  }
  if (answer.post_filter) json["postFilter"] = to_json(*answer.post_filter, with_reasons);
  return json;
}

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
  return Json{{"preFilter", coded(answer.pre_filter.code)},
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

Json pod_resources(const Json& pod) {
  oracle::RequestsOptions with_status;
  with_status.resized_as = oracle::Version::k135;
  return Json{
      {"requests", positive(oracle::to_units(oracle::pod_requests(pod)))},
      {"limits", positive(oracle::to_units(oracle::pod_limits(pod)))},
      {"nodeRequests", positive(oracle::to_units(oracle::pod_requests(pod, with_status)))},
      {"nonZeroRequests", oracle::to_units(oracle::non_zero_requests(pod, oracle::Version::k135))},
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

bool is_capacity(const Json& one_case) {
  return one_case.value("plugin", "") == "CapacityScheduling";
}

// What the oracle says to a step that expects something.
Json perform(Oracle& oracle, const Json& one_case, const Json& step) {
  const std::string op = step.at("op");
  if (op == "apply") oracle.apply(step.at("object"));
  if (op == "delete") oracle.remove(step.at("object"));
  if (op == "advance") oracle.advance(step.at("now"));
  if (op == "reserve") oracle.reserve(step.at("pod"), step.at("node"));
  if (op == "unreserve") oracle.unreserve(step.at("pod"), step.at("node"));
  if (op == "quantity") return quantity(step.at("input"));
  if (op == "podResources") return pod_resources(step.at("pod"));
  if (is_capacity(one_case)) {
    const Answer answer = op == "schedule" ? oracle.schedule(step.at("pod")) : Answer();
    return to_capacity_expect(oracle, answer, one_case.value("mode", "Upstream") == "Upstream");
  }
  if (op == "schedule") {
    return to_expect(oracle.schedule(step.at("pod")), has_reasons(step.at("expect")));
  }
  return Json::object();
}

// `anyOf` lists the acceptable {code, nominatedNode, victims} where nodes tie.
bool is_any_of(const Json& accepted, const Json& actual) {
  return std::any_of(accepted.begin(), accepted.end(), [&](const Json& one) {
    return std::all_of(one.items().begin(), one.items().end(), [&](const auto& item) {
      return actual.contains(item.key()) && actual.at(item.key()) == item.value();
    });
  });
}

// The fields of `expect` that differ, as text; "" when all agree.
std::string differences(const Json& expect, const Json& actual) {
  std::string text;
  for (const auto& [field, value] : expect.items()) {
    if (field == "anyOf" && is_any_of(value, actual)) continue;
    if (field == "postFilter" && actual.contains(field)) {
      text += differences(value, actual.at(field));
      continue;
    }
    if (actual.contains(field) && actual.at(field) == value) continue;
    text += "  " + field + ": expected " + value.dump() + "\n  " + field + ": came     " +
            (actual.contains(field) ? actual.at(field).dump() : "nothing") + "\n";
  }
  return text;
}

// What a step expects; preemption and candidates that it does not expect are differences, too.
std::string step_differences(const Json& one_case, const Json& step, const Json& actual) {
  const Json& expect = step.at("expect");
  const std::string text = differences(expect, actual);
  if (!is_capacity(one_case) || step.at("op") != "schedule") return text;
  if (!actual.contains("postFilter")) return text;
  if (!expect.contains("postFilter")) return text + "  postFilter: not expected\n";
  const bool expected = expect.at("postFilter").contains("candidates");
  if (actual.at("postFilter").contains("candidates") && !expected) {
    return text + "  candidates: not expected\n";
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
    const Json actual = perform(oracle, one_case, step);
    if (step.contains("expect")) {
      const std::string differs = step_differences(one_case, step, actual);
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
                                         "limit-aware", "load-aware", "capacity-scheduling",
                                         "proposal-limit-aware", "proposal-resource-limit-aware",
                                         "proposal-load-aware", "proposal-load-aware-prod",
                                         "proposal-capacity-scheduling"),
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
  Oracle oracle(Mode::kUpstream, Json{{"scores", {{{"plugin", "NodeResourcesBalancedAllocation"}}}},
                                      {"kubernetesVersion", "1.36"}});
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

// A pod in namespace `space` that asks for `cpu`; on no node where `node` is "".
Json make_pod(const std::string& space, const std::string& name, const std::string& node, int cpu,
              int priority) {
  Json pod{{"kind", "Pod"},
           {"metadata", {{"namespace", space}, {"name", name}, {"uid", space + name}}},
           {"spec",
            {{"priority", priority},
             {"containers", {{{"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  pod["metadata"]["labels"] = Json{{"app", name}};
  return pod;
}

// Three nodes of 2 cpu with a pod of 1 cpu each, of a quota that may keep one of them.
Oracle make_borrowed_cluster(bool cross_node) {
  Oracle oracle(Mode::kProposal,
                Json{{"capacityScheduling", true},
                     {"filters", {"NodeResourcesFit"}},
                     {"args", {{"CapacityScheduling", {{"crossNodePreemption", cross_node}}}}}});
  for (const char* name : {"n1", "n2", "n3"}) {
    oracle.apply(Json{{"kind", "Node"},
                      {"metadata", {{"name", name}}},
                      {"status", {{"allocatable", {{"cpu", 2}, {"pods", 10}}}}}});
  }
  const auto quota = [](const char* space, int min) {
    return Json{{"kind", "ElasticQuota"},
                {"metadata", {{"namespace", space}, {"name", "q"}}},
                {"spec", {{"min", {{"cpu", min}}}}}};
  };
  oracle.apply(quota("lender", 2));
  oracle.apply(quota("borrower", 1));
  oracle.apply(make_pod("borrower", "a", "n1", 1, 0));
  oracle.apply(make_pod("borrower", "b", "n2", 1, 5));
  oracle.apply(make_pod("borrower", "c", "n3", 1, 1));
  return oracle;
}

Json make_budget(const Json& spec, int allowed) {
  return Json{{"kind", "PodDisruptionBudget"},
              {"metadata", {{"namespace", "borrower"}, {"name", "budget"}}},
              {"spec", spec},
              {"status", {{"disruptionsAllowed", allowed}}}};
}

TEST(CapacityScheduling, VictimsOnSeveralNodes) {
  const Json pod = make_pod("lender", "x", "", 2, 0);
  const oracle::PostFilter off = *make_borrowed_cluster(false).schedule(pod).post_filter;
  EXPECT_EQ(off.status.code, oracle::Code::kUnschedulable);
  EXPECT_EQ(off.cross_node_would_help, true);

  Oracle oracle = make_borrowed_cluster(true);
  oracle::PostFilter on = *oracle.schedule(pod).post_filter;
  EXPECT_EQ(on.nominated_node, "n1");
  EXPECT_EQ(on.victims, (std::vector<std::string>{"borrower/a", "borrower/c"}));

  // A budget on c makes the more important b the second victim.
  oracle.apply(make_budget(Json{{"selector", {{"matchLabels", {{"app", "c"}}}}}}, 0));
  on = *oracle.schedule(pod).post_filter;
  EXPECT_EQ(on.nominated_node, "n1");
  EXPECT_EQ(on.victims, (std::vector<std::string>{"borrower/a", "borrower/b"}));
}

// Which pods a budget without disruptions left covers: those that are taken last.
TEST(CapacityScheduling, BudgetSelectors) {
  const auto spares_c = [](const Json& budget) {
    Oracle oracle = make_borrowed_cluster(true);
    oracle.apply(budget);
    const Json pod = make_pod("lender", "x", "", 2, 0);
    return oracle.schedule(pod).post_filter->victims.back() != "borrower/c";
  };
  const auto selects_c = [&](const std::string& selector) {
    return spares_c(make_budget(Json{{"selector", Json::parse(selector)}}, 0));
  };
  EXPECT_TRUE(selects_c(R"({"matchLabels":{"app":"c"}})"));
  EXPECT_TRUE(
      selects_c(R"({"matchExpressions":[{"key":"app","operator":"In","values":["c","d"]}]})"));
  EXPECT_TRUE(
      selects_c(R"({"matchExpressions":[{"key":"app","operator":"NotIn","values":["a","b"]}]})"));
  EXPECT_FALSE(selects_c(R"({"matchLabels":{"app":"c"},
                             "matchExpressions":[{"key":"x","operator":"Exists"}]})"));
  EXPECT_FALSE(selects_c("{}"));
  EXPECT_FALSE(selects_c(R"({"matchExpressions":[{"key":"app","operator":"Is"}]})"));
  Json budget = make_budget(Json{{"selector", {{"matchLabels", {{"app", "c"}}}}}}, 0);
  budget["status"]["disruptedPods"]["c"] = "2026-01-01T00:00:00Z";
  EXPECT_FALSE(spares_c(budget));
  budget["status"] = Json{{"disruptionsAllowed", 1}};
  EXPECT_FALSE(spares_c(budget));
}

// The pod's own priority, that of its class, that of the global default with the lowest value.
TEST(CapacityScheduling, PriorityClasses) {
  Oracle oracle = make_borrowed_cluster(false);
  const auto preempts = [&](Json spec) {
    Json pod = make_pod("borrower", "x", "", 2, 0);
    pod["spec"].erase("priority");
    pod["spec"].update(spec);
    const oracle::PostFilter answer = *oracle.schedule(pod).post_filter;
    return answer.status.code == oracle::Code::kSuccess;
  };
  const auto make_class = [](const char* name, int value, const char* policy, bool is_default) {
    return Json{{"kind", "PriorityClass"},
                {"metadata", {{"name", name}}},
                {"value", value},
                {"preemptionPolicy", policy},
                {"globalDefault", is_default}};
  };
  oracle.apply(make_class("high", 10, "PreemptLowerPriority", false));
  oracle.apply(make_class("polite", 10, "Never", false));
  // It takes lower ones of its own quota; one of them is too few: 3 - 1 + 2 is above 3, all of min.
  EXPECT_FALSE(preempts(Json{{"priorityClassName", "high"}}));
  oracle.apply(Json{{"kind", "ElasticQuota"},
                    {"metadata", {{"namespace", "other"}, {"name", "q"}}},
                    {"spec", {{"min", {{"cpu", 1}}}}}});
  EXPECT_TRUE(preempts(Json{{"priorityClassName", "high"}}));
  EXPECT_FALSE(preempts(Json{{"priorityClassName", "polite"}}));
  EXPECT_TRUE(preempts(
      Json{{"priorityClassName", "polite"}, {"preemptionPolicy", "PreemptLowerPriority"}}));
  EXPECT_FALSE(preempts(Json{{"priorityClassName", "high"}, {"priority", 0}}));
  EXPECT_FALSE(preempts(Json{{"priorityClassName", "unknown"}}));
  EXPECT_FALSE(preempts(Json::object()));
  oracle.apply(make_class("default-high", 10, "PreemptLowerPriority", true));
  EXPECT_TRUE(preempts(Json::object()));
  oracle.apply(make_class("default-low", 0, "PreemptLowerPriority", true));
  EXPECT_FALSE(preempts(Json::object()));
}

}  // namespace
