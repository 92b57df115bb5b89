// The texts that annotations hold: limit ratios, usage thresholds, raw allocatable, scaling
// factors; and what LoadAwareScheduling makes of a pod's priority and requests.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/policies/limit_ratio.h"
#include "engine/policies/load_estimate.h"
#include "engine/policies/usage_thresholds.h"

namespace headroom::annotations_test {
namespace {

constexpr Mode kBothModes[] = {Mode::kProposal, Mode::kUpstream};

// --- node.koordinator.sh/limit-to-allocatable ---

TEST(LimitRatio, NumbersAndPercentages) {
  for (const Mode mode : kBothModes) {
    const auto ratio =
        parse_limit_ratio(R"({"cpu": 125, "memory": "80%", "gpu": 0, "x": "2147483647%"})", mode);
    ASSERT_TRUE(ratio.has_value());
    EXPECT_EQ(ratio->percents,
              (ResourcePercents{{"cpu", 125}, {"gpu", 0}, {"memory", 80}, {"x", 2147483647}}));
    EXPECT_TRUE(ratio->bad.empty());
    EXPECT_TRUE(parse_limit_ratio("{}", mode)->percents.empty());
  }
}

TEST(LimitRatio, WhatIsBadInBothModes) {
  for (const Mode mode : kBothModes) {
    for (const std::string_view json :
         {"", "{", "[]", "7", R"("80%")", R"({"cpu": 1.5})", R"({"cpu": true})", R"({"cpu": {}})",
          R"({"cpu": [1]})", R"({"cpu": 2147483648})", R"({"cpu": 1e2})", R"({"cpu": 1} x)",
          R"({"memory": 100, "cpu": 18446744073709551616})"}) {
      EXPECT_FALSE(parse_limit_ratio(json, mode).has_value()) << json;
    }
  }
}

// One bad value: mode Proposal drops the whole annotation, mode Upstream names the resource.
TEST(LimitRatio, BadPercentages) {
  for (const std::string_view text : {"", "%", "80", "80 %", " 80%", "80%%", "0x10%", "1.5%",
                                      "eighty", "2147483648%", "99999999999999999999%", "+-5%"}) {
    const std::string json = R"({"cpu": ")" + std::string(text) + R"(", "memory": 50})";
    EXPECT_FALSE(parse_limit_ratio(json, Mode::kProposal).has_value()) << text;
    const auto ratio = parse_limit_ratio(json, Mode::kUpstream);
    ASSERT_TRUE(ratio.has_value()) << text;
    EXPECT_EQ(ratio->percents, (ResourcePercents{{"memory", 50}})) << text;
    EXPECT_EQ(ratio->bad, std::vector<std::string>{"cpu"}) << text;
  }
}

TEST(LimitRatio, SignsAndNullAreForModeUpstream) {
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {R"({"cpu": -5})", -5},  {R"({"cpu": "-5%"})", -5}, {R"({"cpu": "+5%"})", 5},
      {R"({"cpu": null})", 0}, {R"({"cpu": "-0%"})", 0},
  };
  for (const auto& [json, percent] : cases) {
    EXPECT_FALSE(parse_limit_ratio(json, Mode::kProposal).has_value()) << json;
    const auto ratio = parse_limit_ratio(json, Mode::kUpstream);
    ASSERT_TRUE(ratio.has_value()) << json;
    EXPECT_EQ(ratio->percents, (ResourcePercents{{"cpu", percent}})) << json;
  }
  EXPECT_FALSE(parse_limit_ratio("null", Mode::kProposal).has_value());
  EXPECT_TRUE(parse_limit_ratio("null", Mode::kUpstream)->percents.empty());
}

TEST(LimitRatio, OfTwoValuesTheLastCounts) {
  EXPECT_EQ(parse_limit_ratio(R"({"cpu": 1, "cpu": "2%"})", Mode::kProposal)->percents,
            (ResourcePercents{{"cpu", 2}}));
  const auto good_last = parse_limit_ratio(R"({"cpu": "x", "cpu": 2})", Mode::kUpstream);
  EXPECT_EQ(good_last->percents, (ResourcePercents{{"cpu", 2}}));
  EXPECT_TRUE(good_last->bad.empty());
  const auto bad_last = parse_limit_ratio(R"({"cpu": 2, "cpu": "x"})", Mode::kUpstream);
  EXPECT_TRUE(bad_last->percents.empty());
  EXPECT_EQ(bad_last->bad, std::vector<std::string>{"cpu"});
}

// --- scheduling.koordinator.sh/usage-thresholds ---

TEST(UsageThresholds, EveryField) {
  for (const Mode mode : kBothModes) {
    const auto thresholds = parse_usage_thresholds(
        R"({"usageThresholds": {"cpu": 65, "memory": 95}, "prodUsageThresholds": {"cpu": 55},
            "aggregatedUsage": {"usageThresholds": {"cpu": 50}, "usageAggregationType": "p95",
                                "usageAggregatedDuration": "5m0.5s"}, "else": [1]})",
        mode);
    ASSERT_TRUE(thresholds.has_value());
    EXPECT_EQ(thresholds->usage, (ResourcePercents{{"cpu", 65}, {"memory", 95}}));
    EXPECT_EQ(thresholds->prod, (ResourcePercents{{"cpu", 55}}));
    EXPECT_EQ(thresholds->aggregated, (ResourcePercents{{"cpu", 50}}));
    EXPECT_EQ(thresholds->aggregation_type, "p95");
    EXPECT_EQ(thresholds->aggregated_duration_us, 300'500'000);
  }
}

