// Sums of a pod's requests and limits.
#include "objects/pod_resources.h"

#include <algorithm>

#include "objects/text/label_syntax.h"

namespace headroom {

namespace {

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kMemory = "memory";
constexpr std::string_view kHugePagesPrefix = "hugepages-";

// Takes over what `list` lacks; combine(mine, its) where both name a resource. Cost: a look-up for
// each name of `more`, and one pass over both where it names another one.
template <typename Combine>
void merge(ResourceList& list, const ResourceList& more, const Combine& combine) {
  const auto known = static_cast<std::ptrdiff_t>(list.size());
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (const auto& its : more) {
    const auto mine = std::lower_bound(list.begin(), list.begin() + known, its, by_name);
    if (mine != list.begin() + known && mine->first == its.first) {
      combine(mine->second, its.second);
    } else {
      list.push_back(its);
    }
  }
  std::sort(list.begin() + known, list.end(), by_name);
  std::inplace_merge(list.begin(), list.begin() + known, list.end(), by_name);
}

void add(ResourceList& list, const ResourceList& more) {
  merge(list, more, [](Quantity& mine, const Quantity& its) { mine += its; });
}

// Per name the larger; a name that only one list has is taken, negative or not.
void raise(ResourceList& list, const ResourceList& more) {
  merge(list, more, [](Quantity& mine, const Quantity& its) {
    if (mine < its) mine = its;
  });
}

void set(ResourceList& list, std::string_view name, const Quantity& quantity) {
  const auto at = std::lower_bound(list.begin(), list.end(), name,
                                   [](const auto& e, std::string_view n) { return e.first < n; });
  if (at != list.end() && at->first == name) {
    at->second = quantity;
  } else {
    list.emplace(at, name, quantity);
  }
}

bool names_pod_level_resource(const ResourceList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const auto& entry) { return is_pod_level_resource(entry.first); });
}

void override_pod_level(ResourceList& list, const ResourceList& pod_level) {
  for (const auto& [name, quantity] : pod_level) {
    if (is_pod_level_resource(name)) set(list, name, quantity);
  }
}

// AggregateContainerRequests and -Limits; `of` gives the list of one container.
template <typename Of>
ResourceList aggregate(const Pod& pod, const Of& of) {
  ResourceList total;
  for (const Container& container : pod.containers) add(total, of(container, true));
  ResourceList sidecars, peak;
  for (const Container& container : pod.init_containers) {
    ResourceList own = of(container, container.restart_always);
    if (container.restart_always) {
      add(total, own);
      add(sidecars, own);
      raise(peak, sidecars);
    } else {
      add(own, sidecars);
      raise(peak, own);
    }
  }
  raise(total, peak);
  return total;
}

// determineEffectiveRequests: the most of what is taken, allocated and, where that can be, asked
// for.
ResourceList most_of(const Pod& pod, const ResourceList& requests, const ResourceList& actuated,
                     const ResourceList& allocated) {
  ResourceList list = actuated;
  raise(list, allocated);
  if (!pod.resize_infeasible) raise(list, requests);
  return list;
}

// containerAllocatedRequests and containerActuatedRequests: what the status does not say is what
// was said before it. An empty list is none: the API server keeps no difference.
const ResourceList& allocated_or_asked(const Pod& pod, const Container& container) {
  static const ResourceList kNothing;
  if (!container.allocated_requests.empty()) return container.allocated_requests;
  return pod.resize_infeasible ? kNothing : container.requests;
}

const ResourceList& actuated_or_allocated(const Pod& pod, const Container& container) {
  return container.actuated_requests && !container.actuated_requests->empty()
             ? *container.actuated_requests
             : allocated_or_asked(pod, container);
}

