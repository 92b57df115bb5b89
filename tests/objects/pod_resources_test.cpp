// A pod's requests and limits: every recorded case through the object reader, the golden sums, and
// properties of random pods.
#include "objects/pod_resources.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "objects/reading/object_reader.h"
#include "tests/support/seed.h"

namespace headroom::pod_resources_test {
namespace {

using Amounts = std::map<std::string, std::int64_t>;

// As the recorder wrote them: cpu in milli, others whole; keys with 0 left out.
Amounts amounts(const ResourceList& list, bool zeros = false) {
  Amounts result;
  for (const auto& [name, quantity] : list) {
    const auto amount = name == "cpu" ? quantity.milli_value() : quantity.value();
    EXPECT_TRUE(amount) << name;
    if (amount && (zeros || *amount != 0)) result[name] = *amount;
  }
  return result;
}

Pod pod_from(const std::string& json) {
  Result<Object> object = read_object(json, "test");
  EXPECT_TRUE(object) << object.error().message;
  return object ? std::get<Pod>(*std::move(object)) : Pod();
}

TEST(PodResources, RecordedCases) {
  const std::filesystem::path path =
      std::filesystem::path(HEADROOM_SHARED_DIR) / "conformance/pod-resources.jsonl";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is absent";
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    const auto test = nlohmann::json::parse(line);
    for (const auto& step : test["steps"]) {
      SCOPED_TRACE(test["name"].get<std::string>());
      ++cases;
      const Pod pod = pod_from(step["pod"].dump());
      const auto& expect = step["expect"];
      EXPECT_EQ(amounts(pod_requests(pod)), expect["requests"].get<Amounts>());
      EXPECT_EQ(amounts(pod_limits(pod)), expect["limits"].get<Amounts>());
      PodRequestsOptions on_node;
      on_node.resized_as = KubernetesVersion::k135;
      EXPECT_EQ(amounts(pod_requests(pod, on_node)), expect["nodeRequests"].get<Amounts>());
      EXPECT_EQ(amounts(non_zero_requested(pod, KubernetesVersion::k135), true),
                expect["nonZeroRequests"].get<Amounts>());
      EXPECT_EQ(amounts(elastic_quota_requests(pod)),
                expect["elasticQuotaRequests"].get<Amounts>());
      EXPECT_EQ(pod_qos_class(pod), expect["qosClass"].get<std::string>());
    }
  }
  EXPECT_EQ(cases, 207);
}

TEST(PodResources, SumsRoundOnce) {
  const Pod pod = pod_from(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
    "spec": {"containers": [
      {"name": "a", "resources": {"requests": {"cpu": "100.5m"}}},
      {"name": "b", "resources": {"requests": {"cpu": "100.5m"}}}]}})");
  EXPECT_EQ(amounts(pod_requests(pod)), (Amounts{{"cpu", 201}}));
  EXPECT_EQ(amounts(elastic_quota_requests(pod)), (Amounts{{"cpu", 202}}));
}

TEST(PodResources, SkippedPodLevel) {
  const Pod pod = pod_from(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "a"}], "resources": {"requests": {"cpu": 2}}}})");
  PodRequestsOptions options;
  options.skip_pod_level_resources = true;
  EXPECT_EQ(amounts(pod_requests(pod, options)), Amounts());
  EXPECT_EQ(amounts(pod_requests(pod)), (Amounts{{"cpu", 2000}}));
}