// encoding/json matches the names of fields whatever their case, the keys of maps as they are.
TEST(UsageThresholds, CaseOfKeys) {
  const auto thresholds = parse_usage_thresholds(
      R"({"USAGETHRESHOLDS": {"CPU": 1}, "ProdUsageThresholds": {"cpu": 2},
          "aggregatedusage": {"UsageAggregationType": "avg"}})",
      Mode::kProposal);
  ASSERT_TRUE(thresholds.has_value());
  EXPECT_EQ(thresholds->usage, (ResourcePercents{{"CPU", 1}}));
  EXPECT_EQ(thresholds->prod, (ResourcePercents{{"cpu", 2}}));
  EXPECT_EQ(thresholds->aggregation_type, "avg");
}

TEST(UsageThresholds, NullSaysNothing) {
  for (const Mode mode : kBothModes) {
    for (const std::string_view json :
         {"null", "{}", R"({"usageThresholds": null, "aggregatedUsage": null})",
          R"({"aggregatedUsage": {"usageThresholds": null, "usageAggregationType": null,
              "usageAggregatedDuration": null}})"}) {
      const auto thresholds = parse_usage_thresholds(json, mode);
      ASSERT_TRUE(thresholds.has_value()) << json;
      EXPECT_TRUE(thresholds->usage.empty() && thresholds->aggregated.empty()) << json;
      EXPECT_EQ(thresholds->aggregation_type, "") << json;
      EXPECT_EQ(thresholds->aggregated_duration_us, 0) << json;
    }
  }
}

TEST(UsageThresholds, OfTheWrongKind) {
  for (const Mode mode : kBothModes) {
    for (const std::string_view json :
         {"", "[]", "1", R"({"usageThresholds": 65})", R"({"usageThresholds": {"cpu": "65"}})",
          R"({"usageThresholds": {"cpu": 65.5}})", R"({"prodUsageThresholds": []})",
          R"({"aggregatedUsage": "p95"})", R"({"aggregatedUsage": {"usageAggregationType": 95}})",
          R"({"aggregatedUsage": {"usageAggregatedDuration": 300}})",
          R"({"aggregatedUsage": {"usageAggregatedDuration": "5 minutes"}})",
          R"({"aggregatedUsage": {"usageThresholds": {"cpu": true}}})"}) {
      EXPECT_FALSE(parse_usage_thresholds(json, mode).has_value()) << json;
    }
  }
}

