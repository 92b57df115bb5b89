#include "tools/load/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "workloads/random.h"

namespace headroom {

namespace {

using Clock = std::chrono::steady_clock;

// Pods that a run keeps reserved at one time.
constexpr std::size_t kReservedAtOnce = 4096;
// Events of one turn of the loop.
constexpr int kEventsAtOnce = 64;
constexpr std::chrono::seconds kDrainTime(5);
constexpr std::chrono::milliseconds kProgressStep(100);

enum RunPurpose : std::uint64_t { kForMix = 821, kForPods };

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

struct ReservedPod {
  Pod pod;
  std::string node_name;
};

// Which kind each request has, drawn by the mix.
class Draws {
 public:
  explicit Draws(const LoadPlan& plan) : plan_(plan) {
    for (const std::uint32_t share : plan.mix) total_ += share;
  }
  LoadKind kind() {
    std::uint32_t draw = Random{plan_.seed, kForMix, ++drawn_}.below(total_);
    for (std::size_t k = 0; k < kLoadKinds; ++k) {
      if (draw < plan_.mix[k]) return static_cast<LoadKind>(k);
      draw -= plan_.mix[k];
    }
    return LoadKind::kEvaluate;
  }

 private:
  const LoadPlan& plan_;
  std::uint32_t total_ = 0;
  std::uint64_t drawn_ = 0;
};

// The loop that real and echoed runs have in common: when which lane sends, and how long its answer
// took. A lane is a connection.
template <typename Lane>
class LoadLoop {
 public:
  LoadLoop(const LoadPlan& plan, std::vector<Lane>& lanes, LoadResult& result)
      : plan_(plan), lanes_(lanes), result_(result) {}

  // `beside` is called once a turn with the time.
  template <typename Beside>
  Result<void> run(const std::function<void(double)>& progress, Beside beside) {
    const Clock::time_point begin = Clock::now();
    const Clock::time_point start = begin + seconds(plan_.warm_up_seconds);
    const Clock::time_point end = start + seconds(plan_.seconds);
    for (Lane& lane : lanes_) lane.measure_from(start);
    const auto step =
        std::chrono::nanoseconds(plan_.rate > 0 ? static_cast<std::int64_t>(1e9 / plan_.rate) : 0);
    Clock::time_point due = begin, next_progress = begin, now = begin;
    std::size_t turn = 0;
    // What a connection has no room for stays due, and its latency counts.
    const auto ask_what_is_due = [&] {
      for (; due <= now && due < end; due += step) {
        Lane& lane = lanes_[turn % lanes_.size()];
        if (lane.under_way() >= kLoadDepthMax) break;
        lane.ask(due);
        ++turn;
      }
    };
    while (now < end) {
      if (plan_.rate > 0) {
        ask_what_is_due();
      } else {
        for (Lane& lane : lanes_) {
          while (lane.under_way() < plan_.depth) lane.ask(Clock::now());
        }
      }
      if (auto done = beside(now); !done) return done;
      if (auto done = exchange(); !done) return done;
      now = Clock::now();
      if (now >= next_progress) {
        if (progress) progress(std::chrono::duration<double>(now - begin).count());
        next_progress = now + kProgressStep;
      }
    }
    result_.seconds = std::chrono::duration<double>(now - start).count();
    const auto still_due = [&] { return plan_.rate > 0 && due < end; };
    for (; now < end + kDrainTime && (under_way() > 0 || still_due()); now = Clock::now()) {
      if (still_due()) ask_what_is_due();
      if (auto done = exchange(); !done) return done;
    }
    result_.lost = under_way();
    if (still_due()) result_.lost += static_cast<std::uint64_t>((end - due) / step) + 1;
    return {};
  }

 private:
  Result<void> exchange() {
    for (Lane& lane : lanes_) {
      if (auto done = lane.exchange(); !done) return done;
    }
    return {};
  }
  std::size_t under_way() const {
    std::size_t sum = 0;
    for (const Lane& lane : lanes_) sum += lane.under_way();
    return sum;
  }

  const LoadPlan& plan_;
  std::vector<Lane>& lanes_;
  LoadResult& result_;
};

// A connection to headroomd.
class ServedLane {
 public:
  ServedLane(Client client, const LoadPlan& plan, LoadFacts& facts, LoadResult& result,
             Draws& draws, std::uint64_t& pods_made)
      : client_(std::move(client)),
        plan_(plan),
        facts_(facts),
        result_(result),
        draws_(draws),
        pods_made_(pods_made) {}