// AggregateContainerRequests.
ResourceList container_requests(const Pod& pod, const PodRequestsOptions& options) {
  const auto sum = [&](const auto& of) {
    return aggregate(pod, [&](const Container& container, bool runs_on) {
      ResourceList list = of(container, runs_on);
      if (options.missing_cpu && find(list, kCpu) == nullptr) {
        set(list, kCpu, *options.missing_cpu);
      }
      if (options.missing_memory && find(list, kMemory) == nullptr) {
        set(list, kMemory, *options.missing_memory);
      }
      return list;
    });
  };
  const auto asked = [](const Container& container, bool) { return container.requests; };
  if (!options.resized_as) return sum(asked);
  if (*options.resized_as < KubernetesVersion::k137) {
    return sum([&](const Container& container, bool runs_on) {
      // Without status.resources the allocated ones are not read either.
      return runs_on && container.actuated_requests
                 ? most_of(pod, container.requests, *container.actuated_requests,
                           container.allocated_requests)
                 : container.requests;
    });
  }
  ResourceList actuated, allocated;
  if (!pod.allocated_requests.empty() && pod.actuated_requests && !pod.actuated_requests->empty()) {
    actuated = *pod.actuated_requests;
    allocated = pod.allocated_requests;
  } else {
    actuated = sum(
        [&](const Container& container, bool) { return actuated_or_allocated(pod, container); });
    allocated =
        sum([&](const Container& container, bool) { return allocated_or_asked(pod, container); });
  }
  return most_of(pod, sum(asked), actuated, allocated);
}

// What the pod level asks for in place of its containers.
void override_requests(ResourceList& total, const Pod& pod, const PodRequestsOptions& options) {
  const bool resized = options.resized_as && *options.resized_as >= KubernetesVersion::k136 &&
                       pod.actuated_requests && names_pod_level_resource(pod.pod_requests);
  if (!resized) {
    override_pod_level(total, pod.pod_requests);
    return;
  }
  const ResourceList most =
      most_of(pod, pod.pod_requests, *pod.actuated_requests, pod.allocated_requests);
  if (*options.resized_as >= KubernetesVersion::k137) {
    override_pod_level(total, most);
    return;
  }
  // 1.36: of the names that the spec has, whatever else the status says.
  for (const auto& [name, asked] : pod.pod_requests) {
    const Quantity* its = find(most, name);
    if (is_pod_level_resource(name)) set(total, name, its == nullptr ? Quantity() : *its);
  }
}

}  // namespace

ResourceList pod_requests(const Pod& pod, const PodRequestsOptions& options) {
  ResourceList total = container_requests(pod, options);
  if (!options.skip_pod_level_resources) override_requests(total, pod, options);
  add(total, pod.overhead);
  return total;
}

ResourceList pod_limits(const Pod& pod) {
  ResourceList total =
      aggregate(pod, [](const Container& container, bool) { return container.limits; });
  override_pod_level(total, pod.pod_limits);
  for (const auto& [name, quantity] : pod.overhead) {
    const Quantity* limit = find(total, name);
    if (limit != nullptr && !limit->is_zero()) set(total, name, Quantity(*limit) += quantity);
  }
  return total;
}

ResourceList non_zero_requested(const Pod& pod, std::optional<KubernetesVersion> resized_as) {
  PodRequestsOptions options;
  options.resized_as = resized_as;
  options.missing_cpu = Quantity::from_milli(kDefaultMilliCpu);
  options.missing_memory = Quantity::from_value(kDefaultMemoryBytes);
  if (names_pod_level_resource(pod.pod_requests)) {
    PodRequestsOptions plain;
    plain.resized_as = resized_as;
    const ResourceList requests = pod_requests(pod, plain);
    if (find(requests, kCpu) != nullptr) options.missing_cpu.reset();
    if (find(requests, kMemory) != nullptr) options.missing_memory.reset();
  }
  const ResourceList requests = pod_requests(pod, options);
  ResourceList result;
  for (const std::string_view name : {kCpu, kMemory}) {
    const Quantity* quantity = find(requests, name);
    set(result, name, quantity == nullptr ? Quantity() : *quantity);
  }
  return result;
}

ResourceList elastic_quota_requests(const Pod& pod) {
  // framework.Resource.Add: cpu in thousandths, others whole, rounded away from zero.
  const auto rounded = [](const ResourceList& list) {
    ResourceList result;
    for (const auto& [name, quantity] : list) {
      if (!is_counted_resource(name) && name != "pods") continue;
      const std::int64_t unit = name == kCpu ? kNanosPerMilli : kNanosPerUnit;
      const Int128 rest = quantity.nanos() % unit;
      const Int128 step = rest == 0 ? 0 : rest < 0 ? -unit - rest : unit - rest;
      result.emplace_back(name, Quantity::from_nanos(quantity.nanos() + step));
    }
    return result;
  };
  ResourceList total;
  for (const Container& container : pod.containers) add(total, rounded(container.requests));
  for (const Container& container : pod.init_containers) {
    ResourceList list = rounded(container.requests);
    // SetMaxResource ignores pods.
    std::erase_if(list, [](const auto& entry) { return entry.first == "pods"; });
    raise(total, list);
  }
  add(total, rounded(pod.overhead));
  return total;
}

