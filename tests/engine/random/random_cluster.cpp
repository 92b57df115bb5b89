#include "tests/engine/random/random_cluster.h"

#include <algorithm>
#include <stdexcept>

#include "engine/profile/profile_reader.h"
#include "objects/reading/object_reader.h"
#include "objects/text/time_text.h"

namespace headroom {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kStartUs = 1'767'225'600 * kSecondUs;  // 2026-01-01T00:00:00Z
constexpr std::uint64_t kNodeNames = 10, kPodNames = 18;
// With more pods on fewer nodes there is more to preempt.
constexpr std::uint64_t kCapacityNodeNames = 5, kCapacityPodNames = 30;
constexpr std::size_t kKnownSpecs = 12;

const Names& resource_names() {
  static const Names names = {
      "cpu",           "memory",           "ephemeral-storage",       "nvidia.com/gpu",
      "hugepages-2Mi", "example.com/fpga", "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"};
  return names;
}

// What a profile's arguments may name beyond cpu and memory.
Names profile_resources(Draws& draws) {
  Names names = resource_names();
  names.resize(draws.pick(std::array{2u, 2u, 2u, 3u, 4u, 6u, 8u}));
  return names;
}

std::int64_t plugin_weight(Draws& draws) {
  return draws.pick(std::array<std::int64_t, 8>{1, 1, 1, 1, 2, 3, 7, kPluginWeightMax});
}

// [{"name", "weight"}], now and then without a weight, or nothing at all.
json weighted_list(Draws& draws, const Names& names, std::int64_t weight_max) {
  json list = json::array();
  for (const std::string& name : names) {
    if (draws.one_in(4)) continue;
    list.push_back({{"name", name}});
    if (!draws.one_in(4)) list.back()["weight"] = draws.between(1, weight_max);
  }
  return list;
}

json weight_map(Draws& draws, const Names& names) {
  json map = json::object();
  for (const std::string& name : names) {
    if (!draws.one_in(3)) map[name] = draws.between(1, 5);
  }
  return map;
}

json percent_map(Draws& draws, const Names& names) {
  json map = json::object();
  for (const std::string& name : names) {
    if (!draws.one_in(3)) map[name] = draws.pick(std::array{0, 1, 10, 50, 65, 66, 95, 100});
  }
  return map;
}

json fit_args(Draws& draws, const Names& names) {
  json args = json::object();
  if (!draws.one_in(4)) {
    const std::array types = {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"};
    json& strategy = args["scoringStrategy"] = {{"type", draws.pick(types)}};
    strategy["resources"] = weighted_list(draws, names, 5);
    if (strategy["type"] == "RequestedToCapacityRatio") {
      json shape = json::array();
      for (std::int64_t at = draws.between(0, 30); at <= 100; at += draws.between(1, 60)) {
        shape.push_back({{"utilization", at}, {"score", draws.between(0, 10)}});
      }
      strategy["requestedToCapacityRatio"] = {{"shape", shape}};
    }
  }
  if (draws.one_in(5)) args["ignoredResources"] = {"example.com/fpga"};
  if (draws.one_in(5)) args["ignoredResourceGroups"] = {"nvidia.com"};
  return args;
}

json limit_aware_args(Draws& draws, const Names& names, Mode mode) {
  json args = json::object();
  if (mode == Mode::kProposal && draws.one_in(2)) {
    args["resources"] = weighted_list(draws, names, 5);
  } else if (!draws.one_in(3)) {
    args["scoringResourceWeights"] = weight_map(draws, names);
  }
  if (!draws.one_in(4)) {
    json& ratio = args["defaultLimitToAllocatableRatio"] = json::object();
    for (const std::string& name : names) {
      if (draws.one_in(4)) continue;
      const std::int64_t percent = draws.pick(std::array{0, 1, 50, 99, 100, 101, 125, 150, 400});
      ratio[name] = percent;
      if (draws.one_in(3)) ratio[name] = std::to_string(percent) + "%";
      if (mode == Mode::kUpstream && draws.one_in(40)) ratio[name] = "many";
    }
  }
  return args;
}

json resource_limit_aware_args(Draws& draws, const Names& names) {
  json args = json::object();
  if (!draws.one_in(3)) args["resources"] = weighted_list(draws, names, 5);
  if (draws.one_in(2)) {
    json& limit = args["defaultLimit"] = json::object();
    for (const std::string& name : names) {
      if (draws.one_in(3)) limit[name] = draws.pick(std::array{"Allocatable", "2", "300m", "0"});
    }
  }
  return args;
}

json load_aware_args(Draws& draws, const Names& names, Mode mode) {
  json args = json::object();
  const auto flag = [&](const char* name) {
    if (draws.one_in(3)) args[name] = draws.one_in(2);
  };
  flag("filterExpiredNodeMetrics");
  flag("enableScheduleWhenNodeMetricsExpired");
  flag("scoreAccordingProdUsage");
  flag("prodUsageIncludeSys");
  flag("allowCustomizeEstimation");
  if (draws.one_in(3)) args["nodeMetricExpirationSeconds"] = draws.pick(std::array{1, 60, 300});
  if (draws.one_in(2)) args["usageThresholds"] = percent_map(draws, names);
  if (draws.one_in(2)) args["prodUsageThresholds"] = percent_map(draws, names);
  if (draws.one_in(3)) args["dominantResourceWeight"] = draws.between(0, 3);
  if (draws.one_in(2)) {
    json& factors = args["estimatedScalingFactors"] = json::object();
    for (const std::string& name : names) factors[name] = draws.pick(std::array{1, 50, 85, 100});
  }
  if (draws.one_in(2)) {
    const bool any = mode == Mode::kProposal || args.contains("estimatedScalingFactors");
    args["resourceWeights"] = weight_map(draws, any ? names : Names{"cpu", "memory"});
  }
  if (draws.one_in(3)) args["estimatedSecondsAfterPodScheduled"] = draws.between(0, 120);
  if (draws.one_in(3)) args["estimatedSecondsAfterInitialized"] = draws.between(0, 120);
  if (draws.one_in(3)) {
    const std::array types = {"avg", "p95", ""};
    const std::array durations = {"0s", "5m0s", "10m", "7m"};
    args["aggregated"] = {{"usageAggregationType", draws.pick(types)},
                          {"usageAggregatedDuration", draws.pick(durations)},
                          {"scoreAggregationType", draws.pick(types)},
                          {"scoreAggregatedDuration", draws.pick(durations)}};
    if (draws.one_in(2)) args["aggregated"]["usageThresholds"] = percent_map(draws, names);
  }
  if (draws.one_in(4)) args["supportedResources"] = names;
  return args;
}

// A subset in a random order.
template <std::size_t N>
std::vector<PluginId> some_of(Draws& draws, std::array<PluginId, N> plugins,
                              std::uint64_t without) {
  std::vector<PluginId> chosen;
  for (std::size_t i = 0; i < N; ++i) {
    std::swap(plugins[i], plugins[i + draws.below(N - i)]);
    if (!draws.one_in(without)) chosen.push_back(plugins[i]);
  }
  return chosen;
}

}  // namespace

// --- Profiles ---

RandomProfile random_profile(Draws& draws) {
  using enum PluginId;
  RandomProfile random;
  Profile& profile = random.profile;
  profile.mode = draws.one_in(2) ? Mode::kUpstream : Mode::kProposal;
  profile.filters =
      some_of(draws,
              std::array{kNodeUnschedulable, kNodeName, kTaintToleration, kNodeAffinity, kNodePorts,
                         kNodeResourcesFit, kLimitAware, kLoadAwareScheduling},
              4);
  profile.capacity_scheduling = draws.one_in(2);
  if (profile.capacity_scheduling && !draws.one_in(3)) {
    // They reject most nodes, whoever goes.
    std::erase(profile.filters, draws.one_in(2) ? kLimitAware : kLoadAwareScheduling);
    if (draws.one_in(2)) std::erase(profile.filters, kLimitAware);
  }
  const std::vector<PluginId> scores =
      some_of(draws,
              std::array{kNodeResourcesFit, kNodeResourcesBalancedAllocation, kLimitAware,
                         kResourceLimitAware, kLoadAwareScheduling},
              3);
  const Names names = profile_resources(draws);
  // With more in LoadAwareScheduling's arguments a pod could need more than kFilterTermsMax terms.
  const Names load_names(names.begin(),
                         names.begin() + std::min<std::ptrdiff_t>(5, std::ssize(names)));
  json args = {{"NodeResourcesFit", fit_args(draws, names)},
               {"NodeResourcesBalancedAllocation", {{"resources", weighted_list(draws, names, 1)}}},
               {"LimitAware", limit_aware_args(draws, names, profile.mode)},
               {"ResourceLimitAware", resource_limit_aware_args(draws, names)},
               {"LoadAwareScheduling", load_aware_args(draws, load_names, profile.mode)}};
  for (const PluginId plugin : {kNodeResourcesFit, kNodeResourcesBalancedAllocation, kLimitAware,
                                kResourceLimitAware, kLoadAwareScheduling}) {
    const std::string text = args.at(to_string(plugin)).dump();
    if (const Result<void> read = read_plugin_args(plugin, text, profile); !read) {
      throw std::invalid_argument(text + ": " + read.error().message);
    }
  }
  using enum KubernetesVersion;
  profile.kubernetes_version = draws.pick(std::array{k135, k136, k137});

  random.config = {{"filters", json::array()}, {"scores", json::array()}, {"args", args}};
  for (const PluginId plugin : profile.filters) {
    random.config["filters"].push_back(to_string(plugin));
  }
  for (const PluginId plugin : scores) {
    profile.scores.push_back({plugin, plugin_weight(draws)});
    random.config["scores"].push_back(
        {{"plugin", to_string(plugin)}, {"weight", profile.scores.back().weight}});
  }
  profile.capacity_scheduling_args.cross_node_preemption =
      profile.capacity_scheduling && profile.mode == Mode::kProposal && draws.one_in(2);
  random.config["capacityScheduling"] = profile.capacity_scheduling;
  random.config["kubernetesVersion"] = profile.kubernetes_version == k135   ? "1.35"
                                       : profile.kubernetes_version == k136 ? "1.36"
                                                                            : "1.37";
  random.config["args"]["CapacityScheduling"] = {
      {"crossNodePreemption", profile.capacity_scheduling_args.cross_node_preemption}};
  return random;
}

// --- Amounts ---

RandomCluster::RandomCluster(Draws& draws, const Profile& profile)
    : draws_(draws),
      mode_(profile.mode),
      has_capacity_(profile.capacity_scheduling),
      calm_(has_capacity_ && !draws.one_in(4)),
      scale_(draws.pick(std::array{Scale::kTiny, Scale::kTiny, Scale::kOdd, Scale::kRealistic,
                                   Scale::kRealistic, Scale::kTwoPow53, Scale::kHuge})),
      beyond_int64_(mode_ == Mode::kProposal && draws.one_in(5)),
      now_us_(kStartUs) {
  if (has_capacity_ && scale_ > Scale::kRealistic) scale_ = Scale::kTiny;
}

json RandomCluster::quantity(const std::string& resource, std::int64_t amount, bool split) {
  constexpr std::int64_t kKi = 1 << 10, kMi = 1 << 20;
  const bool small = amount < std::int64_t{1} << 50;
  if (resource == "cpu") {
    if (split && amount > 0 && small && draws_.one_in(12))
      return std::to_string(amount * 1000 - 500) + "u";
    const bool whole = amount % 1000 == 0 && !draws_.one_in(3);
    return whole ? std::to_string(amount / 1000) : std::to_string(amount) + "m";
  }
  // Rounds up, alone; two of them add up to one less than two times that.
  if (split && amount > 0 && small && draws_.one_in(12)) {
    return std::to_string(amount * 1000 - 500) + "m";
  }
  if (amount % kMi == 0 && !draws_.one_in(4)) return std::to_string(amount / kMi) + "Mi";
  if (amount % kKi == 0 && !draws_.one_in(4)) return std::to_string(amount / kKi) + "Ki";
  return std::to_string(amount);
}

std::int64_t RandomCluster::capacity(const std::string& resource) {
  const bool cpu = resource == "cpu" || resource == "kubernetes.io/batch-cpu";
  const bool bytes = resource == "memory" || resource == "ephemeral-storage" ||
                     resource == "kubernetes.io/batch-memory" || resource == "hugepages-2Mi";
  const std::int64_t lowest = calm_ ? 6 : 0;
  switch (scale_) {
    case Scale::kTiny:
      return draws_.between(lowest, 12) * (cpu ? 100 : bytes ? 100 << 20 : 1);
    case Scale::kOdd:
      return draws_.between(lowest, 12);
    case Scale::kRealistic:
      if (!cpu && !bytes) return draws_.between(lowest, 8);
      return (calm_ ? draws_.pick(std::array<std::int64_t, 3>{8, 16, 16})
                    : draws_.pick(std::array<std::int64_t, 6>{4, 8, 8, 16, 32, 96})) *
                 (cpu ? 1000 : std::int64_t{4} << 30) -
             draws_.pick(std::array<std::int64_t, 4>{0, 0, 1, 333});
    case Scale::kTwoPow53:
      return (std::int64_t{1} << draws_.pick(std::array{53, 53, 54, 52})) + draws_.between(-2, 2);
    case Scale::kHuge:
      return draws_.one_in(8) ? 0
                              : (std::int64_t{1} << draws_.pick(std::array{60, 60, 59, 57})) -
                                    draws_.pick(std::array{0, 1, 1000});
  }
  return 0;
}

std::int64_t RandomCluster::need(const std::string& resource) {
  // A pod's own sum stays within int64: what does not is refused.
  if (beyond_int64_ && draws_.one_in(2)) return (std::int64_t{1} << 60) - draws_.between(0, 1);
  switch (scale_) {
    case Scale::kTwoPow53:
      return (std::int64_t{1} << draws_.pick(std::array{48, 50, 51})) + draws_.between(-1, 1);
    case Scale::kHuge:
      return (std::int64_t{1} << draws_.pick(std::array{50, 53, 55})) + draws_.between(-1, 1);
    default:
      break;
  }
  // A share of some capacity, now and then one off.
  const std::array<std::int64_t, 6> parts = {1, 2, 3, 4, 8, 8}, small_parts = {2, 3, 4, 4, 6, 8};
  const std::int64_t share = capacity(resource) / draws_.pick(calm_ ? small_parts : parts);
  const std::int64_t off = draws_.pick(std::array<std::int64_t, 8>{0, 0, 0, 0, 0, 0, 1, -1});
  return std::max<std::int64_t>(0, share + off);
}

json RandomCluster::allocatable() {
  json list = json::object();
  for (const std::string& name : resource_names()) {
    const bool basic = name == "cpu" || name == "memory";
    if (basic ? one_in(12, 60) : one_in(3, 6)) continue;
    list[name] = quantity(name, capacity(name), /*split=*/false);
  }
  if (draws_.one_in(12)) list["example.com/r" + std::to_string(draws_.below(3))] = "2";
  if (!draws_.one_in(10)) {
    list["pods"] = std::to_string(calm_ ? draws_.pick(std::array{4, 6, 110, 110, 110})
                                        : draws_.pick(std::array{0, 2, 4, 110, 110}));
  }
  return list;
}

json RandomCluster::resource_list(std::uint64_t empty_one_in) {
  json list = json::object();
  if (draws_.one_in(empty_one_in)) return list;
  for (const std::string& name : resource_names()) {
    const bool basic = name == "cpu" || name == "memory";
    if (basic ? draws_.one_in(4) : !one_in(6, name == "nvidia.com/gpu" ? 4 : 40)) continue;
    list[name] = draws_.one_in(20) ? json("0") : quantity(name, need(name), /*split=*/true);
  }
  // A name that few nodes have, or none.
  if (draws_.one_in(40)) list["example.com/r" + std::to_string(draws_.below(4))] = "1";
  return list;
}

json RandomCluster::usage() {
  json list = json::object();
  for (const std::string& name : resource_names()) {
    const bool basic = name == "cpu" || name == "memory";
    if (draws_.one_in(basic ? 8 : 2)) continue;
    const std::int64_t of = capacity(name);
    const std::int64_t percent =
        draws_.pick(std::array<std::int64_t, 10>{0, 1, 10, 50, 64, 65, 66, 95, 100, 130});
    const std::int64_t amount = (scale_ == Scale::kHuge ? of / 100 * percent : of * percent / 100) +
                                draws_.pick(std::array<std::int64_t, 5>{0, 0, 0, 1, -1});
    // Usage below zero gives scores above 100, which Upstream calls an error.
    const bool negative_allowed = mode_ == Mode::kProposal;
    list[name] = quantity(name, negative_allowed ? amount : std::max<std::int64_t>(0, amount),
                          /*split=*/true);
  }
  return list;
}

// --- Pods ---

json RandomCluster::container(int index) {
  json container = {{"name", "c" + std::to_string(index)}};
  json requests = resource_list(5), limits = resource_list(2);
  if (!requests.empty() && draws_.one_in(4)) limits = requests;
  if (draws_.one_in(20)) requests["deviceclass.resource.kubernetes.io/gpu"] = "1";
  if (!requests.empty()) container["resources"]["requests"] = requests;
  if (!limits.empty()) container["resources"]["limits"] = limits;
  if (draws_.one_in(4)) {
    for (std::uint64_t p = 1 + draws_.below(2); p > 0; --p) container["ports"].push_back(port());
  }
  return container;
}

// From so few that most pods that ask for one meet.
json RandomCluster::port() {
  json port = {{"containerPort", 80}};
  if (!draws_.one_in(5)) port["hostPort"] = draws_.pick(std::array{80, 80, 443, 65535, 0});
  if (draws_.one_in(2)) port["protocol"] = draws_.pick(std::array{"TCP", "TCP", "UDP", "SCTP"});
  if (draws_.one_in(2)) {
    port["hostIP"] = draws_.pick(std::array{"", "0.0.0.0", "10.0.0.1", "10.0.0.2", "::"});
  }
  return port;
}

json RandomCluster::toleration() {
  json toleration = json::object();
  if (!draws_.one_in(5)) toleration["key"] = draws_.pick(std::array{"dedicated", "gpu"});
  if (draws_.one_in(6)) toleration["key"] = "node.kubernetes.io/unschedulable";
  if (!draws_.one_in(3)) toleration["operator"] = draws_.pick(std::array{"Exists", "Equal", ""});
  if (draws_.one_in(2)) toleration["value"] = draws_.pick(std::array{"a", "b"});
  if (draws_.one_in(3)) toleration["effect"] = draws_.pick(std::array{"NoSchedule", "NoExecute"});
  return toleration;
}

json RandomCluster::requirement() {
  const std::array ops = {"In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  const std::string key = draws_.pick(std::array{"zone", "size", "disk", "missing"});
  const std::string op = draws_.pick(ops);
  json requirement = {{"key", key}, {"operator", op}};
  const bool lists = op == "In" || op == "NotIn";
  const std::uint64_t values = lists ? 1 + draws_.below(2) : op == "Gt" || op == "Lt";
  for (std::uint64_t i = 0; i < values; ++i) {
    requirement["values"].push_back(
        key == "size" ? draws_.pick(std::array{"1", "2", "3", "+3", "x", "9223372036854775808"})
                      : draws_.pick(std::array{"a", "b", "c"}));
  }
  return requirement;
}

json RandomCluster::affinity() {
  json terms = json::array();
  for (std::uint64_t t = draws_.below(3); t > 0; --t) {
    json term = json::object();
    for (std::uint64_t r = draws_.below(3); r > 0; --r) {
      term["matchExpressions"].push_back(requirement());
    }
    if (draws_.one_in(3)) {
      json field = {{"key", "metadata.name"}, {"operator", draws_.one_in(4) ? "NotIn" : "In"}};
      field["values"] = {node_name()};
      term["matchFields"].push_back(field);
    }
    terms.push_back(term);
  }
  return {{"nodeAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", terms}}}}}};
}