TEST(UsageThresholds, BelowZeroAndNullAreForModeUpstream) {
  const std::string_view negative = R"({"usageThresholds": {"cpu": -1}})";
  EXPECT_FALSE(parse_usage_thresholds(negative, Mode::kProposal).has_value());
  EXPECT_EQ(parse_usage_thresholds(negative, Mode::kUpstream)->usage,
            (ResourcePercents{{"cpu", -1}}));
  const std::string_view null = R"({"aggregatedUsage": {"usageThresholds": {"cpu": null}}})";
  EXPECT_FALSE(parse_usage_thresholds(null, Mode::kProposal).has_value());
  EXPECT_EQ(parse_usage_thresholds(null, Mode::kUpstream)->aggregated,
            (ResourcePercents{{"cpu", 0}}));
}

// Taken literally, as koordinator takes them: no usage is as low.
TEST(UsageThresholds, FarBelowZeroNothingPassesInModeUpstream) {
  Profile profile;
  profile.mode = Mode::kUpstream;
  profile.filters = {PluginId::kLoadAwareScheduling};
  for (const std::string percent : {"-1", "-8600000000", "-1000000000000000000"}) {
    Engine engine = *Engine::create(profile, {.threads = 1});
    Node node;
    node.name = "n";
    node.allocatable = {{"memory", Quantity::from_value(std::int64_t{100} << 30)}};
    node.annotations = {{"scheduling.koordinator.sh/usage-thresholds",
                         "{\"usageThresholds\": {\"memory\": " + percent + "}}"}};
    NodeMetric metric;
    metric.name = "n";
    metric.has_node_metric = true;
    metric.update_time_us = 1;
    ASSERT_TRUE(engine.advance(2));
    ASSERT_TRUE(engine.upsert(node));
    ASSERT_TRUE(engine.upsert(metric));
    Pod pod;
    pod.name = "p";
    EXPECT_EQ(engine.filter(pod, "n")->code, Code::kUnschedulable) << percent;
  }
}

// What a pod says that cannot be read counts, and is told.
TEST(ScalingFactors, BadAnnotationsAndLabelsOfPodsAreCounted) {
  Profile profile = Profile::standard();
  profile.load_aware.allow_customize_estimation = true;
  Engine engine = *Engine::create(profile, {.threads = 1});
  Node node;
  node.name = "n";
  ASSERT_TRUE(engine.upsert(node));
  Pod pod;
  pod.name = "p";
  pod.node_name = "n";
  ASSERT_TRUE(engine.upsert(pod));
  EXPECT_EQ(engine.stats().bad_annotations, 0u);
  pod.labels = {{"koordinator.sh/priority-class", "koord-best"}, {"koordinator.sh/qosClass", "LX"}};
  pod.annotations = {
      {"scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled", "1m"}};
  ASSERT_TRUE(engine.upsert(pod));
  EXPECT_EQ(engine.stats().bad_annotations, 1u);
  EXPECT_TRUE(engine.validate());
  std::vector<std::string> notes;
  const Explanation explained = *engine.explain(pod, "n");
  for (const ExplainTerm& term : explained.terms) {
    if (term.note.starts_with("ignored")) notes.push_back(term.note);
  }
  EXPECT_EQ(notes, (std::vector<std::string>{
                       "ignored: the pod's label koordinator.sh/priority-class=koord-best",
                       "ignored: the pod's label koordinator.sh/qosClass=LX",
                       "ignored: the pod's annotation "
                       "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled=1m"}));
  engine.remove_pod("", "p");
  EXPECT_EQ(engine.stats().bad_annotations, 0u);
}

