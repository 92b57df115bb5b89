// See preemption.h.
#include "oracle/preemption.h"

#include <algorithm>
#include <array>
#include <limits>

#include "oracle/pod_priority.h"
#include "oracle/time.h"

namespace oracle {
namespace {

constexpr Int128 kNoStart = Int128{std::numeric_limits<std::int64_t>::max()} * kSecond;

// The five criteria as numbers; the smallest wins.
std::array<Int128, 5> cost_of(const NodeVictims& node) {
  Int128 sum = 0;
  std::int64_t highest = node.victims.front().priority;
  for (const PodView& victim : node.victims) {
    sum += Int128{victim.priority} + (Int128{1} << 31);
    highest = std::max(highest, victim.priority);
  }
  Int128 earliest = kNoStart;
  for (const PodView& victim : node.victims) {
    if (victim.priority == highest) earliest = std::min(earliest, victim.start);
  }
  return {node.pdb_violations, node.victims.front().priority, sum,
          static_cast<std::int64_t>(node.victims.size()), -earliest};
}

}  // namespace

PodView view_pod(const Facts& facts, Mode mode, const Json& pod) {
  const Json& metadata = child(pod, "metadata");
  PodView view;
  view.space = text(metadata, "namespace");
  view.key = view.space + "/" + text(metadata, "name");
  view.uid = text(metadata, "uid");
  view.priority = pod_priority(facts, pod);
  // capacity-scheduling.md, fact 1: a missing startTime is later than every given one.
  view.start = parse_time(text(child(pod, "status"), "startTime")).value_or(kNoStart);
  view.terminating = !text(metadata, "deletionTimestamp").empty();
  view.elastic_quota_requests =
      mode == Mode::kUpstream ? elastic_quota_requests(pod) : to_units(pod_requests(pod));
  view.pod = &pod;
  return view;
}

bool more_important(const PodView& a, const PodView& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.start != b.start) return a.start < b.start;
  return a.key < b.key;
}

void sort_most_important_first(std::vector<PodView>& pods) {
  std::sort(pods.begin(), pods.end(), more_important);
}

std::string pick_node(const std::vector<std::string>& order,
                      const std::map<std::string, NodeVictims>& nodes) {
  std::string best;
  for (const std::string& name : order) {
    const auto found = nodes.find(name);
    if (found == nodes.end() || found->second.status.code != Code::kSuccess) continue;
    if (best.empty() || cost_of(found->second) < cost_of(nodes.at(best))) best = name;
  }
  return best;
}

}  // namespace oracle
