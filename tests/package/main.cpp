// Places one pod on a cluster of one node, with nothing but the installed package.
#include <iostream>

#include "engine/engine.h"

int main() {
  headroom::Node node;
  node.name = "n1";
  node.allocatable = {{"cpu", headroom::Quantity::from_milli(4000)},
                      {"pods", headroom::Quantity::from_value(110)}};
  headroom::Pod pod;
  pod.namespace_name = "default";
  pod.name = pod.uid = "p1";
  auto engine = headroom::Engine::create(headroom::Profile::standard());
  if (!engine || !engine->upsert(node)) return 1;
  const auto decision = engine->evaluate(pod);
  if (!decision || decision->candidates.empty()) return 1;
  std::cout << engine->node_name(decision->candidates.front().node) << '\n';
}