// A resized pod counts by its status: the most of each container until 1.36, of the sums from 1.37
// on; the pod level's from 1.36 on. Where it cannot be resized, what it asks for does not count.
TEST(PodResources, Resized) {
  struct Resize {
    const char* what;
    std::string spec, status;
    std::array<std::int64_t, 3> cpu;  // 1.35, 1.36, 1.37; in milli
  };
  const auto container = [](const char* name, const char* requests) {
    return std::string(R"({"name": ")") + name + R"(", "resources": {"requests": )" + requests +
           "}}";
  };
  const std::string two = R"("containers": [)" + container("a", R"({"cpu": 1})") + "," +
                          container("b", R"({"cpu": 2})") + "]";
  const std::string one = R"("containers": [)" + container("a", R"({"cpu": 1})") + "]";
  const std::string infeasible =
      R"("conditions": [{"type": "PodResizePending", "reason": "Infeasible"}])";
  const std::string level = one + R"(, "resources": {"requests": {"cpu": 2, "memory": "1Gi"}})";
  const std::string starts =
      one + R"(, "initContainers": [)" + container("i", R"({"cpu": 4})") + "]";
  const std::string exchanged = R"("containerStatuses": [)" + container("a", R"({"cpu": 2})") +
                                "," + container("b", R"({"cpu": 1})") + "]";
  const std::string allocated =
      R"("containerStatuses": [{"name": "a", "allocatedResources": {"cpu": 4}}])";
  const std::string of_pod =
      R"("resources": {"requests": {"cpu": 4}}, "allocatedResources": {"cpu": 3})";
  const std::string started =
      R"("initContainerStatuses": [)" + container("i", R"({"cpu": 6})") + "]";
  const Resize resizes[] = {
      {"one grows, one shrinks", two, exchanged, {4000, 4000, 3000}},
      {"allocated alone", one, allocated, {1000, 1000, 4000}},
      {"an init container", starts, started, {4000, 4000, 6000}},
      {"the pod level", level, of_pod, {2000, 4000, 4000}},
      {"reported of a pod without", one, of_pod, {1000, 1000, 4000}},
  };
  const auto cpu = [](const std::string& spec, const std::string& status,
                      KubernetesVersion version) {
    const Pod pod = pod_from(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
      "spec": {)" + spec + R"(}, "status": {)" +
                             status + "}}");
    PodRequestsOptions options;
    options.resized_as = version;
    return amounts(pod_requests(pod, options), /*zeros=*/true)["cpu"];
  };
  constexpr std::array kVersions = {KubernetesVersion::k135, KubernetesVersion::k136,
                                    KubernetesVersion::k137};
  for (const Resize& resize : resizes) {
    for (std::size_t v = 0; v < kVersions.size(); ++v) {
      EXPECT_EQ(cpu(resize.spec, resize.status, kVersions[v]), resize.cpu[v])
          << resize.what << " in 1." << 35 + v;
    }
  }
  // 1.37 counts nothing where the status says nothing either.
  EXPECT_EQ(cpu(one, infeasible, KubernetesVersion::k136), 1000);
  EXPECT_EQ(cpu(one, infeasible, KubernetesVersion::k137), 0);
  const std::string less =
      infeasible + R"(, "resources": {"requests": {}}, "allocatedResources": {"memory": 5})";
  // 1.36 takes the names of the spec, 1.37 those that the status has.
  EXPECT_EQ(cpu(level, less, KubernetesVersion::k136), 0);
  EXPECT_EQ(cpu(level,
                infeasible + R"(, "containerStatuses": [)" + container("a", R"({"cpu": 3})") +
                    R"(], "resources": {})",
                KubernetesVersion::k137),
            3000);
}

TEST(PodResources, NamesOfResources) {
  for (const char* name : {"nvidia.com/gpu", "example.com/a.b_C", "x/y"}) {
    EXPECT_TRUE(is_extended_resource(name)) << name;
    EXPECT_TRUE(is_scalar_resource(name)) << name;
  }
  for (const char* name : {"hugepages-2Mi", "attachable-volumes-x", "foo.kubernetes.io/bar"}) {
    EXPECT_FALSE(is_extended_resource(name)) << name;
    EXPECT_TRUE(is_scalar_resource(name)) << name;
  }
  for (const char* name : {"cpu", "memory", "pods", "ephemeral-storage", "gpu", "requests.x/y",
                           "/y", "x/", "X.com/y", "x.com/-y", "a/b/c", "-a/b", "a-/b", "a..b/c"}) {
    EXPECT_FALSE(is_scalar_resource(name)) << name;
  }
}

// Order of containers does not matter, order of init containers does; and the sum is never less
// than any part.
TEST(PodResources, RandomPods) {
  std::mt19937_64 random(test_seed());
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const auto random_list = [&] {
    ResourceList list;
    for (const char* name : {"cpu", "example.com/foo", "memory"}) {
      if (below(3) != 0) list.emplace_back(name, Quantity::from_milli(below(5000)));
    }
    return list;
  };
  for (int round = 0; round < 5000; ++round) {
    Pod pod;
    for (std::int64_t i = below(4); i >= 0; --i) {
      Container& container = pod.containers.emplace_back();
      container.requests = random_list();
      container.limits = random_list();
    }
    for (std::int64_t i = below(4); i > 0; --i) {
      Container& container = pod.init_containers.emplace_back();
      container.requests = random_list();
      container.restart_always = below(2) == 0;
    }
    const ResourceList requests = pod_requests(pod);
    Pod shuffled = pod;
    std::shuffle(shuffled.containers.begin(), shuffled.containers.end(), random);
    EXPECT_EQ(pod_requests(shuffled), requests);
    EXPECT_EQ(pod_limits(shuffled), pod_limits(pod));
    EXPECT_EQ(pod_qos_class(shuffled), pod_qos_class(pod));
    Quantity cpu_of_all;
    for (const auto* containers : {&pod.containers, &pod.init_containers}) {
      for (const Container& container : *containers) {
        for (const auto& [name, quantity] : container.requests) {
          ASSERT_NE(find(requests, name), nullptr);
          EXPECT_FALSE(*find(requests, name) < quantity);
          if (name == "cpu") cpu_of_all += quantity;
        }
      }
    }
    const Quantity* cpu = find(requests, "cpu");
    EXPECT_TRUE(cpu == nullptr || !(cpu_of_all < *cpu));
  }
}

}  // namespace
}  // namespace headroom::pod_resources_test
