// State files: each kind of fact comes back and goes on as before; a file that is damaged in any
// way is refused with what is wrong, and never believed.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/state/cluster_state.h"
#include "engine/state/state_file.h"
#include "objects/hash.h"
#include "tests/support/answer_text.h"
#include "tests/support/file_bytes.h"
#include "tests/support/objects.h"
#include "workloads/temporary_directory.h"

namespace headroom::state_test {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kNowUs = 1'767'225'600 * kSecondUs;  // 2026-01-01T00:00:00Z

ResourceList resources(std::int64_t milli_cpu) {
  ResourceList list = cpu_and_memory(milli_cpu, milli_cpu << 20);
  list.emplace_back("pods", Quantity::from_value(20));
  return list;
}

Node node_of(const std::string& name, std::int64_t milli_cpu = 4000) {
  return headroom::node_of(name, resources(milli_cpu), {{"zone", name.substr(0, 1)}});
}

Pod pod_of(const std::string& name, const std::string& node_name = "",
           std::int64_t milli_cpu = 500) {
  return headroom::pod_of("default", name, millicores(milli_cpu),
                          {.limits = millicores(2 * milli_cpu),
                           .node_name = node_name,
                           .labels = {{"app", name}},
                           .priority = 9500,  // koord-prod
                           .uid = "uid of " + name});
}

NodeMetric metric_of(const std::string& name, std::int64_t updated_us,
                     const std::vector<std::string>& pods) {
  NodeMetric metric = node_metric_of(name, updated_us, resources(1000), 60);
  metric.aggregated = {{300 * kSecondUs, {{"p95", resources(1500)}}}};
  for (const std::string& pod : pods) {
    metric.pods.push_back({"default", pod, resources(100), "koord-prod"});
  }
  return metric;
}

Profile standard_profile(Mode mode = Mode::kProposal) {
  Profile profile = Profile::standard();
  profile.mode = mode;
  return profile;
}

Engine make_engine(const Profile& profile = standard_profile()) {
  Result<Engine> engine = Engine::create(profile, {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  EXPECT_TRUE(engine->advance(kNowUs));
  return std::move(*engine);
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// What the engine answers about two pods and about each of its nodes.
std::string answers(Engine& engine) {
  std::string text = "pods " + std::to_string(engine.pod_count());
  Pod with_port = pod_of("web");
  with_port.containers.front().ports = {{8080, PortProtocol::kTcp, ""}};
  Pod large = pod_of("large", "", 3900);
  large.priority = 9900;
  for (const Pod& pod : {pod_of("small"), large, with_port}) {
    const Result<Decision> decision = engine.evaluate(pod, {.top_k = 16});
    text += "\n" + (decision ? decision_text(engine, *decision) : decision.error().message);
    if (const auto preemption = engine.post_filter(pod, {.candidates = true}); preemption) {
      text += "\npreemption " + std::string(to_string(preemption->code));
      for (const NodeVictims& node : preemption->candidates) {
        text += "\n" + std::string(engine.node_name(node.node)) +
                ", budgets broken: " + std::to_string(node.pdb_violations);
        for (const Victim& victim : node.victims) text += " " + victim.name + victim.uid;
      }
    }
    for (NodeIndex node{}; !engine.node_name(node).empty();
         node = static_cast<NodeIndex>(static_cast<std::uint32_t>(node) + 1)) {
      const std::string name(engine.node_name(node));
      const Result<Explanation> explanation = engine.explain(pod, name);
      if (!explanation) continue;
      for (const ExplainTerm& term : explanation->terms) {
        text += "\n" + name + " " + term.extension_point + " " + term.resource + " " +
                std::to_string(term.capacity) + " " + std::to_string(term.aggregate) + " " +
                std::to_string(term.result) + " " + term.note;
      }
    }
  }
  for (const ElasticQuotaStatus& quota : engine.elastic_quota_status()) {
    for (const ElasticQuotaAmount& amount : quota.amounts) {
      text += "\n" + quota.namespace_name + " " + amount.resource + " " +
              std::to_string(amount.used) + " nominated " + std::to_string(amount.nominated);
    }
  }
  return text;
}

class StateTest : public testing::Test {
 protected:
  std::string path() const { return directory_.path() + "/state"; }

  Engine saved_and_loaded(const Engine& engine) const {
    const Result<void> saved = engine.save(path());
    if (!saved) throw std::invalid_argument(saved.error().message);
    Result<Engine> loaded = Engine::load(engine.profile(), path(), {.threads = 1});
    if (!loaded) throw std::invalid_argument(loaded.error().message);
    return std::move(*loaded);
  }

  // Saves and loads, and then does the same to both engines: they have to agree all the way.
  void expect_same_future(Engine& engine,
                          const std::vector<std::function<void(Engine&)>>& steps) const {
    Engine loaded = saved_and_loaded(engine);
    const auto compare = [&](std::size_t step) {
      const Result<void> valid = loaded.validate();
      EXPECT_TRUE(valid) << "step " << step << ": " << valid.error().message;
      EXPECT_EQ(engine.digest(), loaded.digest()) << "step " << step;
      EXPECT_EQ(answers(engine), answers(loaded)) << "step " << step;
    };
    compare(0);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const std::string before = answers(engine);
      steps[s](engine);
      steps[s](loaded);
      EXPECT_TRUE(before != answers(engine)) << "step " << s + 1 << " tells nothing";
      compare(s + 1);
    }
  }

  // Why the bytes are refused; "" where they are taken.
  std::string refusal(const std::string& bytes, const Profile& profile = standard_profile()) const {
    write_bytes(path(), bytes);
    const Result<Engine> loaded = Engine::load(profile, path(), {.threads = 1});
    if (loaded) return "";
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(loaded.error().message.starts_with(path() + ": ")) << loaded.error().message;
    return loaded.error().message.substr(path().size() + 2);
  }

  TemporaryDirectory directory_ = TemporaryDirectory::make("headroom-state").value();
};

// Some of every kind.
Engine full_engine(const Profile& profile = standard_profile()) {
  Engine engine = make_engine(profile);
  Node tainted = node_of("b");
  tainted.taints = {{"gpu", "yes", "NoSchedule"}};
  tainted.allocatable.emplace_back("example.com/gpu", Quantity::from_value(2));
  tainted.annotations = {{"node.koordinator.sh/limit-to-allocatable", R"({"cpu": 200})"}};
  const PriorityClass high{"high", 1000, true, ""};
  const PodDisruptionBudget budget{"default", "all", {{"app", "Exists", {}}}, 0, {"gone"}};
  Pod host = pod_of("host", "a");
  host.containers.front().ports = {{8080, PortProtocol::kTcp, "10.0.0.1"},
                                   {8080, PortProtocol::kUdp, ""}};
  host.scheduled = PodCondition{true, kNowUs - 5 * kSecondUs};
  host.initialized = PodCondition{true, kNowUs - 4 * kSecondUs};
  host.start_us = kNowUs - 3 * kSecondUs;
  Pod classy = pod_of("classy", "a");
  classy.priority.reset();
  classy.priority_class_name = "high";
  classy.deleting = true;
  Pod ended = pod_of("ended", "a");
  ended.phase = "Failed";
  Pod gpu = pod_of("gpu", "b");
  gpu.containers.front().requests.emplace_back("example.com/gpu", Quantity::from_value(1));
  gpu.tolerations = {{"", "Exists", "", ""}};
  gpu.labels = {{"koordinator.sh/priority-class", "koord-batch"},
                {"koordinator.sh/qosClass", "BE"}};
  Pod waiting = pod_of("waiting");
  waiting.nominated_node_name = "c";
  EXPECT_TRUE(engine.upsert(node_of("a")) && engine.upsert(tainted) && engine.upsert(node_of("c")));
  EXPECT_TRUE(engine.upsert(high) && engine.upsert(budget));
  EXPECT_TRUE(engine.upsert(elastic_quota("default", millicores(1000), millicores(9000))) &&
              engine.upsert(elastic_quota("lender", millicores(9000), millicores(9000))));
  EXPECT_TRUE(engine.upsert(host) && engine.upsert(classy) && engine.upsert(ended));
  EXPECT_TRUE(engine.upsert(gpu) && engine.upsert(waiting) && engine.upsert(pod_of("nowhere")));
  EXPECT_TRUE(engine.assume(pod_of("assumed"), "c"));
  EXPECT_TRUE(engine.upsert(pod_of("early", "to come")));
  EXPECT_TRUE(engine.upsert(metric_of("a", kNowUs, {"host", "later"})));
  EXPECT_TRUE(engine.upsert(metric_of("also to come", kNowUs, {"early"})));
  return engine;
}

TEST_F(StateTest, NothingButTheTime) {
  Engine engine = make_engine();
  Engine loaded = saved_and_loaded(engine);
  EXPECT_EQ(loaded.now_us(), kNowUs);
  EXPECT_FALSE(loaded.advance(kNowUs - 1));
  EXPECT_EQ(loaded.stats().nodes, 0);
}

TEST_F(StateTest, EveryKindInBothModes) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine engine = full_engine(standard_profile(mode));
    expect_same_future(engine, {[](Engine& e) {
                         ASSERT_TRUE(e.advance(kNowUs + 1000 * kSecondUs));  // metrics expire
                       }});
    Engine loaded = saved_and_loaded(engine);
    const std::string bytes = file_bytes(path());
    ASSERT_TRUE(loaded.save(path()));
    EXPECT_EQ(bytes, file_bytes(path()));
  }
}

TEST_F(StateTest, NamesKeepTheirRowsAndNewOnesTakeTheSame) {
  Engine engine = make_engine();
  for (const char* name : {"n0", "n1", "n2", "n3"}) ASSERT_TRUE(engine.upsert(node_of(name)));
  engine.remove_node("n0");
  engine.remove_node("n2");
  ASSERT_TRUE(engine.upsert(pod_of("p", "n4")));  // takes row 0, without a node
  expect_same_future(engine, {[](Engine& e) { ASSERT_TRUE(e.upsert(node_of("n5"))); },
                              [](Engine& e) { ASSERT_TRUE(e.upsert(node_of("n4"))); }});
  Engine loaded = saved_and_loaded(engine);
  for (const char* name : {"n1", "n3", "n4", "n5"}) {
    EXPECT_EQ(engine.find_node(name), loaded.find_node(name)) << name;
  }
  EXPECT_EQ(engine.find_node("n5"), NodeIndex{2});
}

TEST_F(StateTest, AssumedPods) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("a")) && engine.upsert(node_of("b")));
  ASSERT_TRUE(engine.upsert(pod_of("seen")) && engine.assume(pod_of("seen"), "a"));
  ASSERT_TRUE(engine.assume(pod_of("unseen"), "b"));
  expect_same_future(engine,
                     {[](Engine& e) { e.forget("default", "seen", "uid of seen", "a"); },
                      [](Engine& e) { e.forget("default", "unseen", "uid of unseen", "b"); },
                      [](Engine& e) { ASSERT_TRUE(e.upsert(pod_of("seen", "b"))); }});
  EXPECT_EQ(engine.pod_count(), 1);
}

