// kube-scheduler's NodePorts filter: no pod on the node has a host port that the incoming one asks
// for.
#include <cstdint>
#include <string>
#include <vector>

#include "oracle/policies/policies.h"

namespace oracle {
namespace {

struct Port {
  std::int64_t number = 0;
  std::string protocol, ip;
};

void add_ports(const Json& container, std::vector<Port>& ports) {
  const Json& list = child(container, "ports");
  if (!list.is_array()) return;
  for (const Json& entry : list) {
    Port port{integer(entry, "hostPort").value_or(0), text(entry, "protocol"),
              text(entry, "hostIP")};
    if (port.number <= 0) continue;
    if (port.protocol.empty()) port.protocol = "TCP";
    if (port.ip.empty()) port.ip = "0.0.0.0";
    ports.push_back(port);
  }
}

// GetHostPorts: of containers and of init containers that run as long as the pod.
std::vector<Port> host_ports(const Json& pod) {
  std::vector<Port> ports;
  const Json& init_containers = child(pod, "spec", "initContainers");
  if (init_containers.is_array()) {
    for (const Json& container : init_containers) {
      if (text(container, "restartPolicy") == "Always") add_ports(container, ports);
    }
  }
  const Json& containers = child(pod, "spec", "containers");
  if (containers.is_array()) {
    for (const Json& container : containers) add_ports(container, ports);
  }
  return ports;
}

// HostPortInfo.CheckConflict for one that is taken.
bool conflict(const Port& wanted, const Port& taken) {
  if (wanted.number != taken.number || wanted.protocol != taken.protocol) return false;
  return wanted.ip == taken.ip || wanted.ip == "0.0.0.0" || taken.ip == "0.0.0.0";
}

}  // namespace

Status filter_node_ports(const Cycle& cycle, const NodeView& view) {
  const std::vector<Port> wanted = host_ports(*cycle.pod);
  for (const PlacedPod& placed : view.pods) {
    for (const Port& taken : host_ports(*placed.pod)) {
      for (const Port& port : wanted) {
        if (!conflict(port, taken)) continue;
        return {Code::kUnschedulable,
                {"node(s) didn't have free ports for the requested pod ports"}};
      }
    }
  }
  return {};
}

}  // namespace oracle
