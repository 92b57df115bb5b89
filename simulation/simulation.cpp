// Drives an engine through the arrivals and departures, and adds up what happened.
#include "simulation/simulation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "objects/text/time_text.h"
#include "simulation/decision_line.h"
#include "simulation/residents.h"
#include "simulation/scale_up_json.h"
#include "simulation/simulated_metrics.h"
#include "simulation/simulated_queue.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

// Adds the time until its end.
class Timed {
 public:
  explicit Timed(Clock::duration& sum) : sum_(sum) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { sum_ += Clock::now() - begin_; }

 private:
  Clock::duration& sum_;
  const Clock::time_point begin_ = Clock::now();
};

tl::unexpected<Error> in_pod(const Pod& pod, const Error& error) {
  return fail(error.code, "pod " + pod_key(pod) + ": " + error.message);
}

class Simulation {
 public:
  Simulation(const SimulationInput& input, const SimulationOptions& options, Engine engine,
             std::optional<ClusterAutoscaler> autoscaler)
      : input_(input),
        options_(options),
        engine_(std::move(engine)),
        queue_(input.priority_classes, std::move(autoscaler)),
        autoscaler_(queue_.autoscaler()),
        usage_(input.nodes, autoscaler_ ? autoscaler_->templates() : std::span<const Node>()),
        has_quotas_(engine_.profile().capacity_scheduling &&
                    (options_.preemption.value_or(false) || !input_.elastic_quotas.empty() ||
                     !input_.priority_classes.empty())),
        preempts_(has_quotas_ && options_.preemption.value_or(true)),
        ledger_(has_quotas_ ? input.elastic_quotas : std::vector<ElasticQuota>(),
                engine_.profile().mode),
        evictions_(engine_, input.pod_disruption_budgets),
        residents_(has_quotas_) {
    if (options_.metrics_every_seconds) {
      metrics_.emplace(input.nodes, *options_.metrics_every_seconds, options_.seed);
    }
    if (options_.series) {
      const std::int64_t last_us =
          input_.arrivals.empty() ? input_.start_us : input_.arrivals.back().time_us;
      recorder_.emplace(
          usage_,
          SeriesRecorder::Span{.begin_us = input_.start_us,
                               .end_us = last_us,
                               .arrivals = input_.arrivals.size(),
                               .arrivals_alone = !options_.departures && !autoscaler_},
          options_.seed);
    }
  }

  Result<SimulationReport> run() {
    if (Result<void> loaded = load(); !loaded) return tl::unexpected(loaded.error());
    if (recorder_) recorder_->take(moment(input_.start_us));
    latencies_ns_.reserve(input_.arrivals.size());
    for (std::uint32_t a = 0; a < input_.arrivals.size(); ++a) {
      Result<void> arrived = arrive(a);
      if (!arrived) return tl::unexpected(arrived.error());
      if (options_.on_progress) options_.on_progress(a + 1);
    }
    if (autoscaler_) {
      if (Result<void> passed = pass_until(kNeverUs); !passed) {
        return tl::unexpected(passed.error());
      }
      for (const auto& [pending, decision] : queue_.all_waiting()) {
        count(*pending, *decision, false);
      }
    }
    if (recorder_) report_.series = recorder_->finish(moment(engine_.now_us()));
    if (autoscaler_) report_.growth = queue_.report(input_.start_us, engine_.now_us());
    report_.stats = engine_.stats();
    if (options_.validate) {
      if (Result<void> valid = engine_.validate(); !valid) return tl::unexpected(valid.error());
    }
    report_.failures = failures_.sorted();
    report_.not_considered = not_considered_.reports();
    report_.resources = usage_.peaks();
    report_.quotas = ledger_.reports();
    report_.preemption = evictions_.report(input_.start_us, engine_.now_us());
    std::sort(latencies_ns_.begin(), latencies_ns_.end());
    report_.speed.latencies_ns = std::move(latencies_ns_);
    std::vector<std::int64_t>& asked = report_.speed.preemption_latencies_ns;
    std::sort(asked.begin(), asked.end());
    report_.speed.seconds = std::chrono::duration<double>(busy_ + autoscaler_busy_).count();
    report_.speed.autoscaler_seconds = std::chrono::duration<double>(autoscaler_busy_).count();
    return std::move(report_);
  }