// A pod without name, uid, node and status.
json RandomCluster::spec() {
  json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", json::object()}};
  json& spec = pod["spec"];
  const int containers = static_cast<int>(1 + draws_.below(2));
  for (int c = 0; c < containers; ++c) spec["containers"].push_back(container(c));
  if (draws_.one_in(4)) {
    for (std::uint64_t c = 1 + draws_.below(2); c > 0; --c) {
      spec["initContainers"].push_back(container(10 + static_cast<int>(c)));
      if (draws_.one_in(2)) spec["initContainers"].back()["restartPolicy"] = "Always";
    }
  }
  if (draws_.one_in(8)) {
    json pod_level = container(0).value("resources", json::object());
    // What the API server takes there.
    for (json& list : pod_level) {
      for (const char* name :
           {"ephemeral-storage", "nvidia.com/gpu", "example.com/fpga", "kubernetes.io/batch-cpu",
            "kubernetes.io/batch-memory", "deviceclass.resource.kubernetes.io/gpu"}) {
        list.erase(name);
      }
      if (list.empty()) list["cpu"] = "100m";
    }
    if (!pod_level.empty()) spec["resources"] = pod_level;
  }
  if (draws_.one_in(8)) spec["overhead"] = resource_list(20);
  if (one_in(4, 40)) spec["nodeSelector"] = {{"zone", draws_.pick(std::array{"a", "b"})}};
  if (one_in(5, 40)) spec["affinity"] = affinity();
  for (std::uint64_t t = draws_.one_in(2) ? draws_.below(3) : 0; t > 0; --t) {
    spec["tolerations"].push_back(toleration());
  }
  if (draws_.one_in(2)) spec["priority"] = draws_.pick(std::array{0, 9500, 7500, 5500, 3500});

  json& metadata = pod["metadata"];
  if (draws_.one_in(4)) {
    metadata["labels"]["koordinator.sh/priority-class"] = draws_.pick(
        std::array{"koord-prod", "koord-mid", "koord-batch", "koord-free", "koord-other"});
  }
  if (draws_.one_in(6)) {
    metadata["labels"]["koordinator.sh/qosClass"] = draws_.pick(std::array{"BE", "LS", "LSR", "?"});
  }
  if (draws_.one_in(8)) metadata["ownerReferences"] = {{{"kind", "DaemonSet"}}};
  if (draws_.one_in(8)) metadata["ownerReferences"] = {{{"kind", "ReplicaSet"}}};
  const std::string prefix = "scheduling.koordinator.sh/";
  const auto annotate = [&](const char* name, const auto& values) {
    if (draws_.one_in(8)) metadata["annotations"][prefix + name] = draws_.pick(values);
  };
  annotate("load-estimated-scaling-factors",
           std::array{R"({"cpu":50})", R"({"cpu":80,"memory":10})", R"({"cpu":1.5})", "{}", "x"});
  annotate("load-estimated-seconds-after-pod-scheduled", std::array{"60", "+90", "0", "-1", "x"});
  annotate("load-estimated-seconds-after-initialized", std::array{"60", "120", "0", "", "6s"});
  if (draws_.one_in(20)) metadata["annotations"][prefix + "reserve-pod"] = "true";
  return pod;
}

