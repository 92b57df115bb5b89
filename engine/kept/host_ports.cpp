#include "engine/kept/host_ports.h"

#include <fmt/format.h>

#include <algorithm>

#include "objects/assert.h"

namespace headroom {

namespace {

template <typename Visit>
void for_each_port(const Pod& pod, Visit visit) {
  for (const Container& container : pod.containers) {
    for (const ContainerPort& port : container.ports) {
      visit(port);
    }
  }
  for (const Container& container : pod.init_containers) {
    for (const ContainerPort& port : container.ports) {
      if (container.restart_always) {
        visit(port);
      }
    }
  }
}

// Whether some entry of a sorted list conflicts with the port.
template <typename Entries, typename PortOf>
bool any_conflict(const Entries& entries, const HostPort& port, PortOf port_of) {
  const auto number = [](const HostPort& one) { return std::tie(one.port, one.protocol); };
  auto at = std::lower_bound(
      entries.begin(), entries.end(), port,
      [&](const auto& entry, const HostPort& p) { return number(port_of(entry)) < number(p); });
  for (; at != entries.end() && number(port_of(*at)) == number(port); ++at) {
    const std::string& ip = port_of(*at).ip;
    if (ip.empty() || port.ip.empty() || ip == port.ip) {
      return true;
    }
  }
  return false;
}

bool any_conflict(const HostPorts& ports, const HostPort& port) {
  return any_conflict(ports, port, [](const HostPort& one) -> const HostPort& { return one; });
}

}  // namespace

HostPorts host_ports_of(const Pod& pod) {
  HostPorts ports;
  for_each_port(pod, [&](const ContainerPort& port) {
    if (port.host_port != 0) {
      ports.push_back(
          {port.host_port, port.protocol, port.host_ip == "0.0.0.0" ? "" : port.host_ip});
    }
  });
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

bool has_host_ports(const Pod& pod) {
  bool any = false;
  for_each_port(pod, [&](const ContainerPort& port) { any |= port.host_port != 0; });
  return any;
}

std::string to_string(const HostPort& port) {
  return fmt::format("{}{}{}/{}", port.ip, port.ip.empty() ? "" : ":", port.port,
                     to_string(port.protocol));
}

const HostPort* find_conflict(const HostPorts& asked, const HostPorts& taken) {
  const auto found = std::find_if(asked.begin(), asked.end(),
                                  [&](const HostPort& port) { return any_conflict(taken, port); });
  return found == asked.end() ? nullptr : &*found;
}

std::uint32_t count_conflicts(const HostPorts& asked, const HostPorts& of_pod) {
  return static_cast<std::uint32_t>(
      std::count_if(of_pod.begin(), of_pod.end(),
                    [&](const HostPort& port) { return any_conflict(asked, port); }));
}

void TakenPorts::add(const HostPorts& ports) {
  for (const HostPort& port : ports) {
    auto at =
        std::lower_bound(taken_.begin(), taken_.end(), port,
                         [](const Taken& taken, const HostPort& p) { return taken.port < p; });
    if (at == taken_.end() || at->port != port) {
      at = taken_.insert(at, {port, 0});
    }
    ++at->pods;
  }
}

void TakenPorts::remove(const HostPorts& ports) {
  for (const HostPort& port : ports) {
    const auto at =
        std::lower_bound(taken_.begin(), taken_.end(), port,
                         [](const Taken& taken, const HostPort& p) { return taken.port < p; });
    HEADROOM_ASSERT(at != taken_.end() && at->port == port);
    if (--at->pods == 0) {
      taken_.erase(at);
    }
  }
}

bool TakenPorts::conflict(const HostPorts& asked) const {
  return !taken_.empty() && std::any_of(asked.begin(), asked.end(), [&](const HostPort& port) {
    return any_conflict(taken_, port, [](const Taken& one) -> const HostPort& { return one.port; });
  });
}

std::uint32_t TakenPorts::count_conflicts(const HostPorts& asked) const {
  std::uint32_t count = 0;
  for (const Taken& taken : taken_) {
    count += any_conflict(asked, taken.port) ? taken.pods : 0;
  }
  return count;
}

}  // namespace headroom