// An estimate counts until a report is a whole interval younger than the pod.
TEST_F(StateTest, FirstSeenTimesAndMetricsByAge) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("a")) && engine.upsert(node_of("b")));
  ASSERT_TRUE(engine.upsert(pod_of("old", "a")));
  ASSERT_TRUE(engine.advance(kNowUs + 30 * kSecondUs));
  ASSERT_TRUE(engine.upsert(pod_of("young", "a", 700)));
  ASSERT_TRUE(engine.upsert(metric_of("a", kNowUs + 30 * kSecondUs, {})));
  const auto report = [](std::int64_t seconds) {
    return
        [=](Engine& e) { ASSERT_TRUE(e.upsert(metric_of("a", kNowUs + seconds * kSecondUs, {}))); };
  };
  expect_same_future(engine, {report(70), report(100), [](Engine& e) {
                                ASSERT_TRUE(e.advance(kNowUs + 1000 * kSecondUs));  // expired
                              }});
}

TEST_F(StateTest, FactsOfNodesAndPodsThatAreNotThereYet) {
  Engine engine = full_engine();
  expect_same_future(engine, {[](Engine& e) { ASSERT_TRUE(e.upsert(node_of("to come"))); },
                              [](Engine& e) { ASSERT_TRUE(e.upsert(node_of("also to come"))); },
                              [](Engine& e) { ASSERT_TRUE(e.upsert(pod_of("later", "a"))); },
                              [](Engine& e) { e.remove_node_metric("a"); }});
}