void RandomCluster::add_status(json& pod) {
  json status = json::object();
  const std::array phases = {"Running", "Running", "Running",   "Running", "Pending",
                             "Pending", "Unknown", "Succeeded", "Failed"};
  if (!draws_.one_in(3)) status["phase"] = draws_.pick(phases);
  if (draws_.one_in(6)) {
    status["qosClass"] = draws_.pick(std::array{"Guaranteed", "Burstable", "BestEffort"});
  }
  for (const char* type : {"PodScheduled", "Initialized"}) {
    if (!draws_.one_in(3)) continue;
    status["conditions"].push_back({{"type", type},
                                    {"status", draws_.one_in(4) ? "False" : "True"},
                                    {"lastTransitionTime", near_now()}});
  }
  if (draws_.one_in(8)) {
    if (draws_.one_in(2)) {
      status["conditions"].push_back(
          {{"type", "PodResizePending"}, {"status", "True"}, {"reason", "Infeasible"}});
    }
    const auto report = [&](json& of) {
      if (!draws_.one_in(4)) of["resources"]["requests"] = resource_list(10);
      if (draws_.one_in(2)) of["allocatedResources"] = resource_list(10);
    };
    for (const char* name : {"c0", "c1", "c11"}) {
      json container = {{"name", name}};
      report(container);
      const bool init = std::string_view(name) == "c11";
      status[init ? "initContainerStatuses" : "containerStatuses"].push_back(container);
      if (draws_.one_in(2)) break;
    }
    if (draws_.one_in(3)) report(status);
  }
  if (!status.empty()) pod["status"] = status;
}

