// ApartPods: where the bound pods of an application are, while a cluster is drawn, so that those
// that must keep apart do.
//
// Pods are asked for in the order of their indices: the pods of an application follow each other.
// Thread safety: one thread at a time. Cost: O(1) a question; memory for one application.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "workloads/application_generator.h"
#include "workloads/zones.h"

namespace headroom {

class ApartPods {
 public:
  explicit ApartPods(const ApplicationGenerator& applications) : applications_(applications) {}

  // A pod that selects a zone is spread over that one alone.
  bool let_in(std::uint32_t pod_index, std::uint32_t node, const char* zone, bool selects_zone) {
    const std::uint32_t application = applications_.of_pod(pod_index);
    if (application != application_) {
      application_ = application;
      one_per_node_ = applications_.one_per_node(application);
      even_over_zones_ = applications_.even_over_zones(application);
      nodes_.clear();
      in_zones_ = {};
    }
    if (one_per_node_ && nodes_.contains(node)) return false;
    const std::uint32_t least = *std::min_element(in_zones_.begin(), in_zones_.end());
    return !even_over_zones_ || selects_zone || in_zones_[zone_index(zone)] == least;
  }
  void add(std::uint32_t node, const char* zone) {
    nodes_.insert(node);
    ++in_zones_[zone_index(zone)];
  }

 private:
  static std::size_t zone_index(std::string_view zone) {
    return static_cast<std::size_t>(std::find(kZones.begin(), kZones.end(), zone) - kZones.begin());
  }

  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  const ApplicationGenerator& applications_;
  std::uint32_t application_ = kNone;
  bool one_per_node_ = false, even_over_zones_ = false;
  std::unordered_set<std::uint32_t> nodes_;
  std::array<std::uint32_t, kZones.size()> in_zones_{};
};

}  // namespace headroom
