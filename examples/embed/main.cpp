// Three pods on two nodes, in C++.
//
//   cmake -S . -B build && cmake --build build && build/embed_cpp
#include <engine/engine.h>

#include <iostream>

using namespace headroom;

int main() {
  Engine engine = Engine::create(Profile::standard()).value();
  Node node;
  node.allocatable = {{"cpu", Quantity::from_value(4)},
                      {"memory", Quantity::from_value(16ll << 30)},
                      {"pods", Quantity::from_value(110)}};
  for (const char* name : {"n1", "n2"}) {
    node.name = name;
    if (!engine.upsert(node)) return 1;
  }
  std::vector<Pod> pods(3);
  for (Pod& pod : pods) {
    pod.name = pod.uid = "web-" + std::to_string(&pod - pods.data() + 1);
    pod.containers.emplace_back().requests = {{"cpu", Quantity::from_milli(1500)},
                                              {"memory", Quantity::from_value(2ll << 30)}};
  }
  const auto placed = engine.place(pods).value();
  for (std::size_t p = 0; p < pods.size(); ++p) {
    std::cout << pods[p].name << ' ' << engine.node_name(placed[p].node) << '\n';
  }
}