TEST_F(StateTest, QuotasBudgetsClassesAndNominations) {
  Engine engine = full_engine();
  const PriorityClass higher{"high", 2'000'000, true, ""};
  expect_same_future(
      engine, {[](Engine& e) { e.remove_pod_disruption_budget("default", "all"); },
               [=](Engine& e) { ASSERT_TRUE(e.upsert(higher)); },
               [](Engine& e) { ASSERT_TRUE(e.upsert(pod_of("waiting", "c"))); },
               [](Engine& e) {
                 ASSERT_TRUE(e.upsert(elastic_quota("default", millicores(0), millicores(1))));
               },
               [](Engine& e) { e.remove_elastic_quota("default", "quota"); }});
}

// The explanation names the first of the row's pods that has the port.
TEST_F(StateTest, TheOrderOfARowsPods) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine engine = make_engine(standard_profile(mode));
    ASSERT_TRUE(engine.upsert(node_of("a")));
    const auto add = [&engine](const char* name) {
      Pod pod = pod_of(name, "a", 100);
      pod.containers.front().ports = {{8080, PortProtocol::kTcp, "10.0.0." + pod.name}};
      ASSERT_TRUE(engine.upsert(pod));
    };
    for (const char* name : {"z", "x", "y", "w"}) add(name);
    // Proposal: these count by the report alone, and the next ones, which are younger, stand first.
    ASSERT_TRUE(engine.advance(kNowUs + 90 * kSecondUs));
    ASSERT_TRUE(engine.upsert(metric_of("a", kNowUs + 90 * kSecondUs, {})));
    for (const char* name : {"v", "u"}) add(name);
    const auto remove = [](const char* name) {
      return [=](Engine& e) { e.remove_pod("default", name); };
    };
    expect_same_future(engine, {remove(mode == Mode::kProposal ? "u" : "z"),
                                remove(mode == Mode::kProposal ? "v" : "x")});
  }
}