std::string_view pod_qos_class(const Pod& pod) {
  // Only cpu and memory above zero count.
  struct Sums {
    Quantity cpu, memory;

    void add(const ResourceList& list) {
      const Quantity* c = find(list, kCpu);
      if (c != nullptr && Quantity() < *c) cpu += *c;
      const Quantity* m = find(list, kMemory);
      if (m != nullptr && Quantity() < *m) memory += *m;
    }
    bool any() const { return !cpu.is_zero() || !memory.is_zero(); }
    bool both() const { return !cpu.is_zero() && !memory.is_zero(); }
  };
  Sums requests, limits;
  bool every_container_limited = true;
  if (names_pod_level_resource(pod.pod_requests) || names_pod_level_resource(pod.pod_limits)) {
    requests.add(pod.pod_requests);
    limits.add(pod.pod_limits);
  } else {
    for (const auto* containers : {&pod.containers, &pod.init_containers}) {
      for (const Container& container : *containers) {
        Sums own;
        own.add(container.limits);
        every_container_limited = every_container_limited && own.both();
        requests.add(container.requests);
        limits.add(container.limits);
      }
    }
  }
  if (!requests.any() && !limits.any()) return "BestEffort";
  const bool guaranteed = every_container_limited && limits.both() && requests.cpu == limits.cpu &&
                          requests.memory == limits.memory;
  return guaranteed ? "Guaranteed" : "Burstable";
}

bool is_extended_resource(std::string_view name) {
  // IsExtendedResourceName: a domain that is not Kubernetes' own, not a quota name, and, with
  // "requests." before it, a qualified name.
  constexpr std::string_view kResourceQuotaPrefix = "requests.";
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos ||
      name.starts_with(kResourceQuotaPrefix)) {
    return false;
  }
  const auto is_lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto is_alnum = [&](char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); };
  const std::string_view domain = name.substr(0, slash);
  const std::string_view local = name.substr(slash + 1);
  if (kResourceQuotaPrefix.size() + domain.size() > kLabelPrefixBytesMax || domain.empty())
    return false;
  if (local.empty() || local.size() > kLabelNameBytesMax) return false;
  // A DNS-1123 subdomain: labels of lower case letters, digits and inner hyphens.
  char before = '.';
  for (const char c : domain) {
    if (c == '.' ? !is_lower(before) : c == '-' ? before == '.' : !is_lower(c)) return false;
    before = c;
  }
  if (!is_lower(before) || !is_alnum(local.front()) || !is_alnum(local.back())) return false;
  return std::all_of(local.begin(), local.end(),
                     [&](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_claimed_device(std::string_view name) {
  return name.starts_with("deviceclass.resource.kubernetes.io/");
}

bool claims_devices(const Pod& pod) {
  const auto claims = [](const Container& container) {
    return std::any_of(container.requests.begin(), container.requests.end(),
                       [](const auto& entry) { return is_claimed_device(entry.first); });
  };
  return std::any_of(pod.containers.begin(), pod.containers.end(), claims) ||
         std::any_of(pod.init_containers.begin(), pod.init_containers.end(), claims);
}

bool is_counted_resource(std::string_view name) {
  return name == kCpu || name == kMemory || name == "ephemeral-storage" || is_scalar_resource(name);
}

bool is_pod_level_resource(std::string_view name) {
  return name == kCpu || name == kMemory || name.starts_with(kHugePagesPrefix);
}

bool is_scalar_resource(std::string_view name) {
  return is_extended_resource(name) || name.starts_with(kHugePagesPrefix) ||
         name.find("kubernetes.io/") != std::string_view::npos ||
         name.starts_with("attachable-volumes-");
}

}  // namespace headroom
