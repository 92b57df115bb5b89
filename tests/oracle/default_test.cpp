// Runs the oracle of the default plugins over the shared conformance cases: every field of every
// expectation must agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "oracle/default/default_profile.h"

namespace default_test {
namespace {

using oracle::Json;
using oracle::Version;
using oracle::defaults::DefaultProfile;
using oracle::defaults::Facts;
using oracle::defaults::PluginAnswer;
using oracle::defaults::Pod;
using oracle::defaults::ProfileAnswer;

constexpr std::size_t kPrintedMax = 20;  // differences of one file
constexpr std::size_t kOlderMax = 100;

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

Json schedule(const Json& one_case, const Facts& facts, const Pod& pod, Version version) {
  const std::string plugin = one_case.at("plugin");
  const Json& args = one_case.at("args");
  if (plugin == "DefaultProfile") {
    return to_expect(DefaultProfile(version, args).schedule(facts, pod));
  }
  return to_expect(oracle::defaults::run_plugin(plugin, {facts, pod, args, version}));
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

void run_case(const Json& one_case, Version version, std::vector<std::string>& differences) {
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
      const Json actual = schedule(one_case, facts, pod, version);
      for (const auto& [field, value] : step.at("expect").items()) {
        compare(one_case.at("name").get<std::string>() + " step " + std::to_string(number) + " " +
                    one_case.at("plugin").get<std::string>() + " " + field,
                value, actual.value(field, Json()), differences);
      }
    }
    ++number;
  }
}

// The lines of a shared file of cases; none where it is not there.
std::vector<Json> read_cases(const std::string& name) {
  std::ifstream file(std::filesystem::path(HEADROOM_SHARED_DIR) / "conformance" /
                     (name + ".jsonl"));
  std::vector<Json> cases;
  for (std::string line; std::getline(file, line);) cases.push_back(Json::parse(line));
  return cases;
}

class DefaultCases : public testing::TestWithParam<const char*> {};

TEST_P(DefaultCases, AllAgree) {
  const std::vector<Json> cases = read_cases(GetParam());
  if (cases.empty()) GTEST_SKIP() << "no " << GetParam() << ".jsonl in " << HEADROOM_SHARED_DIR;
  std::vector<std::string> differences;
  std::size_t failed = 0;
  for (const Json& one_case : cases) {
    const std::size_t before = differences.size();
    run_case(one_case, Version::k137, differences);
    if (differences.size() != before) ++failed;
  }
  std::ostringstream text;
  for (std::size_t i = 0; i < differences.size() && i < kPrintedMax; ++i) {
    text << "\n  " << differences[i];
  }
  EXPECT_EQ(failed, 0U) << "of " << cases.size() << " cases:" << text.str();
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

// How many cases of 1.37 an older version decides otherwise, and how many of them in a best node.
// That VolumeBinding scores since 1.37 is in every sequence, and left out.
struct Older {
  std::size_t cases = 0, best = 0;
};

// Of at most kOlderMax cases, unless HEADROOM_LONG is set: sequences take 25 ms each.
Older count_older(const std::string& file, Version version) {
  Older older;
  std::vector<Json> cases = read_cases(file);
  if (std::getenv("HEADROOM_LONG") == nullptr) cases.resize(std::min(cases.size(), kOlderMax));
  for (const Json& one_case : cases) {
    std::vector<std::string> differences;
    run_case(one_case, version, differences);
    std::erase_if(differences, [](const std::string& line) {
      return line.find("pluginScores VolumeBinding") != std::string::npos;
    });
    if (!differences.empty()) ++older.cases;
    if (std::any_of(differences.begin(), differences.end(), [](const std::string& line) {
          return line.find(" best: ") != std::string::npos;
        })) {
      ++older.best;
    }
  }
  return older;
}

// default-plugins.md, "Versions". It gives the numbers for the public cases: 39 of
// inter-pod-affinity and 9 sequences until 1.36, 299 sequences until 1.35, 196 of them in a best
// node; so it was when this was written. Others of the same kinds may come, so only what must hold
// for any is asserted.
TEST(OlderVersions, DifferWhereTheRulesSaySo) {
  if (read_cases("default-profile").empty()) GTEST_SKIP() << "no cases in " << HEADROOM_SHARED_DIR;
  for (const char* same :
       {"pod-topology-spread", "node-affinity-score", "taint-toleration-score"}) {
    EXPECT_EQ(count_older(same, Version::k135).cases, 0U) << same;
  }
  const std::size_t affinity = count_older("inter-pod-affinity", Version::k136).cases;
  EXPECT_GT(affinity, 0U);
  EXPECT_EQ(count_older("inter-pod-affinity", Version::k135).cases, affinity);
  const Older before = count_older("default-profile", Version::k136);
  const Older long_before = count_older("default-profile", Version::k135);
  std::cout << "Other cases of inter-pod-affinity: " << affinity
            << "; sequences in 1.36: " << before.cases << ", in 1.35: " << long_before.cases
            << ", of them in a best node: " << long_before.best << "\n";
  EXPECT_GT(long_before.cases, before.cases);
  EXPECT_GT(long_before.best, before.best);
}

}  // namespace
}  // namespace default_test