// One shape by its label, another by its priority, though the label of neither is known.
TEST_F(StateTest, ShapesByLabelAndPriority) {
  for (const bool capacity : {true, false}) {
    Profile profile = standard_profile();
    profile.capacity_scheduling = capacity;
    profile.load_aware.prod_usage_thresholds = {{"cpu", 30}};
    Engine engine = make_engine(profile);
    ASSERT_TRUE(engine.upsert(node_of("a")) && engine.upsert(metric_of("a", kNowUs, {"odd"})));
    Pod odd = pod_of("odd", "a");
    odd.labels = {{"koordinator.sh/priority-class", "none that is known"}};
    odd.annotations = {{"scheduling.koordinator.sh/load-estimated-scaling-factors", "{}"},
                       {"scheduling.koordinator.sh/reserve-pod", "false"}};
    odd.init_containers.push_back(odd.containers.front());
    odd.init_containers.back().restart_always = true;
    odd.containers.front().actuated_requests = resources(100);
    odd.actuated_requests = odd.allocated_requests = resources(200);
    odd.overhead = {{"cpu", Quantity::from_nanos(1)}};
    odd.daemon_set = odd.resize_infeasible = true;
    ASSERT_TRUE(engine.upsert(odd) && engine.upsert(pod_of("even", "a")));
    expect_same_future(engine, {[](Engine& e) { e.remove_pod("default", "odd"); },
                                [](Engine& e) { e.remove_pod("default", "even"); }});
  }
}

// --- Refusals ---

TEST_F(StateTest, RefusesWhatIsNoStateFile) {
  EXPECT_EQ(refusal(""), "it is no state file");
  EXPECT_EQ(refusal("{\"kind\": \"List\"}"), "it is no state file");
  const Result<Engine> missing = Engine::load(standard_profile(), directory_.path() + "/none");
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  const Result<Engine> directory = Engine::load(standard_profile(), directory_.path());
  EXPECT_EQ(directory.error().code, ErrorCode::kIo);
}

TEST_F(StateTest, RefusesAnotherVersionOrProfile) {
  ASSERT_TRUE(full_engine().save(path()));
  std::string bytes = file_bytes(path());
  EXPECT_EQ(refusal(bytes), "");
  Profile other = standard_profile();
  other.load_aware.node_metric_expiration_seconds += 1;
  EXPECT_EQ(refusal(bytes, other), "it was saved under another profile");
  EXPECT_EQ(refusal(bytes, standard_profile(Mode::kUpstream)),
            "it was saved under another profile");
  bytes[8] += 1;
  EXPECT_EQ(refusal(bytes), "it is of version 8, and this reads version 7");
}

