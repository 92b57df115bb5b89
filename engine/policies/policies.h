// Policies: those whose plugins the profile enables.
//
// They are made once, in a fixed order, with their columns, and live as long as this does; what the
// context refers to outlives them. Thread safety: as Policy. Cost: of() is a look into an array.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/policies/policy.h"

namespace headroom {

class Policies {
 public:
  explicit Policies(const PolicyContext& context);

  // nullptr: the plugin has none, or no plugin of its policy is enabled.
  Policy* of(PluginId plugin) const { return by_plugin_[static_cast<std::size_t>(plugin)]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<std::unique_ptr<Policy>> all_;
  std::array<Policy*, kPluginCount> by_plugin_{};
};

}  // namespace headroom
