// NodeDeclaredFeatures: features that a pod cannot do without and a node says it has.
#pragma once

#include "oracle/default/plugin.h"

namespace oracle::defaults {

class NodeDeclaredFeaturesPlugin final : public Plugin {
 public:
  using Plugin::Plugin;

  PreFilterAnswer pre_filter() override;
  Status filter(const Node& node) override;

 private:
  std::set<std::string> required() const;
};

}  // namespace oracle::defaults