json RandomCluster::pod(const std::string& name, const std::string& node_name) {
  json pod;
  if (known_specs_.size() == kKnownSpecs && !draws_.one_in(6)) {
    pod = draws_.pick(known_specs_);
  } else {
    pod = spec();
    if (known_specs_.size() < kKnownSpecs) known_specs_.push_back(pod);
  }
  pod["metadata"]["name"] = name;
  pod["metadata"]["namespace"] = namespace_of(name);
  pod["metadata"]["uid"] = name + (draws_.one_in(8) ? "-other" : "-uid");
  if (!node_name.empty()) pod["spec"]["nodeName"] = node_name;
  add_status(pod);
  if (has_capacity_ || draws_.one_in(3)) add_priority(pod);
  if (has_capacity_) add_rank(pod);
  return pod;
}

// As a pod is when it comes to be placed.
json RandomCluster::place(json pod) {
  pod.erase("status");
  if (draws_.one_in(30)) pod["status"]["phase"] = "Pending";
  if (draws_.one_in(4)) nominate(pod);
  if (calm_ && !draws_.one_in(4)) pod["spec"]["priority"] = draws_.pick(std::array{5, 10, 9500});
  return pod;
}

json RandomCluster::pod_to_place() {
  const bool known = draws_.one_in(6);
  json placed = place(pod(known ? pod_name() : "new", draws_.one_in(10) ? node_name() : ""));
  if (has_capacity_ && !known) placed["metadata"]["namespace"] = namespace_name();
  return placed;
}

