// RandomFacts: what a feeder tells of a small cluster, drawn from a seed: nodes, pods, and what
// they refer to, with names of which there are few, so that facts meet.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "objects/annotations.h"
#include "tests/support/draws.h"
#include "tests/support/objects.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory {

class RandomFacts : public Draws {
 public:
  using Draws::Draws;

  Pod some_pod() {
    Pod pod = pod_of(fmt::format("p{}", below(12)), 1 + static_cast<std::int64_t>(below(3)),
                     below(3) == 0 ? fmt::format("n{}", below(6)) : "");
    pod.uid += fmt::format("-{}-of-some-length-beyond-what-lies-in-a-string", below(2));
    // What it asks of others, in the domains of zones and of nodes.
    pod.labels = {{"app", fmt::format("application-{}-of-some-length", below(2))}};
    for (const char* key : {"zone", "node"}) {
      if (below(3) == 0) {
        PodAffinityTerm term;
        term.selector = {{"app", "In", {"application-0-of-some-length"}}};
        term.topology_key = key;
        pod.pod_anti_affinity.required.push_back(std::move(term));
      }
    }
    if (below(6) == 0) {
      TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
      constraint.topology_key = below(2) == 0 ? "zone" : "node";
      constraint.hard = below(2) == 0;
      constraint.selector = LabelSelector{{"app", "In", {pod.labels[0].second}}};
    }
    if (below(6) == 0) {
      Volume& volume = pod.volumes.emplace_back();
      volume.name = "data";
      volume.claim = fmt::format("claim-{}", below(3));
    }
    pod.priority_class_name = below(3) == 0 ? fmt::format("class-{}", below(2)) : "";
    if (below(4) == 0) {
      const auto port = static_cast<std::uint16_t>(8000 + below(3));
      pod.containers.front().ports.push_back(
          {.host_port = port,
           .host_ip = fmt::format("2001:db8:1234:5678:9abc:def0:0:{}", below(2))});
    }
    if (pod.node_name.empty() && below(3) == 0) {
      pod.nominated_node_name = fmt::format("n{}", below(6));
      pod.priority = static_cast<std::int32_t>(below(3));
    }
    return pod;
  }
  // At times with resources that no other node has: columns come and go.
  Fact some_node() {
    Node node = node_of(fmt::format("n{}", below(6)), 4 + static_cast<std::int64_t>(below(5)));
    node.labels = {{"node", node.name}, {"zone", fmt::format("zone-{}", below(2))}};
    add_label(node);
    if (below(4) == 0) {
      node.annotations = {{std::string(kReservationAnnotation),
                           fmt::format("reservation-{}-of-some-length", below(4))}};
    }
    for (std::uint64_t more = below(3); more != 0; --more) {
      const std::string name = fmt::format("example.com/device-{}", more * 100 + below(50));
      node.allocatable.emplace_back(name, Quantity::from_value(8));
    }
    std::sort(node.allocatable.begin(), node.allocatable.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return node;
  }
  // Of few pods and percentiles, or of many.
  Fact some_metric() {
    NodeMetric metric = node_metric_of(fmt::format("n{}", below(6)), kTraceStartUs, cores(1));
    for (std::uint64_t more = below(4) * below(4); more != 0; --more) {
      const std::string name = fmt::format("p{}", below(40));
      metric.pods.push_back(
          {.namespace_name = "team", .name = name, .usage = cores(1), .priority = {}});
    }
    for (std::uint64_t more = below(4); more != 0; --more) {
      const auto seconds = static_cast<std::int64_t>(60 * more + below(50));
      metric.aggregated.push_back(
          {.duration_us = seconds * 1'000'000, .usage = {{"avg", cores(1)}, {"p95", cores(1)}}});
    }
    return metric;
  }
  // At times by a label that no quota read before.
  CapacityQuota some_capacity_quota() {
    CapacityQuota quota;
    quota.name = fmt::format("capacity-{}", below(3));
    if (const std::uint64_t key = below(5); key != 0) {
      const std::string keys[] = {"zone", "node", fmt::format("example.com/label-{}", below(20))};
      quota.selector = {{keys[key % 3], below(2) == 0 ? "In" : "NotIn", {"zone-0", "n1", "n2"}}};
    }
    quota.limits = {{"cpu", fmt::format("{}", 8 + below(60))}, {"nodes", "5"}};
    return quota;
  }
  Node some_template() {
    Node node = node_of("template", 1 + static_cast<std::int64_t>(below(8)));
    node.labels = {{"node", fmt::format("n{}", below(6))},
                   {"zone", fmt::format("zone-of-some-length-{}", below(3))}};
    add_label(node);
    return node;
  }
  ElasticQuota some_elastic_quota() {
    const auto min = static_cast<std::int64_t>(below(8));
    return elastic_quota("team", min, min + static_cast<std::int64_t>(below(20)));
  }
  PodDisruptionBudget some_budget() {
    return {.namespace_name = "team",
            .name = fmt::format("budget-{}-of-some-length", below(2)),
            .selector = {{"app", "In", {fmt::format("application-{}-of-some-length", below(2))}}},
            .disruptions_allowed = static_cast<std::int64_t>(below(2)),
            .disrupted_pods = {}};
  }
  PriorityClass some_priority_class() {
    return {.name = fmt::format("class-{}", below(2)),
            .value = static_cast<std::int32_t>(below(1000)),
            .global_default = below(4) == 0,
            .preemption_policy = ""};
  }
  ReferredObject some_referred_object() {
    switch (below(5)) {
      case 0:
        return Namespace{fmt::format("space-{}", below(2)),
                         {{"tier", fmt::format("{}", below(3))}}};
      case 1:
        return Service{"team", fmt::format("service-{}-of-some-length", below(2)),
                       StringMap{{"app", fmt::format("application-{}-of-some-length", below(2))}}};
      case 2:
        return StorageClass{.name = "class-of-storage",
                            .provisioner = "provisioner-of-some-length",
                            .waits_for_first_consumer = below(2) == 0,
                            .allowed_topologies = {}};
      case 3: {
        PersistentVolume volume;
        volume.name = fmt::format("volume-{}-of-some-length", below(3));
        volume.labels = {{"topology.kubernetes.io/zone", "zone-0"}};
        volume.storage_class = "class-of-storage";
        volume.capacity_bytes = 1 << 30;
        volume.access_modes = {"ReadWriteOnce"};
        volume.available = below(2) == 0;
        volume.node_affinity = {
            {.match_expressions = {{"zone", "In", {fmt::format("zone-{}", below(2))}}},
             .match_fields = {}}};
        return volume;
      }
      default: {
        PersistentVolumeClaim claim;
        claim.namespace_name = "team";
        claim.name = fmt::format("claim-{}", below(3));
        claim.storage_class = "class-of-storage";
        claim.access_modes = {"ReadWriteOnce"};
        claim.request_bytes = 1 << 20;
        if (below(2) == 0) {
          claim.volume_name = fmt::format("volume-{}-of-some-length", below(3));
          claim.bind_completed = true;
        }
        return claim;
      }
    }
  }
  Fact some_object() {
    switch (below(4)) {
      case 0:
        return some_elastic_quota();
      case 1:
        return some_budget();
      case 2:
        return some_priority_class();
      default:
        return some_referred_object();
    }
  }
  Fact removed_object() {
    switch (below(4)) {
      case 0:
        return removed_elastic_quota(some_elastic_quota());
      case 1:
        return removed_budget(some_budget());
      case 2:
        return removed_class(some_priority_class().name);
      default: {
        const ReferredObject object = some_referred_object();
        return RemovedReferred{to_string(kind_of(object)), key_of(object)};
      }
    }
  }
  Fact some_fact() {
    switch (below(14)) {
      case 0:
        return some_node();
      case 1:
        return removed_node(fmt::format("n{}", below(6)));
      case 2:
        return removed_pod(some_pod());
      case 3:
        return some_metric();
      case 4:
        return removed_metric(fmt::format("n{}", below(6)));
      case 5:
        return some_capacity_quota();
      case 6:
        return removed_capacity_quota(fmt::format("capacity-{}", below(3)));
      case 7:
      case 8:
        return some_object();
      case 9:
        return removed_object();
      default:
        return some_pod();
    }
  }

 private:
  // One that some quotas read.
  void add_label(Node& node) {
    if (below(2) == 0) {
      node.labels.emplace(node.labels.begin(), fmt::format("example.com/label-{}", below(20)),
                          fmt::format("value-{}", below(3)));
    }
  }
};

}  // namespace headroom::in_memory
