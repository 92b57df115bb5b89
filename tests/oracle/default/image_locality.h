// ImageLocality: nodes that have the pod's images already.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class ImageLocalityPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  Status pre_score(const std::vector<const Node*>& feasible) override;
  std::int64_t score(const Node& node) override;

 private:
  std::int64_t scaled_size(const std::string& name) const;
};

}  // namespace oracle::defaults