 private:
  // Where pods come from: the arrivals, and behind them the pods that are there at the beginning.
  Pod pod_of(std::uint32_t origin) const {
    Pod pod = origin < input_.arrivals.size() ? input_.make_pod(input_.arrivals[origin].pod)
                                              : input_.pods[origin - input_.arrivals.size()];
    if (pod.scheduler_name.empty()) pod.scheduler_name = engine_.profile().scheduler_name;
    if (options_.all_pods) pod.scheduling_gates.clear();
    return pod;
  }

  // Of a pod that arrives: what it counts as where no place is to be looked for, else nullptr.
  std::uint64_t SimulationReport::*left_out(const Pod& pod) const {
    // skipPodSchedule: a pod that is being deleted has no place any more.
    if (pod.deleting) return &SimulationReport::left_out_deleting;
    if (options_.all_pods) return nullptr;
    if (!pod.scheduling_gates.empty() ||
        pod.not_considered.contains(NotConsidered::kSchedulingGates)) {
      return &SimulationReport::left_out_gated;
    }
    return pod.scheduler_name == engine_.profile().scheduler_name
               ? nullptr
               : &SimulationReport::left_out_of_other_schedulers;
  }

  Result<void> load() {
    if (Result<void> loaded = load_objects(engine_, input_); !loaded) return loaded;
    for (std::size_t p = 0; p < input_.pods.size(); ++p) {
      const Pod& pod = input_.pods[p];
      if (Result<void> known = engine_.upsert(pod); !known) return in_pod(pod, known.error());
      if (pod.node_name.empty() || pod.terminal()) continue;
      not_considered_.add_there(engine_.not_considered(pod));
      std::int64_t departure_us = kNeverUs;
      if (pod.creation_us && pod.active_deadline_seconds) {
        departure_us = *pod.creation_us + *pod.active_deadline_seconds * kMicrosPerSecond;
      }
      settle(pod, pod.node_name, departure_us,
             static_cast<std::uint32_t>(input_.arrivals.size() + p));
    }
    ledger_.end_step();
    return keep_nominations();
  }

  // Who is nominated to a node when it begins keeps its room there until its turn.
  Result<void> keep_nominations() {
    for (std::uint32_t a = 0;
         a < input_.arrivals.size() && input_.arrivals[a].time_us <= input_.start_us; ++a) {
      Pod pod = pod_of(a);
      if (pod.nominated_node_name.empty() || left_out(pod) != nullptr) continue;
      make_pending(pod);
      if (Result<void> known = engine_.upsert(pod); !known) return in_pod(pod, known.error());
    }
    return {};
  }

  // One arrival, and with the last one of a moment all that has to wait for its turn.
  Result<void> arrive(std::uint32_t index) {
    const Arrival& arrival = input_.arrivals[index];
    const std::int64_t now_us = std::max(arrival.time_us, input_.start_us);
    if (autoscaler_) {
      if (Result<void> passed = pass_until(now_us); !passed) return passed;
    }
    if (Result<void> begun = begin_moment(now_us); !begun) return begun;
    PendingPod pending{.pod = pod_of(index), .departure_us = arrival.departure_us, .origin = index};
    if (const auto counted = left_out(pending.pod); counted != nullptr) {
      ++(report_.*counted);
    } else {
      make_pending(pending.pod);
      queue_.push(std::move(pending));
    }
    const std::size_t next = index + std::size_t{1};
    if (next < input_.arrivals.size() && input_.arrivals[next].time_us <= now_us) return {};
    return end_moment();
  }

