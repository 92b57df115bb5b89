// served_*, open_loop, resync*, codec: what a decision costs through the socket. The client and the
// daemon have a processor each; where a third thread is at work, the row says so.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "bench/allocations.h"
#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/clusters/served_cluster.h"
#include "bench/clusters/trace_workload.h"
#include "bench/measure.h"
#include "bench/rows/questions.h"
#include "bench/rows/rows.h"
#include "server/answers/encode.h"
#include "server/requests/decode.h"
#include "tools/load/echo_server.h"
#include "tools/load/run.h"
#include "workloads/openb.h"

namespace headroom {

namespace {

// Longer than any pause of these rows: nobody sleeps while it is measured.
constexpr std::chrono::microseconds kAlwaysPolling(10'000);

// One round trip of the frame, and how long it took.
std::int64_t round_trip(Socket& socket, std::span<const std::uint8_t> frame) {
  const auto start = std::chrono::steady_clock::now();
  check_done(socket.write(frame));
  value_of(socket.receive());
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::uint8_t> evaluate_frame(const PodRef& ref) {
  Builder builder;
  finish_frame(builder, 1, encode_evaluate(builder, std::span(&ref, 1), kServedRequest));
  const auto bytes = bytes_of(builder);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::uint8_t> stats_frame() {
  Builder builder;
  finish_frame(builder, 2, wire::CreateStats(builder));
  const auto bytes = bytes_of(builder);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

// Rounds of both, one after the other, so that the machine's moods are shared.
void served_latency(const BenchOptions& options, Lines& lines) {
  ServedCluster served(
      generated_objects(options.size(kServedNodes), options.size(kServedPods), options.seed),
      kAlwaysPolling, options.seed);
  served.feed();
  served.check();
  const std::vector<std::uint8_t> request = evaluate_frame(served.facts().request_pods().front());
  const std::vector<std::uint8_t> barrier = stats_frame();
  // The greeting is done by a client; its socket is of no use here.
  auto socket = value_of(Socket::connect(served.endpoint(), served.client_options().socket));
  Builder hello;
  finish_frame(hello, 1, wire::CreateHello(hello, kProtocolVersion, kProtocolVersion));
  round_trip(*socket, bytes_of(hello));
  check_done(socket->write(request));
  const auto answer = value_of(socket->receive());
  const std::vector<std::uint8_t> reply(answer.bytes.begin(), answer.bytes.end());
  Endpoint echo_endpoint;
  echo_endpoint.path = served.directory() + "/echo.sock";
  const auto echo = value_of(EchoServer::start(echo_endpoint, reply, kAlwaysPolling));
  auto echo_socket = value_of(Socket::connect(echo_endpoint, served.client_options().socket));

  LatencyHistogram served_times, echo_times;
  const std::int64_t iterations = options.iterations(4000);
  for (std::int32_t round = 0; round < options.repetitions(10); ++round) {
    for (std::int64_t i = 0; i < iterations; ++i) {
      // One row changes, and the daemon has applied it, before the clock starts.
      check_done(served.facts().next_event(served.feeder()));
      value_of(served.feeder().barrier());
      served_times.record(round_trip(*socket, request));
    }
    std::this_thread::sleep_for(2 * kAlwaysPolling);  // the daemon goes to sleep
    for (std::int64_t i = 0; i < iterations; ++i) {
      round_trip(*echo_socket, barrier);
      echo_times.record(round_trip(*echo_socket, request));
    }
    std::this_thread::sleep_for(2 * kAlwaysPolling);
  }
  served.check();
  const double p50 = served_times.quantile_us(0.5), echo_p50 = echo_times.quantile_us(0.5);
  const double p99 = served_times.quantile_us(0.99), echo_p99 = echo_times.quantile_us(0.99);
  lines.push_back(
      {.row = "served_minus_echo",
       .what = fmt::format("evaluate over a Unix socket, {} nodes, 1 changed row, top"
                           " {}, {} + {} bytes, less the echo; both ends poll, a"
                           " processor each",
                           options.size(kServedNodes), kServedTopK, request.size(), reply.size()),
       .measured = fmt::format("{:.1f} us ({:.1f} less {:.1f})", p50 - echo_p50, p50, echo_p50),
       .unit = "us",
       .value = p50 - echo_p50,
       .target = at_most(5),
       .figures = {{"served_p50_us", p50}, {"echo_p50_us", echo_p50}}});
  lines.push_back(
      {.row = "served_p99",
       .what = "the same: p99 against the echo's",
       .measured = fmt::format("{:.2f} times ({:.1f} us, {:.1f})", p99 / echo_p99, p99, echo_p99),
       .unit = "times",
       .value = p99 / echo_p99,
       .target = at_most(1.5),
       .figures = {{"served_p99_us", p99}, {"echo_p99_us", echo_p99}}});
}

void served_throughput(const BenchOptions& options, Lines& lines) {
  ServedCluster served(
      generated_objects(options.size(kServedNodes), options.size(kServedPods), options.seed),
      kUsualPolling, options.seed);
  served.feed();
  served.check();
  LoadRun run(served.endpoint(), served.client_options(), served.facts(), nullptr);
  LoadPlan plan{.connections = 1, .depth = 64};
  plan.seconds = options.smoke ? 0.2 : 3;
  plan.warm_up_seconds = options.smoke ? 0.1 : 1;
  plan.seed = options.seed;
  std::vector<double> rates;
  for (std::int32_t i = 0; i < options.repetitions(5); ++i) {
    const LoadResult result = value_of(run.run(plan, {}));
    check(result.errors == 0 && result.lost == 0, result.first_error);
    rates.push_back(static_cast<double>(result.requests()) / result.seconds);
  }
  served.check();
  std::sort(rates.begin(), rates.end());
  const double rate = rates[rates.size() / 2];
  lines.push_back({.row = "served_throughput",
                   .what = fmt::format("evaluations of one pod, top {} with scores, {} under way on"
                                       " one connection, {} nodes, {} shapes; client and daemon"
                                       " poll, a processor each",
                                       plan.top_k, plan.depth, options.size(kServedNodes),
                                       served.facts().request_pods().size()),
                   .measured = fmt::format("{:.0f} a second", rate),
                   .unit = "a second",
                   .value = rate,
                   .target = at_least(150'000),
                   .figures = {}});
}

// The trace's pods, as in the row `place`, two batches under way.
void served_batch(const BenchOptions& options, Lines& lines) {
  // All of them are reserved, and nobody binds them.
  const std::uint32_t nodes = options.size(kServedNodes),
                      pods = std::min(options.size(200'000), kReservedPodsMax);
  const TraceWorkload workload = make_trace_workload(pods, false, options.seed);
  LoadFacts::Objects objects;
  objects.now_us = kTraceStartUs;
  for_each_trace_node(nodes, options.seed, [&](const Node& node, const NodeMetric& metric) {
    objects.nodes.push_back(node);
    objects.node_metrics.push_back(metric);
  });
  objects.pods.push_back(workload.pods.front());  // LoadFacts needs one to ask for
  objects.pods.front().phase = "Pending";
  constexpr std::size_t kBatch = 64, kUnderWay = 2;
  const std::span<const Pod> all(workload.pods);
  const auto batch_at = [&](std::size_t first) {
    return all.subspan(first, std::min(kBatch, all.size() - first));
  };
  std::vector<double> served_seconds, own_seconds;
  ServedCluster served(std::move(objects), kUsualPolling, options.seed);
  // The same in process, by turns with it: the same decisions, and what the rest costs.
  Engine own = value_of(Engine::create(Profile::standard(), {.threads = 1}));
  check_done(own.advance(served.facts().now_us()));
  served.facts().for_each(Feeder::Emit(
      [&](const Object& object, wire::CapacityQuotaClass) { check_done(own.upsert(object)); }));
  served.feed();
  for (std::int32_t repetition = 0; repetition < options.repetitions(3); ++repetition) {
    Client client = served.connect();
    std::size_t sent = 0, batches = 0;
    std::vector<std::string> placed;
    const Stopwatch watch;
    while (placed.size() < all.size()) {
      while (batches < kUnderWay && sent < all.size()) {
        const std::span<const Pod> batch = batch_at(sent);
        const std::vector<PodRef> refs(batch.begin(), batch.end());
        client.send(encode_place(client.builder(), refs, false));
        check_done(client.flush());
        sent += batch.size();
        ++batches;
      }
      const auto received = value_of(client.receive());
      const wire::Placed* reply = received.frame->body_as_Placed();
      check(reply != nullptr, "an answer to a place request");
      for (const auto* name : *reply->node_names()) {
        placed.emplace_back(text(name));
      }
      --batches;
    }
    served_seconds.push_back(watch.seconds());
    std::vector<NodeIndex> own_placed;
    const Stopwatch own_watch;
    while (own_placed.size() < all.size()) {
      const auto placements = value_of(own.place(batch_at(own_placed.size()), kBest));
      for (const Placement& placement : placements) own_placed.push_back(placement.node);
    }
    own_seconds.push_back(own_watch.seconds());
    // So that the next repetition finds the cluster empty.
    for (std::size_t p = 0; p < placed.size(); ++p) {
      const Pod& pod = workload.pods[p];
      check(placed[p] == own.node_name(own_placed[p]), pod.name);
      if (placed[p].empty()) continue;
      own.forget(pod.namespace_name, pod.name, pod.uid, placed[p]);
      client.send(encode_unreserve(client.builder(), pod, placed[p]));
      check_done(client.flush());
      value_of(client.receive());
    }
  }
  std::sort(served_seconds.begin(), served_seconds.end());
  std::sort(own_seconds.begin(), own_seconds.end());
  const double seconds = served_seconds[served_seconds.size() / 2];
  const double rate = pods / seconds, own_rate = pods / own_seconds[own_seconds.size() / 2];
  const double share = 1 - rate / own_rate;
  lines.push_back({.row = "served_batch",
                   .what = fmt::format("{} pods of the trace onto {} nodes in place requests of {},"
                                       " {} under way; client and daemon poll, a processor each",
                                       pods, nodes, kBatch, kUnderWay),
                   .measured = fmt::format("{:.0f} pods a second ({:.2f} us a pod; {:.2f} in"
                                           " process, so that wire, turns and reservations are"
                                           " {:.0f} %)",
                                           rate, 1e6 / rate, 1e6 / own_rate, 100 * share),
                   .unit = "pods a second",
                   .value = rate,
                   .target = at_least(160'000),
                   .figures = {{"in_process", own_rate}, {"beside_place", share}}});
}

// Rounds of both, one after the other, so that the machine's moods are shared.
void open_loop(const BenchOptions& options, Lines& lines) {
  ServedCluster served(
      generated_objects(options.size(kServedNodes), options.size(kServedPods), options.seed),
      kUsualPolling, options.seed);
  served.feed();
  LoadRun run(served.endpoint(), served.client_options(), served.facts(), &served.feeder());
  LoadPlan plan{.connections = 4};
  plan.rate = 20'000;
  plan.events_per_second = 5'000;
  plan.seconds = options.smoke ? 0.3 : 2.5;
  plan.warm_up_seconds = options.smoke ? 0.1 : 0.5;
  plan.seed = options.seed;
  const LoadSample sample = value_of(run.sample(plan, LoadKind::kEvaluate));
  Endpoint echo_endpoint;
  echo_endpoint.path = served.directory() + "/echo.sock";
  const auto echo = value_of(EchoServer::start(echo_endpoint, sample.reply, kUsualPolling));
  LatencyHistogram all, echoed;
  std::uint64_t lost = 0;
  for (std::int32_t round = 0; round < options.repetitions(4); ++round) {
    const LoadResult result = value_of(run.run(plan, {}));
    check(result.errors == 0, result.first_error);
    all.add(result.all());
    lost += result.lost;
    echoed.add(
        value_of(LoadRun::run_echo(echo_endpoint, served.client_options().socket, plan, sample))
            .all());
  }
  served.check();
  const double p99 = all.quantile_us(0.99), echo_p99 = echoed.quantile_us(0.99);
  lines.push_back(
      {.row = "open_loop",
       .what = fmt::format(
           "{:.0f} evaluations a second offered on {} connections, {:.0f} events a"
           " second fed beside it, {} nodes, from when each was due; p99 against that"
           " of an echo at the same rate, in turns with it; one client thread and the"
           " server poll, a processor each",
           plan.rate, plan.connections, plan.events_per_second, options.size(kServedNodes)),
       .measured = fmt::format("{:.2f} times (p99 {:.0f} us, p50 {:.1f}, p99.9 {:.0f}, max {:.0f},"
                               " {} lost; echo's p99 {:.0f}, p50 {:.1f}, p99.9 {:.0f})",
                               p99 / echo_p99, p99, all.quantile_us(0.5), all.quantile_us(0.999),
                               all.max_us(), lost, echo_p99, echoed.quantile_us(0.5),
                               echoed.quantile_us(0.999)),
       .unit = "times",
       .value = p99 / echo_p99,
       .target = at_most(1.5),
       .figures = {{"p99_us", p99},
                   {"p50_us", all.quantile_us(0.5)},
                   {"p99_9_us", all.quantile_us(0.999)},
                   {"max_us", all.max_us()},
                   {"lost", static_cast<double>(lost)},
                   {"echo_p99_us", echo_p99},
                   {"echo_p50_us", echoed.quantile_us(0.5)}}});
}

// Something every millisecond until `stop`, and how long after it was due each was done.
template <typename Work>
LatencyHistogram every_millisecond(const std::atomic<bool>& stop, Work work) {
  constexpr std::chrono::milliseconds kBetween(1);
  LatencyHistogram times;
  for (auto due = std::chrono::steady_clock::now(); !stop; due += kBetween) {
    std::this_thread::sleep_until(due);
    work();
    times.record(std::chrono::nanoseconds(std::chrono::steady_clock::now() - due).count());
  }
  return times;
}

void resync(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(kServedNodes), pods = options.size(1'000'000);
  ServedCluster served(generated_objects(nodes, pods, options.seed), kUsualPolling, options.seed);
  served.feed();  // the state that decisions go on from
  std::atomic<bool> stop{false};
  LatencyHistogram meanwhile, machine;
  std::thread asking([&] {
    Client client = served.connect();
    const Pod& pod = served.facts().request_pods().front();
    meanwhile = every_millisecond(stop, [&] { value_of(client.evaluate(pod, kServedRequest)); });
  });
  // What the machine adds: one that only sleeps.
  std::thread sleeping([&] { machine = every_millisecond(stop, [] {}); });
  const Stopwatch watch;
  served.feed();
  const double seconds = watch.seconds();
  stop = true;
  asking.join();
  sleeping.join();
  served.check();
  const double p99_ms = meanwhile.quantile_us(0.99) / 1000;
  const double machine_p99_ms = machine.quantile_us(0.99) / 1000;
  lines.push_back(
      {.row = "resync",
       .what = fmt::format("{} nodes and {} pods through the socket; feeder, asker and"
                           " daemon share two processors",
                           nodes, pods),
       .measured = fmt::format("{:.2f} s ({:.2f} million objects a second)", seconds,
                               static_cast<double>(served.facts().object_count()) / seconds / 1e6),
       .unit = "s",
       .value = seconds,
       .target = at_most(3),
       .figures = {}});
  lines.push_back(
      {.row = "resync_wait",
       .what = "the same: 1,000 evaluations a second meanwhile, p99 from when each was due",
       .measured =
           fmt::format("{:.2f} ms (p50 {:.3f}, p99.9 {:.1f}, max {:.1f}); a thread that"
                       " only sleeps is woken p99 {:.2f} ms late (p50 {:.3f}, max {:.1f})",
                       p99_ms, meanwhile.quantile_us(0.5) / 1000,
                       meanwhile.quantile_us(0.999) / 1000, meanwhile.max_us() / 1000,
                       machine_p99_ms, machine.quantile_us(0.5) / 1000, machine.max_us() / 1000),
       .unit = "ms",
       .value = p99_ms,
       .target = at_most(5),
       .figures = {{"p50_ms", meanwhile.quantile_us(0.5) / 1000},
                   {"max_ms", meanwhile.max_us() / 1000},
                   {"machine_p99_ms", machine_p99_ms}}});
}

void codec(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(kServedNodes);
  Engine engine = make_engine({.nodes = nodes, .seed = options.seed}, {.threads = 1});
  const Pod pod = pending_pod(0);
  const std::vector<std::uint8_t> request = evaluate_frame(pod);
  const std::vector<std::uint8_t> by_uid = evaluate_frame(PodRef::by_uid(pod.uid));
  const Decision decision =
      value_of(engine.evaluate(pod, {.top_k = kServedTopK, .reasons = false}));
  check(decision.candidates.size() == kServedTopK, "a full answer");
  Pod decoded;
  Builder builder;
  Encoder encoder;
  const auto read = [&] {
    flatbuffers::Verifier verifier(request.data(), request.size());
    check(wire::VerifySizePrefixedFrameBuffer(verifier), "a frame");
    const wire::Frame* frame = wire::GetSizePrefixedFrame(request.data());
    value_of(decode(*frame->body_as_Evaluate()->pods()->Get(0)->pod(), decoded));
  };
  const auto read_uid = [&] {
    flatbuffers::Verifier verifier(by_uid.data(), by_uid.size());
    check(wire::VerifySizePrefixedFrameBuffer(verifier), "a frame");
    const wire::Frame* frame = wire::GetSizePrefixedFrame(by_uid.data());
    keep(text(frame->body_as_Evaluate()->pods()->Get(0)->uid()));
  };
  const auto answer = [&] {
    builder.Clear();
    const auto one = encoder.encode(builder, decision, engine);
    const auto all = builder.CreateVector(&one, 1);
    finish_frame(builder, 1, wire::CreateEvaluated(builder, 1, all));
    keep(builder.GetBufferPointer());
  };
  read();
  check(decoded == pod, "the pod comes out as it went in");
  answer();
  const std::uint64_t before = allocations_of_this_thread();
  constexpr int kCounted = 100;
  for (int i = 0; i < kCounted; ++i) {
    read();
    answer();
  }
  const std::uint64_t allocated = allocations_of_this_thread() - before;
  constexpr int kAtOnce = 100;
  const auto timed = [](const auto& work) {
    return [&work] {
      const Stopwatch watch;
      for (int i = 0; i < kAtOnce; ++i) {
        work();
      }
      return watch.seconds() / kAtOnce;
    };
  };
  Measurement measurement;
  const Times& reading = measurement.add("codec_read", options.iterations(1000), timed(read));
  const Times& reading_uid =
      measurement.add("codec_read_uid", options.iterations(1000), timed(read_uid));
  const Times& answering = measurement.add("codec_answer", options.iterations(1000), timed(answer));
  measurement.run(options.repetitions(5));
  const double read_us = reading.median() * 1e6, answer_us = answering.median() * 1e6;
  const double by_uid_us = reading_uid.median() * 1e6 + answer_us;
  lines.push_back(
      {.row = "codec",
       .what = fmt::format("verify and decode an evaluate of {} bytes; build its answer"
                           " of {} bytes, top {} with scores",
                           request.size(), builder.GetSize(), kServedTopK),
       .measured =
           fmt::format("{:.2f} us ({:.2f} and {:.2f}; {:.2f} where the pod is named by its"
                       " uid), {} allocations in {}",
                       read_us + answer_us, read_us, answer_us, by_uid_us, allocated, kCounted),
       .unit = "us",
       .value = read_us + answer_us,
       .target = at_most(0.5),
       .figures = {{"by_uid_us", by_uid_us}, {"allocations", static_cast<double>(allocated)}}});
  check(allocated == 0, fmt::format("{} allocations in steady state", allocated));
}

}  // namespace headroom