json RandomCluster::named_pod_to_place() {
  return place(pod(pod_name(), draws_.one_in(10) ? node_name() : ""));
}

// --- Nodes ---

json RandomCluster::taint() {
  return {{"key", draws_.pick(std::array{"dedicated", "gpu", "node.kubernetes.io/unschedulable"})},
          {"value", draws_.pick(std::array{"a", "b", ""})},
          {"effect", draws_.pick(std::array{"NoSchedule", "NoExecute", "PreferNoSchedule"})}};
}

std::string RandomCluster::ratio_annotation() {
  const std::array good = {R"({"cpu":100,"memory":"150%"})",
                           R"({"cpu":"125%"})",
                           R"({"cpu":0})",
                           "{}",
                           R"({"memory":1,"nvidia.com/gpu":"300%"})",
                           R"({"example.com/fpga":50,"cpu":400})"};
  const std::array bad = {R"({"cpu":1.25})",
                          R"({"cpu":"125"})",
                          R"({"cpu":"+5%"})",
                          R"({"cpu":-5})",
                          "null",
                          "[]",
                          "x",
                          R"({"cpu":null})",
                          R"({"cpu":"100%"} {})"};
  return draws_.one_in(4) ? draws_.pick(bad) : draws_.pick(good);
}

std::string RandomCluster::thresholds_annotation() {
  const std::array good = {R"({"usageThresholds":{"cpu":50}})",
                           R"({"usageThresholds":{"cpu":66,"memory":100}})",
                           R"({"prodUsageThresholds":{"cpu":40,"memory":60}})",
                           R"({"usageThresholds":{}})",
                           R"({"usageThresholds":{"cpu":0,"memory":0}})",
                           R"({"aggregatedUsage":{"usageThresholds":{"cpu":55},)"
                           R"("usageAggregationType":"p95","usageAggregatedDuration":"5m"}})",
                           R"({"aggregatedUsage":{"usageThresholds":{"memory":30},)"
                           R"("usageAggregationType":"avg"}})"};
  const std::array bad = {R"({"usageThresholds":{"cpu":"50"}})",
                          R"({"usageThresholds":{"cpu":50.5}})", "x",
                          R"({"aggregatedUsage":{"usageAggregatedDuration":"soon"}})"};
  return draws_.one_in(5) ? draws_.pick(bad) : draws_.pick(good);
}