  std::size_t under_way() const { return asked_.size(); }
  void measure_from(Clock::time_point time) { measure_from_ = time; }

  void ask(Clock::time_point due) {
    LoadKind kind = draws_.kind();
    if (kind == LoadKind::kReserve && !chosen_) kind = LoadKind::kEvaluate;
    Asked asked{.due = due, .kind = kind, .id = 0, .pods = {}, .reserves = std::nullopt};
    if (kind == LoadKind::kPlace) {
      for (std::uint32_t p = 0; p < plan_.place_pods; ++p) asked.pods.push_back(make_pod());
      const std::vector<PodRef> refs(asked.pods.begin(), asked.pods.end());
      asked.id = client_.send(encode_place(client_.builder(), refs, false));
    } else {
      asked.pods.push_back(make_pod());
      const PodRef ref(asked.pods.front());
      EvaluateRequest request{.top_k = plan_.top_k, .scores = plan_.scores};
      std::optional<ReserveRequest> reserve;
      if (kind == LoadKind::kReserve) {
        asked.reserves = std::move(chosen_);
        chosen_.reset();
        reserve.emplace(
            ReserveRequest{.pod = asked.reserves->pod, .node_name = asked.reserves->node_name});
        request.reserve = &*reserve;
      }
      asked.id = client_.send(encode_evaluate(client_.builder(), std::span(&ref, 1), request));
    }
    asked_.push_back(std::move(asked));
  }

  // Writes what was asked, takes what has come.
  Result<void> exchange() {
    if (client_.queued_bytes() > 0) {
      if (auto flushed = client_.flush(); !flushed) return flushed;
    }
    while (!asked_.empty()) {
      const Result<FrameBuffer::Received> received = client_.receive_now();
      if (!received) return tl::unexpected(received.error());
      if (received->frame == nullptr) break;
      take(*received->frame);
    }
    while (reserved_.size() > kReservedAtOnce) give_back();
    return {};
  }

  Result<void> give_all_back() {
    // An answer that comes late may have reserved more.
    while (!asked_.empty() || !reserved_.empty()) {
      while (!reserved_.empty()) give_back();
      if (auto flushed = client_.flush(); !flushed) return flushed;
      while (!asked_.empty()) {
        const Result<FrameBuffer::Received> received = client_.receive();
        if (!received) return tl::unexpected(received.error());
        take(*received->frame);
      }
    }
    return {};
  }

 private:
  struct Asked {
    Clock::time_point due;
    std::optional<LoadKind> kind;  // nullopt: an Unreserve, which is not measured
    std::uint64_t id;
    std::vector<Pod> pods;
    std::optional<ReservedPod> reserves;
  };

  // A pod that nobody has seen, of one of the shapes.
  Pod make_pod() {
    const std::vector<Pod>& shapes = facts_.request_pods();
    const std::uint64_t number = ++pods_made_;
    Pod pod = shapes[Random{plan_.seed, kForPods, number}.below(
        static_cast<std::uint32_t>(shapes.size()))];
    pod.name = fmt::format("load-{}", number);
    pod.uid = pod.name;
    return pod;
  }

  void give_back() {
    const ReservedPod& oldest = reserved_.front();
    Asked asked{.due = {}, .kind = std::nullopt, .id = 0, .pods = {}, .reserves = std::nullopt};
    asked.id = client_.send(encode_unreserve(client_.builder(), oldest.pod, oldest.node_name));
    asked_.push_back(std::move(asked));
    reserved_.pop_front();
  }

  void wrong(std::string what) {
    if (result_.errors++ == 0) result_.first_error = std::move(what);
  }

  void take(const wire::Frame& frame) {
    const Clock::time_point now = Clock::now();
    Asked asked = std::move(asked_.front());
    asked_.pop_front();
    if (frame.id() != asked.id) {
      wrong(fmt::format("the reply to {} came where {} was due", frame.id(), asked.id));
      return;
    }
    if (!asked.kind) return;
    const bool measured = asked.due >= measure_from_;
    if (measured) {
      result_.latency[static_cast<std::size_t>(*asked.kind)].record(
          std::chrono::nanoseconds(now - asked.due).count());
      result_.pods += asked.pods.size();
    }
    if (const wire::Error* error = frame.body_as_Error(); error != nullptr) {
      wrong(std::string(text(error->message())));
    } else if (const wire::Placed* placed = frame.body_as_Placed(); placed != nullptr) {
      take_placed(*placed, asked, measured);
    } else if (const wire::Evaluated* evaluated = frame.body_as_Evaluated(); evaluated != nullptr) {
      take_evaluated(*evaluated, asked, measured);
    } else {
      wrong(fmt::format("an answer of kind {}", wire::EnumNameBody(frame.body_type())));
    }
  }

