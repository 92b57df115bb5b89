// The C ABI's answers are those of C++: the same generated cluster goes into both, as text, as
// plain structs and as objects, and every answer is compared.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "c/handle.h"
#include "engine/engine.h"
#include "engine/profile/profile_reader.h"
#include "headroom.h"
#include "tests/support/seed.h"
#include "workloads/cluster_generator.h"
#include "workloads/object_writer.h"

namespace headroom {
namespace {

constexpr const char* kProfile =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n"
    "profiles:\n"
    "  - plugins:\n"
    "      multiPoint: {enabled: [{name: CapacityScheduling}, {name: LimitAware}]}\n";

Profile the_profile() { return read_profile(kProfile, "profile").value(); }

// A pod as a plain struct and as the object that it stands for.
class PlainPod {
 public:
  // What a plain struct can say of `from`.
  explicit PlainPod(const Pod& from) {
    pod_.namespace_name = from.namespace_name;
    pod_.name = from.name;
    pod_.uid = from.uid;
    pod_.priority = from.priority.value_or(0);
    pod_.node_selector = from.node_selector;
    pod_.containers.push_back({});
    pod_.containers.front().requests = from.containers.front().requests;
    pod_.containers.front().limits = from.containers.front().limits;
  }
  const Pod& object() const { return pod_; }
  // Valid until the next call. The lists go in backwards, because their order is of no matter.
  const headroom_pod& plain() {
    pairs_.clear();
    amounts(pod_.containers.front().requests, requests_);
    amounts(pod_.containers.front().limits, limits_);
    for (auto it = pod_.node_selector.rbegin(); it != pod_.node_selector.rend(); ++it) {
      pairs_.push_back({it->first.c_str(), it->second.c_str()});
    }
    plain_ = {};
    plain_.namespace_name = pod_.namespace_name.c_str();
    plain_.name = pod_.name.c_str();
    plain_.uid = pod_.uid.c_str();
    plain_.priority = *pod_.priority;
    plain_.requests = requests_.data();
    plain_.request_count = requests_.size();
    plain_.limits = limits_.data();
    plain_.limit_count = limits_.size();
    plain_.node_selector = pairs_.data();
    plain_.node_selector_count = pairs_.size();
    return plain_;
  }

 private:
  static void amounts(const ResourceList& list, std::vector<headroom_amount>& amounts) {
    amounts.clear();
    for (auto it = list.rbegin(); it != list.rend(); ++it) {
      const auto& [resource, quantity] = *it;
      amounts.push_back({resource.c_str(), resource == "cpu" ? quantity.milli_value().value()
                                                             : quantity.value().value()});
    }
  }

