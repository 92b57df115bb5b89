// Runs the oracle of CapacityQuota over the shared conformance cases; every field must agree.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "objects/reading/object_reader.h"
#include "objects/text/time_text.h"
#include "oracle/json.h"
#include "oracle/quotas/capacity_quota.h"

namespace capacity_quota_oracle_test {
namespace {

using oracle::CapacityQuotaClass;
using oracle::CapacityQuotas;
using oracle::Json;

headroom::Object object_of(const Json& json) {
  auto object = headroom::read_object(json.dump(), "case");
  if (!object) throw std::invalid_argument(object.error().message);
  return *object;
}

headroom::Node node_of(const Json& json) { return std::get<headroom::Node>(object_of(json)); }

std::int64_t time_of(const Json& json) {
  return headroom::parse_time_us(json.get<std::string>()).value();
}

void apply(CapacityQuotas& quotas, const Json& json) {
  const headroom::Object object = object_of(json);
  if (const auto* node = std::get_if<headroom::Node>(&object)) {
    if (!quotas.upsert(*node)) throw std::invalid_argument(node->name);
  } else {
    quotas.upsert(std::get<headroom::CapacityQuota>(object), CapacityQuotaClass::kCapacityQuota);
  }
}

void remove(CapacityQuotas& quotas, const Json& json) {
  const std::string name = json.at("metadata").at("name");
  if (json.at("kind") == "Node") {
    quotas.remove_node(name);
  } else {
    quotas.remove_capacity_quota(name, CapacityQuotaClass::kCapacityQuota);
  }
}

// Within int64, as all amounts of the cases are.
std::int64_t number(oracle::Int128 amount) { return static_cast<std::int64_t>(amount); }

Json to_expect(const oracle::CapacityQuotaCheck& check) {
  Json json{{"allowedDelta", check.allowed}, {"exceeded", Json::array()}};
  for (const oracle::CapacityQuotaRow& row : check.rows) {
    json["table"][row.quota][row.resource] =
        Json{{"limit", number(row.limit)},       {"used", number(row.used)},
             {"reserved", number(row.reserved)}, {"need", number(row.need)},
             {"headroom", number(row.headroom)}, {"shortfall", number(row.shortfall)},
             {"maxNodes", row.max_nodes}};
    if (row.binding) json["binding"].push_back({row.quota, row.resource});
    if (!row.exceeded()) continue;
    Json& exceeded = json["exceeded"];
    if (exceeded.empty() || exceeded.back().at("quota") != row.quota) {
      exceeded.push_back(Json{{"quota", row.quota}, {"resources", Json::array()}});
    }
    exceeded.back()["resources"].push_back(row.resource);
  }
  if (!check.skipped.empty()) json["skipped"] = check.skipped;
  return json;
}

Json to_expect(const std::vector<oracle::CapacityQuotaStatus>& list) {
  Json json = Json::object();
  for (const oracle::CapacityQuotaStatus& status : list) {
    if (!status.in_force || status.quota_class != CapacityQuotaClass::kCapacityQuota) continue;
    Json& used = json[status.name]["used"] = Json::object();
    for (const auto& amount : status.amounts) used[amount.resource] = number(amount.used);
  }
  return json;
}

// What the oracle says to a step that expects something.
Json perform(CapacityQuotas& quotas, const Json& step) {
  const std::string op = step.at("op");
  if (op == "apply") apply(quotas, step.at("object"));
  if (op == "delete") remove(quotas, step.at("object"));
  if (op == "advance") {
    EXPECT_TRUE(quotas.advance(time_of(step.at("now"))));
  }
  if (op == "checkQuota") {
    return to_expect(quotas.check(node_of(step.at("node")), step.at("count")).value());
  }
  if (op == "quotaStatus") return to_expect(quotas.status());
  if (op == "reserveQuota") {
    const auto answer =
        quotas.reserve(step.at("id"), {{node_of(step.at("node")), step.at("count")}},
                       time_of(step.at("expires")), false);
    return Json{{"accepted", answer->accepted}, {"allowedDelta", answer->allowed.at(0)}};
  }
  if (op == "releaseQuota") quotas.release(step.at("id"));
  return Json::object();
}

TEST(CapacityQuotaOracle, EveryFieldOfTheCasesAgrees) {
  const std::filesystem::path path =
      std::filesystem::path(HEADROOM_SHARED_DIR) / "conformance" / "proposal-capacity-quota.jsonl";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "no " << path << ": set HEADROOM_SHARED_DIR";
  int passed = 0, failed = 0;
  for (std::string line; std::getline(file, line);) {
    const Json one_case = Json::parse(line);
    CapacityQuotas quotas;
    ASSERT_TRUE(quotas.advance(time_of(one_case.at("now"))));
    if (one_case.at("args").contains("clusterLimits")) {
      headroom::CapacityQuota cluster;
      for (const auto& [resource, limit] : one_case["args"]["clusterLimits"]["max"].items()) {
        cluster.limits.emplace_back(resource, limit.dump());
      }
      quotas.upsert(cluster, CapacityQuotaClass::kClusterWide);
    }
    for (const Json& object : one_case.at("objects")) apply(quotas, object);
    std::string differs;
    int at = 0;
    for (const Json& step : one_case.at("steps")) {
      const Json came = perform(quotas, step);
      if (step.contains("expect") && came != step.at("expect")) {
        differs += "step " + std::to_string(at) + "\n expected " + step.at("expect").dump() +
                   "\n came     " + came.dump() + "\n";
      }
      ++at;
    }
    ++(differs.empty() ? passed : failed);
    EXPECT_EQ(differs, "") << one_case.at("name");
  }
  EXPECT_GT(passed, 0);
  std::cout << "proposal-capacity-quota: " << passed << " passed, " << failed << " failed\n";
}

}  // namespace
}  // namespace capacity_quota_oracle_test