  void take_placed(const wire::Placed& placed, Asked& asked, bool measured) {
    if (placed.node_names() == nullptr || placed.node_names()->size() != asked.pods.size()) {
      return wrong("an answer for another number of pods");
    }
    for (std::uint32_t p = 0; p < asked.pods.size(); ++p) {
      const std::string_view node = text(placed.node_names()->Get(p));
      if (node.empty()) {
        result_.unplaced += measured ? 1 : 0;
      } else {
        reserved_.push_back({std::move(asked.pods[p]), std::string(node)});
      }
    }
  }

  void take_evaluated(const wire::Evaluated& evaluated, Asked& asked, bool measured) {
    if (asked.reserves) {
      const wire::Reserved* reserved = evaluated.reserved();
      if (reserved == nullptr) {
        wrong("an answer without the reservation that was asked for");
      } else if (reserved->code() == wire::ErrorCode::Conflict) {
        result_.conflicts += measured ? 1 : 0;
      } else if (reserved->code() != wire::ErrorCode::None) {
        wrong(std::string(text(reserved->message())));
      } else {
        reserved_.push_back(std::move(*asked.reserves));
      }
    }
    if (evaluated.decisions() == nullptr || evaluated.decisions()->size() != 1) {
      wrong("an answer without a decision");
      return;
    }
    const wire::Decision& decision = *evaluated.decisions()->Get(0);
    const auto* names = decision.node_names();
    if (names == nullptr || names->size() == 0) {
      result_.unplaced += measured ? 1 : 0;
      return;
    }
    const auto* totals = decision.totals();
    if (totals == nullptr || totals->size() != names->size() ||
        !std::is_sorted(totals->rbegin(), totals->rend())) {
      wrong("candidates that are not in order");
    }
    if (plan_.mix[static_cast<std::size_t>(LoadKind::kReserve)] > 0) {
      chosen_ = ReservedPod{std::move(asked.pods.front()), names->Get(0)->str()};
    }
  }

  Client client_;
  const LoadPlan& plan_;
  LoadFacts& facts_;
  LoadResult& result_;
  Draws& draws_;
  std::uint64_t& pods_made_;
  std::deque<Asked> asked_;
  std::optional<ReservedPod> chosen_;  // what the last decision would take
  std::deque<ReservedPod> reserved_;
  Clock::time_point measure_from_;
};

// A connection to an echo server.
class EchoLane {
 public:
  EchoLane(std::unique_ptr<Socket> socket, const LoadSample& sample, LoadResult& result)
      : socket_(std::move(socket)), sample_(sample), result_(result) {}

  std::size_t under_way() const { return asked_.size(); }
  void measure_from(Clock::time_point time) { measure_from_ = time; }
  void ask(Clock::time_point due) {
    asked_.push_back(due);
    out_.insert(out_.end(), sample_.request.begin(), sample_.request.end());
  }
  Result<void> exchange() {
    if (!out_.empty()) {
      if (auto written = socket_->write(out_); !written) return written;
      out_.clear();
    }
    while (!asked_.empty()) {
      const Result<FrameBuffer::Received> received = socket_->receive_now();
      if (!received) return tl::unexpected(received.error());
      if (received->frame == nullptr) break;
      if (asked_.front() >= measure_from_) {
        result_.latency[0].record(std::chrono::nanoseconds(Clock::now() - asked_.front()).count());
      }
      asked_.pop_front();
    }
    return {};
  }

