// Lays the answers about quotas out; see report.h.
#include "tools/capacity_quota/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "objects/selector_syntax.h"
#include "objects/text/count_text.h"
#include "objects/text/utf8_prefix.h"
#include "simulation/text/table.h"
#include "tools/capacity_quota/amount_text.h"

namespace headroom {
namespace {

constexpr std::size_t kBarCells = 24;
constexpr std::size_t kBarCellsMin = 8;
constexpr std::size_t kColumnsMin = 40;  // narrower terminals get lines of this width

// How many nodes, where there may be no end.
std::string nodes_text(std::int64_t count) {
  return count == std::numeric_limits<std::int64_t>::max() ? "any number" : std::to_string(count);
}

std::string limit_name(std::string_view quota, std::string_view resource) {
  return fmt::format("{}: {}", quota, resource);
}

// "worker-a (cpu 8, memory 32Gi, nvidia.com/gpu 1)": what people buy nodes by.
std::string template_text(const Node& node) {
  std::string text;
  for (const auto& [resource, quantity] : node.capacity) {
    const bool extended = resource.find('/') != std::string::npos;
    if ((resource != "cpu" && resource != "memory" && !extended) || quantity.is_zero()) continue;
    constexpr Int128 kNanosOfMilli = 1'000'000, kNanosOfUnit = 1'000'000'000;
    const Int128 amount = quantity.nanos() / (resource == "cpu" ? kNanosOfMilli : kNanosOfUnit);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", resource,
                        AmountText().amount(resource, amount));
  }
  return text.empty() ? node.name : fmt::format("{} ({})", node.name, text);
}

std::string cut(std::string line, std::size_t columns) {
  constexpr std::string_view kMore = "...";
  if (columns == 0 || line.size() <= columns) return line;
  line.resize(utf8_prefix(line, columns - kMore.size()).size());
  return line += kMore;
}

// "CapacityQuota/team-a: 12 nodes (team=a)"
std::string heading(const CapacityQuotaLine& quota) {
  const CapacityQuotaStatus& status = quota.status;
  std::string text = status.id;
  if (status.in_force) text += ": " + count_text(static_cast<std::int64_t>(status.nodes), "node");
  if (status.in_force && status.amounts.empty()) text += ", no limits";
  return fmt::format("{} ({})", text, selector_text(quota.selector));
}

// Why it is not in force, or not as it was written last; "" where it is.
std::string state_text(const CapacityQuotaStatus& status) {
  if (!status.in_force) return "    SKIPPED, limits nothing: " + status.invalid + '\n';
  if (status.invalid.empty()) return "";
  return fmt::format("    GENERATION {} IN FORCE, not {}: {}\n", status.generation_in_force,
                     status.generation, status.invalid);
}

std::string rows_text(const AmountText& amounts, const std::vector<CapacityQuotaRow>& rows) {
  Table table;
  table.row({"", "limit", "used", "reserved", "headroom", "need", "shortfall", "most nodes"});
  for (const CapacityQuotaRow& row : rows) {
    const auto amount = [&](Int128 value) { return amounts.amount(row.resource, value); };
    table.row({limit_name(row.quota, row.resource), amount(row.limit), amount(row.used),
               amount(row.reserved), amount(row.headroom), amount(row.need),
               row.shortfall == 0 ? "" : amount(row.shortfall), nodes_text(row.max_nodes),
               row.binding ? "BINDS" : ""});
  }
  return table.text();
}

// "to allow 5:\n  raise cpu of CapacityQuota/team-a from 32 to 40".
std::string raise_text(const AmountText& amounts, const CheckedTemplate& check) {
  std::string text;
  for (const CapacityQuotaRow& row : check.answer.rows) {
    if (row.shortfall == 0) continue;
    const std::string limit = amounts.limit(row.resource, row.limit + row.shortfall);
    text += Quantity::parse(limit)
                ? fmt::format("  raise {} of {} from {} to {}\n", row.resource, row.quota,
                              amounts.amount(row.resource, row.limit), limit)
                : fmt::format("  {} of {} cannot be that high\n", row.resource, row.quota);
  }
  return text.empty() ? text : fmt::format("\nto allow {}:\n{}", check.count, text);
}

std::string skipped_lines(const std::vector<std::pair<std::string, std::string>>& skipped) {
  std::string text;
  for (const auto& [quota, why] : skipped) {
    text += fmt::format("{} is skipped, it limits nothing: {}\n", quota, why);
  }
  return text.empty() ? text : '\n' + text;
}

std::string skipped_lines(const std::vector<SkippedCapacityQuota>& skipped) {
  std::vector<std::pair<std::string, std::string>> copies;
  for (const SkippedCapacityQuota& quota : skipped) copies.emplace_back(quota.quota, quota.why);
  return skipped_lines(copies);
}

// `what`: in which order.
std::string break_text(const AmountText& amounts, std::string_view what,
                       std::span<const PlanItem> items, const std::optional<PlanBreak>& stopped) {
  if (!stopped) return fmt::format("\n{}: fits\n", what);
  const PlanItem& item = items[stopped->item];
  return fmt::format("\n{}: DOES NOT FIT, it stops after {} of {} like {}\n\n{}", what,
                     stopped->fits, count_text(item.count, "node"), item.node->name,
                     rows_text(amounts, stopped->rows));
}

// Of a limit that lets no more nodes through: what is left of it when the last one is there.
std::string left_text(const AmountText& amounts, const TemplateHeadroom::Row& row) {
  const auto amount = [&](Int128 value) { return amounts.amount(row.resource, value); };
  if (row.headroom < 0) return fmt::format("over by {}", amount(-row.headroom));
  if (row.headroom == 0) return "full";
  if (row.max_nodes == 0) return fmt::format("{} left, too little for one", amount(row.headroom));
  return fmt::format("{} of {} left over", row.stranded == 0 ? "nothing" : amount(row.stranded),
                     amount(row.headroom));
}

// "128 -> 64", or "128" where nothing changes; "-": there is none.
std::string change_text(const std::optional<std::string>& before,
                        const std::optional<std::string>& after) {
  const std::string left = before.value_or("-"), right = after.value_or("-");
  return left == right ? left : fmt::format("{} -> {}", left, right);
}

}  // namespace

