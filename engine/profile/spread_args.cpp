// The arguments of PodTopologySpread.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/profile/args_values.h"
#include "engine/profile/family_args.h"
#include "objects/text/label_syntax.h"

namespace headroom {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

// Whether the text is the first of the two that are accepted here.
bool read_choice(const ConfigValue& value, std::string_view one, std::string_view other) {
  const std::string text = value.text();
  if (text != one && text != other) {
    value.fail(ErrorCode::kInvalid,
               fmt::format("\"{}\" is not known; accepted: {}, {}", text, one, other));
  }
  return text == one;
}

TopologySpreadConstraint read_constraint(const ConfigValue& item) {
  TopologySpreadConstraint constraint;
  bool has_skew = false, has_action = false;
  const auto positive = [](const ConfigValue& v) {
    return static_cast<std::int32_t>(v.integer(1, kInt32Max));
  };
  item.fields(
      {{"maxSkew",
        [&](const ConfigValue& v) {
          has_skew = true;
          constraint.max_skew = positive(v);
        }},
       {"topologyKey",
        [&](const ConfigValue& v) {
          constraint.topology_key = v.text();
          if (!is_label_key(constraint.topology_key)) {
            v.fail(ErrorCode::kInvalid, fmt::format("{} is not a label key", v.shown()));
          }
        }},
       {"whenUnsatisfiable",
        [&](const ConfigValue& v) {
          has_action = true;
          constraint.hard = read_choice(v, "DoNotSchedule", "ScheduleAnyway");
        }},
       {"labelSelector",
        [](const ConfigValue& v) {
          v.fail(ErrorCode::kInvalid,
                 "a default constraint has no selector: each pod's follows from its services and "
                 "its controller");
        }},
       {"matchLabelKeys",
        [&](const ConfigValue& v) {
          v.items(
              [&](const ConfigValue& key) { constraint.match_label_keys.push_back(key.text()); });
        }},
       {"minDomains", [&](const ConfigValue& v) { constraint.min_domains = positive(v); }},
       {"nodeAffinityPolicy",
        [&](const ConfigValue& v) {
          constraint.honors_affinity = read_choice(v, "Honor", "Ignore");
        }},
       {"nodeTaintsPolicy", [&](const ConfigValue& v) {
          constraint.honors_taints = read_choice(v, "Honor", "Ignore");
        }}});
  if (!has_skew) item.fail(ErrorCode::kInvalid, "has no maxSkew");
  if (constraint.topology_key.empty()) item.fail(ErrorCode::kInvalid, "has no topologyKey");
  if (!has_action) item.fail(ErrorCode::kInvalid, "has no whenUnsatisfiable");
  return constraint;
}

}  // namespace

PodTopologySpreadArgs read_topology_spread(const ConfigValue& value) {
  PodTopologySpreadArgs args;
  std::vector<TopologySpreadConstraint>& constraints = args.default_constraints;
  value.fields({{"apiVersion", read_api_version()},
                {"kind", read_kind(PluginId::kPodTopologySpread)},
                {"defaultingType",
                 [&](const ConfigValue& v) {
                   args.system_defaults = v.text().empty() || read_choice(v, "System", "List");
                 }},
                {"defaultConstraints", [&](const ConfigValue& v) {
                   v.items([&](const ConfigValue& item) {
                     TopologySpreadConstraint constraint = read_constraint(item);
                     if (std::any_of(constraints.begin(), constraints.end(),
                                     [&](const TopologySpreadConstraint& other) {
                                       return is_repeated(constraint, other);
                                     })) {
                       item.fail(
                           ErrorCode::kInvalid,
                           fmt::format("\"{}\" with {} is listed twice", constraint.topology_key,
                                       constraint.hard ? "DoNotSchedule" : "ScheduleAnyway"));
                     }
                     constraints.push_back(std::move(constraint));
                   });
                 }}});
  if (args.system_defaults && !constraints.empty()) {
    value.fail(ErrorCode::kInvalid,
               fmt::format("defaultConstraints: {} with defaultingType System; they need List",
                           constraints.size()));
  }
  return args;
}

}  // namespace headroom
