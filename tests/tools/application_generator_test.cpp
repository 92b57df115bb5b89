// Generated applications: what goes with a pod is there and fits it, the shares are those of the
// header, and what is bound keeps to what its pods ask for.
#include "workloads/application_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "objects/reading/object_reader.h"
#include "workloads/cluster_generator.h"
#include "workloads/object_writer.h"

namespace headroom::application_generator_test {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";

ClusterGenerator::Options options(std::uint64_t seed) {
  return {.nodes = 400, .pods = 12'000, .seed = seed, .applications = true};
}

class GeneratedApplications : public testing::Test {
 protected:
  GeneratedApplications() {
    for (std::uint32_t p = 0; p < generator_.options().pods; ++p) {
      pods_.push_back(generator_.pod(p));
      applications_[*find(pods_.back().labels, "app")].push_back(&pods_.back());
    }
    for (const ReferredObject& object : generator_.referred_objects()) {
      const std::string key = std::string(to_string(kind_of(object))) + " " + key_of(object);
      EXPECT_TRUE(referred_.emplace(key, object).second) << key;
    }
    for (std::uint32_t n = 0; n < generator_.options().nodes; ++n) {
      nodes_.emplace(generator_.node_name(n), generator_.node(n));
    }
  }

  template <typename T>
  const T* find_object(const std::string& kind_and_key) const {
    const auto found = referred_.find(kind_and_key);
    return found == referred_.end() ? nullptr : std::get_if<T>(&found->second);
  }
  const std::string& zone_of(const Pod& pod) const {
    return *find(nodes_.at(pod.node_name).labels, kZone);
  }

  // Not to move: others point at its pods.
  GeneratedApplications(const GeneratedApplications&) = delete;

  const ClusterGenerator generator_{options(5)};
  std::deque<Pod> pods_;
  std::map<std::string, std::vector<const Pod*>> applications_;
  std::map<std::string, ReferredObject> referred_;
  std::map<std::string, Node> nodes_;
};

TEST_F(GeneratedApplications, PodsOfOneAreOfOneTemplate) {
  for (const auto& [name, pods] : applications_) {
    const Pod& first = *pods.front();
    for (const Pod* pod : pods) {
      EXPECT_EQ(pod->namespace_name, first.namespace_name);
      EXPECT_EQ(pod->containers, first.containers);
      EXPECT_EQ(pod->init_containers, first.init_containers);
      EXPECT_EQ(pod->controller, first.controller);
      EXPECT_EQ(pod->pod_affinity, first.pod_affinity);
      EXPECT_EQ(pod->pod_anti_affinity, first.pod_anti_affinity);
      EXPECT_EQ(pod->topology_spread, first.topology_spread);
      EXPECT_EQ(pod->node_selector, first.node_selector);
      EXPECT_EQ(pod->tolerations, first.tolerations);
      EXPECT_EQ(pod->priority, first.priority);
      EXPECT_FALSE(pod->containers.front().image.empty());
    }
  }
}

TEST_F(GeneratedApplications, AreInTheSharesOfTheHeader) {
  std::map<std::string, int> kinds;
  int apart = 0, long_lived = 0, near = 0, zone = 0, served = 0, required = 0, hard = 0;
  std::size_t largest = 0;
  for (const auto& [name, pods] : applications_) {
    const Pod& pod = *pods.front();
    ++kinds[pod.controller->kind];
    largest = std::max(largest, pods.size());
    if (pod.controller->kind == "Job") continue;
    ++long_lived;
    apart += !pod.pod_anti_affinity.empty() || !pod.topology_spread.empty();
    required += !pod.pod_anti_affinity.required.empty();
    hard += !pod.topology_spread.empty() && pod.topology_spread.front().hard;
    near += !pod.pod_affinity.empty();
    zone += !pod.preferred_node_affinity.empty();
    served += find_object<Service>("Service " + pod.namespace_name + "/" + name) != nullptr;
  }
  const int all = static_cast<int>(applications_.size());
  EXPECT_NEAR(all, 12'000 / 49, 60);
  EXPECT_LE(largest, 300u);
  EXPECT_NEAR(kinds["ReplicaSet"], all * 82 / 100, all / 10);
  EXPECT_NEAR(kinds["StatefulSet"], all * 12 / 100, all / 15);
  EXPECT_NEAR(kinds["Job"], all * 6 / 100, all / 20);
  EXPECT_NEAR(apart, long_lived * 70 / 100, long_lived / 10);
  EXPECT_NEAR(required, long_lived * 15 / 100, long_lived / 12);
  EXPECT_NEAR(hard, long_lived * 10 / 100, long_lived / 15);
  EXPECT_NEAR(near, long_lived * 15 / 100, long_lived / 12);
  EXPECT_NEAR(zone, long_lived * 10 / 100, long_lived / 15);
  EXPECT_NEAR(served, long_lived * 82 / 100, long_lived / 10);
}

TEST_F(GeneratedApplications, WhatPodsReferToIsThereAndSelectsThem) {
  std::size_t claims = 0;
  for (const Pod& pod : pods_) {
    ASSERT_TRUE(pod.controller);
    EXPECT_NE(find_object<Namespace>("Namespace " + pod.namespace_name), nullptr);
    const std::string in_namespace = " " + pod.namespace_name + "/";
    if (pod.controller->kind != "Job") {
      const auto* controller = find_object<WorkloadController>(pod.controller->kind + in_namespace +
                                                               pod.controller->name);
      ASSERT_NE(controller, nullptr) << pod.controller->name;
      EXPECT_TRUE(controller->selector && matches(*controller->selector, pod.labels));
    }
    const auto* service = find_object<Service>("Service" + in_namespace + *find(pod.labels, "app"));
    if (service != nullptr) {
      EXPECT_EQ(service->selector, (StringMap{{"app", *find(pod.labels, "app")}}));
    }
    for (const PodAffinityTerm& term : pod.pod_anti_affinity.required) {
      EXPECT_TRUE(matches(*term.selector, pod.labels));
    }
    for (const TopologySpreadConstraint& constraint : pod.topology_spread) {
      EXPECT_TRUE(matches(*constraint.selector, pod.labels));
    }
    for (const Volume& volume : pod.volumes) {
      ++claims;
      const auto* claim = find_object<PersistentVolumeClaim>("PersistentVolumeClaim" +
                                                             in_namespace + *volume.claim);
      ASSERT_NE(claim, nullptr) << *volume.claim;
      ASSERT_NE(find_object<StorageClass>("StorageClass " + claim->storage_class), nullptr);
      EXPECT_EQ(claim->volume_name.empty(), pod.node_name.empty());
      if (pod.node_name.empty()) continue;
      const auto* bound = find_object<PersistentVolume>("PersistentVolume " + claim->volume_name);
      ASSERT_NE(bound, nullptr);
      EXPECT_EQ(bound->claim_uid, claim->uid);
      EXPECT_EQ(bound->node_affinity->at(0).match_expressions.at(0).values,
                std::vector<std::string>{zone_of(pod)});
    }
  }
  EXPECT_GT(claims, 50u);
  for (const auto& [name, node] : nodes_) {
    EXPECT_NE(find_object<CsiNode>("CSINode " + name), nullptr);
  }
}

TEST_F(GeneratedApplications, BoundPodsKeepToWhatTheyAskFor) {
  std::size_t bound = 0, apart = 0, even = 0;
  for (const auto& [name, pods] : applications_) {
    std::set<std::string> nodes;
    std::map<std::string, int> zones = {{"zone-a", 0}, {"zone-b", 0}, {"zone-c", 0}};
    const Pod& first = *pods.front();
    for (const Pod* pod : pods) {
      if (pod->node_name.empty()) continue;
      ++bound;
      const Node& node = nodes_.at(pod->node_name);
      EXPECT_TRUE(nodes.insert(pod->node_name).second || first.pod_anti_affinity.required.empty())
          << name;
      ++zones[zone_of(*pod)];
      const bool has_image =
          std::any_of(node.images.begin(), node.images.end(), [&](const ContainerImage& image) {
            return image.names.front() == pod->containers.front().image && image.size_bytes > 0;
          });
      EXPECT_TRUE(has_image) << pod->containers.front().image;
    }
    apart += !first.pod_anti_affinity.required.empty() && nodes.size() > 1;
    if (first.topology_spread.empty() || !first.topology_spread.front().hard ||
        !first.node_selector.empty()) {
      continue;
    }
    const auto [least, most] = std::minmax({zones["zone-a"], zones["zone-b"], zones["zone-c"]});
    EXPECT_LE(most - least, 1) << name;
    even += most > 0;
  }
  EXPECT_GT(bound, 8'000u);
  EXPECT_GT(apart, 5u);
  EXPECT_GT(even, 5u);
  for (const auto& [name, node] : nodes_) EXPECT_LE(node.images.size(), 110u + 16u);
}

TEST_F(GeneratedApplications, AreWrittenAndReadBack) {
  std::string text;
  for (const auto& [key, object] : referred_) append_json(text, object);
  for (const auto& [name, node] : nodes_) append_json(text, node);
  for (const Pod& pod : pods_) append_json(text, pod);
  const Result<ObjectFile> read = read_objects(text, "generated");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->referred_objects.size(), referred_.size());
  std::size_t at = 0;
  for (const auto& [key, object] : referred_) EXPECT_EQ(read->referred_objects[at++], object);
  ASSERT_EQ(read->nodes.size(), nodes_.size());
  at = 0;
  for (const auto& [name, node] : nodes_) EXPECT_EQ(read->nodes[at++], node);
  ASSERT_EQ(read->pods.size(), pods_.size());
  for (std::size_t p = 0; p < pods_.size(); ++p) EXPECT_EQ(read->pods[p], pods_[p]);
  EXPECT_TRUE(read->other_kinds.empty());
}

TEST(ApplicationGenerator, SameSeedSameObjects) {
  const auto objects = [](std::uint64_t seed) {
    const ClusterGenerator generator(
        {.nodes = 50, .pods = 500, .seed = seed, .quotas = 4, .applications = true});
    std::string text;
    generator.visit_referred_objects([&](const auto& object) { append_json(text, object); });
    for (std::uint32_t n = 0; n < 50; ++n) append_json(text, generator.node(n));
    for (std::uint32_t p = 0; p < 500; ++p) append_json(text, generator.pod(p));
    for (std::uint32_t b = 0; b < generator.budget_count(); ++b) {
      append_json(text, generator.budget(b));
    }
    return text;
  };
  EXPECT_EQ(objects(7), objects(7));
  EXPECT_NE(objects(7), objects(8));
}

TEST(ApplicationGenerator, BudgetsAreOfApplications) {
  const ClusterGenerator generator(
      {.nodes = 50, .pods = 1000, .seed = 3, .quotas = 4, .applications = true});
  ASSERT_GT(generator.budget_count(), 1u);
  for (std::uint32_t b = 0; b < generator.budget_count(); ++b) {
    const PodDisruptionBudget budget = generator.budget(b);
    bool any = false;
    for (std::uint32_t p = 0; p < 1000; ++p) {
      const Pod pod = generator.pod(p);
      any |= pod.namespace_name == budget.namespace_name && matches(budget.selector, pod.labels);
    }
    EXPECT_TRUE(any) << budget.name;
  }
}

TEST(ApplicationGenerator, FewOrNoPods) {
  for (const std::uint32_t pods : {0u, 1u, 2u}) {
    const ClusterGenerator generator({.nodes = 3, .pods = pods, .seed = 1, .applications = true});
    for (std::uint32_t p = 0; p < pods; ++p) EXPECT_TRUE(generator.pod(p).controller);
    EXPECT_EQ(generator.node(0).images.size() > 1, pods > 0);
    EXPECT_GE(generator.referred_objects().size(), 5u);  // a class, a driver and three CSINodes
  }
}

}  // namespace
}  // namespace headroom::application_generator_test
