// spread_warm, spread_hard, affinity_warm, spread_cold, default_place, counter_event,
// application_memory: what pods ask of other pods, under kube-scheduler's default profile.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/clusters/zoned_nodes.h"
#include "bench/growth.h"
#include "bench/measure.h"
#include "bench/rows/questions.h"
#include "bench/rows/rows.h"
#include "objects/labels.h"
#include "workloads/random.h"

namespace headroom {

namespace {

enum ApplicationPurpose : std::uint64_t { kForPods = 801, kForSiblings = 802, kForPlaces = 803 };
// How pods of an application say where they want to be.
enum class Asks { kNothing, kDefaults, kHard, kAffinity };

struct ApplicationsSpec {
  std::uint32_t nodes, zones, applications, pods_each;
  Asks asks;
  std::uint64_t seed;
};

// Of three sizes, in turns.
Node application_node(std::uint32_t n, std::uint32_t zones) {
  return zoned_node(n, zones, 32 + 32 * (n % 3));
}

LabelSelector selector_of(std::uint32_t application) {
  return {{"app", "In", {fmt::format("app-{}", application)}}};
}

PodAffinityTerm term_of(std::uint32_t application, const char* key, std::int32_t weight) {
  PodAffinityTerm term;
  term.selector = selector_of(application);
  term.topology_key = key;
  term.weight = weight;
  return term;
}

TopologySpreadConstraint hard_of(std::uint32_t application, const char* key, std::int32_t skew) {
  TopologySpreadConstraint constraint;
  constraint.hard = true;
  constraint.max_skew = skew;
  constraint.topology_key = key;
  constraint.selector = selector_of(application);
  return constraint;
}

// The i-th pod of an application.
Pod application_pod(std::uint32_t application, std::uint32_t i, Asks asks) {
  Pod pod;
  pod.namespace_name = fmt::format("team-{}", application % 50);
  pod.name = fmt::format("app-{}-{}", application, i);
  pod.uid = pod.name;
  if (asks == Asks::kNothing) {
    pod.namespace_name = "plain";
  } else {
    pod.labels = {{"app", fmt::format("app-{}", application)}};
  }
  Container container;
  container.name = "main";
  const std::int64_t milli = 100 + 100 * (application % 8);
  container.requests = {{"cpu", Quantity::from_milli(milli)},
                        {"memory", Quantity::from_value(milli << 22)}};
  pod.containers = {container};
  if (asks == Asks::kHard) {
    pod.topology_spread = {hard_of(application, kZoneLabel, 1),
                           hard_of(application, kHostnameLabel, 2)};
  } else if (asks == Asks::kAffinity) {
    pod.pod_anti_affinity.required = {term_of(application, kHostnameLabel, 0)};
    pod.pod_affinity.preferred = {term_of(application, kZoneLabel, 100)};
  }
  return pod;
}

Engine application_engine(const ApplicationsSpec& spec) {
  Engine engine = value_of(Engine::create(Profile::kube_scheduler(), kOneThread));
  const Engine::Bulk bulk = engine.bulk();
  for (std::uint32_t n = 0; n < spec.nodes; ++n) {
    check_done(engine.upsert(application_node(n, spec.zones)));
  }
  Random random{spec.seed, kForPods};
  for (std::uint32_t a = 0; a < spec.applications; ++a) {
    const Pod first = application_pod(a, 0, spec.asks);
    if (spec.asks == Asks::kDefaults) {
      check_done(engine.upsert(
          ReferredObject(Service{first.namespace_name, fmt::format("app-{}", a), first.labels})));
    }
    // Every node at most once: as anti-affinity has it.
    const std::uint32_t start = random.below(spec.nodes);
    for (std::uint32_t i = 0; i < spec.pods_each; ++i) {
      check_done(engine.assume(application_pod(a, i, spec.asks),
                               node_name((start + i * 997) % spec.nodes)));
    }
  }
  return engine;
}

// Decisions for one application, of which a pod came or went before each.
class KnownApplication {
 public:
  explicit KnownApplication(const ApplicationsSpec& spec)
      : spec_(spec), engine_(application_engine(spec)), random_{spec.seed, kForSiblings} {
    shape_ = value_of(engine_.shape_of(pending_));
    for (std::uint32_t i = 0; i < 64; ++i) {
      siblings_.push_back(application_pod(0, 2'000'000 + i, spec.asks));
    }
    for (int i = 0; i < 8; ++i) {
      (void)by_pod();
      check_now();
    }
  }
  double by_pod() {
    (void)change();
    const Stopwatch watch;
    check_done(engine_.evaluate(pending_, kFast, decision_));
    return watch.seconds();
  }
  double by_shape() {
    (void)change();
    return asked();
  }
  // One before which a replica set of another application came or went, and a node got an image.
  double beside_others() {
    ++asked_;
    const WorkloadController other{WorkloadController::Kind::kReplicaSet, pending_.namespace_name,
                                   fmt::format("other-{}", asked_ / 2 % 64),
                                   selector_of(spec_.applications)};
    if (asked_ % 2 == 1) {
      engine_.remove(ReferredKind::kReplicaSet, key_of(ReferredObject(other)));
    } else {
      check_done(engine_.upsert(ReferredObject(other)));
    }
    Node node = application_node(random_.below(spec_.nodes), spec_.zones);
    node.images = {{{fmt::format("registry/other:{}", asked_)}, 1 << 28}};
    check_done(engine_.upsert(node));
    return asked();
  }
  // Another node gets a taint, or loses it.
  double a_taint() {
    Node node = application_node(taints_ / 2 % spec_.nodes, spec_.zones);
    if (taints_++ % 2 == 0) {
      node.taints = {{"node.kubernetes.io/not-ready", "", "NoSchedule"}};
    }
    const Stopwatch watch;
    check_done(engine_.upsert(node));
    return watch.seconds();
  }
  // A decision after that.
  double beside_a_taint() {
    (void)a_taint();
    return asked();
  }
  // One before which another node left, whose pods stay known, or came back.
  double beside_a_node() {
    const std::uint32_t n = spec_.nodes - 1 - joins_ / 2 % spec_.nodes;
    if (joins_++ % 2 == 0) {
      engine_.remove_node(node_name(n));
    } else {
      check_done(engine_.upsert(application_node(n, spec_.zones)));
    }
    return asked();
  }
  // One before which another node had no room left, or had room again.
  double beside_a_full_node() {
    Pod filler = application_pod(0, 4'000'000, Asks::kNothing);
    filler.containers[0].requests = {{"cpu", Quantity::from_milli(1'000'000)}};
    const std::string name = node_name(fillings_ / 2 * 7 % spec_.nodes);
    if (fillings_++ % 2 == 0) {
      check_done(engine_.assume(filler, name));
    } else {
      engine_.forget(filler.namespace_name, filler.name, filler.uid, name);
    }
    return asked();
  }
  // A decision for an application that was not asked for yet.
  double cold() {
    ++asked_;
    const Pod pod = application_pod(asked_ % spec_.applications, 1'000'000 + asked_, spec_.asks);
    const Stopwatch watch;
    check_done(engine_.evaluate(pod, kFast, decision_));
    return watch.seconds();
  }
  // One for what nobody asked for of any node's resources.
  double new_columns() {
    ++asked_;
    Pod pod = application_pod(0, 1'000'000 + asked_, Asks::kNothing);
    pod.containers[0].requests = {{"cpu", Quantity::from_milli(1'000 + asked_)}};
    const Stopwatch watch;
    check_done(engine_.evaluate(pod, kFast, decision_));
    return watch.seconds();
  }
  void check_now() {
    check_done(engine_.evaluate(shape_, kFast, decision_));
    check_decision(engine_, pending_, kFast, decision_);
  }
  void validate() { check_done(engine_.validate()); }
  // A pod of the application comes, or goes.
  double change() {
    const Pod& pod = siblings_[steps_ / 2 % siblings_.size()];
    if (steps_++ % 2 == 1) {
      const Stopwatch watch;
      engine_.forget(pod.namespace_name, pod.name, pod.uid, node_);
      return watch.seconds();
    }
    node_ = node_name(random_.below(spec_.nodes));
    const Stopwatch watch;
    check_done(engine_.assume(pod, node_));
    return watch.seconds();
  }
  // So many other applications are asked for, each with one term that means this one's pods.
  void ask_for_others(std::uint32_t count) {
    for (std::uint32_t other = 0; other < count; ++other) {
      Pod pod = application_pod(0, 5'000'000 + other, Asks::kAffinity);
      pod.labels = {{"app", fmt::format("other-{}", other)}};
      if (other % 2 == 0) {
        pod.pod_affinity = {};
      } else {
        pod.pod_anti_affinity = {};
      }
      check_done(engine_.evaluate(pod, kFast, decision_));
    }
  }

 private:
  double asked() {
    const Stopwatch watch;
    check_done(engine_.evaluate(shape_, kFast, decision_));
    return watch.seconds();
  }

  const ApplicationsSpec spec_;
  Engine engine_;
  Random random_;
  Pod pending_ = application_pod(0, 3'000'000, spec_.asks);
  std::vector<Pod> siblings_;
  ShapeIndex shape_{};
  Decision decision_;
  std::uint32_t steps_ = 0, asked_ = 0, taints_ = 0, joins_ = 0, fillings_ = 0;
  std::string node_;
};

ApplicationsSpec spec_of(const BenchOptions& options, Asks asks, std::uint32_t zones = 3) {
  return {.nodes = options.size(50'000),
          .zones = zones,
          .applications = options.size(5'000),
          .pods_each = 50,
          .asks = asks,
          .seed = options.seed};
}

void warm_line(const BenchOptions& options, Lines& lines, const char* row, const char* what,
               const ApplicationsSpec& spec, double target_us, double target_p99_us) {
  KnownApplication application(spec);
  Measurement measurement;
  const Times& times = measurement.add("by shape", options.iterations(10'000),
                                       [&] { return application.by_shape(); });
  const Times& pods =
      measurement.add("by pod", options.iterations(10'000), [&] { return application.by_pod(); });
  const Times& others = measurement.add("others", options.iterations(2'000),
                                        [&] { return application.beside_others(); });
  const Times& taint =
      measurement.add("its event", options.iterations(500), [&] { return application.a_taint(); });
  const Times& taints = measurement.add("a taint", options.iterations(500),
                                        [&] { return application.beside_a_taint(); });
  const Times& nodes = measurement.add("a node", options.iterations(500),
                                       [&] { return application.beside_a_node(); });
  const Times& full = measurement.add("a full node", options.iterations(2'000),
                                      [&] { return application.beside_a_full_node(); });
  measurement.run(options.repetitions(5));
  application.check_now();
  const double median = us(times.median()), p99 = us(times.quantile(0.99));
  lines.push_back({.row = row,
                   .what = fmt::format("{}, {} nodes in {} zones, {} pods of {} applications, one "
                                       "bound or gone since",
                                       what, spec.nodes, spec.zones,
                                       spec.applications * spec.pods_each, spec.applications),
                   .measured = fmt::format("median {:.3f} us", median),
                   .unit = "us",
                   .value = median,
                   .target = at_most(target_us),
                   .figures = {}});
  lines.push_back({.row = "",
                   .what = "  p99",
                   .measured = fmt::format("{:.3f} us", p99),
                   .unit = "us",
                   .value = p99,
                   .target = at_most(target_p99_us),
                   .figures = {}});
  const auto beside_it = [&](const char* also, const Times& its) {
    lines.push_back({.row = "",
                     .what = also,
                     .measured = fmt::format("median {:.3f} us", us(its.median())),
                     .unit = "us",
                     .value = us(its.median()),
                     .target = {},
                     .figures = {}});
  };
  beside_it("  by pod", pods);
  beside_it("  where a replica set of others came or went, and a node got an image", others);
  beside_it("  where another node had no room left, or had room again", full);
  beside_it("  where another node got a taint or lost it", taints);
  beside_it("  where another node came or went", nodes);
  beside_it("  the event itself of such a taint", taint);
}

// 30 % by default, 30 % with constraints, 40 % with affinity.
Asks asks_of(Random& random) {
  const std::uint32_t kind = random.below(10);
  return kind < 3 ? Asks::kDefaults : kind < 6 ? Asks::kHard : Asks::kAffinity;
}

// Resident bytes of a cluster's pods, each of whose applications was asked for once.
std::vector<std::int64_t> bytes_of_pods(const Profile& profile, const ApplicationsSpec& spec) {
  Engine engine = value_of(Engine::create(profile, kOneThread));
  for (std::uint32_t n = 0; n < spec.nodes; ++n) {
    check_done(engine.upsert(application_node(n, spec.zones)));
  }
  Growth memory;
  Random random{spec.seed, kForPods};
  std::vector<Asks> asked;
  for (std::uint32_t a = 0; a < spec.applications; ++a) {
    const Asks asks = asked.emplace_back(asks_of(random));
    const std::uint32_t start = random.below(spec.nodes);
    for (std::uint32_t i = 0; i < spec.pods_each; ++i) {
      Pod pod = application_pod(a, i, asks);
      pod.node_name = node_name((start + i * 997) % spec.nodes);
      check_done(engine.upsert(pod));
    }
  }
  Decision decision;
  for (std::uint32_t a = 0; a < spec.applications; ++a) {
    check_done(engine.evaluate(application_pod(a, 1'000'000, asked[a]), kFast, decision));
  }
  std::vector<std::int64_t> grown = {memory.grown()};
  check_done(engine.validate());
  return grown;
}

}  // namespace

void spread_warm(const BenchOptions& options, Lines& lines) {
  warm_line(options, lines, "spread_warm", "default soft zone and hostname spread",
            spec_of(options, Asks::kDefaults), 1, 10);
  warm_line(options, lines, "", "the same", spec_of(options, Asks::kDefaults, 1'000), 3, 30);
  ApplicationsSpec large = spec_of(options, Asks::kDefaults);
  std::swap(large.applications, large.pods_each);
  warm_line(options, lines, "", "the same", large, 1, 10);
}

void spread_hard(const BenchOptions& options, Lines& lines) {
  warm_line(options, lines, "spread_hard", "hard zone and hostname constraints",
            spec_of(options, Asks::kHard), 2, 20);
}

void affinity_warm(const BenchOptions& options, Lines& lines) {
  warm_line(options, lines, "affinity_warm",
            "required anti-affinity on hostname, preferred zone affinity, everybody's",
            spec_of(options, Asks::kAffinity), 2, 20);
}

void spread_cold(const BenchOptions& options, Lines& lines) {
  KnownApplication plain(spec_of(options, Asks::kNothing)),
      spread(spec_of(options, Asks::kDefaults));
  Measurement measurement;
  // Each application once: afterwards they are known.
  const std::int64_t each = options.iterations(400);
  const Times& of_spread = measurement.add("spread", each, [&] { return spread.cold(); });
  const Times& of_plain = measurement.add("plain", each, [&] { return plain.cold(); });
  const Times& of_columns =
      measurement.add("columns", options.iterations(100), [&] { return plain.new_columns(); });
  measurement.run(options.repetitions(5));
  const double spread_us = us(of_spread.median()), plain_us = us(of_plain.median()),
               columns_us = us(of_columns.median());
  lines.push_back(
      {.row = "spread_cold",
       .what =
           fmt::format("an application's first pod, {} nodes, columns known", options.size(50'000)),
       .measured = fmt::format(
           "{:.2f} of a cold pass ({:.1f} us; {:.1f} without constraints, a cold pass {:.0f})",
           spread_us / columns_us, spread_us, plain_us, columns_us),
       .unit = "of a cold pass",
       .value = spread_us / columns_us,
       .target = at_most(1.5),
       .figures = {{"spread_us", spread_us}, {"plain_us", plain_us}, {"cold_us", columns_us}}});
}

void default_place(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000), applications = options.size(5'000);
  constexpr std::uint32_t kPodsEach = 40;
  for (const bool departures : {false, true}) {
    Engine engine = value_of(Engine::create(Profile::kube_scheduler(), kOneThread));
    for (std::uint32_t n = 0; n < nodes; ++n) {
      check_done(engine.upsert(application_node(n, 3)));
    }
    Random random{options.seed, kForPlaces};
    std::vector<Pod> pods;
    for (std::uint32_t a = 0; a < applications; ++a) {
      const Asks asks = asks_of(random);
      const Pod first = application_pod(a, 0, asks);
      check_done(engine.upsert(
          ReferredObject(Service{first.namespace_name, fmt::format("app-{}", a), first.labels})));
      for (std::uint32_t i = 0; i < kPodsEach; ++i) {
        pods.push_back(application_pod(a, i, asks));
      }
    }
    std::uint32_t placed = 0;
    Placement placement;
    const Stopwatch watch;
    for (std::size_t p = 0; p < pods.size(); ++p) {
      check_done(engine.place(pods[p], kBest, placement));
      placed += placement.node != kNoNode;
      if (departures && p >= pods.size() / 4) {
        const Pod& gone = pods[p - pods.size() / 4];
        engine.remove_pod(gone.namespace_name, gone.name);
      }
    }
    const double seconds = watch.seconds();
    const Pod pending = application_pod(0, 1'000'000, Asks::kHard);
    Decision decision;
    check_done(engine.evaluate(pending, kFast, decision));
    check_decision(engine, pending, kFast, decision);
    const double rate = static_cast<double>(pods.size()) / seconds;
    lines.push_back(
        {.row = departures ? "" : "default_place",
         .what = fmt::format("{} pods of {} applications, one after the other, onto {} nodes, "
                             "kube-scheduler's default profile{} ({} placed)",
                             pods.size(), applications, nodes, departures ? ", departures" : "",
                             placed),
         .measured = fmt::format("{:.0f} pods a second ({:.2f} us a pod)", rate, 1e6 / rate),
         .unit = "pods a second",
         .value = rate,
         .target = at_least(departures ? 60'000 : 100'000),
         .figures = {}});
  }
}

void counter_event(const BenchOptions& options, Lines& lines) {
  // The pods' own application has three counters that they feed: by hostname those that its
  // anti-affinity means, and those whose anti-affinity means it; by zone what it prefers, and what
  // prefers it.
  constexpr std::uint32_t kOwn = 3, kCounters = 20;
  KnownApplication plain(spec_of(options, Asks::kNothing)), few(spec_of(options, Asks::kAffinity)),
      many(spec_of(options, Asks::kAffinity));
  many.ask_for_others(kCounters - kOwn);
  Measurement measurement;
  const auto events_of = [&](const char* name, KnownApplication& application) -> const Times& {
    return measurement.add(name, options.iterations(10'000),
                           [&] { return (application.change() + application.change()) / 2; });
  };
  const Times& of_many = events_of("many", many);
  const Times& of_few = events_of("few", few);
  const Times& of_plain = events_of("plain", plain);
  measurement.run(options.repetitions(5));
  for (KnownApplication* application : {&many, &few}) {
    application->check_now();
    application->validate();
  }
  const auto line = [&](const char* row, std::uint32_t counters, const Times& times) {
    const double more = us(times.median()) - us(of_plain.median());
    lines.push_back(
        {.row = row,
         .what = fmt::format("a pod with terms, which feeds {} counters, assumed or forgotten, "
                             "more than one without",
                             counters),
         .measured = fmt::format("{:.2f} us ({:.2f} less {:.2f})", more, us(times.median()),
                                 us(of_plain.median())),
         .unit = "us",
         .value = more,
         .target = at_most(1),
         .figures = {}});
  };
  line("counter_event", kCounters, of_many);
  line("", kOwn, of_few);
}

void application_memory(const BenchOptions& options, Lines& lines) {
  ApplicationsSpec spec = spec_of(options, Asks::kDefaults);
  spec.pods_each = 200;
  const std::uint32_t pods = spec.applications * spec.pods_each;
  const auto per_pod = [&](const Profile& profile) {
    return static_cast<double>(measured_apart(1, [&] { return bytes_of_pods(profile, spec); })[0]) /
           pods;
  };
  const double with = per_pod(Profile::standard()), without = per_pod(bench_profile());
  lines.push_back(
      {.row = "application_memory",
       .what = fmt::format("{} pods of {} applications, all asked for, more than under a "
                           "profile of columns",
                           pods, spec.applications),
       .measured = fmt::format("{:.1f} % ({:.0f} less {:.0f} bytes a pod)",
                               100 * (with / without - 1), with, without),
       .unit = "%",
       .value = 100 * (with / without - 1),
       .target = at_most(10),
       .figures = {}});
}

}  // namespace headroom
