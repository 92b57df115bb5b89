#include "engine/table/facts.h"

namespace headroom {

void Facts::link(PodId id, bool first) {
  PodFacts& pod = pods[id];
  NodeFacts& node = nodes[pod.counted_row];
  pod.previous = first ? kNoPod : node.last_pod;
  pod.next = first ? node.first_pod : kNoPod;
  (pod.previous == kNoPod ? node.first_pod : pods[pod.previous].next) = id;
  (pod.next == kNoPod ? node.last_pod : pods[pod.next].previous) = id;
}

void Facts::unlink(PodId id) {
  PodFacts& pod = pods[id];
  NodeFacts& node = nodes[pod.counted_row];
  (pod.previous == kNoPod ? node.first_pod : pods[pod.previous].next) = pod.next;
  (pod.next == kNoPod ? node.last_pod : pods[pod.next].previous) = pod.previous;
  pod.previous = pod.next = kNoPod;
}

}  // namespace headroom
