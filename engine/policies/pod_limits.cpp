#include "engine/policies/pod_limits.h"

#include <algorithm>
#include <set>

#include "objects/pod_resources.h"

namespace headroom {

namespace {

// A sum of quantities and of so many times the node's allocatable.
struct Linear {
  Quantity constant;
  std::int64_t allocatables = 0;

  Linear& operator+=(const Linear& other) {
    constant += other.constant;
    allocatables += other.allocatables;
    return *this;
  }
};

struct LimitRule {
  ContainerLimit container_limit;
  const DefaultLimits& defaults;
  bool pod_level_names_resource;  // then no container default applies
};

Linear limit_of(const Container& container, const std::string& resource, const LimitRule& rule) {
  const Quantity* limit = find(container.limits, resource);
  const Quantity* request = find(container.requests, resource);
  if (limit != nullptr && request != nullptr) {
    const bool larger = rule.container_limit == ContainerLimit::kLargerOfBoth;
    return {larger && *limit < *request ? *request : *limit, 0};
  }
  if (limit != nullptr || request != nullptr) {
    return {limit != nullptr ? *limit : *request, 0};
  }
  const auto found = rule.defaults.find(resource);
  if (found == rule.defaults.end() || rule.pod_level_names_resource) {
    return {};
  }
  return found->second ? Linear{*found->second, 0} : Linear{{}, 1};
}

PodLimit limit_of(const Pod& pod, const std::string& resource, ContainerLimit container_limit,
                  const DefaultLimits& defaults) {
  const bool pod_level = is_pod_level_resource(resource);
  const Quantity* limit = pod_level ? find(pod.pod_limits, resource) : nullptr;
  const Quantity* request = pod_level ? find(pod.pod_requests, resource) : nullptr;
  const LimitRule rule{container_limit, defaults, limit != nullptr || request != nullptr};

  Linear sum, sidecars;
  std::vector<Linear> peaks;
  for (const Container& container : pod.containers) {
    sum += limit_of(container, resource, rule);
  }
  for (const Container& container : pod.init_containers) {
    Linear peak = limit_of(container, resource, rule);
    if (container.restart_always) {
      sidecars += peak;
      sum += peak;
    }
    peak += container.restart_always ? Linear{} : sidecars;
    peaks.push_back(container.restart_always ? sidecars : peak);
  }
  peaks.push_back(sum);
  if (limit != nullptr) {
    peaks = {{*limit, 0}};
  } else if (request != nullptr) {
    peaks.push_back({*request, 0});
  }
  const Quantity* overhead = find(pod.overhead, resource);
  PodLimit result{resource, {}};
  for (Linear& peak : peaks) {
    peak.constant += overhead != nullptr ? *overhead : Quantity();
    const auto same = std::find_if(result.lines.begin(), result.lines.end(), [&](const auto& line) {
      return line.allocatables == peak.allocatables;
    });
    if (same == result.lines.end()) {
      result.lines.push_back({peak.constant, peak.allocatables});
    } else if (same->constant < peak.constant) {
      same->constant = peak.constant;
    }
  }
  return result;
}

std::int64_t upstream_amount(const std::string& resource, const Quantity& quantity) {
  return amount(resource == "cpu" ? kCpu : kMemory, quantity);
}

// quotav1.Max(limits, requests), rounded.
std::map<std::string, std::int64_t> upstream_container(const Container& container, bool scored) {
  std::map<std::string, std::int64_t> result;
  for (const auto* list : {&container.limits, &container.requests}) {
    for (const auto& [name, quantity] : *list) {
      if (is_counted_resource(name)) {
        const std::int64_t value = upstream_amount(name, quantity);
        const auto [position, added] = result.try_emplace(name, value);
        position->second = std::max(position->second, value);
      }
    }
  }
  if (scored) {
    result.try_emplace("cpu", kDefaultMilliCpu);
    result.try_emplace("memory", kDefaultMemoryBytes);
  }
  return result;
}

}  // namespace

std::vector<PodLimit> pod_limits_of(const Pod& pod, ContainerLimit container_limit,
                                    const DefaultLimits& defaults) {
  std::set<std::string> resources;
  const auto add_names = [&](const ResourceList& list) {
    for (const auto& [name, quantity] : list) {
      resources.insert(name);
    }
  };
  for (const auto* containers : {&pod.containers, &pod.init_containers}) {
    for (const Container& container : *containers) {
      add_names(container.limits);
      add_names(container.requests);
    }
  }
  add_names(pod.pod_limits);
  add_names(pod.pod_requests);
  add_names(pod.overhead);
  for (const auto& [name, limit] : defaults) {
    resources.insert(name);
  }
  std::vector<PodLimit> result;
  for (const std::string& resource : resources) {
    result.push_back(limit_of(pod, resource, container_limit, defaults));
  }
  return result;
}

UpstreamLimits upstream_limits_of(const Pod& pod, bool scored) {
  UpstreamLimits result;
  const auto add = [&](const std::string& name, std::int64_t value) {
    std::int64_t& sum = result.amounts[name];
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                    static_cast<std::uint64_t>(value));
  };
  for (const Container& container : pod.containers) {
    for (const auto& [name, value] : upstream_container(container, scored)) {
      add(name, value);
    }
  }
  for (const Container& container : pod.init_containers) {
    for (const auto& [name, value] : upstream_container(container, scored)) {
      std::int64_t& most = result.amounts[name];
      most = std::max(most, value);
    }
  }
  for (const auto& [name, quantity] : pod.overhead) {
    if (is_counted_resource(name)) {
      add(name, upstream_amount(name, quantity));
    }
  }
  result.has_scalars = std::any_of(result.amounts.begin(), result.amounts.end(),
                                   [](const auto& item) { return is_scalar_resource(item.first); });
  return result;
}

}  // namespace headroom