// --- node.koordinator.sh/raw-allocatable ---

TEST(ResourceListText, Quantities) {
  const auto list = parse_resource_list(
      R"({"memory": "2Gi", "cpu": "1500m", "pods": 110, "cpu": "2"})", Mode::kUpstream);
  ASSERT_TRUE(list.has_value());
  const ResourceList expected = {{"cpu", Quantity::from_value(2)},
                                 {"memory", Quantity::from_value(std::int64_t{2} << 30)},
                                 {"pods", Quantity::from_value(110)}};
  EXPECT_EQ(*list, expected) << "sorted; of two values the last counts";
  EXPECT_TRUE(parse_resource_list("{}", Mode::kUpstream)->empty());
  EXPECT_TRUE(parse_resource_list("null", Mode::kUpstream)->empty());
}

// As Go reads a quantity of an object: a number, null for 0, blanks around it.
TEST(ResourceListText, WhatGoReadsIsForModeUpstream) {
  const auto cpu = [](std::string_view json, Mode mode) -> std::optional<std::int64_t> {
    const auto list = parse_resource_list(json, mode);
    if (!list) return std::nullopt;
    return find(*list, "cpu")->milli_value().value();
  };
  for (const auto& [json, milli] : {std::pair(R"({"cpu": 2.5})", 2500),
                                    {R"({"cpu": 2e0})", 2000},
                                    {R"({"cpu": " 2"})", 2000},
                                    {R"({"cpu": null})", 0}}) {
    EXPECT_EQ(cpu(json, Mode::kUpstream), milli) << json;
    EXPECT_EQ(cpu(json, Mode::kProposal), std::nullopt) << json;
  }
  for (const Mode mode : kBothModes) {
    EXPECT_EQ(cpu(R"({"cpu": 2})", mode), 2000);
    EXPECT_EQ(cpu(R"({"cpu": true})", mode), std::nullopt);
  }
}

TEST(ResourceListText, WhatIsNone) {
  for (const std::string_view json :
       {"", "[]", "5", R"({"cpu": true})", R"({"cpu": "two"})", R"({"cpu": ""})",
        R"({"cpu": "-1"})", R"({"cpu": -1})", R"({"cpu": {}})", R"({"cpu": "1", "memory": "-1n"})",
        R"({"memory": "9Ei1"})"}) {
    EXPECT_FALSE(parse_resource_list(json, Mode::kUpstream).has_value()) << json;
  }
}

// --- Scaling factors, priorities and estimates ---

using Factors = std::map<std::string, std::int64_t>;

TEST(ScalingFactors, WholeNumbersByResource) {
  EXPECT_EQ(parse_factors(R"({"cpu": 80, "memory": -7, "x": null})"),
            (Factors{{"cpu", 80}, {"memory", -7}, {"x", 0}}));
  EXPECT_EQ(parse_factors("null"), Factors{});
  for (const std::string_view json : {"", "[]", R"({"cpu": "80"})", R"({"cpu": 0.8})",
                                      R"({"cpu": 9223372036854775808})", R"({"cpu": 1)"}) {
    EXPECT_EQ(parse_factors(json), std::nullopt) << json;
  }
}

Pod pod_of(StringMap labels, std::optional<std::int32_t> priority) {
  Pod pod;
  pod.labels = std::move(labels);
  pod.priority = priority;
  return pod;
}

