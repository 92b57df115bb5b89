// Runs the oracle of the default plugins over the shared conformance cases: every field of every
// expectation must agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "oracle/default/default_profile.h"

namespace {

using oracle::Json;
using oracle::defaults::DefaultProfile;
using oracle::defaults::Facts;
using oracle::defaults::PluginAnswer;
using oracle::defaults::Pod;
using oracle::defaults::ProfileAnswer;
using oracle::defaults::Version;

constexpr std::size_t kPrintedMax = 20;  // differences of one file

Json to_json(const oracle::Status& status) {
  Json json{{"code", oracle::to_string(status.code)}};
  if (!status.reasons.empty()) json["reasons"] = status.reasons;
  return json;
}

Json to_json(const oracle::NodeStatus& status) {
  Json json = to_json(static_cast<const oracle::Status&>(status));
  if (!status.plugin.empty()) json["rejectedBy"] = status.plugin;
  return json;
}

Json to_expect(const PluginAnswer& answer) {
  Json json{{"preFilter", to_json(answer.pre_filter)}, {"filter", Json::object()}};
  if (answer.pre_filter.node_names) json["preFilter"]["nodeNames"] = *answer.pre_filter.node_names;
  for (const auto& [node, status] : answer.filter) json["filter"][node] = to_json(status);
  if (answer.pre_score) json["preScore"] = to_json(*answer.pre_score);
  json["scores"] = answer.scores;
  json["normalizedScores"] = answer.normalized;
  return json;
}

Json to_expect(const ProfileAnswer& answer) {
  Json json{{"preFilter", to_json(answer.pre_filter)}, {"best", answer.best}};
  for (const auto& [node, status] : answer.filter) json["filter"][node] = to_json(status);
  json["pluginScores"] = answer.plugin_scores;
  json["totals"] = answer.totals;
  return json;
}

Json schedule(const Json& one_case, const Facts& facts, const Pod& pod) {
  const std::string plugin = one_case.at("plugin");
  const Json& args = one_case.at("args");
  if (plugin == "DefaultProfile") {
    return to_expect(DefaultProfile(Version::k137, args).schedule(facts, pod));
  }
  return to_expect(oracle::defaults::run_plugin(plugin, {facts, pod, args, Version::k137}));
}

// Where `expect` and `actual` part, down to the node, a line each.
void compare(const std::string& where, const Json& expect, const Json& actual,
             std::vector<std::string>& differences) {
  if (expect == actual) return;
  // What is absent from an expectation is not checked, but only as a whole field; a map by node or
  // plugin has to have the same keys.
  if (expect.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expect.items()) {
      compare(where + " " + key, value, actual.value(key, Json()), differences);
    }
    for (const auto& [key, value] : actual.items()) {
      if (!expect.contains(key))
        differences.push_back(where + " " + key + ": unexpected " + value.dump());
    }
    return;
  }
  differences.push_back(where + ": expected " + expect.dump() + ", got " + actual.dump());
}

void run_case(const Json& one_case, std::vector<std::string>& differences) {
  Facts facts;
  for (const Json& object : one_case.at("objects")) facts.apply(object);
  std::size_t number = 0;
  for (const Json& step : one_case.at("steps")) {
    const std::string op = step.at("op");
    if (op == "apply") facts.apply(step.at("object"));
    if (op == "delete") facts.remove(step.at("object"));
    if (op == "reserve") facts.reserve(step.at("pod"), step.at("node"));
    if (op == "unreserve") facts.unreserve(step.at("pod"), step.at("node"));
    if (op == "schedule") {
      const Pod pod = oracle::defaults::read_pod(step.at("pod"));
      const Json actual = schedule(one_case, facts, pod);
      for (const auto& [field, value] : step.at("expect").items()) {
        compare(one_case.at("name").get<std::string>() + " step " + std::to_string(number) + " " +
                    one_case.at("plugin").get<std::string>() + " " + field,
                value, actual.value(field, Json()), differences);
      }
    }
    ++number;
  }
}

class DefaultCases : public testing::TestWithParam<const char*> {};

TEST_P(DefaultCases, AllAgree) {
  const std::filesystem::path path = std::filesystem::path(HEADROOM_SHARED_DIR) / "conformance" /
                                     (std::string(GetParam()) + ".jsonl");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  std::ifstream file(path);
  std::vector<std::string> differences;
  std::size_t cases = 0, failed = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t before = differences.size();
    run_case(Json::parse(line), differences);
    ++cases;
    if (differences.size() != before) ++failed;
  }
  std::ostringstream text;
  for (std::size_t i = 0; i < differences.size() && i < kPrintedMax; ++i) {
    text << "\n  " << differences[i];
  }
  EXPECT_GT(cases, 0U);
  EXPECT_EQ(failed, 0U) << "of " << cases << " cases:" << text.str();
}

INSTANTIATE_TEST_SUITE_P(Conformance, DefaultCases,
                         testing::Values("pod-topology-spread", "inter-pod-affinity",
                                         "node-affinity-score", "taint-toleration-score",
                                         "image-locality", "volumes", "default-profile"),
                         [](const auto& file) {
                           std::string name = file.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
