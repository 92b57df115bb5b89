// Random clusters for property tests and fuzzing: objects, events and profiles as JSON.
//
// Small on purpose: few names, so that events meet; amounts of one scale per cluster, drawn from
// few values, so that ties, exact fits and one too many are common. What a RandomCluster does is
// decided by its draws alone: the same seed or bytes give the same events.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/profile/profile.h"
#include "tests/support/draws.h"

namespace headroom {

// A profile for the engine, and the same for the oracle (oracle.h, "Oracle"). Half of them have
// CapacityScheduling.
struct RandomProfile {
  Profile profile;
  nlohmann::json config;
};
RandomProfile random_profile(Draws& draws);

class RandomCluster {
 public:
  // How large amounts are.
  enum class Scale : std::uint8_t {
    kTiny,       // capacities of 0 to 12 steps of 100m and 100Mi
    kOdd,        // capacities of 0 to 12 units
    kRealistic,  // cpus and GiB
    kTwoPow53,   // around 2^53, where doubles lose units
    kHuge,       // capacities of up to 2^62
  };

  // Pods have priorities, and some are nominated. Where the profile has CapacityScheduling they are
  // of several namespaces, with ElasticQuotas and PodDisruptionBudgets; amounts whose sums stay
  // within int64.
  RandomCluster(Draws& draws, const Profile& profile);

  // The next event, in the form of a conformance step: apply, delete, reserve, unreserve, advance.
  nlohmann::json event();
  // A pod to decide about: mostly one of a few shapes that come again, now and then one that the
  // cluster knows by name.
  nlohmann::json pod_to_place();
  // The same with a name that events use.
  nlohmann::json named_pod_to_place();

  nlohmann::json node(const std::string& name);
  nlohmann::json pod(const std::string& name, const std::string& node_name);
  nlohmann::json node_metric(const std::string& name);
  // Names that events use; the cluster need not know a node of that name.
  std::string node_name();
  std::string pod_name();
  // A pod's name decides its namespace, so that deletes and metrics mean the same pod.
  std::string namespace_of(const std::string& pod_name) const;
  std::string now() const { return time_text(now_us_); }

 private:
  static std::string time_text(std::int64_t time_us);
  bool one_in(std::uint64_t usually, std::uint64_t calm) {
    return draws_.one_in(calm_ ? calm : usually);
  }

  // The amount as people write it; `split`: now and then half a unit less, which rounds up to it.
  nlohmann::json quantity(const std::string& resource, std::int64_t amount, bool split);
  std::int64_t capacity(const std::string& resource);
  std::int64_t need(const std::string& resource);
  nlohmann::json allocatable();
  nlohmann::json resource_list(std::uint64_t empty_one_in);
  nlohmann::json container(int index);
  nlohmann::json port();
  nlohmann::json taint();
  nlohmann::json toleration();
  nlohmann::json requirement();
  nlohmann::json affinity();
  nlohmann::json spec();
  void add_status(nlohmann::json& pod);
  nlohmann::json usage();
  std::string near_now();
  nlohmann::json place(nlohmann::json pod);
  std::string thresholds_annotation();
  std::string ratio_annotation();

  // What CapacityScheduling reads (random_elastic_quotas.cpp).
  nlohmann::json capacity_event();
  void add_priority(nlohmann::json& pod);
  void add_rank(nlohmann::json& pod);
  void nominate(nlohmann::json& pod);
  nlohmann::json elastic_quota_list(std::int64_t more);
  nlohmann::json elastic_quota();
  nlohmann::json disruption_budget();
  nlohmann::json priority_class();
  std::string namespace_name();

  Draws& draws_;
  Mode mode_;
  bool has_capacity_;
  // Little but room, quotas and importance decides, so that preemption often succeeds; the nodes
  // are there from the beginning.
  bool calm_;
  std::uint64_t begun_ = 0;
  Scale scale_;
  // Now and then a pod asks for so much that sums leave int64 (mode Proposal).
  bool beyond_int64_;
  std::int64_t now_us_;
  std::vector<nlohmann::json> known_specs_;
  std::vector<nlohmann::json> reserved_;  // pods with the node of their last reservation
};

// The event or object, applied. Errors are the engine's or the reader's.
Result<void> apply_event(Engine& engine, const nlohmann::json& event);
Pod to_pod(const nlohmann::json& pod);

}  // namespace headroom
