// See capacity_quota_script.h.
#include "tests/autoscaling/capacity_quota_script.h"

#include <algorithm>

#include "tests/autoscaling/capacity_quota_run.h"
#include "tests/autoscaling/capacity_quota_step_text.h"

namespace headroom {

std::optional<std::string> run_capacity_quota_script(const CapacityQuotaScript& script) {
  CapacityQuotaRun run(script.options);
  for (std::size_t i = 0; i < script.steps.size(); ++i) {
    const std::string text = run.perform(script.steps[i]);
    if (text.empty()) continue;
    return "step " + std::to_string(i) + ": " + to_text(script.steps[i]) + "\n" + text;
  }
  return std::nullopt;
}

std::string capacity_quota_failure_report(CapacityQuotaScript script) {
  // Halves, quarters, ... of the steps, until none can be spared.
  for (std::size_t size = std::max<std::size_t>(1, script.steps.size() / 2);; size /= 2) {
    for (std::size_t at = 0; at < script.steps.size();) {
      CapacityQuotaScript shorter = script;
      const auto first = shorter.steps.begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t taken = std::min(size, script.steps.size() - at);
      shorter.steps.erase(first, first + static_cast<std::ptrdiff_t>(taken));
      if (run_capacity_quota_script(shorter)) {
        script = shorter;
      } else {
        at += taken;
      }
    }
    if (size == 1) break;
  }
  std::string text = script.options.ignore_deleting ? "ignore_deleting " : "";
  for (const auto& [name, counted] : script.options.aliases) text += name + "=" + counted + " ";
  text += "\n";
  for (const CapacityQuotaStep& step : script.steps) text += to_text(step) + "\n";
  return text + run_capacity_quota_script(script).value_or("does not fail again");
}

}  // namespace headroom
