// What `headroom capacity-quota` prints for answers made by hand: amounts, bars, layout, and all of
// it as JSON.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/capacity_quota/amount_text.h"
#include "tools/capacity_quota/json.h"
#include "tools/capacity_quota/report.h"

namespace headroom::capacity_quota_report_test {
namespace {

using nlohmann::json;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr Int128 kGi = 1 << 30;

Node node_of(const std::string& name) {
  Node node;
  node.name = name;
  node.capacity = {
      {"cpu", Quantity::from_milli(7500)},  {"ephemeral-storage", Quantity::from_value(1 << 30)},
      {"memory", *Quantity::parse("30Gi")}, {"nvidia.com/gpu", Quantity::from_value(2)},
      {"pods", Quantity::from_value(110)},  {"vendor.com/none", Quantity::from_value(0)}};
  return node;
}

CapacityQuotaLine line_of(const std::string& name,
                          std::vector<CapacityQuotaStatus::Amount> amounts) {
  CapacityQuotaLine line;
  line.status.id = "CapacityQuota/" + name;
  line.status.name = name;
  line.status.in_force = true;
  line.status.nodes = 3;
  line.status.amounts = std::move(amounts);
  return line;
}

TEST(AmountText, Quantities) {
  const AmountText amounts;
  EXPECT_EQ("8", amounts.amount("cpu", 8000));
  EXPECT_EQ("0.5", amounts.amount("cpu", 500));
  EXPECT_EQ("-1.001", amounts.amount("cpu", -1001));
  EXPECT_EQ("0", amounts.amount("cpu", 0));
  EXPECT_EQ("64Gi", amounts.amount("memory", 64 * kGi));
  EXPECT_EQ("1.5Gi", amounts.amount("memory", 3 * kGi / 2));
  EXPECT_EQ("1100Gi", amounts.amount("memory", 1100 * kGi));  // exact, if in another unit
  EXPECT_EQ("~19.53Ti", amounts.amount("memory", 20000 * kGi - 1));
  EXPECT_EQ("~12.36Gi", amounts.amount("memory", 12 * kGi + 385'000'000));  // 12.3586
  EXPECT_EQ("-2Gi", amounts.amount("memory", -2 * kGi));
  EXPECT_EQ("0", amounts.amount("memory", 0));
  EXPECT_EQ("1000", amounts.amount("hugepages-2Mi", 1000));
  EXPECT_EQ("2Mi", amounts.amount("hugepages-2Mi", 2 << 20));
  EXPECT_EQ("3000000", amounts.amount("nodes", 3'000'000));
  EXPECT_EQ("16384Ei", amounts.amount("memory", Int128{1} << 74));
  EXPECT_EQ("170141183460469231731687303715884105727",
            amounts.amount("nvidia.com/gpu",
                           static_cast<Int128>(~(static_cast<unsigned __int128>(1) << 127))));
}

TEST(AmountText, LimitsThatCanBeWrittenDown) {
  const AmountText amounts;
  EXPECT_EQ("9", amounts.limit("cpu", 8001));
  EXPECT_EQ("8", amounts.limit("cpu", 8000));
  EXPECT_EQ("3Gi", amounts.limit("memory", 3 * kGi));
  EXPECT_EQ("3073Mi", amounts.limit("memory", 3 * kGi + 1));
  EXPECT_EQ("1001", amounts.limit("memory", 1001));
  EXPECT_EQ("7", amounts.limit("nodes", 7));
}

TEST(AmountText, OfAnAliasTheUnitsOfWhatItCounts) {
  const AmountText amounts({{"cores", "cpu"}, {"ram", "memory"}});
  EXPECT_EQ("1.5", amounts.amount("cores", 1500));
  EXPECT_EQ("1Gi", amounts.amount("ram", kGi));
  EXPECT_EQ("2", amounts.limit("cores", 1500));
  EXPECT_EQ("1500", AmountText(StringMap{{"nodes", "cpu"}}).amount("nodes", 1500));  // counts nodes
}

TEST(BarText, SharesOfTheLimit) {
  EXPECT_EQ("[####==....]  60%", bar_text(100, 40, 20, 10));
  EXPECT_EQ("[..........]   0%", bar_text(100, 0, 0, 10));
  EXPECT_EQ("[##########] 100%", bar_text(100, 100, 0, 10));
  EXPECT_EQ("[#####=====] 100%", bar_text(100, 50, 50, 10));
  // Whatever is there shows, and percents are never better than the truth.
  EXPECT_EQ("[#.........]   0%", bar_text(1000, 1, 0, 10));
  EXPECT_EQ("[########=.]  99%", bar_text(1000, 998, 1, 10));
  EXPECT_EQ("[=.........]   0%", bar_text(1000, 0, 1, 10));
}

TEST(BarText, BeyondTheLimit) {
  EXPECT_EQ("[#####|!!!!] 200%", bar_text(100, 200, 0, 10));
  EXPECT_EQ("[###==|!!!!] 200%", bar_text(100, 60, 140, 10));
  EXPECT_EQ("[########|!] 101%", bar_text(1000, 1001, 0, 10));
  EXPECT_EQ("[|!!!!!!!!!] over", bar_text(0, 1, 0, 10));
  EXPECT_EQ("[----------]    -", bar_text(0, 0, 0, 10));
}

TEST(CapacityQuotaReport, SelectorsAsKubectlTakesThem) {
  EXPECT_EQ("all nodes", selector_text({}));
  EXPECT_EQ("a=b,c!=d,e in (f,g),h notin (i,j),k,!l", selector_text({{"a", "In", {"b"}},
                                                                     {"c", "NotIn", {"d"}},
                                                                     {"e", "In", {"f", "g"}},
                                                                     {"h", "NotIn", {"i", "j"}},
                                                                     {"k", "Exists", {}},
                                                                     {"l", "DoesNotExist", {}}}));
  EXPECT_EQ("a Near b", selector_text({{"a", "Near", {"b"}}}));
}

std::vector<CapacityQuotaLine> make_lines() {
  std::vector<CapacityQuotaLine> lines = {
      line_of("a", {{"cpu", 32000, 16000, 8000}, {"memory", 64 * kGi, 80 * kGi, 0}}),
      line_of("broken", {}), line_of("edited", {{"nodes", 4, 3, 0}}), line_of("empty", {})};
  lines[0].selector = {{"team", "In", {"a"}}};
  lines[1].status.in_force = false;
  lines[1].status.invalid = "spec.limits.resources.cpu: \"4x\" is not a quantity";
  lines[2].status.generation = 5;
  lines[2].status.generation_in_force = 4;
  lines[2].status.invalid = "spec.selector: no";
  return lines;
}

TEST(CapacityQuotaReport, Table) {
  EXPECT_EQ(capacity_quota_table_text(AmountText(), make_lines(), 0),
            R"(            limit  used  reserved  headroom
  CapacityQuota/a: 3 nodes (team=a)
    cpu        32    16         8         8  [############======......]  75%
    memory   64Gi  80Gi         0     -16Gi  [###################|!!!!] 125%
  CapacityQuota/broken (all nodes)
    SKIPPED, limits nothing: spec.limits.resources.cpu: "4x" is not a quantity
  CapacityQuota/edited: 3 nodes (all nodes)
    GENERATION 4 IN FORCE, not 5: spec.selector: no
    nodes       4     3         0         1  [##################......]  75%
  CapacityQuota/empty: 3 nodes, no limits (all nodes)

  # used   = reserved   . headroom   | the limit, and ! what is over it
)");
  EXPECT_EQ(capacity_quota_table_text(AmountText(), {}, 0),
            "There is no quota: nothing limits how many nodes may be added.\n");
}

// The bar gives way, then the selector; no number does.
TEST(CapacityQuotaReport, TableOfANarrowTerminal) {
  std::vector<CapacityQuotaLine> lines = make_lines();
  lines[0].selector[0].values[0] = std::string(60, 'x');
  for (const std::size_t columns : {60u, 70u, 79u}) {
    const std::string text = capacity_quota_table_text(AmountText(), lines, columns);
    EXPECT_NE(text.find("] 125%\n"), std::string::npos) << text;
    EXPECT_NE(text.find("xxx...\n"), std::string::npos) << text;
    std::size_t widest = 0;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      const std::string line = text.substr(begin, end - begin);
      const bool numbers =
          line.find('[') != std::string::npos || line.find("xxx") != std::string::npos;
      if (numbers) widest = std::max(widest, line.size());
    }
    EXPECT_LE(widest, columns) << text;
  }
}

CheckedTemplate make_check() {
  CheckedTemplate check{node_of("web"), 5, {}};
  check.answer.allowed = 2;
  check.answer.rows = {{.quota = "CapacityQuota/a",
                        .resource = "cpu",
                        .limit = 32000,
                        .used = 15000,
                        .reserved = 1000,
                        .need = 37500,
                        .headroom = 16000,
                        .shortfall = 21500,
                        .max_nodes = 2,
                        .binding = true},
                       {.quota = "CapacityQuota/b",
                        .resource = "nodes",
                        .limit = 3,
                        .used = 0,
                        .reserved = 0,
                        .need = 5,
                        .headroom = 3,
                        .shortfall = 2,
                        .max_nodes = 3,
                        .binding = false},
                       {.quota = "CapacityQuota/c",
                        .resource = "memory",
                        .limit = Int128{1} << 80,
                        .used = 0,
                        .reserved = 0,
                        .need = 150 * kGi,
                        .headroom = Int128{1} << 80,
                        .shortfall = 0,
                        .max_nodes = kMost,
                        .binding = false}};
  check.answer.skipped = {{"CapacityQuota/d", "spec.selector: no"}};
  return check;
}

TEST(CapacityQuotaReport, Check) {
  EXPECT_EQ(check_text(AmountText(), {make_check()}),
            R"(allowed: 2 of 5 more nodes like web (cpu 7.5, memory 30Gi, nvidia.com/gpu 2)

                               limit  used  reserved   headroom   need  shortfall  most nodes
  CapacityQuota/a: cpu            32    15         1         16   37.5       21.5           2  BINDS
  CapacityQuota/b: nodes           3     0         0          3      5          2           3
  CapacityQuota/c: memory  1048576Ei     0         0  1048576Ei  150Gi             any number

to allow 5:
  raise cpu of CapacityQuota/a from 32 to 54
  raise nodes of CapacityQuota/b from 3 to 5

CapacityQuota/d is skipped, it limits nothing: spec.selector: no
)");
  CheckedTemplate huge = make_check();
  huge.answer.rows[1].shortfall = kMost;
  EXPECT_NE(
      check_text(AmountText(), {huge}).find("  nodes of CapacityQuota/b cannot be that high\n"),
      std::string::npos);
  CheckedTemplate free{node_of("web"), 1, {}};
  free.answer.allowed = 1;
  EXPECT_EQ(check_text(AmountText(), {free}),
            "allowed: 1 of 1 more node like web (cpu 7.5, memory 30Gi, nvidia.com/gpu 2)\n"
            "No quota limits such nodes.\n");
}

TEST(CapacityQuotaReport, CheckAsJson) {
  const json answer = json::parse(check_json({make_check()}, {}));
  const json& check = answer.at("checks").at(0);
  EXPECT_EQ(check.at("template"), "web");
  EXPECT_EQ(check.at("count"), 5);
  EXPECT_EQ(check.at("allowed"), 2);
  EXPECT_EQ(check.at("binding"), json::parse(R"([["CapacityQuota/a","cpu"]])"));
  EXPECT_EQ(check.at("rows").at(0), json::parse(R"({"quota":"CapacityQuota/a","resource":"cpu",
      "limit":32000,"used":15000,"reserved":1000,"need":37500,"headroom":16000,"shortfall":21500,
      "maxNodes":2})"));
  // Beyond int64, and without end.
  EXPECT_EQ(check.at("rows").at(2).at("limit"), "1208925819614629174706176");
  EXPECT_EQ(check.at("rows").at(2).at("maxNodes"), nullptr);
  EXPECT_EQ(answer.at("skipped"),
            json::parse(R"([{"quota":"CapacityQuota/d","why":"spec.selector: no"}])"));
}

TEST(CapacityQuotaReport, TableAsJson) {
  const json answer = json::parse(capacity_quota_table_json(make_lines(), {}));
  EXPECT_EQ(answer.at("capacity_quotas").at(0), json::parse(R"({"quota":"CapacityQuota/a",
      "selector":"team=a","inForce":true,"generation":0,"generationInForce":0,"nodes":3,"limits":[
      {"resource":"cpu","limit":32000,"used":16000,"reserved":8000,"headroom":8000},
      {"resource":"memory","limit":68719476736,"used":85899345920,"reserved":0,
      "headroom":-17179869184}]})"));
  EXPECT_EQ(answer.at("/capacity_quotas/2/invalid"_json_pointer), "spec.selector: no");
  EXPECT_EQ(answer.at("/skipped/0/quota"_json_pointer), "CapacityQuota/broken");
  EXPECT_EQ(answer.at("skipped").size(), 1u);
}

struct Planned {
  Node web = node_of("web");
  std::vector<PlanItem> items = {{&web, 4}};
  PlanAnswer answer;

  Planned() {
    PlanBreak stopped;
    stopped.fits = 2;
    stopped.rows = {make_check().answer.rows[0]};
    answer.peak_break = stopped;
    answer.rows = {{"CapacityQuota/a", "cpu", 31000, 15000, 1000, 30000, 15000, 31000, 46000},
                   {"CapacityQuota/b", "nodes", 3, 1, 0, 4, 1, 4, 5},
                   {"CapacityQuota/c", "nodes", 5, 1, 0, 4, 1, 4, 5}};
  }
};

TEST(CapacityQuotaReport, Plan) {
  const Planned plan;
  EXPECT_EQ(plan_text(AmountText(), plan.items, std::vector<std::string>{"n1", "n2"}, plan.answer),
            R"(add 4 x web; remove 2 nodes

removed first, then added: fits

added first, then removed: DOES NOT FIT, it stops after 2 of 4 nodes like web

                        limit  used  reserved  headroom  need  shortfall  most nodes
  CapacityQuota/a: cpu     32    15         1        16  37.5       21.5           2  BINDS

                          limit  used  reserved  added  removed  in the end  at the peak
  CapacityQuota/a: cpu       31    15         1     30       15          31           46  OVER at the peak
  CapacityQuota/b: nodes      3     1         0      4        1           4            5              OVER
  CapacityQuota/c: nodes      5     1         0      4        1           4            5
)");
  const json answer = json::parse(plan_json(plan.items, plan.answer, {}));
  EXPECT_EQ(answer.at("fits"), true);
  EXPECT_EQ(answer.at("fitsAtPeak"), false);
  EXPECT_FALSE(answer.contains("netBreak"));
  EXPECT_EQ(answer.at("/peakBreak/template"_json_pointer), "web");
  EXPECT_EQ(answer.at("/peakBreak/fits"_json_pointer), 2);
  EXPECT_EQ(answer.at("/peakBreak/binding/0/1"_json_pointer), "cpu");
  EXPECT_EQ(answer.at("/rows/1"_json_pointer), json::parse(R"({"quota":"CapacityQuota/b",
      "resource":"nodes","limit":3,"used":1,"reserved":0,"added":4,"removed":1,"net":4,
      "peak":5})"));
}

TEST(CapacityQuotaReport, Headroom) {
  const std::vector<Node> templates = {node_of("web"), node_of("gpu"), node_of("free")};
  std::vector<TemplateHeadroom> answers(3);
  answers[0].max_nodes = 2;
  answers[0].rows = {{"CapacityQuota/a", "cpu", 16000, 1000, 2, true},
                     {"CapacityQuota/b", "nodes", 2, 0, 2, true},
                     {"CapacityQuota/c", "memory", 300 * kGi, 240 * kGi, 10, false}};
  answers[1].rows = {{"CapacityQuota/a", "cpu", 4000, 4000, 0, true},
                     {"CapacityQuota/b", "nodes", 0, 0, 0, true},
                     {"CapacityQuota/c", "nvidia.com/gpu", -3, -3, 0, true}};
  answers[2].max_nodes = kMost;
  answers[0].skipped = {{"CapacityQuota/d", "spec.selector: no"}};
  EXPECT_EQ(headroom_text(AmountText(), templates, answers),
            R"(  nodes like                                     more nodes  stopped by
  web (cpu 7.5, memory 30Gi, nvidia.com/gpu 2)            2  CapacityQuota/a: cpu (1 of 16 left over)
                                                             CapacityQuota/b: nodes (nothing of 2 left over)
  gpu (cpu 7.5, memory 30Gi, nvidia.com/gpu 2)            0  CapacityQuota/a: cpu (4 left, too little for one)
                                                             CapacityQuota/b: nodes (full)
                                                             CapacityQuota/c: nvidia.com/gpu (over by 3)
  free (cpu 7.5, memory 30Gi, nvidia.com/gpu 2)  any number

CapacityQuota/d is skipped, it limits nothing: spec.selector: no
)");
  const json answer = json::parse(headroom_json(templates, answers, {}));
  EXPECT_EQ(answer.at("/templates/0/maxNodes"_json_pointer), 2);
  EXPECT_EQ(answer.at("/templates/0/rows/2"_json_pointer),
            json::parse(R"({"quota":"CapacityQuota/c","resource":"memory","headroom":322122547200,
                            "stranded":257698037760,"maxNodes":10})"));
  EXPECT_EQ(answer.at("/templates/0/binding"_json_pointer).size(), 2u);
  EXPECT_EQ(answer.at("/templates/2/maxNodes"_json_pointer), nullptr);
  EXPECT_EQ(answer.at("/skipped/0/quota"_json_pointer), "CapacityQuota/d");
}

TEST(CapacityQuotaReport, Most) {
  const std::vector<Node> templates = {node_of("web"), node_of("gpu")};
  MaxTotal most{.total = 3, .counts = {3, 0}, .upper_bound = 3, .skipped = {}};
  EXPECT_EQ(most_text(templates, most),
            "3 more nodes in all; no choice has more\n\n"
            "  web (cpu 7.5, memory 30Gi, nvidia.com/gpu 2)  3\n"
            "  none of 1 other template\n");
  most.upper_bound = 4;
  EXPECT_EQ(most_text(templates, most)
                .find("3 more nodes in all; the best that was found, and none "
                      "has more than 4\n"),
            0u);
  const json answer = json::parse(most_json(templates, most, {}));
  EXPECT_EQ(answer, json::parse(R"({"total":3,"upperBound":4,"exact":false,"templates":[
      {"template":"web","count":3},{"template":"gpu","count":0}],"skipped":[]})"));
}

TEST(CapacityQuotaReport, WhatIf) {
  WhatIf what_if;
  EXPECT_EQ("Nothing changes.\n", what_if_text(AmountText(), what_if));
  what_if.rows = {{"CapacityQuota/a", "cpu", WhatIf::Amounts{32000, 16000, 0},
                   WhatIf::Amounts{8000, 16000, 0}, true},
                  {"CapacityQuota/new", "nodes", std::nullopt, WhatIf::Amounts{9, 3, 1}, false}};
  what_if.templates = {{"web", 2, 0, {"CapacityQuota/a"}}, {"gpu", kMost, 5, {}}};
  what_if.skipped = {{"CapacityQuota/d", "spec.selector: no"}};
  EXPECT_EQ(what_if_text(AmountText(), what_if),
            R"(                              limit    used  headroom
  CapacityQuota/a: cpu      32 -> 8      16  16 -> -8  NEWLY OVER
  CapacityQuota/new: nodes   - -> 9  - -> 3    - -> 5

  nodes like       more nodes
  web                  2 -> 0
  gpu         any number -> 5

web is NEWLY BLOCKED by CapacityQuota/a

CapacityQuota/d is skipped, it limits nothing: spec.selector: no
)");
  const json answer = json::parse(what_if_json(what_if, {}));
  EXPECT_EQ(answer.at("/rows/0"_json_pointer),
            json::parse(R"({"quota":"CapacityQuota/a","resource":"cpu",
                            "before":{"limit":32000,"used":16000,"reserved":0},
                            "after":{"limit":8000,"used":16000,"reserved":0},"newlyOver":true})"));
  EXPECT_FALSE(answer.at("/rows/1"_json_pointer).contains("before"));
  EXPECT_EQ(answer.at("/templates/0"_json_pointer),
            json::parse(R"({"template":"web","maxNodesBefore":2,"maxNodesAfter":0,
                            "newlyBlocked":true,"blockedBy":["CapacityQuota/a"]})"));
  EXPECT_EQ(answer.at("/templates/1/maxNodesBefore"_json_pointer), nullptr);
  EXPECT_EQ(answer.at("/skipped/0/why"_json_pointer), "spec.selector: no");
}

TEST(CapacityQuotaReport, Lint) {
  const std::vector<LintFinding> findings = {
      {LintKind::kDominated, "CapacityQuota/a", "cpu", "CapacityQuota/b", "never binds"}};
  EXPECT_EQ("CapacityQuota/a: Dominated: never binds\n1 finding in 2 quotas\n",
            lint_text(findings, 2));
  EXPECT_EQ("0 findings in 1 quota\n", lint_text({}, 1));
  EXPECT_EQ(json::parse(lint_json(findings, {})),
            json::parse(R"({"findings":[{"quota":"CapacityQuota/a","kind":"Dominated",
                            "subject":"cpu","other":"CapacityQuota/b","message":"never binds"}]})"));
}

}  // namespace
}  // namespace headroom::capacity_quota_report_test
