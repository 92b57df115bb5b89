#include "tools/conformance/capacity_quota_case.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "autoscaling/capacity_quotas.h"
#include "objects/reading/object_reader.h"
#include "objects/text/time_text.h"
#include "tools/conformance/case_runner.h"

namespace headroom {
namespace {

using nlohmann::json;

class CapacityQuotaCaseRunner : private CaseRunner {
 public:
  std::vector<ConformanceDifference> run(const json& recorded) {
    at_ = "args";
    set_cluster_limits(recorded.value("args", json::object()));
    advance(recorded.at("now"));
    return play(
        recorded.at("objects"), recorded.at("steps"), [&](const json& object) { apply(object); },
        [&](const json& step) {
          perform(step);
          check("validate", quotas_.validate());
        });
  }

 private:
  void set_cluster_limits(const json& args) {
    for (const auto& [name, value] : args.items()) {
      if (name != "clusterLimits") return differ(name, "not supported", value.dump());
      CapacityQuota quota;
      for (const auto& [resource, limit] : value.at("max").items()) {
        quota.limits.emplace_back(resource, limit.dump());
      }
      check(name, quotas_.upsert(quota, CapacityQuotaClass::kClusterWide));
    }
  }

  void perform(const json& step) {
    const std::string op = step.at("op");
    if (op == "apply") return apply(step.at("object"));
    if (op == "delete") return remove(step.at("object"));
    if (op == "advance") return advance(step.at("now"));
    if (op == "checkQuota") return check_capacity_quota(step);
    if (op == "quotaStatus") return status(step.at("expect"));
    if (op == "reserveQuota") return reserve(step);
    if (op == "releaseQuota") {
      quotas_.release(step.at("id").get<std::string>());
      return;
    }
    differ("op", op, "not supported");
  }

  void advance(const std::string& time) {
    const Result<std::int64_t> now_us = parse_time_us(time);
    if (!now_us) return differ("now", time, now_us.error().message);
    check("now", quotas_.advance(*now_us));
  }

  void apply(const json& object) {
    const Result<Object> read = read_object(object.dump(), at_);
    if (!read) return differ("object", "accepted", read.error().message);
    if (const auto* node = std::get_if<Node>(&*read)) return check("object", quotas_.upsert(*node));
    if (const auto* quota = std::get_if<CapacityQuota>(&*read)) {
      return check("object", quotas_.upsert(*quota));
    }
    differ("object.kind", object.at("kind"), "not supported");
  }

  void remove(const json& object) {
    const std::string kind = object.at("kind");
    const std::string name = object.at("metadata").at("name");
    if (kind == "Node") return quotas_.remove_node(name);
    if (kind == "CapacityQuota") return quotas_.remove_capacity_quota(name);
    differ("object.kind", kind, "not supported");
  }

  bool read_template(const json& object, Node& node) {
    Result<Object> read = read_object(object.dump(), at_);
    if (!read || !std::holds_alternative<Node>(*read)) {
      differ("node", "a Node", read ? "another kind" : read.error().message);
      return false;
    }
    node = std::get<Node>(std::move(*read));
    return true;
  }

  // Numbers beyond 64 bits as text.
  static json amount(Int128 value) {
    const auto narrow = static_cast<std::int64_t>(value);
    if (narrow == value) return narrow;
    return Quantity::from_nanos(value * 1'000'000'000).canonical();
  }

  void check_capacity_quota(const json& step) {
    Node node;
    if (!read_template(step.at("node"), node)) return;
    const Result<CapacityCheck> answer = quotas_.check(node, step.at("count"));
    if (!answer) return differ("checkQuota", "an answer", answer.error().message);
    json got = {{"allowedDelta", answer->allowed}, {"exceeded", json::array()}};
    for (const CapacityQuotaRow& row : answer->rows) {
      got["table"][std::string(row.quota)][std::string(row.resource)] = {
          {"limit", amount(row.limit)},       {"used", amount(row.used)},
          {"reserved", amount(row.reserved)}, {"need", amount(row.need)},
          {"headroom", amount(row.headroom)}, {"shortfall", amount(row.shortfall)},
          {"maxNodes", row.max_nodes}};
      if (row.binding) got["binding"].push_back({row.quota, row.resource});
      if (row.shortfall == 0) continue;
      json& exceeded = got["exceeded"];
      if (exceeded.empty() || exceeded.back().at("quota") != row.quota) {
        exceeded.push_back({{"quota", row.quota}, {"resources", json::array()}});
      }
      exceeded.back()["resources"].push_back(row.resource);
    }
    for (const SkippedCapacityQuota& skipped : answer->skipped)
      got["skipped"].push_back(skipped.quota);
    compare(step.at("expect"), got);
  }

  void reserve(const json& step) {
    Node node;
    if (!read_template(step.at("node"), node)) return;
    const Result<std::int64_t> expires_us = parse_time_us(step.at("expires").get<std::string>());
    if (!expires_us) return differ("expires", "a time", expires_us.error().message);
    const PlanItem item{&node, step.at("count")};
    const Result<ReserveAnswer> answer =
        quotas_.reserve(step.at("id").get<std::string>(), {&item, 1}, *expires_us);
    if (!answer) return differ("reserveQuota", "an answer", answer.error().message);
    compare(step.at("expect"),
            {{"accepted", answer->accepted}, {"allowedDelta", answer->allowed.at(0)}});
  }

  void status(const json& expected) {
    json got = json::object();
    for (const CapacityQuotaStatus& quota : quotas_.status()) {
      if (!quota.in_force || quota.quota_class != CapacityQuotaClass::kCapacityQuota) continue;
      json& used = got[quota.name]["used"] = json::object();
      for (const CapacityQuotaStatus::Amount& limit : quota.amounts) {
        used[limit.resource] = amount(limit.used);
      }
    }
    if (got != expected) differ("quotaStatus", expected.dump(), got.dump());
  }

  // Both ways: what is not expected must be absent.
  void compare(const json& expected, const json& got) {
    for (const auto& [field, want] : expected.items()) {
      if (!got.contains(field) || got.at(field) != want) {
        differ(field, want.dump(), got.contains(field) ? got.at(field).dump() : "absent");
      }
    }
    for (const auto& [field, came] : got.items()) {
      if (!expected.contains(field)) differ(field, "absent", came.dump());
    }
  }

  CapacityQuotas quotas_;
};

}  // namespace

std::vector<ConformanceDifference> run_capacity_quota_case(const json& recorded) {
  return CapacityQuotaCaseRunner().run(recorded);
}

}  // namespace headroom
