// What `headroom capacity-quota` and its commands print for a person. json.h prints the same for a
// program, with exact amounts; here they are rounded where they would be long (amount_text.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"
#include "autoscaling/capacity_quota_lint.h"
#include "objects/objects.h"
#include "tools/capacity_quota/amount_text.h"

namespace headroom {

// A quota of a cluster and the selector as its object has it.
struct CapacityQuotaLine {
  CapacityQuotaStatus status;
  LabelSelector selector;
};

// One template that was checked.
struct CheckedTemplate {
  Node node;
  std::int64_t count = 0;
  CapacityCheck answer;
};

// As kubectl writes it: "team=a,zone in (a,b),!gpu"; "all nodes" without requirements.
std::string selector_text(const LabelSelector& selector);

// `columns`: the width that lines should keep to; 0: any.
std::string capacity_quota_table_text(const AmountText& amounts,
                                      const std::vector<CapacityQuotaLine>& quotas,
                                      std::size_t columns);
std::string check_text(const AmountText& amounts, const std::vector<CheckedTemplate>& checks);
// `items` and `removed` are those of the plan.
std::string plan_text(const AmountText& amounts, std::span<const PlanItem> items,
                      std::span<const std::string> removed, const PlanAnswer& answer);
std::string headroom_text(const AmountText& amounts, const std::vector<Node>& templates,
                          const std::vector<TemplateHeadroom>& answers);
std::string most_text(const std::vector<Node>& templates, const MaxTotal& answer);
std::string what_if_text(const AmountText& amounts, const WhatIf& answer);
std::string lint_text(const std::vector<LintFinding>& findings, std::size_t quotas);

}  // namespace headroom