TEST(Priority, RangesOfPriorities) {
  const std::pair<std::int32_t, KoordPriorityClass> cases[] = {
      {2999, KoordPriorityClass::kNone},  {3000, KoordPriorityClass::kFree},
      {3999, KoordPriorityClass::kFree},  {4000, KoordPriorityClass::kNone},
      {5000, KoordPriorityClass::kBatch}, {5999, KoordPriorityClass::kBatch},
      {6000, KoordPriorityClass::kNone},  {7000, KoordPriorityClass::kMid},
      {7999, KoordPriorityClass::kMid},   {8999, KoordPriorityClass::kNone},
      {9000, KoordPriorityClass::kProd},  {9999, KoordPriorityClass::kProd},
      {10000, KoordPriorityClass::kNone}, {0, KoordPriorityClass::kNone},
      {-1, KoordPriorityClass::kNone},
  };
  for (const auto& [priority, expected] : cases) {
    EXPECT_EQ(explicit_priority_class(pod_of({}, priority)), expected) << priority;
  }
  EXPECT_EQ(explicit_priority_class(pod_of({}, std::nullopt)), KoordPriorityClass::kNone);
}

TEST(Priority, ALabelGoesBeforeThePriority) {
  const std::pair<std::string_view, KoordPriorityClass> cases[] = {
      {"koord-prod", KoordPriorityClass::kProd},   {"koord-mid", KoordPriorityClass::kMid},
      {"koord-batch", KoordPriorityClass::kBatch}, {"koord-free", KoordPriorityClass::kFree},
      {"prod", KoordPriorityClass::kNone},         {"", KoordPriorityClass::kNone}};
  for (const auto& [label, expected] : cases) {
    EXPECT_EQ(explicit_priority_class(
                  pod_of({{"koordinator.sh/priority-class", std::string(label)}}, 9500)),
              expected)
        << label;
  }
}

TEST(Priority, OtherwiseByQos) {
  const std::pair<std::string_view, KoordPriorityClass> labels[] = {
      {"LSE", KoordPriorityClass::kProd},    {"LSR", KoordPriorityClass::kProd},
      {"LS", KoordPriorityClass::kProd},     {"BE", KoordPriorityClass::kBatch},
      {"SYSTEM", KoordPriorityClass::kProd}, {"be", KoordPriorityClass::kProd}};
  for (const auto& [label, expected] : labels) {
    Pod pod = pod_of({{"koordinator.sh/qosClass", std::string(label)}}, std::nullopt);
    pod.qos_class = "Burstable";
    EXPECT_EQ(priority_class(pod), expected) << label;
    EXPECT_EQ(explicit_priority_class(pod), KoordPriorityClass::kNone) << label;
  }
  Pod pod;
  pod.containers.resize(1);
  EXPECT_EQ(priority_class(pod), KoordPriorityClass::kBatch) << "BestEffort by what it asks";
  pod.containers[0].requests = {{"cpu", Quantity::from_milli(1)}};
  EXPECT_EQ(priority_class(pod), KoordPriorityClass::kProd) << "Burstable";
  pod.qos_class = "BestEffort";
  EXPECT_EQ(priority_class(pod), KoordPriorityClass::kBatch) << "the status says so";
  pod.priority = 7500;
  EXPECT_EQ(priority_class(pod), KoordPriorityClass::kMid);
}

TEST(Priority, NamesOfResources) {
  for (const KoordPriorityClass as_is : {KoordPriorityClass::kNone, KoordPriorityClass::kProd}) {
    EXPECT_EQ(translated_resource("cpu", as_is), "cpu");
    EXPECT_EQ(translated_resource("nvidia.com/gpu", as_is), "nvidia.com/gpu");
  }
  EXPECT_EQ(translated_resource("cpu", KoordPriorityClass::kBatch), "kubernetes.io/batch-cpu");
  EXPECT_EQ(translated_resource("memory", KoordPriorityClass::kBatch),
            "kubernetes.io/batch-memory");
  EXPECT_EQ(translated_resource("cpu", KoordPriorityClass::kMid), "kubernetes.io/mid-cpu");
  EXPECT_EQ(translated_resource("memory", KoordPriorityClass::kMid), "kubernetes.io/mid-memory");
  EXPECT_EQ(translated_resource("pods", KoordPriorityClass::kBatch), "");
  EXPECT_EQ(translated_resource("pods", KoordPriorityClass::kMid), "");
  EXPECT_EQ(translated_resource("cpu", KoordPriorityClass::kFree), "");
}