  // With an autoscaler, the moments before `until_us` at which nodes come or, while pods wait, pods
  // leave.
  Result<void> pass_until(std::int64_t until_us) {
    while (true) {
      std::int64_t next_us = autoscaler_->next_ready_us();
      if (queue_.waiting() > 0) next_us = std::min(next_us, residents_.next_departure_us());
      if (next_us >= until_us) return {};
      Result<void> begun = begin_moment(std::max(next_us, engine_.now_us()));
      if (!begun) return begun;
      if (Result<void> ended = end_moment(); !ended) return ended;
    }
  }

  SeriesRecorder::Moment moment(std::int64_t time_us) const {
    return {.time_us = time_us,
            .decisions = latencies_ns_.size(),
            .busy_seconds = std::chrono::duration<double>(busy_).count(),
            .ledger = ledger_,
            .autoscaler = autoscaler_,
            .waiting = queue_.waiting()};
  }

  // The samples of the moments before `now_us` at which nothing but departures happened.
  void take_samples(std::int64_t now_us) {
    for (std::int64_t due_us = recorder_->next_us(); due_us < now_us;
         due_us = recorder_->next_us()) {
      depart_until(due_us);
      recorder_->take(moment(due_us));
    }
  }

  // Who leaves does so first; then nodes come.
  Result<void> begin_moment(std::int64_t now_us) {
    if (recorder_) take_samples(now_us);
    depart_until(now_us);
    if (Result<void> moved = move_clock(now_us); !moved) return moved;
    if (!autoscaler_) return {};
    Result<std::vector<Node>> nodes = autoscaler_->take_ready(now_us);
    if (!nodes) return tl::unexpected(nodes.error());
    for (const Node& node : *nodes) {
      if (Result<void> added = engine_.upsert(node); !added) {
        return fail(added.error().code, "node " + node.name + ": " + added.error().message);
      }
      usage_.add_node(node);
      if (metrics_) metrics_->add_node(node.name);
      queue_.note_room();
      nodes_came_ = true;
    }
    const Timed timed(busy_);
    queue_.try_again();
    return {};
  }

  Result<void> end_moment() {
    while (!queue_.empty()) {
      PendingPod first = queue_.pop();
      if (Result<void> placed = place(first); !placed) return placed;
    }
    queue_.end_round();
    if (has_quotas_) {
      evictions_.end_moment();
      ledger_.end_step();
      if (options_.validate) {
        for (const std::string& broken : ledger_.differences(engine_.elastic_quota_status())) {
          note(broken);
        }
      }
    }
    return autoscaler_ ? ask_for_nodes() : Result<void>();
  }

  // Looks for a place, once.
  Result<void> place(PendingPod& pending) {
    Pod& pod = pending.pod;
    if (recorder_ && recorder_->due_by_decisions(latencies_ns_.size())) {
      recorder_->take(moment(engine_.now_us()));
    }
    const bool waits = pending.waits_since_us.has_value();
    const bool first = !waits && !pending.again;
    const Clock::time_point begin = Clock::now();
    Result<Decision> decision =
        engine_.decide(pod, {.top_k = 1, .plugin_scores = static_cast<bool>(options_.on_decision)});
    if (!decision) return in_pod(pod, decision.error());
    std::string_view node_name;
    if (!decision->candidates.empty()) {
      node_name = engine_.node_name(decision->candidates.front().node);
      if (has_quotas_) pod.start_us = engine_.now_us();
      Result<void> assumed = assume(pod, node_name);
      if (!assumed) return in_pod(pod, assumed.error());
    }
    const Clock::duration latency = Clock::now() - begin;
    busy_ += latency;
    latencies_ns_.push_back(std::chrono::nanoseconds(latency).count());
    if (first) not_considered_.add(decision->not_considered);

    std::optional<PostFilter> post_filter;
    if (node_name.empty() && preempts_) {
      Result<PostFilter> answer = preempt(pod);
      if (!answer) return in_pod(pod, answer.error());
      post_filter = std::move(*answer);
      if (post_filter->cross_node_would_help && !waits) evictions_.count_cross_node_would_help();
      if (post_filter->code == Code::kSuccess) {
        Result<bool> has_place = take_place(pod, *post_filter);
        if (!has_place) return in_pod(pod, has_place.error());
        if (*has_place) node_name = engine_.node_name(post_filter->nominated_node);
        if (!post_filter->victims.empty()) queue_.try_after(pending);
      }
    }
    // Who is tried again and fails again is where it was.
    if (options_.on_decision && (!waits || !node_name.empty())) {
      options_.on_decision(decision_line(engine_, pending, *decision,
                                         post_filter ? &*post_filter : nullptr, node_name));
    }
    // Who is tried again may wait on for victims that are terminating.
    const bool waits_for_them = autoscaler_ && post_filter && post_filter->stays_nominated;
    if (node_name.empty() && !waits_for_them) give_up_node(pod);
    if (autoscaler_ && node_name.empty()) {
      const Timed timed(busy_);
      Result<void> waiting = queue_.wait(engine_, pending, std::move(*decision));
      return waiting ? Result<void>() : in_pod(pod, waiting.error());
    }
    if (waits) {
      const Timed timed(busy_);
      queue_.end_wait(pending, engine_.now_us());
    }
    count(pending, *decision, !node_name.empty());
    if (!node_name.empty()) {
      settle(pod, node_name, pending.departure_us, pending.origin);
      if (queue_.waiting() == 0) return {};
      const Timed timed(busy_);
      queue_.try_near();
    }
    return {};
  }

