// Writes the answers about quotas as JSON; see json.h.
#include "tools/capacity_quota/json.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace headroom {
namespace {

using nlohmann::ordered_json;

ordered_json number(Int128 value) {
  if (value > std::numeric_limits<std::int64_t>::max() ||
      value < std::numeric_limits<std::int64_t>::min()) {
    return fmt::format("{}", value);
  }
  return static_cast<std::int64_t>(value);
}

ordered_json nodes(std::int64_t count) {
  if (count == std::numeric_limits<std::int64_t>::max()) return nullptr;
  return count;
}

template <typename Row>
ordered_json binding(const std::vector<Row>& rows) {
  ordered_json list = ordered_json::array();
  for (const Row& row : rows) {
    if (row.binding) list.push_back(ordered_json::array({row.quota, row.resource}));
  }
  return list;
}

ordered_json skipped_json(const std::vector<SkippedCapacityQuota>& skipped) {
  ordered_json list = ordered_json::array();
  for (const SkippedCapacityQuota& quota : skipped) {
    list.push_back({{"quota", quota.quota}, {"why", quota.why}});
  }
  return list;
}

ordered_json rows_json(const std::vector<CapacityQuotaRow>& rows) {
  ordered_json list = ordered_json::array();
  for (const CapacityQuotaRow& row : rows) {
    list.push_back({{"quota", row.quota},
                    {"resource", row.resource},
                    {"limit", number(row.limit)},
                    {"used", number(row.used)},
                    {"reserved", number(row.reserved)},
                    {"need", number(row.need)},
                    {"headroom", number(row.headroom)},
                    {"shortfall", number(row.shortfall)},
                    {"maxNodes", nodes(row.max_nodes)}});
  }
  return list;
}

ordered_json break_json(std::span<const PlanItem> items, const PlanBreak& stopped) {
  return {{"item", stopped.item},
          {"template", items[stopped.item].node->name},
          {"fits", stopped.fits},
          {"rows", rows_json(stopped.rows)},
          {"binding", binding(stopped.rows)}};
}

std::string print(ordered_json json, Warnings warnings) {
  if (!warnings.empty()) json["warnings"] = warnings_json(warnings);
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string capacity_quota_table_json(const std::vector<CapacityQuotaLine>& quotas,
                                      Warnings warnings) {
  ordered_json list = ordered_json::array();
  std::vector<SkippedCapacityQuota> skipped;
  for (const CapacityQuotaLine& quota : quotas) {
    const CapacityQuotaStatus& status = quota.status;
    ordered_json json = {{"quota", status.id},
                         {"selector", selector_text(quota.selector)},
                         {"inForce", status.in_force},
                         {"generation", status.generation},
                         {"generationInForce", status.generation_in_force}};
    if (!status.invalid.empty()) json["invalid"] = status.invalid;
    json["nodes"] = status.nodes;
    json["limits"] = ordered_json::array();
    for (const CapacityQuotaStatus::Amount& amount : status.amounts) {
      json["limits"].push_back(
          {{"resource", amount.resource},
           {"limit", number(amount.limit)},
           {"used", number(amount.used)},
           {"reserved", number(amount.reserved)},
           {"headroom", number(amount.limit - amount.used - amount.reserved)}});
    }
    list.push_back(std::move(json));
    if (!status.in_force) skipped.push_back({status.id, status.invalid});
  }
  return print({{"capacity_quotas", std::move(list)}, {"skipped", skipped_json(skipped)}},
               warnings);
}

std::string check_json(const std::vector<CheckedTemplate>& checks, Warnings warnings) {
  ordered_json list = ordered_json::array();
  for (const CheckedTemplate& check : checks) {
    list.push_back({{"template", check.node.name},
                    {"count", check.count},
                    {"allowed", check.answer.allowed},
                    {"rows", rows_json(check.answer.rows)},
                    {"binding", binding(check.answer.rows)}});
  }
  return print({{"checks", std::move(list)},
                {"skipped", checks.empty() ? ordered_json::array()
                                           : skipped_json(checks.front().answer.skipped)}},
               warnings);
}

std::string plan_json(std::span<const PlanItem> items, const PlanAnswer& answer,
                      Warnings warnings) {
  ordered_json json = {{"fits", !answer.net_break}, {"fitsAtPeak", !answer.peak_break}};
  if (answer.net_break) json["netBreak"] = break_json(items, *answer.net_break);
  if (answer.peak_break) json["peakBreak"] = break_json(items, *answer.peak_break);
  json["rows"] = ordered_json::array();
  for (const PlanRow& row : answer.rows) {
    json["rows"].push_back({{"quota", row.quota},
                            {"resource", row.resource},
                            {"limit", number(row.limit)},
                            {"used", number(row.used)},
                            {"reserved", number(row.reserved)},
                            {"added", number(row.added)},
                            {"removed", number(row.removed)},
                            {"net", number(row.net)},
                            {"peak", number(row.peak)}});
  }
  json["skipped"] = skipped_json(answer.skipped);
  return print(std::move(json), warnings);
}

std::string headroom_json(const std::vector<Node>& templates,
                          const std::vector<TemplateHeadroom>& answers, Warnings warnings) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < templates.size(); ++i) {
    ordered_json rows = ordered_json::array();
    for (const TemplateHeadroom::Row& row : answers[i].rows) {
      rows.push_back({{"quota", row.quota},
                      {"resource", row.resource},
                      {"headroom", number(row.headroom)},
                      {"stranded", number(row.stranded)},
                      {"maxNodes", nodes(row.max_nodes)}});
    }
    list.push_back({{"template", templates[i].name},
                    {"maxNodes", nodes(answers[i].max_nodes)},
                    {"rows", std::move(rows)},
                    {"binding", binding(answers[i].rows)}});
  }
  return print({{"templates", std::move(list)},
                {"skipped",
                 answers.empty() ? ordered_json::array() : skipped_json(answers.front().skipped)}},
               warnings);
}