std::int64_t cpu_estimate(std::int64_t request_milli, std::int64_t limit_milli, std::int64_t factor,
                          Mode mode) {
  return estimated_usage("cpu", Quantity::from_milli(request_milli),
                         Quantity::from_milli(limit_milli), factor, mode);
}

TEST(EstimatedUsage, ARequestIsScaledUpToItsLimit) {
  for (const Mode mode : kBothModes) {
    EXPECT_EQ(cpu_estimate(4000, 0, 85, mode), 3400);
    EXPECT_EQ(cpu_estimate(4000, 4000, 85, mode), 3400);
    EXPECT_EQ(cpu_estimate(4000, 4000, 110, mode), 4000) << "never above the limit";
    EXPECT_EQ(cpu_estimate(4000, 0, 110, mode), 4400);
    EXPECT_EQ(cpu_estimate(10, 0, 85, mode), 9) << "8.5, half away from zero";
    EXPECT_EQ(cpu_estimate(10, 0, 84, mode), 8);
    EXPECT_EQ(cpu_estimate(10, 0, -85, mode), -9);
    EXPECT_EQ(cpu_estimate(4000, 0, 0, mode), 0);
  }
}

// A limit above the request is the estimate in mode Proposal, and scaled in mode Upstream.
TEST(EstimatedUsage, ALimitAboveTheRequest) {
  EXPECT_EQ(cpu_estimate(4000, 8000, 85, Mode::kProposal), 8000);
  EXPECT_EQ(cpu_estimate(4000, 8000, 85, Mode::kUpstream), 6800);
  EXPECT_EQ(cpu_estimate(0, 8000, 85, Mode::kProposal), 8000);
  EXPECT_EQ(cpu_estimate(0, 8000, 110, Mode::kUpstream), 8000);
}

TEST(EstimatedUsage, DefaultsWhereNothingIsAsked) {
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {"cpu", 250},
      {"kubernetes.io/batch-cpu", 250},
      {"memory", 200 << 20},
      {"kubernetes.io/batch-memory", 200 << 20},
      {"kubernetes.io/mid-cpu", 0},
      {"nvidia.com/gpu", 0}};
  for (const auto& [name, expected] : cases) {
    for (const Mode mode : kBothModes) {
      EXPECT_EQ(estimated_usage(name, Quantity(), Quantity(), 85, mode), expected) << name;
    }
  }
}

// cpu counts in milli, everything else whole, rounded up.
TEST(EstimatedUsage, Units) {
  for (const Mode mode : kBothModes) {
    const auto estimate = [&](std::string_view name, const Quantity& request) {
      return estimated_usage(name, request, Quantity(), 100, mode);
    };
    EXPECT_EQ(estimate("cpu", Quantity::from_nanos(1)), 1);
    EXPECT_EQ(estimate("memory", Quantity::from_nanos(1)), 1);
    EXPECT_EQ(estimate("memory", Quantity::from_value(std::int64_t{16} << 30)),
              std::int64_t{16} << 30);
    EXPECT_EQ(estimate("kubernetes.io/batch-cpu", Quantity::from_value(4000)), 4000);
  }
}

// Beyond 2^53 mode Proposal stays exact and does not wrap.
TEST(EstimatedUsage, GreatRequestsInModeProposal) {
  const auto estimate = [](std::int64_t request, std::int64_t factor) {
    return estimated_usage("memory", Quantity::from_value(request), Quantity(), factor,
                           Mode::kProposal);
  };
  EXPECT_EQ(estimate((std::int64_t{1} << 53) + 1, 100), (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(estimate(INT64_MAX, 100), INT64_MAX);
  EXPECT_EQ(estimate(INT64_MAX, 101), INT64_MAX);
}

}  // namespace
}  // namespace headroom::annotations_test