  // The pod's nominated node does not take it: it keeps no room there.
  void give_up_node(Pod& pod) {
    if (pod.nominated_node_name.empty()) return;
    engine_.remove_pod(pod.namespace_name, pod.name);
    pod.nominated_node_name.clear();
  }

  // With its claims, which the cluster binds before the pod runs.
  Result<void> assume(const Pod& pod, std::string_view node_name) {
    Result<std::vector<ReferredObject>> bound = engine_.bound_volumes(pod, node_name);
    if (!bound) return tl::unexpected(bound.error());
    for (const ReferredObject& object : *bound) {
      if (Result<void> applied = engine_.upsert(object); !applied) return applied;
    }
    return engine_.assume(pod, node_name);
  }

  Result<void> ask_for_nodes() {
    const Clock::time_point begin = Clock::now();
    Result<AutoscalerStep> step = autoscaler_->step(engine_, engine_.now_us());
    autoscaler_busy_ += Clock::now() - begin;
    if (!step) return tl::unexpected(step.error());
    if (options_.on_decision) {
      for (const ScaleUp& scale_up : step->scale_ups) {
        options_.on_decision(scale_up_line(scale_up));
      }
      for (const NoTemplate& pod : step->no_template) {
        options_.on_decision(no_template_line(engine_.now_us(), pod));
      }
    }
    if (options_.validate && (nodes_came_ || !step->scale_ups.empty())) {
      for (const std::string& broken : autoscaler_->broken_rules()) note("autoscaler: " + broken);
    }
    nodes_came_ = false;
    return {};
  }

  void count(const PendingPod& pending, const Decision& decision, bool placed) {
    if (pending.again) {
      evictions_.come_back(pending.pod, placed);
      if (recorder_ && placed) recorder_->count_placed_again();
    } else if (placed) {
      ++report_.placed;
      if (recorder_) recorder_->count_placed();
    } else {
      ++report_.failed;
      failures_.add(decision);
      if (recorder_) recorder_->count_failed(main_reason(decision));
    }
    if (recorder_ && !placed && !autoscaler_) recorder_->add_pending(end_of(pending));
  }

  // When its time ends.
  std::int64_t end_of(const PendingPod& pending) const {
    return options_.departures ? pending.departure_us : kNeverUs;
  }

  Result<PostFilter> preempt(const Pod& pod) {
    const Clock::time_point begin = Clock::now();
    Result<PostFilter> answer = engine_.post_filter(pod);
    const Clock::duration latency = Clock::now() - begin;
    busy_ += latency;
    report_.speed.preemption_latencies_ns.push_back(std::chrono::nanoseconds(latency).count());
    return answer;
  }

