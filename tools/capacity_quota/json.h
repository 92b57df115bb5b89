// The answers of `headroom capacity-quota` for a program. Amounts are exact, cpu in thousandths and
// all else in whole units; a number beyond int64 is a string of its digits. `null` as maxNodes:
// nothing limits them.
//
//   quotas  {quotas: [{quota, selector, inForce, generation, generationInForce, invalid?, nodes,
//           limits: [{resource, limit, used, reserved, headroom}]}], skipped}
//   check   {checks: [{template, count, allowed, rows: [{quota, resource, limit, used, reserved,
//           need, headroom, shortfall, maxNodes}], binding: [[quota, resource]]}], skipped}
//   plan    {fits, fitsAtPeak, netBreak?, peakBreak?: {item, template, fits, rows, binding}, rows:
//           [{quota, resource, limit, used, reserved, added, removed, net, peak}], skipped}
//   headroom  {templates: [{template, maxNodes, rows: [{quota, resource, headroom, stranded,
//           maxNodes}], binding}], skipped}
//   most    {total, upperBound, exact, templates: [{template, count}], skipped}
//   what-if {rows: [{quota, resource, before?, after?: {limit, used, reserved}, newlyOver}],
//           templates: [{template, maxNodesBefore, maxNodesAfter, newlyBlocked, blockedBy}],
//           skipped}
//   lint    {findings: [{quota, kind, subject?, other?, message}]}
//
// skipped: [{quota, why}]. And, of every answer, warnings: [{what, count, first}], where there is
// something in the files that is probably not meant so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simulation/input/dump.h"
#include "tools/capacity_quota/report.h"

namespace headroom {

using Warnings = std::span<const InputWarning>;

std::string capacity_quota_table_json(const std::vector<CapacityQuotaLine>& quotas,
                                      Warnings warnings);
std::string check_json(const std::vector<CheckedTemplate>& checks, Warnings warnings);
std::string plan_json(std::span<const PlanItem> items, const PlanAnswer& answer, Warnings warnings);
std::string headroom_json(const std::vector<Node>& templates,
                          const std::vector<TemplateHeadroom>& answers, Warnings warnings);
std::string most_json(const std::vector<Node>& templates, const MaxTotal& answer,
                      Warnings warnings);
std::string what_if_json(const WhatIf& answer, Warnings warnings);
std::string lint_json(const std::vector<LintFinding>& findings, Warnings warnings);

}  // namespace headroom