std::string selector_text(const LabelSelector& selector) {
  std::string text;
  for (const NodeSelectorRequirement& asked : selector) {
    text += (text.empty() ? "" : ",") + requirement_text(asked);
  }
  return text.empty() ? "all nodes" : text;
}

std::string capacity_quota_table_text(const AmountText& amounts,
                                      const std::vector<CapacityQuotaLine>& quotas,
                                      std::size_t columns) {
  if (quotas.empty()) return "There is no quota: nothing limits how many nodes may be added.\n";
  if (columns != 0) columns = std::max(columns, kColumnsMin);
  const auto lay_out = [&](std::size_t cells) {
    Table table;
    table.row({"", "limit", "used", "reserved", "headroom", ""});
    for (const CapacityQuotaLine& quota : quotas) {
      for (const CapacityQuotaStatus::Amount& of : quota.status.amounts) {
        const auto amount = [&](Int128 value) { return amounts.amount(of.resource, value); };
        table.row({"  " + of.resource, amount(of.limit), amount(of.used), amount(of.reserved),
                   amount(of.limit - of.used - of.reserved),
                   bar_text(of.limit, of.used, of.reserved, cells)});
      }
    }
    return table.text();
  };
  std::string rows = lay_out(kBarCells);
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::size_t end = rows.find('\n', begin);
    widest = std::max(widest, end - begin);
    begin = end + 1;
  }
  if (columns != 0 && widest > columns) {
    const std::size_t narrower = std::min(widest - columns, kBarCells - kBarCellsMin);
    rows = lay_out(kBarCells - narrower);
  }

  // The heading of each quota stands before its rows.
  std::size_t at = 0;
  const auto next_row = [&] {
    const std::size_t begin = at;
    at = rows.find('\n', begin) + 1;
    return rows.substr(begin, at - begin);
  };
  std::string text = next_row();
  for (const CapacityQuotaLine& quota : quotas) {
    text += "  " + cut(heading(quota), columns == 0 ? 0 : columns - 2) + '\n' +
            state_text(quota.status);
    for (std::size_t i = 0; i < quota.status.amounts.size(); ++i) text += next_row();
  }
  return text + "\n  # used   = reserved   . headroom   | the limit, and ! what is over it\n";
}

std::string check_text(const AmountText& amounts, const std::vector<CheckedTemplate>& checks) {
  std::string text;
  for (const CheckedTemplate& check : checks) {
    const CapacityCheck& answer = check.answer;
    if (!text.empty()) text += '\n';
    text += fmt::format("allowed: {} of {} like {}\n", answer.allowed,
                        count_text(check.count, "more node"), template_text(check.node));
    text += answer.rows.empty() ? "No quota limits such nodes.\n"
                                : '\n' + rows_text(amounts, answer.rows);
    text += raise_text(amounts, check);
  }
  return checks.empty() ? text : text + skipped_lines(checks.front().answer.skipped);
}