  Pod pod_;
  std::vector<headroom_amount> requests_, limits_;
  std::vector<headroom_pair> pairs_;
  headroom_pod plain_{};
};

std::string text(headroom_texts texts) {
  std::string all;
  for (std::size_t i = 0; i < texts.count; ++i) all += std::string(" | ") + texts.items[i];
  return all;
}
std::string text(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& item : texts) all += " | " + item;
  return all;
}

std::string victim_text(std::string_view namespace_name, std::string_view name,
                        std::string_view uid, std::uint32_t node, std::int32_t priority) {
  return " " + std::string(namespace_name) + "/" + std::string(name) + " " + std::string(uid) +
         " on " + std::to_string(node) + " of " + std::to_string(priority);
}
std::string text(const headroom_victim* victims, std::size_t count) {
  std::string all;
  for (const headroom_victim& v : std::vector(victims, victims + count)) {
    all += victim_text(v.namespace_name, v.name, v.uid, v.node, v.priority);
  }
  return all;
}
std::string text(const std::vector<Victim>& victims) {
  std::string all;
  for (const Victim& v : victims) {
    all += victim_text(v.namespace_name, v.name, v.uid, static_cast<std::uint32_t>(v.node),
                       v.priority);
  }
  return all;
}

// A caller was compiled when the struct ended with `seed`; the library has one field more.
TEST(CAbiOptions, WhatTheCallersHeaderDidNotHaveCountsAsZero) {
  struct Options {
    std::size_t struct_size;
    std::uint64_t seed;
    std::uint64_t added;
  };
  constexpr std::size_t kFirst = offsetof(Options, added);
  const Options old{.struct_size = kFirst, .seed = 7, .added = 99 /* not the caller's to set */};
  EXPECT_EQ(options_of(&old, kFirst)->seed, 7u);
  EXPECT_EQ(options_of(&old, kFirst)->added, 0u);
  const Options same{.struct_size = sizeof(Options), .seed = 7, .added = 99};
  EXPECT_EQ(options_of(&same, kFirst)->added, 99u);
  EXPECT_EQ(options_of<Options>(nullptr, kFirst)->seed, 0u);
  const Options newer{.struct_size = sizeof(Options) + 1, .seed = 7, .added = 99};
  EXPECT_EQ(options_of(&newer, kFirst).error().code, ErrorCode::kUnsupported);
  const Options smaller{.struct_size = kFirst - 1, .seed = 7, .added = 99};
  EXPECT_EQ(options_of(&smaller, kFirst).error().code, ErrorCode::kInvalid);
}

// Both engines with the facts of one generated cluster. More pods wait than there is room for.
class CAbiAnswers : public testing::Test {
 protected:
  void SetUp() override {
    check_ok(headroom_engine_create(kProfile, nullptr, &c_, nullptr, 0));
    std::string facts;
    const auto add = [&](const auto& object) {
      append_json(facts, object);
      facts += '\n';
      ASSERT_TRUE(cpp_.upsert(object));
    };
    cluster_.visit_quotas(add);
    for (std::uint32_t i = 0; i < cluster_.options().nodes; ++i) {
      add(cluster_.node(i));
      if (cluster_.has_node_metric(i)) add(cluster_.node_metric(i));
    }
    for (std::uint32_t i = 0; i < cluster_.options().pods; ++i) {
      const Pod pod = cluster_.pod(i);
      if (!cluster_.is_bound(i)) waiting_.push_back(pod);
      if (cluster_.is_bound(i)) add(pod);
    }
    // One that no quota lets have what it asks for.
    Pod greedy = waiting_.front();
    greedy.name = greedy.uid = "greedy";
    greedy.containers.front().requests = {{"cpu", Quantity::from_value(1'000'000)}};
    greedy.containers.front().limits.clear();
    waiting_.insert(waiting_.begin(), greedy);
    check_ok(headroom_apply(c_, facts.data(), facts.size(), nullptr));
    check_ok(headroom_advance(c_, kTraceStartUs));
    ASSERT_TRUE(cpp_.advance(kTraceStartUs));
    ASSERT_EQ(headroom_digest(c_), cpp_.digest());
    ASSERT_GT(waiting_.size(), 50u);
  }
  void TearDown() override { headroom_engine_destroy(c_); }

  static void check_ok(headroom_status status) { ASSERT_EQ(status, HEADROOM_OK); }

  // The generated pod whole, as JSON.
  headroom_pod json(const Pod& pod) {
    json_.clear();
    append_json(json_, pod);
    headroom_pod plain{};
    plain.json = json_.data();
    plain.json_size = json_.size();
    return plain;
  }

