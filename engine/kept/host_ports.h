// Host ports: what a pod takes of its node's addresses, and what all pods of a node take.
//
// Source: kube-scheduler's NodePorts and HostPortInfo. No columns: few pods ask for host ports, in
// thousands of values, so that they are kept beside the pods and looked at row by row, for pods
// that ask. Unlike kube-scheduler's set, a node's ports are counted: of two pods that share one
// (bound past the scheduler), one that goes leaves the other's taken.
// Thread safety: plain values. Cost: a look is a binary search per port that is asked for; a pod
// that comes or goes moves the entries behind its own.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "objects/objects.h"

namespace headroom {

struct HostPort {
  std::uint16_t port = 0;
  PortProtocol protocol = PortProtocol::kTcp;
  std::string ip;  // "": all addresses
  friend bool operator==(const HostPort&, const HostPort&) = default;
  friend bool operator<(const HostPort& a, const HostPort& b) {
    return std::tie(a.port, a.protocol, a.ip) < std::tie(b.port, b.protocol, b.ip);
  }
};
// Sorted, each once.
using HostPorts = std::vector<HostPort>;

// Those of the pod's containers and sidecars; a pod's own never conflict. Does not allocate where
// there are none.
HostPorts host_ports_of(const Pod& pod);
bool has_host_ports(const Pod& pod);
// "8080/TCP", "10.0.0.1:53/UDP"
std::string to_string(const HostPort& port);

// The first of those asked for that `taken` leaves no room for; nullptr: none.
const HostPort* find_conflict(const HostPorts& asked, const HostPorts& taken);
// How many of a pod's ports conflict with those asked for.
std::uint32_t count_conflicts(const HostPorts& asked, const HostPorts& of_pod);

// What the pods of a node take, each port with the number of pods.
class TakenPorts {
 public:
  void add(const HostPorts& ports);
  void remove(const HostPorts& ports);
  bool conflict(const HostPorts& asked) const;
  // The sum of the above over the pods.
  std::uint32_t count_conflicts(const HostPorts& asked) const;
  friend bool operator==(const TakenPorts&, const TakenPorts&) = default;

 private:
  struct Taken {
    HostPort port;
    std::uint32_t pods = 0;
    friend bool operator==(const Taken&, const Taken&) = default;
  };
  std::vector<Taken> taken_;  // sorted by port
};

}  // namespace headroom
