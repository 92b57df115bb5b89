// c_abi_overhead: placing plain pods through the C ABI, beside Engine::place() of the same pods.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/clusters/trace_workload.h"
#include "bench/measure.h"
#include "bench/rows/rows.h"
#include "headroom.h"
#include "workloads/object_writer.h"
#include "workloads/openb.h"

namespace headroom {

namespace {

// As headroom_place() asks.
constexpr EvaluateOptions kBestNode{.top_k = 1, .plugin_scores = false, .reasons = true};

// What a plain struct can say of the trace's pods, as objects and as plain structs.
struct PlainPods {
  std::vector<Pod> pods;
  std::vector<std::vector<headroom_amount>> requests, limits;
  std::vector<std::vector<headroom_pair>> selectors;
  std::vector<headroom_pod> plain;

  explicit PlainPods(const TraceWorkload& workload)
      : requests(workload.pods.size()),
        limits(workload.pods.size()),
        selectors(workload.pods.size()) {
    pods.reserve(workload.pods.size());
    for (const Pod& from : workload.pods) add(from);
  }

 private:
  void add(const Pod& from) {
    const std::size_t p = pods.size();
    Pod& pod = pods.emplace_back();
    pod.namespace_name = from.namespace_name;
    pod.name = from.name;
    pod.uid = from.uid;
    pod.priority = from.priority.value_or(0);
    pod.node_selector = from.node_selector;
    Container& container = pod.containers.emplace_back();
    container.requests = from.containers.front().requests;
    container.limits = from.containers.front().limits;
    const auto add_amounts = [](const ResourceList& list, std::vector<headroom_amount>& amounts) {
      for (const auto& [resource, quantity] : list) {
        amounts.push_back({resource.c_str(), value_of(resource == "cpu" ? quantity.milli_value()
                                                                        : quantity.value())});
      }
    };
    add_amounts(container.requests, requests[p]);
    add_amounts(container.limits, limits[p]);
    for (const auto& [key, value] : pod.node_selector) {
      selectors[p].push_back({key.c_str(), value.c_str()});
    }
    headroom_pod& c = plain.emplace_back();
    c.namespace_name = pod.namespace_name.c_str();
    c.name = pod.name.c_str();
    c.uid = pod.uid.c_str();
    c.requests = requests[p].data();
    c.request_count = requests[p].size();
    c.limits = limits[p].data();
    c.limit_count = limits[p].size();
    c.node_selector = selectors[p].data();
    c.node_selector_count = selectors[p].size();
    c.priority = *pod.priority;
  }
};

using Nodes = std::vector<headroom_node_index>;

Nodes place_in_cpp(const std::vector<Node>& nodes, const PlainPods& pods, std::size_t at_once,
                   double& seconds) {
  Engine engine = value_of(Engine::create(Profile::standard(), {.threads = 1}));
  for (const Node& node : nodes) check_done(engine.upsert(node));
  Nodes placed;
  placed.reserve(pods.pods.size());
  const Stopwatch watch;
  for (std::size_t p = 0; p < pods.pods.size(); p += at_once) {
    const std::size_t count = std::min(at_once, pods.pods.size() - p);
    const auto answers = value_of(engine.place(std::span(pods.pods).subspan(p, count), kBestNode));
    for (const Placement& answer : answers) {
      placed.push_back(static_cast<headroom_node_index>(answer.node));
    }
  }
  seconds = watch.seconds();
  return placed;
}

Nodes place_in_c(const std::string& nodes, const PlainPods& pods, std::size_t at_once,
                 double& seconds) {
  headroom_engine* made = nullptr;
  check(headroom_engine_create(nullptr, nullptr, &made, nullptr, 0) == HEADROOM_OK, "no engine");
  const std::unique_ptr<headroom_engine, decltype(&headroom_engine_destroy)> engine(
      made, headroom_engine_destroy);
  const auto done = [&](headroom_status status) {
    check(status == HEADROOM_OK, headroom_engine_error(made));
  };
  done(headroom_apply(made, nodes.data(), nodes.size(), nullptr));
  std::vector<headroom_placement> answers(at_once);
  Nodes placed;
  placed.reserve(pods.plain.size());
  const Stopwatch watch;
  for (std::size_t p = 0; p < pods.plain.size(); p += at_once) {
    const std::size_t count = std::min(at_once, pods.plain.size() - p);
    done(headroom_place(made, pods.plain.data() + p, count, 0, answers.data()));
    for (std::size_t i = 0; i < count; ++i) placed.push_back(answers[i].node);
  }
  seconds = watch.seconds();
  return placed;
}

}  // namespace

void c_abi_overhead(const BenchOptions& options, Lines& lines) {
  const std::uint32_t node_count = options.size(50'000), pod_count = options.size(200'000);
  const PlainPods pods(make_trace_workload(pod_count, false, options.seed));
  std::vector<Node> nodes;
  std::string text;
  for_each_trace_node(node_count, options.seed, [&](const Node& node, const NodeMetric&) {
    nodes.push_back(node);
    nodes.back().taints.clear();  // plain pods tolerate nothing
    append_json(text, nodes.back());
    text += '\n';
  });
  Measurement measurement;
  struct Case {
    std::size_t at_once;
    const Times *cpp, *c;
    Nodes expected;
  };
  std::vector<Case> cases;
  for (const std::size_t at_once : {1, 64}) cases.push_back({at_once, nullptr, nullptr, {}});
  for (Case& c : cases) {
    c.cpp = &measurement.add(fmt::format("cpp, {} a call", c.at_once), 1, [&] {
      double seconds = 0;
      const Nodes came = place_in_cpp(nodes, pods, c.at_once, seconds);
      check(c.expected.empty() || came == c.expected, "the same nodes");
      c.expected = came;
      return seconds;
    });
    c.c = &measurement.add(fmt::format("c, {} a call", c.at_once), 1, [&] {
      double seconds = 0;
      const Nodes came = place_in_c(text, pods, c.at_once, seconds);
      check(c.expected.empty() || came == c.expected, "the same nodes");
      c.expected = came;
      return seconds;
    });
  }
  measurement.run(options.repetitions(5));
  for (const Case& c : cases) {
    const double cpp_us = c.cpp->median() / pod_count * 1e6, c_us = c.c->median() / pod_count * 1e6;
    const auto found = pod_count - static_cast<std::uint32_t>(std::count(
                                       c.expected.begin(), c.expected.end(), HEADROOM_NO_NODE));
    lines.push_back(
        {.row = c.at_once == 1 ? "c_abi_overhead" : "",
         .what = fmt::format("{} plain pods of the trace onto {} nodes, {} a call ({} placed)",
                             pod_count, node_count, c.at_once, found),
         .measured = fmt::format("{:.2f} times C++ ({:.2f} us a pod, C++ {:.2f})", c_us / cpp_us,
                                 c_us, cpp_us),
         .unit = "times C++",
         .value = c_us / cpp_us,
         .target = at_most(1.1),
         .figures = {{"c_us", c_us}, {"cpp_us", cpp_us}}});
  }
}

}  // namespace headroom
