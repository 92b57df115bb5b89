// What one scheduling cycle sees and says: the types that the policies share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/json.h"
#include "oracle/quantity.h"
#include "oracle/version.h"

namespace oracle {

enum class Mode { kProposal, kUpstream };

// The scheduler framework's codes.
enum class Code { kSuccess, kError, kUnschedulable, kUnschedulableAndUnresolvable, kSkip };
const char* to_string(Code code);

struct Status {
  Code code = Code::kSuccess;
  std::vector<std::string> reasons;
};

// "Sums over objects add those integers"; beyond int64 Proposal's saturate, Upstream's are Go's.
inline std::int64_t sum_in_int64(Mode mode, Int128 sum) {
  constexpr std::int64_t kMost = INT64_MAX, kLeast = INT64_MIN;
  if (mode == Mode::kUpstream) return static_cast<std::int64_t>(sum);
  return sum > kMost ? kMost : sum < kLeast ? kLeast : static_cast<std::int64_t>(sum);
}

// What the filters say to one node.
struct NodeStatus : Status {
  std::string plugin;  // the filter that rejected the node, else ""
};

// A raw score, or why there is none.
struct Score {
  Code code = Code::kSuccess;
  std::int64_t value = 0;
};

// A pod that counts on a node: bound or reserved there and not terminal.
struct PlacedPod {
  std::string uid;
  Int128 since = 0;  // when this UID was first seen on this node
  const Json* pod = nullptr;
};

struct NodeView {
  const Json* node = nullptr;
  const Json* metric = nullptr;  // null without a NodeMetric
  std::vector<PlacedPod> pods;   // without the incoming pod
};

struct Cycle {
  Mode mode = Mode::kProposal;
  Int128 now = 0;
  const Json* pod = nullptr;   // the incoming one
  const Json* args = nullptr;  // of the plugin
  Version version = Version::k135;
};

// seed: a DaemonSet's pod is one with any ownerReference of kind DaemonSet.
bool is_daemon_set_pod(const Json& pod);

}  // namespace oracle
