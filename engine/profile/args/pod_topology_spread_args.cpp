#include "engine/profile/args/pod_topology_spread_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/profile/args/args_values.h"
#include "objects/text/label_syntax.h"

namespace headroom {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

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
       {"minDomains", into(constraint.min_domains, positive)},
       {"nodeAffinityPolicy", into(constraint.honors_affinity, read_choice, "Honor", "Ignore")},
       {"nodeTaintsPolicy", into(constraint.honors_taints, read_choice, "Honor", "Ignore")}});
  if (!has_skew) item.fail(ErrorCode::kInvalid, "has no maxSkew");
  if (constraint.topology_key.empty()) item.fail(ErrorCode::kInvalid, "has no topologyKey");
  if (!has_action) item.fail(ErrorCode::kInvalid, "has no whenUnsatisfiable");
  return constraint;
}

// Of two constraints of a list the second one says nothing new.
bool is_repeated(const TopologySpreadConstraint& one, const TopologySpreadConstraint& other) {
  return one.topology_key == other.topology_key && one.hard == other.hard;
}

}  // namespace

void read_args(const ConfigValue& value, const Profile&, PodTopologySpreadArgs& args) {
  std::vector<TopologySpreadConstraint>& constraints = args.default_constraints;
  read_fields(value, PluginId::kPodTopologySpread,
              {{"defaultingType",
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
}

Result<void> check_args(const PodTopologySpreadArgs& args, const Profile&, ResourceCheck&) {
  const std::vector<TopologySpreadConstraint>& constraints = args.default_constraints;
  if (args.system_defaults && !constraints.empty()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("PodTopologySpread: defaultConstraints: {} with defaultingType System; "
                            "they need List",
                            constraints.size()));
  }
  for (auto constraint = constraints.begin(); constraint != constraints.end(); ++constraint) {
    const auto wrong = [&](const std::string& problem) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("PodTopologySpread: defaultConstraints: \"{}\": {}",
                              constraint->topology_key, problem));
    };
    if (!is_label_key(constraint->topology_key)) return wrong("topologyKey is not a label key");
    if (constraint->max_skew < 1) {
      return wrong(fmt::format("maxSkew: {} is less than 1", constraint->max_skew));
    }
    if (constraint->min_domains < 1) {
      return wrong(fmt::format("minDomains: {} is less than 1", constraint->min_domains));
    }
    if (constraint->selector) return wrong("a default constraint has no labelSelector");
    if (std::any_of(constraints.begin(), constraint,
                    [&](const auto& other) { return is_repeated(*constraint, other); })) {
      return wrong(constraint->hard ? "DoNotSchedule is listed twice"
                                    : "ScheduleAnyway is listed twice");
    }
  }
  return {};
}

}  // namespace headroom