 private:
  std::unique_ptr<Socket> socket_;
  const LoadSample& sample_;
  LoadResult& result_;
  std::vector<std::uint8_t> out_;
  std::deque<Clock::time_point> asked_;
  Clock::time_point measure_from_;
};

}  // namespace

const char* to_string(LoadKind kind) {
  switch (kind) {
    case LoadKind::kEvaluate:
      return "evaluate";
    case LoadKind::kReserve:
      return "reserve";
    case LoadKind::kPlace:
      return "place";
  }
  return "";
}

std::uint64_t LoadResult::requests() const {
  std::uint64_t sum = 0;
  for (const LatencyHistogram& one : latency) sum += one.count();
  return sum;
}

LatencyHistogram LoadResult::all() const {
  LatencyHistogram sum;
  for (const LatencyHistogram& one : latency) sum.add(one);
  return sum;
}

LoadRun::LoadRun(const Endpoint& endpoint, const ClientOptions& options, LoadFacts& facts,
                 Feeder* feeder)
    : endpoint_(endpoint), options_(options), facts_(facts), feeder_(feeder) {}

Result<LoadResult> LoadRun::run(const LoadPlan& plan, const std::function<void(double)>& progress) {
  LoadResult result;
  Draws draws(plan);
  std::uint64_t pods_made = 0;
  std::vector<ServedLane> lanes;
  for (std::uint32_t c = 0; c < plan.connections; ++c) {
    Result<Client> client = Client::connect(endpoint_, options_);
    if (!client) return tl::unexpected(client.error());
    lanes.emplace_back(std::move(*client), plan, facts_, result, draws, pods_made);
  }
  const auto step = std::chrono::nanoseconds(
      plan.events_per_second > 0 ? static_cast<std::int64_t>(1e9 / plan.events_per_second) : 0);
  Clock::time_point event_due = Clock::now();
  const auto feed = [&](Clock::time_point now) -> Result<void> {
    if (step.count() == 0 || event_due > now) return {};
    // What a turn has no time for stays due: the requests come first.
    const Clock::time_point first = event_due;
    for (; event_due <= now && event_due < first + kEventsAtOnce * step; event_due += step) {
      if (auto fed = facts_.next_event(*feeder_); !fed) return fed;
      ++result.events;
    }
    return feeder_->flush();
  };
  if (auto done = LoadLoop<ServedLane>(plan, lanes, result).run(progress, feed); !done) {
    return tl::unexpected(done.error());
  }
  for (ServedLane& lane : lanes) {
    if (auto done = lane.give_all_back(); !done) return tl::unexpected(done.error());
  }
  return result;
}

Result<LoadResult> LoadRun::run_echo(const Endpoint& endpoint, const SocketOptions& options,
                                     const LoadPlan& plan, const LoadSample& sample) {
  LoadResult result;
  std::vector<EchoLane> lanes;
  for (std::uint32_t c = 0; c < plan.connections; ++c) {
    Result<std::unique_ptr<Socket>> socket = Socket::connect(endpoint, options);
    if (!socket) return tl::unexpected(socket.error());
    lanes.emplace_back(std::move(*socket), sample, result);
  }
  const auto nothing = [](Clock::time_point) { return Result<void>(); };
  if (auto done = LoadLoop<EchoLane>(plan, lanes, result).run({}, nothing); !done) {
    return tl::unexpected(done.error());
  }
  return result;
}

Result<LoadSample> LoadRun::sample(const LoadPlan& plan, LoadKind kind) {
  Result<Client> client = Client::connect(endpoint_, options_);
  if (!client) return tl::unexpected(client.error());
  std::vector<Pod> pods;
  const std::uint32_t count = kind == LoadKind::kPlace ? plan.place_pods : 1;
  for (std::uint32_t p = 0; p < count; ++p) {
    Pod pod = facts_.request_pods()[p % facts_.request_pods().size()];
    pod.name = fmt::format("load-sample-{}", p);
    pod.uid = pod.name;
    pods.push_back(std::move(pod));
  }
  const std::vector<PodRef> refs(pods.begin(), pods.end());
  LoadSample sample;
  // A batch is asked as evaluations: its answer would have to be undone.
  const auto body = encode_evaluate(client->builder(), refs,
                                    {.top_k = kind == LoadKind::kPlace ? 1 : plan.top_k,
                                     .scores = kind != LoadKind::kPlace && plan.scores});
  client->send(body);
  const auto frame = bytes_of(client->built());
  sample.request.assign(frame.begin(), frame.end());
  if (auto flushed = client->flush(); !flushed) return tl::unexpected(flushed.error());
  const Result<FrameBuffer::Received> received = client->receive();
  if (!received) return tl::unexpected(received.error());
  if (const wire::Error* error = received->frame->body_as_Error(); error != nullptr) {
    return tl::unexpected(error_of(*error));
  }
  sample.reply.assign(received->bytes.begin(), received->bytes.end());
  return sample;
}

}  // namespace headroom