json RandomCluster::node(const std::string& name) {
  json node = {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}};
  json& metadata = node["metadata"];
  if (!draws_.one_in(4)) metadata["labels"]["zone"] = draws_.pick(std::array{"a", "b", "c"});
  if (draws_.one_in(2)) {
    metadata["labels"]["size"] = draws_.pick(std::array{"1", "2", "3", "4", "x", "", "-7"});
  }
  if (draws_.one_in(3)) metadata["labels"]["disk"] = draws_.pick(std::array{"a", "b"});
  if (one_in(3, 12)) {
    metadata["annotations"]["node.koordinator.sh/limit-to-allocatable"] = ratio_annotation();
  }
  if (draws_.one_in(3)) {
    metadata["annotations"]["scheduling.koordinator.sh/usage-thresholds"] = thresholds_annotation();
  }
  if (draws_.one_in(6)) {
    json raw = {{"cpu", quantity("cpu", capacity("cpu"), /*split=*/false)}};
    if (draws_.one_in(3)) raw["memory"] = draws_.one_in(2) ? "4x" : "1Gi";
    metadata["annotations"]["node.koordinator.sh/raw-allocatable"] = raw.dump();
  }
  if (one_in(12, 40)) node["spec"]["unschedulable"] = true;
  for (std::uint64_t t = one_in(3, 12) ? draws_.below(3) : 0; t > 0; --t) {
    node["spec"]["taints"].push_back(taint());
  }
  node["status"]["allocatable"] = allocatable();
  return node;
}