TEST_F(StateTest, RefusesEveryCutAndEveryFlippedByte) {
  ASSERT_TRUE(full_engine().save(path()));
  const std::string bytes = file_bytes(path());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_state_file(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(read_state_file(bytes + '\0'));
  for (std::size_t b = 0; b < bytes.size(); ++b) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[b] = static_cast<char>(damaged[b] ^ flip);
      const Result<StateFile> read = read_state_file(damaged);
      const bool refused = !read || read->profile_hash != profile_hash(standard_profile());
      EXPECT_TRUE(refused) << b;
    }
  }
  // The same through a file, now and then.
  for (std::size_t b = 0; b < bytes.size(); b += 97) {
    std::string damaged = bytes;
    damaged[b] = static_cast<char>(damaged[b] ^ 0x10);
    EXPECT_NE(refusal(damaged), "") << b;
    EXPECT_NE(refusal(bytes.substr(0, b)), "") << b;
  }
}

// Facts that somebody has changed, behind checksum and digest: what is restored of them, if
// anything, holds together.
TEST_F(StateTest, NeverTrustsTheFacts) {
  ASSERT_TRUE(full_engine().save(path()));
  const std::string bytes = file_bytes(path());
  const std::string facts(read_state_file(bytes)->facts);
  const auto restore = [&](const std::string& changed) {
    Cluster cluster(standard_profile());
    ValueReader reader(changed);
    const Result<void> restored = ClusterState::restore(cluster, reader);
    if (!restored) return false;
    cluster.derive();
    const Result<void> valid = cluster.validate();
    EXPECT_TRUE(valid) << valid.error().message;
    return true;
  };
  EXPECT_TRUE(restore(facts));
  std::string twice = facts;
  EXPECT_FALSE(restore(twice.replace(twice.find("default/ended"), 13, "default/early")));
  for (std::size_t size = 0; size < facts.size(); size += 7) {
    EXPECT_FALSE(restore(facts.substr(0, size))) << size;
  }
  constexpr int kFlips[] = {0x01, 0x80, 0x02, 0x7F};
  for (std::size_t b = 0; b < facts.size(); ++b) {
    std::string changed = facts;
    changed[b] = static_cast<char>(changed[b] ^ kFlips[b % std::size(kFlips)]);
    restore(changed);
  }
}

TEST_F(StateTest, RefusesFactsOfAnotherDigest) {
  Engine engine = full_engine();
  ASSERT_TRUE(engine.save(path()));
  const std::string bytes = file_bytes(path());
  StateFile file = *read_state_file(bytes);
  EXPECT_EQ(refusal(state_file_bytes(file)), "");
  file.digest += 1;
  EXPECT_EQ(refusal(state_file_bytes(file)), "its digest is not that of its facts");
  file.digest -= 1;
  const std::string more = std::string(file.facts) + '\0';
  file.facts = more;
  EXPECT_EQ(refusal(state_file_bytes(file)), "it holds more than belongs to it");
}

// Renaming the file that was written beside it would replace the device.
TEST_F(StateTest, SavingToADeviceReplacesNothing) {
  Result<Engine> engine = Engine::create(Profile::standard());
  ASSERT_TRUE(engine);
  const std::string pipe = ::testing::TempDir() + "state_test_pipe." + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Result<void> saved = engine->save(pipe);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kIo);
  EXPECT_EQ(saved.error().message, pipe + ": it is there and no regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::filesystem::remove(pipe);
}

TEST_F(StateTest, SavesWholeOrNotAtAll) {
  const Engine engine = full_engine();
  const std::string nowhere = directory_.path() + "/none/state";
  const Result<void> refused = engine.save(nowhere);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  EXPECT_EQ(refused.error().message, nowhere + ": No such file or directory");
  write_bytes(path(), "what was there");
  ASSERT_TRUE(engine.save(path()));
  EXPECT_EQ(refusal(file_bytes(path())), "");
  // A directory is in the way: the rename fails, and nothing is left.
  const std::string occupied = directory_.path() + "/directory";
  ASSERT_TRUE(std::filesystem::create_directories(occupied + "/full"));
  EXPECT_FALSE(engine.save(occupied));
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_TRUE(entry.path().filename() == "state" || entry.path().filename() == "directory")
        << entry.path();
  }
}

// A file says the same on every machine, and what was written can be read as long as the version
// stands: whoever changes these bytes (or the digest in them) raises kStateVersion.
TEST_F(StateTest, TheBytesOfVersion7) {
  ASSERT_TRUE(full_engine().save(path()));
  const std::string bytes = file_bytes(path());
  EXPECT_EQ(kStateVersion, 7);
  EXPECT_EQ(bytes.size(), 1986);
  EXPECT_EQ(hash_bytes(bytes), 10083873535570408742u);
}

}  // namespace
}  // namespace headroom::state_test
