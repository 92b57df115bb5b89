// See scheduling_gates.h.
#include "oracle/default/scheduling_gates.h"

namespace oracle::defaults {

// default-plugins.md does not give the reason; this is kube-scheduler's text, gates as Go prints a
// list.
Status pre_enqueue_scheduling_gates(const Pod& pod) {
  if (pod.scheduling_gates.empty()) return {};
  std::string gates;
  for (const std::string& gate : pod.scheduling_gates) gates += (gates.empty() ? "" : " ") + gate;
  return {Code::kUnschedulableAndUnresolvable, {"waiting for scheduling gates: [" + gates + "]"}};
}

}  // namespace oracle::defaults
