// See capacity_quota_answers.h.
#include "oracle/quotas/capacity_quota_answers.h"

namespace oracle {
namespace {

void add(std::string& text, std::initializer_list<std::string> words) {
  for (const std::string& word : words) text += " " + word;
}

std::string lines_of(const std::vector<CapacityQuotaRow>& rows) {
  std::string text;
  for (const CapacityQuotaRow& row : rows) {
    add(text, {"\n   ", row.quota, row.resource, "limit", to_text(row.limit), "used",
               to_text(row.used), "reserved", to_text(row.reserved), "need", to_text(row.need),
               "headroom", to_text(row.headroom), "shortfall", to_text(row.shortfall), "max_nodes",
               std::to_string(row.max_nodes), row.binding ? "binding" : ""});
  }
  return text;
}

std::string list_of(const char* what, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) add(text, {what, name});
  return text;
}

std::string text_of(const char* what, const std::optional<CapacityQuotaPlanBreak>& stop) {
  if (!stop) return "";
  return std::string("\n  ") + what + " at " + std::to_string(stop->item) + " fits " +
         std::to_string(stop->fits) + lines_of(stop->rows);
}

std::string text_of(const char* what, const std::optional<CapacityQuotaWhatIf::Amounts>& amounts) {
  if (!amounts) return std::string(" ") + what + " none";
  return std::string(" ") + what + " limit " + to_text(amounts->limit) + " used " +
         to_text(amounts->used) + " reserved " + to_text(amounts->reserved);
}

}  // namespace

std::string to_text(Int128 number) {
  std::string digits;
  const bool negative = number < 0;
  do {
    const int digit = static_cast<int>(number % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    number /= 10;
  } while (number != 0);
  return negative ? "-" + digits : digits;
}

std::string to_text(const CapacityQuotaCheck& answer) {
  return "allowed " + std::to_string(answer.allowed) + list_of("skipped", answer.skipped) +
         lines_of(answer.rows);
}

std::string to_text(const CapacityQuotaPlan& answer) {
  std::string text = list_of("skipped", answer.skipped) + text_of("net", answer.net_break) +
                     text_of("peak", answer.peak_break);
  for (const CapacityQuotaPlanRow& row : answer.rows) {
    add(text,
        {"\n   ", row.quota, row.resource, "limit", to_text(row.limit), "used", to_text(row.used),
         "reserved", to_text(row.reserved), "added", to_text(row.added), "removed",
         to_text(row.removed), "net", to_text(row.net), "peak", to_text(row.peak)});
  }
  return text;
}

std::string to_text(const CapacityQuotaReserved& answer) {
  std::string text = answer.accepted ? "accepted" : "not accepted";
  for (const std::int64_t count : answer.allowed) add(text, {std::to_string(count)});
  return text + list_of("skipped", answer.skipped) + text_of("stopped", answer.stopped);
}

std::string to_text(const std::vector<LiveReservation>& answer) {
  std::string text;
  for (const LiveReservation& one : answer) {
    add(text, {"\n   ", one.id, "expires", std::to_string(one.expires_us), "left",
               std::to_string(one.left), "registered", std::to_string(one.registered)});
  }
  return text;
}

std::string to_text(const CapacityQuotaHeadroom& answer) {
  std::string text =
      "max_nodes " + std::to_string(answer.max_nodes) + list_of("skipped", answer.skipped);
  for (const CapacityQuotaHeadroom::Row& row : answer.rows) {
    add(text, {"\n   ", row.quota, row.resource, "headroom", to_text(row.headroom), "stranded",
               to_text(row.stranded), "max_nodes", std::to_string(row.max_nodes),
               row.binding ? "binding" : ""});
  }
  return text;
}

std::string to_text(const std::vector<CapacityQuotaStatus>& answer) {
  std::string text;
  for (const CapacityQuotaStatus& one : answer) {
    add(text, {"\n ", one.id, "name", one.name, "class",
               std::to_string(static_cast<int>(one.quota_class)), "generation",
               std::to_string(one.generation), "in force", std::to_string(one.generation_in_force),
               one.in_force ? "" : "skipped", one.invalid ? "invalid" : "", "nodes",
               std::to_string(one.nodes)});
    for (const CapacityQuotaStatus::Amount& amount : one.amounts) {
      add(text, {"\n   ", amount.resource, "limit", to_text(amount.limit), "used",
                 to_text(amount.used), "reserved", to_text(amount.reserved)});
    }
  }
  return text;
}

std::string to_text(const CapacityQuotaWhatIf& answer) {
  std::string text = list_of("skipped", answer.skipped);
  for (const CapacityQuotaWhatIf::Row& row : answer.rows) {
    add(text, {"\n   ", row.quota, row.resource, text_of("before", row.before),
               text_of("after", row.after), row.newly_over ? "newly over" : ""});
  }
  for (const CapacityQuotaWhatIf::Template& one : answer.templates) {
    add(text, {"\n   ", one.name, std::to_string(one.before), "to", std::to_string(one.after)});
    text += list_of("blocked by", one.blocked_by);
  }
  return text;
}

}  // namespace oracle