  const ClusterGenerator cluster_{{.nodes = 120,
                                   .pods = 1200,
                                   .seed = test_seed(),
                                   .bound_permille = 500,
                                   .follow_trace = false,
                                   .now_us = kTraceStartUs,
                                   .quotas = 6,
                                   .fill_permille = 1300,
                                   .capacity_quotas = 0}};
  std::vector<Pod> waiting_;
  Engine cpp_ = Engine::create(the_profile(), {.threads = 1}).value();
  headroom_engine* c_ = nullptr;
  std::string json_;
};

TEST_F(CAbiAnswers, Evaluate) {
  std::size_t feasible = 0;
  const auto compare = [&](const headroom_pod& plain, const Pod& pod) {
    headroom_decision came;
    ASSERT_EQ(headroom_evaluate(c_, &plain, 16, &came), HEADROOM_OK) << headroom_engine_error(c_);
    const Decision expected = cpp_.evaluate(pod, {.top_k = 16}).value();
    ASSERT_EQ(static_cast<int>(came.code), static_cast<int>(expected.code)) << pod.name;
    EXPECT_EQ(came.nodes, expected.nodes);
    EXPECT_EQ(came.feasible, expected.feasible);
    EXPECT_EQ(std::string(came.message), expected.code == Code::kSuccess ? "" : expected.message());
    ASSERT_EQ(came.candidate_count, expected.candidates.size());
    feasible += came.candidate_count;
    for (std::size_t i = 0; i < came.candidate_count; ++i) {
      const headroom_candidate& candidate = came.candidates[i];
      EXPECT_EQ(headroom_node_name(c_, candidate.node),
                cpp_.node_name(expected.candidates[i].node));
      EXPECT_EQ(candidate.total, expected.candidates[i].total);
      const PluginScores& scores = expected.candidates[i].plugins;
      ASSERT_EQ(candidate.plugin_count, scores.size());
      for (std::size_t s = 0; s < scores.size(); ++s) {
        EXPECT_EQ(std::string(candidate.plugins[s].plugin), to_string(scores[s].plugin));
        EXPECT_EQ(candidate.plugins[s].raw, scores[s].raw);
        EXPECT_EQ(candidate.plugins[s].score, scores[s].score);
      }
    }
  };
  for (const Pod& pod : waiting_) {
    compare(json(pod), pod);
    PlainPod plain(pod);
    compare(plain.plain(), plain.object());
  }
  EXPECT_GT(feasible, 0u);
}

TEST_F(CAbiAnswers, Explain) {
  for (std::size_t p = 0; p < waiting_.size(); p += 7) {
    PlainPod pod(waiting_[p]);
    const std::string node = cluster_.node_name(static_cast<std::uint32_t>(p) % 120);
    headroom_explanation came;
    ASSERT_EQ(headroom_explain(c_, &pod.plain(), node.c_str(), &came), HEADROOM_OK);
    const Explanation expected = cpp_.explain(pod.object(), node).value();
    EXPECT_EQ(static_cast<int>(came.code), static_cast<int>(expected.code));
    EXPECT_EQ(came.total, expected.total);
    ASSERT_EQ(came.term_count, expected.terms.size());
    for (std::size_t t = 0; t < came.term_count; ++t) {
      const headroom_term& term = came.terms[t];
      const ExplainTerm& other = expected.terms[t];
      EXPECT_EQ(std::string(term.plugin), to_string(other.plugin));
      EXPECT_EQ(term.extension_point, other.extension_point);
      EXPECT_EQ(term.resource, other.resource);
      EXPECT_EQ(term.formula, other.formula);
      EXPECT_EQ(term.note, other.note);
      EXPECT_EQ(term.capacity, other.capacity);
      EXPECT_EQ(term.aggregate, other.aggregate);
      EXPECT_EQ(term.need, other.need);
      EXPECT_EQ(term.result, other.result);
      EXPECT_EQ(term.passed != 0, other.passed);
    }
  }
}

// One call for some pods, others one by one; with preemption, and a fork that is taken back.
// What a pod with a claim that waits has written, and that it can be applied.
TEST(CAbiBoundVolumes, AreThoseOfCpp) {
  constexpr std::string_view kFacts = R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Node",
     "metadata": {"name": "a", "labels": {"topology.kubernetes.io/zone": "z"}},
     "status": {"allocatable": {"cpu": "4", "pods": "10"}}},
    {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
     "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"},
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
     "metadata": {"namespace": "team", "name": "data", "uid": "7"},
     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
              "resources": {"requests": {"storage": "1Gi"}}}}]})";
  constexpr std::string_view kPod = R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"namespace": "team", "name": "store-0", "uid": "8"},
    "spec": {"containers": [{"name": "main"}],
             "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}})";
  constexpr const char* kDefault =
      "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}";
  headroom_engine* c = nullptr;
  ASSERT_EQ(headroom_engine_create(kDefault, nullptr, &c, nullptr, 0), HEADROOM_OK);
  ASSERT_EQ(headroom_apply(c, kFacts.data(), kFacts.size(), nullptr), HEADROOM_OK);
  headroom_pod pod{};
  pod.json = kPod.data();
  pod.json_size = kPod.size();
  headroom_texts objects{};
  EXPECT_EQ(headroom_bound_volumes(c, &pod, "nowhere", &objects), HEADROOM_NOT_FOUND);
  EXPECT_EQ(headroom_bound_volumes(c, &pod, "a", nullptr), HEADROOM_INVALID);
  ASSERT_EQ(headroom_bound_volumes(c, &pod, "a", &objects), HEADROOM_OK);
  ASSERT_EQ(objects.count, 2U);
  const std::vector<std::string> texts(objects.items, objects.items + objects.count);
  EXPECT_NE(texts[0].find("\"kind\":\"PersistentVolume\""), std::string::npos) << texts[0];
  EXPECT_NE(texts[1].find("\"volumeName\":\"pvc-7\""), std::string::npos) << texts[1];
  const std::uint64_t before = headroom_digest(c);
  for (const std::string& text : texts) {
    ASSERT_EQ(headroom_apply(c, text.data(), text.size(), nullptr), HEADROOM_OK) << text;
  }
  EXPECT_NE(headroom_digest(c), before);
  ASSERT_EQ(headroom_bound_volumes(c, &pod, "a", &objects), HEADROOM_OK);
  EXPECT_EQ(objects.count, 0U) << "the claim is bound";
  headroom_engine_destroy(c);
}

