// See pod_resources.h.
#include "oracle/pod_resources.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>
#include <vector>

namespace oracle {
namespace {

const std::string kEphemeral = "ephemeral-storage";

void add(Resources& sum, const Resources& more) {
  for (const auto& [name, nano] : more) sum[name] += nano;
}

// A key that only one side has is kept as it is.
void raise_to(Resources& highest, const Resources& other) {
  for (const auto& [name, nano] : other) {
    const auto [at, fresh] = highest.emplace(name, nano);
    if (!fresh) at->second = std::max(at->second, nano);
  }
}

std::vector<Json> list_of(const Json& pod, const char* key) {
  const Json& list = child(pod, "spec", key);
  return list.is_array() ? list.get<std::vector<Json>>() : std::vector<Json>();
}

bool is_sidecar(const Json& container) { return text(container, "restartPolicy") == "Always"; }

Resources overhead_of(const Json& pod) { return read_resources(child(pod, "spec", "overhead")); }

// KEP-753: containers and sidecars summed, raised to the peak of the init containers.
Resources aggregate(const Json& pod, const std::function<Resources(const Json&, bool)>& of) {
  Resources sum;
  for (const Json& container : list_of(pod, "containers")) add(sum, of(container, false));
  Resources sidecars, peak;
  for (const Json& container : list_of(pod, "initContainers")) {
    const Resources own = of(container, true);
    if (is_sidecar(container)) {
      add(sum, own);
      add(sidecars, own);
      raise_to(peak, sidecars);
    } else {
      Resources candidate = own;
      add(candidate, sidecars);
      raise_to(peak, candidate);
    }
  }
  raise_to(sum, peak);
  return sum;
}

// The status of the container of that name; a later one wins, init containers last.
const Json& status_of(const Json& pod, const std::string& name) {
  static const Json kNull;
  const Json* found = &kNull;
  for (const char* key : {"containerStatuses", "initContainerStatuses"}) {
    const Json& statuses = child(pod, "status", key);
    if (!statuses.is_array()) continue;
    for (const Json& status : statuses) {
      if (text(status, "name") == name) found = &status;
    }
  }
  return *found;
}

bool resize_infeasible(const Json& pod) {
  const Json& conditions = child(pod, "status", "conditions");
  if (!conditions.is_array()) return false;
  for (const Json& condition : conditions) {
    if (text(condition, "type") == "PodResizePending") {
      return text(condition, "reason") == "Infeasible";
    }
  }
  return false;
}

// 1.35 and 1.36, determineContainerReqs: the most of what is asked, actuated and allocated.
Resources effective_requests(const Json& pod, const Json& container, bool is_init) {
  Resources requests = read_resources(child(container, "resources", "requests"));
  if (is_init && !is_sidecar(container)) return requests;
  const Json& status = status_of(pod, text(container, "name"));
  if (!child(status, "resources").is_object()) return requests;
  Resources effective = read_resources(child(status, "resources", "requests"));
  raise_to(effective, read_resources(child(status, "allocatedResources")));
  if (!resize_infeasible(pod)) raise_to(effective, requests);
  return effective;
}

// 1.37: containerAllocatedRequests and containerActuatedRequests.
Resources allocated_requests(const Json& pod, const Json& container) {
  const Resources allocated =
      read_resources(child(status_of(pod, text(container, "name")), "allocatedResources"));
  if (!allocated.empty()) return allocated;
  if (resize_infeasible(pod)) return {};
  return read_resources(child(container, "resources", "requests"));
}

Resources actuated_requests(const Json& pod, const Json& container) {
  const Resources actuated =
      read_resources(child(status_of(pod, text(container, "name")), "resources", "requests"));
  return actuated.empty() ? allocated_requests(pod, container) : actuated;
}

bool has_pod_level_requests(const Json& pod) {
  for (const auto& [name, nano] : read_resources(child(pod, "spec", "resources", "requests"))) {
    if (is_pod_level_resource(name)) return true;
  }
  return false;
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

// The part of validation.IsQualifiedName that a name from the outside can fail.
bool is_prefixed_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || name.find('/', slash + 1) != std::string::npos) return false;
  const std::string prefix = name.substr(0, slash), rest = name.substr(slash + 1);
  const auto alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (prefix.empty() || prefix.size() > 253 || rest.empty() || rest.size() > 63) return false;
  std::string label;
  for (const char c : prefix + ".") {
    if (c != '.') {
      if (!alnum(c) && c != '-') return false;
      if (std::isupper(static_cast<unsigned char>(c)) != 0) return false;
      label += c;
      continue;
    }
    if (label.empty() || label.front() == '-' || label.back() == '-') return false;
    label.clear();
  }
  if (!alnum(rest.front()) || !alnum(rest.back())) return false;
  return std::all_of(rest.begin(), rest.end(),
                     [&](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

Resources read_resources(const Json& list) {
  Resources resources;
  if (!list.is_object()) return resources;
  for (const auto& [name, value] : list.items()) {
    if (value.is_null()) {
      resources[name] = 0;
      continue;
    }
    const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
    const std::optional<Quantity> quantity = parse_quantity(written);
    if (!quantity) throw std::invalid_argument("resource " + name + ": bad quantity " + written);
    resources[name] = quantity->nano;
  }
  return resources;
}

std::int64_t to_unit(const std::string& resource, Int128 nano) {
  return resource == kCpu ? milli_value_of(nano) : value_of(nano);
}

Amounts to_units(const Resources& resources) {
  Amounts amounts;
  for (const auto& [name, nano] : resources) amounts[name] = to_unit(name, nano);
  return amounts;
}

std::int64_t amount(const Amounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

bool is_extended_resource(const std::string& name) {
  if (name.find('/') == std::string::npos || name.find("kubernetes.io/") != std::string::npos) {
    return false;
  }
  return !starts_with(name, "requests.") && is_prefixed_name("requests." + name);
}

bool is_scalar_resource(const std::string& name) {
  return is_extended_resource(name) || starts_with(name, "hugepages-") ||
         name.find("kubernetes.io/") != std::string::npos ||
         starts_with(name, "attachable-volumes-");
}

bool is_pod_level_resource(const std::string& name) {
  return name == kCpu || name == kMemory || starts_with(name, "hugepages-");
}

// reference 3.5: pod level replaces listed keys, then overhead is added.
Resources pod_requests(const Json& pod, const RequestsOptions& options) {
  const auto sum_of = [&](const auto& requests) {
    return aggregate(pod, [&](const Json& container, bool is_init) {
      Resources own = requests(container, is_init);
      for (const auto& [name, nano] : options.non_missing) own.emplace(name, nano);
      return own;
    });
  };
  const auto asked = [](const Json& container, bool) {
    return read_resources(child(container, "resources", "requests"));
  };
  const Resources pod_allocated = read_resources(child(pod, "status", "allocatedResources"));
  const Resources pod_actuated = read_resources(child(pod, "status", "resources", "requests"));
  Resources sum;
  if (!options.resized_as) {
    sum = sum_of(asked);
  } else if (*options.resized_as != Version::k137) {
    sum = sum_of([&](const Json& container, bool is_init) {
      return effective_requests(pod, container, is_init);
    });
  } else {
    // "max of sums": max(agg(spec), agg(actuated), agg(allocated)).
    if (!resize_infeasible(pod)) sum = sum_of(asked);
    if (!pod_allocated.empty() && !pod_actuated.empty()) {
      raise_to(sum, pod_actuated);
      raise_to(sum, pod_allocated);
    } else {
      raise_to(sum, sum_of([&](const Json& one, bool) { return actuated_requests(pod, one); }));
      raise_to(sum, sum_of([&](const Json& one, bool) { return allocated_requests(pod, one); }));
    }
  }
  if (!options.skip_pod_level && has_pod_level_requests(pod)) {
    const Resources level = read_resources(child(pod, "spec", "resources", "requests"));
    Resources most = level;
    if (options.resized_as && *options.resized_as != Version::k135 &&
        child(pod, "status", "resources").is_object()) {
      if (resize_infeasible(pod)) most.clear();
      raise_to(most, pod_actuated);
      raise_to(most, pod_allocated);
      if (*options.resized_as == Version::k136) {
        std::erase_if(most, [&](const auto& one) { return !level.contains(one.first); });
        for (const auto& [name, nano] : level) most.emplace(name, 0);
      }
    }
    for (const auto& [name, nano] : most) {
      if (is_pod_level_resource(name)) sum[name] = nano;
    }
  }
  add(sum, overhead_of(pod));
  return sum;
}

// reference 3.5: overhead goes only onto limits that are not zero.
Resources pod_limits(const Json& pod) {
  Resources sum = aggregate(pod, [](const Json& container, bool) {
    return read_resources(child(container, "resources", "limits"));
  });
  for (const auto& [name, nano] : read_resources(child(pod, "spec", "resources", "limits"))) {
    if (is_pod_level_resource(name)) sum[name] = nano;
  }
  for (const auto& [name, nano] : overhead_of(pod)) {
    const auto limit = sum.find(name);
    if (limit != sum.end() && limit->second != 0) limit->second += nano;
  }
  return sum;
}

// reference 3.3: with pod-level requests set, defaults only for what the result lacks.
Resources non_zero_requests(const Json& pod, std::optional<Version> resized_as) {
  RequestsOptions options;
  options.resized_as = resized_as;
  const Resources plain = pod_requests(pod, options);
  const bool pod_level = has_pod_level_requests(pod);
  if (!pod_level || !plain.contains(kCpu)) options.non_missing[kCpu] = kDefaultCpu;
  if (!pod_level || !plain.contains(kMemory)) options.non_missing[kMemory] = kDefaultMemoryNano;
  const Resources filled = pod_requests(pod, options);
  Resources result;
  for (const std::string& name : {kCpu, kMemory}) {
    const auto found = filled.find(name);
    result[name] = found == filled.end() ? 0 : found->second;
  }
  return result;
}

// framework.Resource.Add and SetMaxResource: each container is rounded; sidecars are not special.
Amounts elastic_quota_requests(const Json& pod) {
  const auto counts = [](const std::string& name) {
    return name == kCpu || name == kMemory || name == kEphemeral || is_scalar_resource(name);
  };
  Amounts sum;
  for (const Json& container : list_of(pod, "containers")) {
    for (const auto& [name, units] :
         to_units(read_resources(child(container, "resources", "requests")))) {
      if (counts(name)) sum[name] += units;
    }
  }
  for (const Json& container : list_of(pod, "initContainers")) {
    for (const auto& [name, units] :
         to_units(read_resources(child(container, "resources", "requests")))) {
      if (counts(name)) sum[name] = std::max(sum[name], units);
    }
  }
  for (const auto& [name, units] : to_units(overhead_of(pod))) {
    if (counts(name)) sum[name] += units;
  }
  return sum;
}

// ComputePodQOS: cpu and memory above zero, of the pod level where it is set, else of containers.
std::string pod_qos_class(const Json& pod) {
  Resources requests, limits;
  bool guaranteed = true;
  const auto take = [&](const Json& resources) {
    std::set<std::string> limited;
    for (const auto& [name, nano] : read_resources(child(resources, "requests"))) {
      if ((name == kCpu || name == kMemory) && nano > 0) requests[name] += nano;
    }
    for (const auto& [name, nano] : read_resources(child(resources, "limits"))) {
      if ((name == kCpu || name == kMemory) && nano > 0) {
        limits[name] += nano;
        limited.insert(name);
      }
    }
    if (limited.size() < 2) guaranteed = false;
  };
  if (child(pod, "spec", "resources").is_object()) {
    take(child(pod, "spec", "resources"));
  } else {
    for (const char* key : {"containers", "initContainers"}) {
      for (const Json& container : list_of(pod, key)) take(child(container, "resources"));
    }
  }
  if (requests.empty() && limits.empty()) return "BestEffort";
  return guaranteed && requests == limits ? "Guaranteed" : "Burstable";
}

Int128 shaped_limit(const Json& pod, const std::string& resource, const ContainerLimit& container,
                    Int128 fallback) {
  const Json& level = child(pod, "spec", "resources");
  const Resources level_requests = read_resources(child(level, "requests"));
  const Resources level_limits = read_resources(child(level, "limits"));
  const bool supported = is_pod_level_resource(resource);
  const bool has_limit = supported && level_limits.contains(resource);
  const bool has_request = supported && level_requests.contains(resource);

  // "no container default applies to an R that the pod level names".
  const Int128 missing = has_limit || has_request ? 0 : fallback;
  const Resources sum = aggregate(pod, [&](const Json& one, bool) {
    const std::optional<Int128> set = container(read_resources(child(one, "resources", "requests")),
                                                read_resources(child(one, "resources", "limits")));
    return Resources{{resource, set.value_or(missing)}};
  });
  const auto found = sum.find(resource);
  Int128 limit = found == sum.end() ? 0 : found->second;
  // "A pod-level limit replaces the sum; a request without a limit raises it to at least that".
  if (has_limit) {
    limit = level_limits.at(resource);
  } else if (has_request) {
    limit = std::max(limit, level_requests.at(resource));
  }
  const Resources overhead = overhead_of(pod);
  const auto extra = overhead.find(resource);
  return extra == overhead.end() ? limit : limit + extra->second;
}

}  // namespace oracle