// --- Metrics ---

std::string RandomCluster::time_text(std::int64_t time_us) {
  std::string text;
  append_time(text, time_us);
  return text;
}

// About now, and often on the edge of what an expiration or report interval is.
std::string RandomCluster::near_now() {
  const std::array seconds = {0, 1, 29, 30, 59, 60, 61, 120, 179, 180, 181, 400, -5};
  const std::array off_us = {0, 0, 0, 1, -1};
  return time_text(now_us_ - draws_.pick(seconds) * kSecondUs + draws_.pick(off_us));
}

json RandomCluster::node_metric(const std::string& name) {
  json metric = {{"apiVersion", "slo.koordinator.sh/v1alpha1"},
                 {"kind", "NodeMetric"},
                 {"metadata", {{"name", name}}}};
  if (!draws_.one_in(3)) {
    metric["spec"]["metricCollectPolicy"]["reportIntervalSeconds"] =
        draws_.pick(std::array{60, 60, 30, 300, 0, -60});
  }
  json& status = metric["status"] = json::object();
  if (!draws_.one_in(10)) status["updateTime"] = near_now();
  if (!draws_.one_in(10)) {
    json& node = status["nodeMetric"] = json::object();
    if (!draws_.one_in(10)) node["nodeUsage"]["resources"] = usage();
    if (draws_.one_in(3)) node["systemUsage"]["resources"] = usage();
    for (std::uint64_t a = draws_.one_in(2) ? draws_.below(4) : 0; a > 0; --a) {
      json entry = {{"duration", draws_.pick(std::array{"5m0s", "10m0s", "30m0s"})}};
      for (const char* type : {"avg", "p95"}) {
        if (!draws_.one_in(3)) entry["usage"][type]["resources"] = usage();
      }
      node["aggregatedNodeUsages"].push_back(entry);
    }
  }
  for (std::uint64_t p = draws_.below(5); p > 0; --p) {
    const std::string pod = pod_name();
    json entry = {{"namespace", namespace_of(pod)}, {"name", pod}};
    if (!draws_.one_in(8)) entry["podUsage"]["resources"] = resource_list(8);
    if (draws_.one_in(2)) entry["priority"] = draws_.one_in(4) ? "koord-batch" : "koord-prod";
    status["podsMetric"].push_back(entry);
  }
  return metric;
}