TEST_F(CAbiAnswers, PlaceAndPreempt) {
  std::size_t placed = 0, nominated = 0, rejected = 0;
  for (const bool tried : {true, false}) {
    const std::uint64_t before = headroom_digest(c_);
    if (tried) {
      check_ok(headroom_fork(c_));
      cpp_.fork();
    }
    for (std::size_t first = 0; first < waiting_.size();) {
      const std::size_t count =
          std::min(first % 3 == 0 ? std::size_t{17} : 1, waiting_.size() - first);
      std::vector<PlainPod> pods;
      for (std::size_t p = 0; p < count; ++p) pods.emplace_back(waiting_[first + p]);
      std::vector<headroom_pod> plain;
      std::vector<Pod> objects;
      for (PlainPod& pod : pods) {
        plain.push_back(pod.plain());
        objects.push_back(pod.object());
      }
      headroom_code code;
      headroom_texts reasons;
      check_ok(headroom_pre_filter(c_, plain.data(), &code, &reasons));
      const PreFilterStatus status = cpp_.pre_filter(objects[0]).value();
      ASSERT_EQ(static_cast<int>(code), static_cast<int>(status.code));
      EXPECT_EQ(text(reasons), text(status.reasons));
      rejected += code == HEADROOM_UNSCHEDULABLE;

      headroom_texts left_out;
      check_ok(headroom_not_considered(c_, plain.data(), &left_out));
      EXPECT_EQ(left_out.count, cpp_.not_considered(objects[0]).list().size());

      headroom_preemption preemption;
      check_ok(headroom_post_filter(c_, plain.data(), &preemption));
      const PostFilter found = cpp_.post_filter(objects[0]).value();
      EXPECT_EQ(static_cast<int>(preemption.code), static_cast<int>(found.code));
      EXPECT_EQ(preemption.nominated_node, static_cast<std::uint32_t>(found.nominated_node));
      EXPECT_EQ(text(preemption.victims, preemption.victim_count), text(found.victims));
      EXPECT_EQ(preemption.pdb_violations, found.pdb_violations);
      EXPECT_EQ(preemption.cross_node != 0, found.cross_node);
      EXPECT_EQ(text(preemption.reasons), text(found.reasons));
      std::vector<headroom_placement> came(count);
      ASSERT_EQ(headroom_place(c_, plain.data(), count, 1, came.data()), HEADROOM_OK)
          << headroom_engine_error(c_);
      const std::vector<Placement> expected = cpp_.place(objects, {}, true).value();
      for (std::size_t p = 0; p < count; ++p) {
        ASSERT_EQ(came[p].node, static_cast<std::uint32_t>(expected[p].node)) << objects[p].name;
        const bool has_node = came[p].node != HEADROOM_NO_NODE;
        placed += has_node;
        nominated += came[p].nominated_node != HEADROOM_NO_NODE;
        EXPECT_EQ(came[p].total, has_node ? expected[p].decision.candidates.front().total : 0);
        EXPECT_EQ(std::string(came[p].message), has_node ? "" : expected[p].decision.message());
        EXPECT_EQ(came[p].nominated_node, static_cast<std::uint32_t>(expected[p].nominated_node));
        EXPECT_EQ(text(came[p].victims, came[p].victim_count), text(expected[p].victims));
        EXPECT_EQ(headroom_node_of_pod(c_, plain[p].namespace_name, plain[p].name), came[p].node);
      }
      first += count;
    }
    ASSERT_EQ(headroom_digest(c_), cpp_.digest());
    if (tried) {
      check_ok(headroom_rollback(c_));
      cpp_.rollback();
      ASSERT_EQ(headroom_digest(c_), before);
    }
  }
  EXPECT_GT(placed, 0u);
  EXPECT_GT(nominated, 0u);
  EXPECT_GT(rejected, 0u);
  check_ok(headroom_validate(c_));

  headroom_stats stats;
  check_ok(headroom_engine_stats(c_, &stats));
  const EngineStats expected = cpp_.stats();
  EXPECT_EQ(stats.nodes, expected.nodes);
  EXPECT_EQ(stats.pods, expected.pods);
  EXPECT_EQ(stats.shapes, expected.shapes);
  EXPECT_EQ(stats.decisions, expected.decisions);

  const headroom_elastic_quota_amount* amounts = nullptr;
  std::size_t count = 0, next = 0;
  check_ok(headroom_elastic_quota_status(c_, &amounts, &count));
  for (const ElasticQuotaStatus& quota : cpp_.elastic_quota_status()) {
    for (const ElasticQuotaAmount& amount : quota.amounts) {
      ASSERT_LT(next, count);
      const headroom_elastic_quota_amount& other = amounts[next++];
      EXPECT_EQ(other.namespace_name, quota.namespace_name);
      EXPECT_EQ(other.name, quota.name);
      EXPECT_EQ(other.resource, amount.resource);
      EXPECT_EQ(other.min, amount.min);
      EXPECT_EQ(other.max, amount.max);
      EXPECT_EQ(other.used, amount.used);
      EXPECT_EQ(other.nominated, amount.nominated);
      EXPECT_EQ(other.over_min != 0, quota.over_min);
    }
  }
  EXPECT_EQ(next, count);
  EXPECT_GT(next, 0u);
}

