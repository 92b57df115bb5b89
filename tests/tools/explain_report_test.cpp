// What `headroom explain` prints for a report made by hand: layout, and nothing left out.
#include "tools/command/explain_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/objects.h"

namespace headroom::explain_report_test {
namespace {

ExplainReport make_report() {
  ExplainReport report;
  report.pod = "default/web-1";
  report.present_node = "n9";
  report.now_us = 1'767'225'600'000'000;
  report.profile.scores = {{PluginId::kLimitAware, 2}, {PluginId::kNodeResourcesFit, 1}};

  Decision decision;
  decision.nodes = 3;
  decision.feasible = 1;
  decision.candidates = {
      {NodeIndex{0},
       253,
       {{-17, 100, PluginId::kLimitAware}, {53, 53, PluginId::kNodeResourcesFit}}}};
  decision.reasons = {{"Insufficient cpu limit", 2}};
  report.decision = decision;
  report.candidates = {"n1"};

  Explanation winner;
  winner.plugins = decision.candidates[0].plugins;
  winner.total = 253;
  winner.terms = {{PluginId::kNodeName, "Filter", "", 0, 0, 0, "", 0, true, ""},
                  {PluginId::kLimitAware, "Filter", "cpu", 8000, 3000, 500, "a + n <= c", 3500,
                   true, "annotation ignored: not a number"},
                  {PluginId::kNodeResourcesFit, "Score", "memory", 33'285'996'544, 0, 1'073'741'824,
                   "trunc(96.7)", 96, true, ""}};
  Explanation loser;
  loser.code = Code::kUnschedulable;
  loser.terms = {
      {PluginId::kLimitAware, "Filter", "cpu", 8000, 9000, 500, "a + n <= c", 9500, false, ""}};
  report.nodes = {{"n1", "the winner", winner}, {"n2", "Insufficient cpu limit", loser}};
  return report;
}

TEST(ExplainReport, Text) {
  EXPECT_EQ(explain_text(make_report()),
            R"(default/web-1: 1 of 3 nodes are feasible

  node  total  2 * LimitAware  1 * NodeResourcesFit
  n1      253             100                    53

  rejected by
  Insufficient cpu limit  2

default/web-1 on n1: feasible (the winner)

  plugin            point   resource        capacity  aggregate           need  result  how
  NodeName          Filter                                                      passes
  LimitAware        Filter  cpu                8,000      3,000            500  passes  a + n <= c
      note: annotation ignored: not a number
  NodeResourcesFit  Score   memory    33,285,996,544          0  1,073,741,824      96  trunc(96.7)

  total 253 = 2 * 100 (LimitAware) + 1 * 53 (NodeResourcesFit)

default/web-1 on n2: Unschedulable (Insufficient cpu limit)

  plugin      point   resource  capacity  aggregate  need   result  how
  LimitAware  Filter  cpu          8,000      9,000   500  REJECTS  a + n <= c

At 2026-01-01T00:00:00Z, mode Proposal. cpu in thousandths, everything else in whole units.
The pod is on n9 now; it was not counted there.
)");
}

TEST(ExplainReport, Json) {
  const nlohmann::json json = nlohmann::json::parse(explain_json(make_report()));
  EXPECT_EQ(json.at("pod"), "default/web-1");
  EXPECT_EQ(json.at("presentNode"), "n9");
  EXPECT_EQ(json.at("now"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(json.at("mode"), "Proposal");
  EXPECT_EQ(
      json.at("/decision/candidates/0/plugins/0"_json_pointer),
      (nlohmann::json{{"plugin", "LimitAware"}, {"raw", -17}, {"score", 100}, {"weight", 2}}));
  EXPECT_EQ(json.at("/decision/reasons/0/nodes"_json_pointer), 2);
  EXPECT_EQ(json.at("/nodes/0/terms"_json_pointer).size(), 3u);
  EXPECT_EQ(json.at("/nodes/1/terms/0/passed"_json_pointer), false);
  EXPECT_EQ(json.at("/nodes/1/code"_json_pointer), "Unschedulable");
  EXPECT_FALSE(json.at("decision").contains("preFilter"));
}

TEST(ExplainReport, SaysWhoWouldHaveToGo) {
  Engine engine = std::move(*Engine::create(Profile::standard()));
  ASSERT_TRUE(engine.upsert(node_of("n1", cores(4))));
  const auto pod = [](const char* name, std::int32_t priority, std::int64_t count) {
    return pod_of("default", name, cores(count), {.priority = priority});
  };
  Pod low = pod("low", 1, 2), high = pod("high", 10, 2);
  low.node_name = high.node_name = "n1";
  ASSERT_TRUE(engine.upsert(low));
  ASSERT_TRUE(engine.upsert(high));
  const Result<ExplainReport> report = explain_pod(engine, pod("new", 5, 1), std::nullopt);
  ASSERT_TRUE(report);
  const std::string text = explain_text(*report);
  EXPECT_NE(text.find(R"(preemption: default/new can have its place on n1 when 1 pod is gone

  stays  priority      10  default/high: priority 10 is not below 5
  GOES   priority       1  default/low: has to go: with it Insufficient cpu
)"),
            std::string::npos)
      << text;
  const nlohmann::json json = nlohmann::json::parse(explain_json(*report));
  EXPECT_EQ(json.at("/preemption/victims"_json_pointer), nlohmann::json{"default/low"});
  EXPECT_EQ(json.at("/preemption/pods/0/victim"_json_pointer), false);
}

TEST(ExplainReport, SaysWhyThePreFilterRejects) {
  ExplainReport report;
  report.pod = "team-a/web-1";
  report.decision = Decision{};
  report.decision->code = Code::kUnschedulable;
  report.decision->nodes = 5;
  report.decision->pre_filter = {"ElasticQuota team-a/q: cpu: one", "ElasticQuota team-a/q: two"};
  EXPECT_EQ(explain_text(report),
            R"(team-a/web-1: 0 of 5 nodes are feasible

  rejected before any node was looked at
  ElasticQuota team-a/q: cpu: one
  ElasticQuota team-a/q: two

At 1970-01-01T00:00:00Z, mode Proposal. cpu in thousandths, everything else in whole units.
)");
  const nlohmann::json json = nlohmann::json::parse(explain_json(report));
  EXPECT_EQ(json.at("/decision/preFilter/1"_json_pointer), "ElasticQuota team-a/q: two");
}

// No sentinel, no note that says "not:", and no zeros where there is no number.
TEST(ExplainReport, OfANodeWithoutMetricAndWithoutLimits) {
  Result<Engine> engine = Engine::create(Profile::standard(), {.threads = 1});
  ASSERT_TRUE(engine);
  ASSERT_TRUE(engine->upsert(node_of("n1", cpu_and_memory(8'000, std::int64_t{8} << 30))));
  const Pod pod = pod_of("d", "p", {}, {.limits = cores(1)});
  const Result<ExplainReport> report = explain_pod(*engine, pod, std::nullopt);
  ASSERT_TRUE(report);
  const std::string text = explain_text(*report);
  EXPECT_EQ(text.find("2,305,843"), std::string::npos) << text;
  EXPECT_EQ(text.find("note: not:"), std::string::npos) << text;
  EXPECT_NE(text.find("note: no usage is known: scores 0"), std::string::npos) << text;
  std::size_t lines = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos;
       at = end + 1) {
    const std::string line = text.substr(at, end - at);
    const auto has = [&](const char* part) { return line.find(part) != std::string::npos; };
    // Lines that sum up, or only say something, have at most a result.
    if (has("weighted mean") || has("NormalizeScore") || has("Note")) {
      ++lines;
      EXPECT_EQ(line.find(" 0   "), std::string::npos) << line;
    }
  }
  EXPECT_GE(lines, 3u);
  for (const ExplainedNode& explained : report->nodes) {
    for (const ExplainTerm& term : explained.explanation.terms) {
      EXPECT_LT(term.aggregate, std::int64_t{1} << 60);
    }
  }
}

}  // namespace
}  // namespace headroom::explain_report_test
