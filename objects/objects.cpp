// Lookups in the small sorted lists that objects hold, and the names of protocols.
#include "objects/objects.h"

#include <algorithm>

namespace headroom {

namespace {

// Lists of up to this many entries are searched from the front: names mostly differ in length,
// which is quicker to see than their order.
constexpr std::size_t kLinearSearchMax = 16;

template <typename List>
auto find_value(const List& list, std::string_view key) -> decltype(&list.front().second) {
  if (list.size() <= kLinearSearchMax) {
    for (const auto& [name, value] : list) {
      if (name == key) return &value;
    }
    return nullptr;
  }
  const auto it =
      std::lower_bound(list.begin(), list.end(), key,
                       [](const auto& entry, std::string_view k) { return entry.first < k; });
  return it != list.end() && it->first == key ? &it->second : nullptr;
}

}  // namespace

const Quantity* find(const ResourceList& list, std::string_view name) {
  return find_value(list, name);
}

const std::string* find(const StringMap& map, std::string_view key) { return find_value(map, key); }

void set_entry(StringMap& map, std::string_view key, std::string_view value) {
  const auto at =
      std::lower_bound(map.begin(), map.end(), key,
                       [](const auto& entry, std::string_view k) { return entry.first < k; });
  if (at != map.end() && at->first == key) {
    at->second = value;
  } else {
    map.insert(at, {std::string(key), std::string(value)});
  }
}

const char* to_string(PortProtocol protocol) {
  switch (protocol) {
    case PortProtocol::kTcp:
      return "TCP";
    case PortProtocol::kUdp:
      return "UDP";
    case PortProtocol::kSctp:
      return "SCTP";
  }
  return "";
}

std::optional<PortProtocol> parse_port_protocol(std::string_view text) {
  if (text.empty()) return PortProtocol::kTcp;
  for (const PortProtocol protocol :
       {PortProtocol::kTcp, PortProtocol::kUdp, PortProtocol::kSctp}) {
    if (text == to_string(protocol)) return protocol;
  }
  return std::nullopt;
}

bool matches(const LabelSelector& selector, const StringMap& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const NodeSelectorRequirement& asked) {
    return holds(asked, find(labels, asked.key));
  });
}

bool holds(const NodeSelectorRequirement& asked, const std::string* value) {
  if (asked.op == "Exists" || asked.op == "DoesNotExist") {
    return (value != nullptr) == (asked.op == "Exists");
  }
  const bool listed = value != nullptr && std::find(asked.values.begin(), asked.values.end(),
                                                    *value) != asked.values.end();
  return listed == (asked.op == "In");
}

namespace {

// By ReferredKind.
constexpr const char* kReferredKinds[kReferredKindCount] = {
    "Namespace",   "Service",          "ReplicationController", "ReplicaSet",
    "StatefulSet", "PersistentVolume", "PersistentVolumeClaim", "StorageClass",
    "CSINode",     "CSIDriver",        "CSIStorageCapacity"};

}  // namespace

const char* to_string(ReferredKind kind) { return kReferredKinds[static_cast<std::size_t>(kind)]; }

const char* api_version_of(ReferredKind kind) {
  switch (kind) {
    case ReferredKind::kNamespace:
    case ReferredKind::kService:
    case ReferredKind::kReplicationController:
    case ReferredKind::kPersistentVolume:
    case ReferredKind::kPersistentVolumeClaim:
      return "v1";
    case ReferredKind::kReplicaSet:
    case ReferredKind::kStatefulSet:
      return "apps/v1";
    case ReferredKind::kStorageClass:
    case ReferredKind::kCsiNode:
    case ReferredKind::kCsiDriver:
    case ReferredKind::kCsiStorageCapacity:
      return "storage.k8s.io/v1";
  }
  return "";
}

std::optional<ReferredKind> parse_referred_kind(std::string_view text) {
  const auto* found = std::find(std::begin(kReferredKinds), std::end(kReferredKinds), text);
  return found == std::end(kReferredKinds)
             ? std::nullopt
             : std::optional(static_cast<ReferredKind>(found - std::begin(kReferredKinds)));
}

ReferredKind kind_of(const ReferredObject& object) {
  if (const auto* controller = std::get_if<WorkloadController>(&object)) {
    switch (controller->kind) {
      case WorkloadController::Kind::kReplicationController:
        return ReferredKind::kReplicationController;
      case WorkloadController::Kind::kReplicaSet:
        return ReferredKind::kReplicaSet;
      case WorkloadController::Kind::kStatefulSet:
        return ReferredKind::kStatefulSet;
    }
  }
  static_assert(std::variant_size_v<ReferredObject> == kReferredKindCount - 2);
  constexpr ReferredKind kByIndex[] = {ReferredKind::kNamespace,
                                       ReferredKind::kService,
                                       ReferredKind::kReplicaSet,
                                       ReferredKind::kPersistentVolume,
                                       ReferredKind::kPersistentVolumeClaim,
                                       ReferredKind::kStorageClass,
                                       ReferredKind::kCsiNode,
                                       ReferredKind::kCsiDriver,
                                       ReferredKind::kCsiStorageCapacity};
  return kByIndex[object.index()];
}

bool has_namespace(ReferredKind kind) {
  switch (kind) {
    case ReferredKind::kService:
    case ReferredKind::kReplicationController:
    case ReferredKind::kReplicaSet:
    case ReferredKind::kStatefulSet:
    case ReferredKind::kPersistentVolumeClaim:
    case ReferredKind::kCsiStorageCapacity:
      return true;
    case ReferredKind::kNamespace:
    case ReferredKind::kPersistentVolume:
    case ReferredKind::kStorageClass:
    case ReferredKind::kCsiNode:
    case ReferredKind::kCsiDriver:
      return false;
  }
  return false;
}

std::string key_of(ReferredKind kind, std::string_view namespace_name, std::string_view name) {
  return has_namespace(kind) ? pod_key(namespace_name, name) : std::string(name);
}

std::string key_of(const ReferredObject& object) {
  return std::visit(
      [](const auto& its) {
        if constexpr (requires { its.namespace_name; }) {
          return pod_key(its.namespace_name, its.name);
        } else {
          return its.name;
        }
      },
      object);
}

void write_pod_key(std::string_view namespace_name, std::string_view name, std::string& key) {
  key.assign(namespace_name).append("/").append(name);
}

std::string pod_key(std::string_view namespace_name, std::string_view name) {
  std::string key;
  write_pod_key(namespace_name, name, key);
  return key;
}

std::string pod_key(const Pod& pod) { return pod_key(pod.namespace_name, pod.name); }

}  // namespace headroom
