// How LoadAwareScheduling estimates what a pod will use: its priority class, and its requests and
// limits times the scaling factors. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/profile/profile.h"
#include "objects/objects.h"

namespace headroom {

enum class KoordPriorityClass : std::uint8_t { kNone, kProd, kMid, kBatch, kFree };

inline constexpr std::string_view kKoordPriorityClassLabel = "koordinator.sh/priority-class";
inline constexpr std::string_view kKoordQosClassLabel = "koordinator.sh/qosClass";
// The label's value; "" for kNone, and for a number that is none of them.
std::string_view label_of(KoordPriorityClass priority_class);

// koordinator apis/extension GetPodPriorityClassRaw: by label, else by priority.
KoordPriorityClass explicit_priority_class(const Pod& pod);
// GetPodPriorityClassWithDefault: where that gives none, by QoS label, else by QoS.
KoordPriorityClass priority_class(const Pod& pod);

// Labels of a class or a QoS class that there is not, with their values.
std::vector<std::pair<std::string_view, std::string_view>> unknown_labels(const Pod& pod);

// The name under which a pod of the class asks for the resource; empty: under none.
std::string_view translated_resource(std::string_view resource, KoordPriorityClass priority_class);

// JSON map of resource to whole number, as Go reads map[ResourceName]int64; nullopt where it
// cannot.
std::optional<std::map<std::string, std::int64_t>> parse_factors(std::string_view json);

// Usage of one resource from a pod's request and limit of it, in the resource's unit. `name` is the
// translated name.
std::int64_t estimated_usage(std::string_view name, const Quantity& request, const Quantity& limit,
                             std::int64_t factor, Mode mode);

}  // namespace headroom