// --- Events ---

std::string RandomCluster::node_name() {
  return "n" + std::to_string(draws_.below(has_capacity_ ? kCapacityNodeNames : kNodeNames));
}

std::string RandomCluster::pod_name() {
  return "p" + std::to_string(draws_.below(has_capacity_ ? kCapacityPodNames : kPodNames));
}

json RandomCluster::event() {
  const auto apply = [](json object) { return json{{"op", "apply"}, {"object", object}}; };
  const auto remove = [&](const char* kind, const std::string& name) {
    json metadata = {{"name", name}};
    if (kind == std::string("Pod")) metadata["namespace"] = namespace_of(name);
    return json{{"op", "delete"}, {"object", {{"kind", kind}, {"metadata", metadata}}}};
  };
  if (calm_ && begun_ < kCapacityNodeNames) return apply(node("n" + std::to_string(begun_++)));
  if (draws_.one_in(has_capacity_ ? 6 : 30)) return capacity_event();
  std::uint64_t kind = draws_.below(100);
  if (calm_ && kind >= 64 && kind < 78 && !draws_.one_in(4)) kind = 0;  // a pod for a metric
  if (kind < 34) return apply(pod(pod_name(), draws_.one_in(6) ? "" : node_name()));
  if (kind < 44) return remove("Pod", pod_name());
  if (kind < 60) return apply(node(node_name()));
  if (kind < 64) return remove("Node", node_name());
  if (kind < 78) return apply(node_metric(node_name()));
  if (kind < 81) return remove("NodeMetric", node_name());
  if (kind < 90) {
    json event = {{"op", "reserve"}, {"pod", pod(pod_name(), "")}, {"node", node_name()}};
    if (reserved_.size() < 8) reserved_.emplace_back();
    reserved_[draws_.below(reserved_.size())] = event;
    return event;
  }
  if (kind < 95 && !reserved_.empty()) {
    json event = draws_.pick(reserved_);
    if (event.is_object()) {
      event["op"] = "unreserve";
      if (draws_.one_in(8)) event["node"] = node_name();
      if (draws_.one_in(8)) event["pod"]["metadata"]["uid"] = "unknown";
      return event;
    }
  }
  const std::array seconds = {0, 1, 1, 10, 30, 60, 120};
  now_us_ += draws_.pick(seconds) * kSecondUs + draws_.between(0, 1);
  return {{"op", "advance"}, {"now", now()}};
}

// --- Applying ---

Pod to_pod(const json& pod) {
  Result<Object> object = read_object(pod.dump(), "pod");
  if (!object) throw std::invalid_argument(object.error().message);
  return std::get<Pod>(std::move(*object));
}

Result<void> apply_event(Engine& engine, const json& event) {
  const std::string op = event.at("op");
  if (op == "apply") {
    const Result<Object> object = read_object(event.at("object").dump(), "event");
    return object ? engine.upsert(*object) : tl::unexpected(object.error());
  }
  if (op == "advance")
    return engine.advance(parse_time_us(event.at("now").get<std::string>()).value());
  if (op == "delete") {
    const json& metadata = event.at("object").at("metadata");
    const std::string kind = event.at("object").at("kind"), name = metadata.at("name");
    const std::string space = metadata.value("namespace", "");
    if (kind == "Node") engine.remove_node(name);
    if (kind == "NodeMetric") engine.remove_node_metric(name);
    if (kind == "Pod") engine.remove_pod(space, name);
    if (kind == "ElasticQuota") engine.remove_elastic_quota(space, name);
    if (kind == "PodDisruptionBudget") engine.remove_pod_disruption_budget(space, name);
    if (kind == "PriorityClass") engine.remove_priority_class(name);
    if (const std::optional<ReferredKind> referred = parse_referred_kind(kind)) {
      engine.remove(*referred, space.empty() ? name : pod_key(space, name));
    }
    return {};
  }
  const Pod pod = to_pod(event.at("pod"));
  const std::string node = event.at("node");
  if (op == "reserve") return engine.assume(pod, node);
  engine.forget(pod.namespace_name, pod.name, pod.uid, node);
  return {};
}

}  // namespace headroom