std::string plan_text(const AmountText& amounts, std::span<const PlanItem> items,
                      std::span<const std::string> removed, const PlanAnswer& answer) {
  std::string text = "add";
  for (const PlanItem& item : items) {
    text +=
        fmt::format("{} {} x {}", &item == items.data() ? "" : ",", item.count, item.node->name);
  }
  if (items.empty()) text += " nothing";
  if (!removed.empty()) {
    text +=
        fmt::format("; remove {}", count_text(static_cast<std::int64_t>(removed.size()), "node"));
  }
  text += '\n';
  text += break_text(amounts, removed.empty() ? "added" : "removed first, then added", items,
                     answer.net_break);
  if (!removed.empty())
    text += break_text(amounts, "added first, then removed", items, answer.peak_break);
  if (answer.rows.empty()) {
    text += "\nNo quota limits such nodes.\n";
  } else {
    Table table;
    table.row({"", "limit", "used", "reserved", "added", "removed", "in the end", "at the peak"});
    for (const PlanRow& row : answer.rows) {
      const auto amount = [&](Int128 value) { return amounts.amount(row.resource, value); };
      table.row({limit_name(row.quota, row.resource), amount(row.limit), amount(row.used),
                 amount(row.reserved), amount(row.added), amount(row.removed), amount(row.net),
                 amount(row.peak),
                 row.net > row.limit    ? "OVER"
                 : row.peak > row.limit ? "OVER at the peak"
                                        : ""});
    }
    text += '\n' + table.text();
  }
  return text + skipped_lines(answer.skipped);
}

std::string headroom_text(const AmountText& amounts, const std::vector<Node>& templates,
                          const std::vector<TemplateHeadroom>& answers) {
  if (templates.empty()) return "There is no node, and no template was given.\n";
  Table table("lrl");
  table.row({"nodes like", "more nodes", "stopped by"});
  for (std::size_t i = 0; i < templates.size(); ++i) {
    const TemplateHeadroom& answer = answers[i];
    std::vector<std::string> line = {template_text(templates[i]), nodes_text(answer.max_nodes), ""};
    for (const TemplateHeadroom::Row& row : answer.rows) {
      if (!row.binding) continue;
      line[2] =
          fmt::format("{} ({})", limit_name(row.quota, row.resource), left_text(amounts, row));
      table.row(std::exchange(line, std::vector<std::string>(3)));
    }
    if (!line[0].empty()) table.row(std::move(line));
  }
  return table.text() + skipped_lines(answers.front().skipped);
}

std::string most_text(const std::vector<Node>& templates, const MaxTotal& answer) {
  if (templates.empty()) return "There is no node, and no template was given.\n";
  std::string text = fmt::format("{} in all", count_text(answer.total, "more node"));
  text += answer.exact() ? "; no choice has more\n\n"
                         : fmt::format("; the best that was found, and none has more than {}\n\n",
                                       answer.upper_bound);
  Table table;
  std::int64_t others = 0;
  for (std::size_t i = 0; i < templates.size(); ++i) {
    if (answer.counts[i] == 0) {
      ++others;
    } else {
      table.row({template_text(templates[i]), std::to_string(answer.counts[i])});
    }
  }
  text += table.text();
  if (others > 0) text += fmt::format("  none of {}\n", count_text(others, "other template"));
  return text + skipped_lines(answer.skipped);
}

std::string what_if_text(const AmountText& amounts, const WhatIf& answer) {
  std::string text;
  if (answer.rows.empty() && answer.templates.empty()) text = "Nothing changes.\n";
  if (!answer.rows.empty()) {
    Table table;
    table.row({"", "limit", "used", "headroom"});
    for (const WhatIf::Row& row : answer.rows) {
      const auto both = [&](const auto& of) {
        const auto one = [&](const std::optional<WhatIf::Amounts>& held) {
          return held ? std::optional(amounts.amount(row.resource, of(*held))) : std::nullopt;
        };
        return change_text(one(row.before), one(row.after));
      };
      table.row(
          {limit_name(row.quota, row.resource),
           both([](const WhatIf::Amounts& held) { return held.limit; }),
           both([](const WhatIf::Amounts& held) { return held.used; }),
           both([](const WhatIf::Amounts& held) { return held.limit - held.used - held.reserved; }),
           row.newly_over ? "NEWLY OVER" : ""});
    }
    text += table.text();
  }
  if (!answer.templates.empty()) {
    Table table;
    table.row({"nodes like", "more nodes"});
    for (const WhatIf::Template& changed : answer.templates) {
      table.row({changed.name, change_text(nodes_text(changed.max_nodes_before),
                                           nodes_text(changed.max_nodes_after))});
    }
    text += (text.empty() ? "" : "\n") + table.text();
    for (const WhatIf::Template& changed : answer.templates) {
      if (!changed.newly_blocked()) continue;
      text += fmt::format("\n{} is NEWLY BLOCKED by {}\n", changed.name,
                          fmt::join(changed.blocked_by, ", "));
    }
  }
  return text + skipped_lines(answer.skipped);
}

std::string lint_text(const std::vector<LintFinding>& findings, std::size_t quotas) {
  std::string text;
  for (const LintFinding& finding : findings) {
    text += fmt::format("{}: {}: {}\n", finding.quota, to_string(finding.kind), finding.message);
  }
  return text + fmt::format("{} in {}\n",
                            count_text(static_cast<std::int64_t>(findings.size()), "finding"),
                            count_text(static_cast<std::int64_t>(quotas), "quota"));
}

}  // namespace headroom