std::string most_json(const std::vector<Node>& templates, const MaxTotal& answer,
                      Warnings warnings) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < templates.size(); ++i) {
    list.push_back({{"template", templates[i].name}, {"count", answer.counts[i]}});
  }
  return print({{"total", answer.total},
                {"upperBound", answer.upper_bound},
                {"exact", answer.exact()},
                {"templates", std::move(list)},
                {"skipped", skipped_json(answer.skipped)}},
               warnings);
}

std::string what_if_json(const WhatIf& answer, Warnings warnings) {
  ordered_json json = {{"rows", ordered_json::array()}, {"templates", ordered_json::array()}};
  const auto amounts = [](const WhatIf::Amounts& of) {
    return ordered_json{
        {"limit", number(of.limit)}, {"used", number(of.used)}, {"reserved", number(of.reserved)}};
  };
  for (const WhatIf::Row& row : answer.rows) {
    ordered_json changed = {{"quota", row.quota}, {"resource", row.resource}};
    if (row.before) changed["before"] = amounts(*row.before);
    if (row.after) changed["after"] = amounts(*row.after);
    changed["newlyOver"] = row.newly_over;
    json["rows"].push_back(std::move(changed));
  }
  for (const WhatIf::Template& changed : answer.templates) {
    json["templates"].push_back({{"template", changed.name},
                                 {"maxNodesBefore", nodes(changed.max_nodes_before)},
                                 {"maxNodesAfter", nodes(changed.max_nodes_after)},
                                 {"newlyBlocked", changed.newly_blocked()},
                                 {"blockedBy", changed.blocked_by}});
  }
  json["skipped"] = ordered_json::array();
  for (const auto& [quota, why] : answer.skipped) {
    json["skipped"].push_back({{"quota", quota}, {"why", why}});
  }
  return print(std::move(json), warnings);
}

std::string lint_json(const std::vector<LintFinding>& findings, Warnings warnings) {
  ordered_json list = ordered_json::array();
  for (const LintFinding& finding : findings) {
    ordered_json json = {{"quota", finding.quota}, {"kind", to_string(finding.kind)}};
    if (!finding.subject.empty()) json["subject"] = finding.subject;
    if (!finding.other.empty()) json["other"] = finding.other;
    json["message"] = finding.message;
    list.push_back(std::move(json));
  }
  return print({{"findings", std::move(list)}}, warnings);
}

}  // namespace headroom
