// A claim of a class that waits for the first consumer, and a pod with it, under kube-scheduler's
// own profile.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom {

class ClaimTest : public testing::Test {
 protected:
  inline static const std::string kZone = "topology.kubernetes.io/zone";
  inline static const std::string kRack = "example.com/rack";
  inline static const std::string kDriver = "disk.example.com";

  ClaimTest() {
    class_.name = "fast";
    class_.provisioner = kDriver;
    class_.waits_for_first_consumer = true;
    claim_.namespace_name = "team";
    claim_.name = "data";
    claim_.uid = "7";
    claim_.storage_class = class_.name;
    claim_.access_modes = {"ReadWriteOnce"};
    claim_.request_bytes = 10;
    volume_.name = "disk";
    volume_.storage_class = class_.name;
    volume_.capacity_bytes = 20;
    volume_.access_modes = claim_.access_modes;
    volume_.available = true;
  }

  static Pod pod(const std::string& name, const std::string& claim) {
    Pod made = pod_of("team", name, cores(1));
    made.volumes.emplace_back().claim = claim;
    return made;
  }
  static std::vector<NodeSelectorTerm> on(const std::string& key, const char* op,
                                          std::vector<std::string> values) {
    return {{.match_expressions = {{key, op, std::move(values)}}, .match_fields = {}}};
  }
  template <typename T>
  void apply(const T& object) {
    const Result<void> applied = engine_.upsert(object);
    ASSERT_TRUE(applied) << applied.error().message;
  }
  // "a" and "b", each in a rack and a zone of its own.
  void apply_nodes() {
    for (const char* name : {"a", "b"}) {
      apply(node_of(name, cores(8),
                    {{kRack, std::string("rack-") + name}, {kZone, std::string("zone-") + name}}));
    }
  }
  // With its class.
  void apply_claim() {
    apply(ReferredObject(class_));
    apply(ReferredObject(claim_));
  }
  // The driver tells what storage the nodes of a rack have.
  void apply_storage_in(const std::string& rack) {
    CsiDriver driver;
    driver.name = kDriver;
    driver.storage_capacity = true;
    apply(ReferredObject(driver));
    CsiStorageCapacity capacity;
    capacity.namespace_name = "kube-system";
    capacity.name = "of-" + rack;
    capacity.storage_class = class_.name;
    capacity.node_topology = LabelSelector{{kRack, "In", {rack}}};
    capacity.capacity_bytes = 100;
    apply(ReferredObject(capacity));
  }

  Engine engine_ = Engine::create(Profile::kube_scheduler(), {.threads = 1}).value();
  StorageClass class_;
  PersistentVolumeClaim claim_;
  PersistentVolume volume_;  // that it may have
  Pod pod_ = pod("store-0", "data");
};

}  // namespace headroom