  // The victims go, and the pod takes the nominated node. False: it has no room there.
  Result<bool> take_place(Pod& pod, const PostFilter& answer) {
    const ElasticQuotaLedger::Claim claim = ledger_.claim(pod);
    std::vector<ElasticQuotaLedger::Claim> lost;
    for (const Victim& victim : answer.victims) {
      const std::string key = pod_key(victim.namespace_name, victim.name);
      const Resident* resident = residents_.find(key);
      if (resident == nullptr) {
        return fail(ErrorCode::kConflict, "victim " + key + " has no place that it could lose");
      }
      lost.push_back(resident->claim);
    }
    if (options_.validate && options_.profile.mode == Mode::kProposal) {
      note(ledger_.wrongly_taken(claim, lost), pod);
    }
    for (std::size_t v = 0; v < lost.size(); ++v) {
      ledger_.count_victim(claim, lost[v]);
      evict(residents_.remove(pod_key(answer.victims[v].namespace_name, answer.victims[v].name)));
    }

    const Clock::time_point begin = Clock::now();
    const std::string node_name(engine_.node_name(answer.nominated_node));
    Result<NodeDetail> room = engine_.filter(pod, node_name);
    if (!room) return tl::unexpected(room.error());
    const bool has_place = room->code == Code::kSuccess;
    if (has_place) {
      pod.start_us = engine_.now_us();
      Result<void> assumed = assume(pod, node_name);
      if (!assumed) return tl::unexpected(assumed.error());
    }
    busy_ += Clock::now() - begin;
    evictions_.count_preemptor(answer, has_place);
    if (!has_place) {
      note("its victims went, and it has no place on " + node_name + ": " +
               (room->reasons.empty() ? to_string(room->code) : room->reasons.front()),
           pod);
      return false;
    }
    if (recorder_) recorder_->count_preemptor();
    return true;
  }

  // A victim: comes back at this moment.
  void evict(const Resident& resident) {
    PendingPod pending{.pod = pod_of(resident.origin),
                       .departure_us = resident.departure_us,
                       .origin = resident.origin,
                       .again = true};
    leave(resident);
    if (pending.pod.deleting) return;
    if (recorder_) recorder_->count_victim();
    if (!evictions_.evict(pending.pod, pending.origin)) {
      if (recorder_) recorder_->add_pending(end_of(pending));
      return;
    }
    make_pending(pending.pod);
    pending.pod.nominated_node_name.clear();
    pending.pod.creation_us = engine_.now_us();
    queue_.push(std::move(pending));
  }

  Result<void> move_clock(std::int64_t now_us) {
    const Timed timed(busy_);
    Result<void> result = engine_.advance(now_us);
    if (result && metrics_ && metrics_->due(now_us)) {
      for (const NodeMetric& metric : metrics_->report(now_us)) {
        if (result) result = engine_.upsert(metric);
        ++report_.metric_reports;
      }
      queue_.note_room();
    }
    return result;
  }

  // Counts a pod where it now is.
  void settle(const Pod& pod, std::string_view node_name, std::int64_t departure_us,
              std::uint32_t origin) {
    ClusterUsage::Holding holding = usage_.holding(pod, node_name);
    usage_.add(holding);
    if (recorder_) recorder_->add(pod, holding);
    if (metrics_) metrics_->add(pod, node_name);
    const bool leaves = options_.departures && departure_us != kNeverUs;
    if (!leaves && !has_quotas_) return;
    Resident resident = {.namespace_name = pod.namespace_name,
                         .name = pod.name,
                         .holding = std::move(holding),
                         .departure_us = departure_us,
                         .origin = origin};
    if (has_quotas_) {
      resident.claim = ledger_.claim(pod);
      ledger_.add(resident.claim);
      // Facts may say anything; what a decision adds has to keep the rules.
      if (options_.validate && pod.node_name.empty()) note(ledger_.over_max(resident.claim), pod);
    }
    residents_.add(std::move(resident), leaves);
  }

