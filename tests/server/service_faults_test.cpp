// The barrier: allocations fail at any place of any request, and the service goes on. After each
// the state is what the facts say, or the cluster was given up, no decision is made and a resync
// heals it. And the budget of memory.
//
// This executable replaces operator new: one allocation after `allocations_left` more fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <thread>

#include "tests/server/random_facts.h"
#include "tests/support/service_harness.h"

namespace {

constexpr std::int64_t kNever = -1;
// Of the test's own thread: those that free clusters and evaluate batches do not fail.
thread_local std::int64_t allocations_left = kNever;
std::uint64_t failures = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  if (allocations_left > 0 && --allocations_left == 0) {
    allocations_left = kNever;
    ++failures;
    throw std::bad_alloc();
  }
  const std::size_t rounded =
      (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  void* const made = std::aligned_alloc(alignment, rounded);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

// Not inlined, where gcc would see memory of operator new that free() gives back.
[[gnu::noinline]] void give_back(void* made) noexcept { std::free(made); }

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
// simdjson asks so, and gives back as all do.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* made) noexcept { give_back(made); }
void operator delete(void* made, const std::nothrow_t&) noexcept { give_back(made); }
void operator delete(void* made, std::size_t) noexcept { give_back(made); }
void operator delete(void* made, std::align_val_t) noexcept { give_back(made); }
void operator delete(void* made, std::size_t, std::align_val_t) noexcept { give_back(made); }

namespace headroom::in_memory {
namespace {

class Faults : public ServiceTest {
 protected:
  using ServiceTest::ServiceTest;

  std::uint64_t below(std::uint64_t n) { return random_.below(n); }

  // Hands a frame to the service while its allocation number `fails_at` fails.
  template <typename Create>
  void give(in_memory::Client& peer, std::int64_t fails_at, Create create) {
    Builder builder;
    finish_frame(builder, 7, create(builder));
    const auto bytes = bytes_of(builder);
    const FrameBuffer::Received received{.frame = wire::GetSizePrefixedFrame(bytes.data()),
                                         .bytes = bytes};
    allocations_left = fails_at;
    if (!service->handle(peer, received)) {
      while (service->step()) {
      }
    }
    allocations_left = kNever;
  }

  void tell(in_memory::Client& peer, std::int64_t fails_at, std::uint64_t sequence,
            const std::vector<Fact>& facts) {
    give(peer, fails_at, [&](Builder& builder) {
      const auto changes = write_list<wire::Change>(
          builder, facts, [&](const Fact& fact) { return write(builder, fact); });
      return wire::CreateFacts(builder, sequence, changes, 0);
    });
  }
  // A question of capacity, or a reservation, made or given back.
  void ask_for_capacity(in_memory::Client& peer, std::int64_t fails_at) {
    NodeCounts nodes;
    for (std::uint64_t more = 1 + below(3); more != 0; --more) {
      nodes.emplace_back(random_.some_template(), static_cast<std::int64_t>(1 + below(3)));
    }
    const std::vector<CapacityItem> items = items_of(nodes);
    const std::string id = fmt::format("reservation-{}-of-some-length", below(4));
    const std::int64_t expires_in_us = (1 + static_cast<std::int64_t>(below(300))) * 1'000'000;
    const std::vector<std::string> remove = {fmt::format("n{}", below(6))};
    switch (below(5)) {
      case 0:
        return give(peer, fails_at,
                    [&](Builder& builder) { return encode_capacity_check(builder, items, false); });
      case 1:
        return give(peer, fails_at,
                    [&](Builder& builder) { return encode_capacity_plan(builder, items, remove); });
      case 2:
        return give(peer, fails_at,
                    [&](Builder& builder) { return encode_capacity_release(builder, id); });
      case 3:
        return give(peer, fails_at,
                    [&](Builder& builder) { return encode_capacity_quota_status(builder, ""); });
      default:
        return give(peer, fails_at, [&](Builder& builder) {
          return encode_capacity_reserve(
              builder, {.id = id,
                        .items = items,
                        .expires_us = wall_clock_us + expires_in_us,
                        .mode = below(2) == 0 ? wire::ReserveMode::All : wire::ReserveMode::UpTo});
        });
    }
  }
  // All other questions.
  void ask_for_more(in_memory::Client& peer, std::int64_t fails_at, const Pod& pod,
                    const std::string& node) {
    const PodRef ref(pod);
    const auto ask = [&](auto create) { give(peer, fails_at, create); };
    switch (below(12)) {
      case 0:
        return ask([&](Builder& builder) { return encode_post_filter(builder, ref, true); });
      case 1:
        return ask([&](Builder& builder) { return encode_post_filter(builder, ref, false); });
      case 2:
        return ask([&](Builder& builder) { return encode_explain_victims(builder, ref, node); });
      case 3:
        return ask([&](Builder& builder) { return encode_explain(builder, ref, node); });
      case 4:
        return ask([&](Builder& builder) { return encode_evaluate_nodes(builder, ref, {}); });
      case 5: {
        const Pod other = random_.some_pod();
        const PodRef with(other);
        const PodName without{pod.namespace_name, pod.name};
        return ask([&](Builder& builder) {
          return encode_evaluate_nodes(builder, ref,
                                       {.node_names = std::span(&node, 1),
                                        .without_pods = std::span(&without, 1),
                                        .with_pods = std::span(&with, 1)});
        });
      }
      case 6:
        return ask([&](Builder& builder) { return encode_bound_volumes(builder, ref, node); });
      case 7:
        return ask([](Builder& builder) { return encode_elastic_quota_status(builder, ""); });
      case 8:
        return ask([](Builder& builder) { return encode_reservations(builder, {}); });
      case 9:
        return ask([](Builder& builder) { return wire::CreateRenewReservations(builder); });
      case 10:
        return ask([](Builder& builder) { return encode_capacity_reservations(builder, ""); });
      default:
        return ask([](Builder& builder) { return wire::CreateStats(builder, true, true); });
    }
  }
  // Those who ask are decided for by one of these schedulers' profiles.
  void any_allocation_may_fail(const std::vector<const char*>& schedulers);

  RandomFacts random_{std::uint64_t{20261122}};
};

void Faults::any_allocation_may_fail(const std::vector<const char*>& schedulers) {
  std::vector<Fact> base;
  for (int n = 0; n < 6; ++n) base.emplace_back(node_of(fmt::format("n{}", n), 8));
  std::unique_ptr<in_memory::Client> feeds;
  std::uint64_t sequence = 0;
  const auto resync = [&] {
    feeds = std::make_unique<in_memory::Client>(*service);
    feeds->greet();
    feeds->feed(base);
    sequence = 1;
  };
  resync();
  std::uint32_t given_up = 0, resyncs = 0;
  const char* const long_run = std::getenv("HEADROOM_LONG");
  const int steps = long_run != nullptr && *long_run == '1' ? 200'000 : 1'500;
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE(step);
    steady += kFaultValidationPeriod;        // each fault is followed by a validation
    const bool nodes_alone = below(4) == 0;  // in the midst of what is done for them
    const auto fails_at = static_cast<std::int64_t>(1 + below(nodes_alone     ? 60
                                                              : below(2) == 0 ? 12
                                                                              : 250));
    const Pod pod = random_.some_pod();
    const std::string node = fmt::format("n{}", below(6));
    in_memory::Client peer(*service);
    peer.greet("peer", schedulers[below(schedulers.size())]);
    const std::uint64_t kind = nodes_alone ? 0 : below(11);
    if (kind < 3) {
      const std::vector<Fact> facts =
          nodes_alone ? std::vector{random_.some_node(), Fact(removed_node(node)),
                                    random_.some_node(), random_.some_metric()}
                      : std::vector{random_.some_fact(), random_.some_fact(), random_.some_fact()};
      tell(*feeds, fails_at, ++sequence, facts);
    } else if (kind == 3) {
      give(peer, fails_at, [&](Builder& builder) {
        return encode_reserve(builder, {.pod = PodRef(pod), .node_name = node});
      });
    } else if (kind == 4) {
      give(peer, fails_at, [&](Builder& builder) { return encode_unreserve(builder, pod, node); });
    } else if (kind == 5) {
      const std::vector<Pod> pods = {pod, random_.some_pod(), random_.some_pod()};
      const std::vector<PodRef> refs(pods.begin(), pods.end());
      give(peer, fails_at,
           [&](Builder& builder) { return encode_place(builder, refs, below(2) == 0); });
    } else if (kind == 6) {
      const PodRef ref(pod);
      give(peer, fails_at, [&](Builder& builder) {
        return encode_evaluate(builder, std::span(&ref, 1), {.top_k = 4, .scores = true});
      });
    } else if (kind == 7) {
      ask_for_capacity(peer, fails_at);
    } else if (kind == 8) {
      ask_for_more(peer, fails_at, pod, node);
    } else if (kind == 9) {
      // Another feeds all anew.
      std::vector<Fact> all = base;
      for (int more = 0; more < 6; ++more) all.push_back(random_.some_fact());
      feeds = std::make_unique<in_memory::Client>(*service);
      feeds->greet();
      give(*feeds, 1 + static_cast<std::int64_t>(below(60)),
           [](Builder& builder) { return wire::CreateFeedBegin(builder, 0, 0); });
      tell(*feeds, fails_at, 1, all);
      give(*feeds, 1 + static_cast<std::int64_t>(below(60)),
           [](Builder& builder) { return wire::CreateFeedEnd(builder, 1); });
      sequence = 1;
    } else {
      const auto seconds = static_cast<std::int64_t>(below(200));
      steady += std::chrono::seconds(seconds);
      wall_clock_us += seconds * 1'000'000;  // reservations lapse
      allocations_left = fails_at;
      service->tick();
      allocations_left = kNever;
    }
    const ServiceState state = service->state();
    in_memory::Client asks(*service);
    asks.greet();
    if (!state.ready) {
      ++given_up;
      EXPECT_EQ(asks.error(asks.evaluate({pod})).substr(0, 19), "Internal: not ready");
    } else {
      const Result<void> valid = service->validate();
      ASSERT_TRUE(valid) << valid.error().message;
      EXPECT_GE(asks.allowed(random_.some_template(), 3), 0);
      // What is cached is right.
      Engine& engine = const_cast<Engine&>(service->engine());
      const std::string cached = text_of(engine, engine.evaluate(pod, {.top_k = 6}).value(), true);
      engine.drop_shape_cache();
      ASSERT_EQ(text_of(engine, engine.evaluate(pod, {.top_k = 6}).value(), true), cached);
    }
    if (!state.ready || !state.feeder) {
      ++resyncs;
      resync();
      ASSERT_TRUE(service->state().ready);
      const Result<void> valid = service->validate();
      ASSERT_TRUE(valid) << valid.error().message;
    }
  }
  EXPECT_GT(failures, static_cast<std::uint64_t>(steps) / 4) << "allocations did fail";
  EXPECT_GT(resyncs, 0U);
  std::printf("%llu failures, %u resyncs, %u times given up\n",
              static_cast<unsigned long long>(failures), resyncs, given_up);
}

// tl::expected would end the process.
TEST_F(Faults, OfAnErrorsCopyCostItsWordsAlone) {
  const Result<bool> result = fail(ErrorCode::kLimitExceeded, "longer than what lies in a string");
  allocations_left = 1;
  const Result<bool> copied = result;
  allocations_left = kNever;
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(copied.error().message, "");
  EXPECT_EQ(Result<bool>(result).error().message, "longer than what lies in a string");
}

TEST_F(Faults, AnyAllocationMayFail) { any_allocation_may_fail({nullptr}); }

class FaultsOfTwoProfiles : public Faults {
 protected:
  static Profile named(Profile profile, const char* scheduler_name) {
    profile.scheduler_name = scheduler_name;
    return profile;
  }
  FaultsOfTwoProfiles()
      : Faults(std::vector{named(Profile::standard(), "one"),
                           named(profile_of(PluginId::kNodeResourcesFit), "two")}) {}
};

// What one engine has and the other has not is found.
TEST_F(FaultsOfTwoProfiles, AnyAllocationMayFail) { any_allocation_may_fail({"one", "two"}); }

// A request that fails costs its peer an error, not everybody a look at the whole state each time.
TEST_F(Faults, AreFollowedByOneValidationInAPeriod) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  in_memory::Client peer(*service);
  peer.greet();
  const auto fault = [&] {
    const std::uint64_t before = failures;
    const Pod pod = pod_of("p", 1 + static_cast<std::int64_t>(before % 1000));  // of a new shape
    const PodRef ref(pod);
    give(peer, 1, [&](Builder& builder) {
      return encode_evaluate(builder, std::span(&ref, 1), {.top_k = 2});
    });
    ASSERT_EQ(failures, before + 1);
  };
  ASSERT_EQ(service->fault_validations(), 0U);
  for (int f = 0; f < 100; ++f) fault();
  EXPECT_EQ(service->fault_validations(), 1U);
  service->tick();
  EXPECT_EQ(service->fault_validations(), 1U);
  steady += kFaultValidationPeriod;
  service->tick();
  EXPECT_EQ(service->fault_validations(), 2U) << "those since";
  steady += kFaultValidationPeriod;
  service->tick();
  EXPECT_EQ(service->fault_validations(), 2U) << "nothing failed since";
  fault();
  EXPECT_EQ(service->fault_validations(), 3U) << "at once";
  EXPECT_EQ(client.best(pod_of("q", 1)), "n1") << "decisions go on";
}

// --- The budget --------------------------------------------------------------------------------

class Budget : public testing::Test {
 protected:
  Budget() {
    ServiceOptions options;
    options.engine.threads = 1;
    options.incarnation = kIncarnation;
    options.engine.shape_cache_bytes_max = 24 << 10;
    options.memory_bytes_max = 1000;
    options.memory_bytes = [this] { return used += step; };
    options.steady_clock = [this] { return steady += clock_step; };
    service = std::move(RequestService::create(std::move(options), metrics).value());
    feeder.emplace(*service);
    feeder->greet();
    feeder->feed({node_of("n1", 8)});
    client.emplace(*service);
    client->greet();
  }
  // More than six MiB.
  static std::vector<in_memory::Fact> large_pods() {
    std::vector<in_memory::Fact> pods;
    for (int p = 0; p < 64; ++p) {
      Pod& pod = std::get<Pod>(pods.emplace_back(pod_of(fmt::format("p{}", p), 1)));
      pod.annotations = {{"long", std::string(100 << 10, 'x')}};
    }
    return pods;
  }
  void use(std::size_t bytes) {
    used = bytes;
    service->tick();
  }

  std::size_t used = 100, step = 0;
  SteadyTime steady;
  std::chrono::nanoseconds clock_step{0};  // kWorkTurnTime: a turn is one piece of work
  Metrics metrics;
  std::unique_ptr<RequestService> service;
  std::optional<in_memory::Client> feeder, client;
};

TEST_F(Budget, FactsAndConnectionsAreRefusedAndDecisionsGoOn) {
  use(899);
  feeder->facts({node_of("n2", 8)});
  EXPECT_FALSE(feeder->has_answer());
  use(900);
  const std::string refusal = "LimitExceeded: memory: 900 of 1000 bytes (--memory-mib) are used";
  EXPECT_EQ(feeder->error(feeder->facts({node_of("n3", 8)})), refusal);
  {
    in_memory::Client late(*service);
    EXPECT_EQ(late.error(late.ask(
                  [](Builder& builder) { return wire::CreateHelloDirect(builder, 1, 1, "late"); })),
              refusal);
    EXPECT_TRUE(late.closed);
  }
  client->begin();
  EXPECT_EQ(client->error(client->begin_id), refusal);
  EXPECT_EQ(client->best(pod_of("p", 1)), "n1");
  EXPECT_EQ(client->reserve_text(pod_of("p", 1), "n2"), "ok");
  EXPECT_EQ(client->stats().memory_bytes(), 900U);
  EXPECT_EQ(client->stats().memory_bytes_max(), 1000U);
  EXPECT_EQ(client->stats().nodes(), 2U);
  use(950);
  EXPECT_EQ(client->reserve_text(pod_of("q", 1), "n2"),
            "Io: memory: 950 of 1000 bytes (--memory-mib) are used");
  EXPECT_EQ(
      client->error(client->capacity_reserve("r", {{node_of("t", 1), 1}}, kNowUs + kSecondUs)),
      "Io: memory: 950 of 1000 bytes (--memory-mib) are used");
  EXPECT_EQ(client->best(pod_of("q", 1)), "n1");
  // Not taken again at the first byte below.
  use(860);
  EXPECT_EQ(feeder->error(feeder->facts({node_of("n3", 8)})).substr(0, 13), "LimitExceeded");
  use(849);
  EXPECT_EQ(feeder->stopped(), "Gap: facts were refused for want of memory: resync");
  feeder->feed({node_of("n1", 8), node_of("n3", 8)});
  EXPECT_EQ(client->stats().nodes(), 2U);
  EXPECT_NE(metrics.text().find("headroomd_memory_refused_total{what=\"facts\"} 3"),
            std::string::npos);
}

// A frame may refer to one text many times: what it leads to is seen before its end.
TEST_F(Budget, OneFrameDoesNotGoFarBeyondIt) {
  step = 300;
  const std::uint64_t id = feeder->facts(large_pods());
  EXPECT_EQ(feeder->error(id), "LimitExceeded: memory: 1000 of 1000 bytes (--memory-mib) are used");
  step = 0;
  // A look for each MiB, some eleven pods.
  EXPECT_GT(client->stats().pending_pods(), 20U);
  EXPECT_LT(client->stats().pending_pods(), 40U);
  use(100);
  EXPECT_EQ(feeder->stopped(), "Gap: facts were refused for want of memory: resync");
}

TEST_F(Budget, TheFrameThatEndsAResyncIsToldSo) {
  feeder->begin();
  step = 300;
  const std::uint64_t id = feeder->facts(large_pods());
  EXPECT_EQ(feeder->error(id), "LimitExceeded: memory: 1000 of 1000 bytes (--memory-mib) are used");
  EXPECT_FALSE(client->stats().resyncing());
  EXPECT_EQ(client->stats().nodes(), 1U) << "the facts of before";
}

TEST_F(Budget, AResyncThatDoesNotFitEndsAndTheOldFactsStay) {
  feeder->begin();
  feeder->facts({node_of("m1", 8)});
  use(950);
  EXPECT_FALSE(client->stats().resyncing());
  EXPECT_EQ(client->best(pod_of("p", 1)), "n1");
  use(100);
  EXPECT_EQ(feeder->stopped(), "Gap: facts were refused for want of memory: resync");
}

// Facts of a resync that ends meanwhile are not for the cluster that decides.
TEST_F(Budget, AResyncThatEndsBetweenTurnsChangesNothing) {
  clock_step = kWorkTurnTime;
  feeder->in_turns = true;
  feeder->begin();
  feeder->facts({node_of("m1", 8), node_of("m2", 8), node_of("m3", 8)});
  ASSERT_TRUE(feeder->waiting());
  use(950);
  while (feeder->waiting()) feeder->step();
  EXPECT_EQ(client->stats().nodes(), 1U);
  EXPECT_EQ(client->best(pod_of("p", 1)), "n1");
}

TEST_F(Budget, TheShapeCacheShrinksFirst) {
  for (int cpu = 1; cpu <= 8; ++cpu) {
    ASSERT_EQ(client->best(pod_of("p" + std::to_string(cpu), cpu)), "n1");
  }
  const std::size_t before = service->state().engine.cache_bytes;
  use(800);
  EXPECT_LE(service->state().engine.cache_bytes, before / 2) << before;
  EXPECT_EQ(client->best(pod_of("p", 1)), "n1");
  feeder->facts({node_of("n2", 8)});
  EXPECT_FALSE(feeder->has_answer());
}

TEST(MemoryReserve, IsGivenUpWhereAnAllocationFailsAndTakenAgain) {
  install_memory_reserve();
  ASSERT_FALSE(memory_reserve_spent());
  std::get_new_handler()();  // what a failed allocation calls
  EXPECT_TRUE(memory_reserve_spent());
  EXPECT_THROW(std::get_new_handler()(), std::bad_alloc);
  retake_memory_reserve();
  EXPECT_FALSE(memory_reserve_spent());
  std::set_new_handler(nullptr);
}

TEST(Memory, IsMeasured) {
  const std::size_t before = process_memory_bytes();
  ASSERT_GT(before, 1U << 20);
  std::vector<char> more(std::size_t{256} << 20, 'x');
  EXPECT_GT(process_memory_bytes(), before + (std::size_t{200} << 20)) << more.back();
  EXPECT_GT(default_memory_budget(), std::size_t{64} << 20);
}

}  // namespace
}  // namespace headroom::in_memory