TEST_F(CAbiAnswers, CapacityQuotas) {
  const ClusterGenerator cluster({.nodes = 200,
                                  .pods = 0,
                                  .seed = test_seed(),
                                  .bound_permille = 0,
                                  .follow_trace = false,
                                  .now_us = kTraceStartUs,
                                  .quotas = 0,
                                  .fill_permille = 700,
                                  .capacity_quotas = 20});
  headroom_capacity_quotas* c = nullptr;
  check_ok(headroom_capacity_quotas_create(0, &c));
  CapacityQuotas cpp;
  std::string facts;
  for (std::uint32_t i = 0; i < cluster.capacity_quota_count(); ++i) {
    append_json(facts, cluster.capacity_quota(i));
    facts += '\n';
    ASSERT_TRUE(cpp.upsert(cluster.capacity_quota(i)));
  }
  for (std::uint32_t i = 0; i < 200; ++i) {
    append_json(facts, cluster.node(i));
    facts += '\n';
    ASSERT_TRUE(cpp.upsert(cluster.node(i)));
  }
  check_ok(headroom_capacity_quotas_apply(c, facts.data(), facts.size(), nullptr));
  ASSERT_EQ(headroom_capacity_quotas_digest(c), cpp.digest());
  bool binds = false;
  for (std::uint32_t i = 0; i < 200; i += 9) {
    const Node node = cluster.node(i);
    std::string text;
    append_json(text, node);
    headroom_node json{};
    json.json = text.data();
    json.json_size = text.size();
    const std::string id = "r" + std::to_string(i);
    std::int64_t accepted = 0;
    ASSERT_EQ(
        headroom_capacity_quotas_reserve(c, id.c_str(), &json, i / 40, 1'000'000, 1, &accepted),
        HEADROOM_OK)
        << headroom_capacity_quotas_error(c);
    const PlanItem item{&node, i / 40};
    const ReserveAnswer reserved =
        cpp.reserve(id, {&item, 1}, 1'000'000, ReserveMode::kUpTo).value();
    EXPECT_EQ(accepted, reserved.accepted ? reserved.allowed[0] : 0);
    headroom_capacity_quota_check came;
    check_ok(headroom_capacity_quotas_check(c, &json, 40, &came));
    const CapacityCheck expected = cpp.check(node, 40).value();
    EXPECT_EQ(came.requested, 40);
    EXPECT_EQ(came.allowed, expected.allowed);
    ASSERT_EQ(came.limit_count, expected.rows.size());
    for (std::size_t r = 0; r < came.limit_count; ++r) {
      const CapacityQuotaRow& row = expected.rows[r];
      EXPECT_EQ(came.limits[r].quota, row.quota);
      EXPECT_EQ(came.limits[r].resource, row.resource);
      EXPECT_EQ(came.limits[r].limit, static_cast<std::int64_t>(row.limit));
      EXPECT_EQ(came.limits[r].used, static_cast<std::int64_t>(row.used));
      EXPECT_EQ(came.limits[r].reserved, static_cast<std::int64_t>(row.reserved));
      EXPECT_EQ(came.limits[r].need, static_cast<std::int64_t>(row.need));
      EXPECT_EQ(came.limits[r].max_nodes, row.max_nodes);
      EXPECT_EQ(came.limits[r].binding != 0, row.binding);
      binds |= row.binding;
    }
  }
  EXPECT_TRUE(binds);
  EXPECT_EQ(headroom_capacity_quotas_digest(c), cpp.digest());
  headroom_capacity_quotas_destroy(c);
}

}  // namespace
}  // namespace headroom
