// What lines of an explanation share: how pods, lists, requirements and where a volume can be used
// are written.
//
// Pure functions. Of long lists only the first kNamedMax are written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/answers.h"
#include "engine/kept/kept_node.h"
#include "objects/objects.h"

namespace headroom {

// Of the pods, values or terms that a line of an explanation is about.
inline constexpr std::size_t kNamedMax = 8;

ExplainTerm line_of(PluginId plugin, const char* extension_point);

// "a, b, ..."
std::string list_text(const std::vector<std::string>& names, const char* separator = ", ");
// "2 pods: team/a, team/b", by name; "no pod".
std::string pods_text(std::vector<std::string> names);
// "rack=r1,disk in (ssd,nvme) or zone=z1": any of the terms is enough.
std::string terms_text(const std::vector<LabelSelector>& terms);
// Whether the volume can be used on the node: "can be used everywhere", "can be used here", or
// what of its node affinity does not hold.
std::string reach_text(const PersistentVolume& volume, const KeptNode& node);

}  // namespace headroom