  void depart_until(std::int64_t now_us) {
    while (const std::optional<Resident> resident = residents_.take_departing(now_us)) {
      leave(*resident);
      ++report_.departed;
    }
  }

  // Of one that residents_ has no more: it goes from its node, and from all sums.
  void leave(const Resident& resident) {
    const Clock::time_point begin = Clock::now();
    engine_.remove_pod(resident.namespace_name, resident.name);
    busy_ += Clock::now() - begin;
    usage_.remove(resident.holding);
    if (recorder_) recorder_->remove(resident.namespace_name, resident.name);
    if (metrics_) metrics_->remove(resident.namespace_name, resident.name, resident.holding.node);
    if (has_quotas_) ledger_.remove(resident.claim);
    queue_.note_room();
  }

  // --- What must hold ---

  void note(const std::string& violation) {
    if (report_.violations.size() < kViolationsMax) report_.violations.push_back(violation);
  }
  void note(const std::string& violation, const Pod& pod) {
    if (violation.empty() || !options_.validate) return;
    note("pod " + pod_key(pod) + ": " + violation);
  }

  const SimulationInput& input_;
  const SimulationOptions& options_;
  Engine engine_;
  SimulatedQueue queue_;
  ClusterAutoscaler* const autoscaler_;  // nullptr: none
  ClusterUsage usage_;
  const bool has_quotas_;  // quotas or priorities decide who has to go
  const bool preempts_;
  ElasticQuotaLedger ledger_;  // of no quota where they do not count
  Evictions evictions_;
  Failures failures_;
  NotConsideredPods not_considered_;
  std::optional<SimulatedMetrics> metrics_;
  std::optional<SeriesRecorder> recorder_;
  Residents residents_;
  bool nodes_came_ = false;  // since the autoscaler was asked
  std::vector<std::int64_t> latencies_ns_;
  Clock::duration busy_{}, autoscaler_busy_{};  // the second is not among the first
  SimulationReport report_;
};

}  // namespace

bool SimulationReport::has_resource(std::string_view name) const {
  return std::any_of(resources.begin(), resources.end(),
                     [&](const ResourceReport& resource) { return resource.name == name; });
}

std::int64_t SimulationReport::pods_per_second() const {
  if (speed.seconds <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(placed + failed) / speed.seconds);
}

Result<SimulationReport> simulate(const SimulationInput& input, const SimulationOptions& options) {
  if (options.preemption.value_or(false) && !options.profile.capacity_scheduling) {
    return fail(ErrorCode::kUnsupported, "preemption: profile " + options.profile.scheduler_name +
                                             " does not enable CapacityScheduling");
  }
  if (const std::int64_t every = options.metrics_every_seconds.value_or(1); every < 1) {
    return fail(ErrorCode::kInvalid, "metrics_every: " + std::to_string(every) + " is below 1");
  } else if (every > kMetricsEverySecondsMax) {
    return fail(ErrorCode::kLimitExceeded, "metrics_every: " + std::to_string(every) +
                                               " is more than kMetricsEverySecondsMax (" +
                                               std::to_string(kMetricsEverySecondsMax) + ")");
  }
  Result<Engine> engine = Engine::create(options.profile, options.engine);
  if (!engine) return tl::unexpected(engine.error());
  std::optional<ClusterAutoscaler> autoscaler;
  if (options.autoscaler) {
    AutoscalerOptions its = *options.autoscaler;
    its.quotas.insert(its.quotas.begin(), input.capacity_quotas.begin(),
                      input.capacity_quotas.end());
    its.referred_objects.insert(its.referred_objects.begin(), input.referred_objects.begin(),
                                input.referred_objects.end());
    Result<ClusterAutoscaler> created =
        ClusterAutoscaler::create(std::move(its), options.profile, input.nodes, input.start_us);
    if (!created) return tl::unexpected(created.error());
    autoscaler = std::move(*created);
  }
  return Simulation(input, options, std::move(*engine), std::move(autoscaler)).run();
}

}  // namespace headroom
