#include "engine/profile/args/node_resources_fit_args.h"

#include <fmt/format.h>

#include "engine/profile/args/args_values.h"
#include "objects/pod_resources.h"

namespace headroom {
namespace {

void read_scoring_strategy(const ConfigValue& value, NodeResourcesFitArgs& args) {
  using Strategy = NodeResourcesFitArgs::Strategy;
  bool has_type = false;
  value.fields(
      {{"type",
        [&](const ConfigValue& type) {
          has_type = true;
          const std::string name = type.text();
          if (name == "LeastAllocated") {
            args.strategy = Strategy::kLeastAllocated;
          } else if (name == "MostAllocated") {
            args.strategy = Strategy::kMostAllocated;
          } else if (name == "RequestedToCapacityRatio") {
            args.strategy = Strategy::kRequestedToCapacityRatio;
          } else {
            type.fail(ErrorCode::kUnsupported,
                      fmt::format("\"{}\" is not known; accepted: LeastAllocated, MostAllocated, "
                                  "RequestedToCapacityRatio",
                                  name));
          }
        }},
       {"resources", into_unless_empty(args.resources, read_resource_weights, kResourceWeightMax)},
       {"requestedToCapacityRatio", [&](const ConfigValue& v) {
          v.fields({{"shape", [&](const ConfigValue& shape) {
                       args.shape = read_shape(shape);
                       if (args.shape.empty()) {
                         shape.fail(ErrorCode::kInvalid, "want at least one point");
                       }
                     }}});
          if (args.shape.empty()) v.fail(ErrorCode::kInvalid, "has no shape");
        }}});
  if (!has_type) value.fail(ErrorCode::kInvalid, "has no type");
  if (args.strategy == Strategy::kRequestedToCapacityRatio && args.shape.empty()) {
    value.fail(ErrorCode::kInvalid,
               "type RequestedToCapacityRatio needs requestedToCapacityRatio.shape");
  }
}

}  // namespace

void read_args(const ConfigValue& value, const Profile&, NodeResourcesFitArgs& args) {
  read_fields(
      value, PluginId::kNodeResourcesFit,
      {{"scoringStrategy", [&](const ConfigValue& v) { read_scoring_strategy(v, args); }},
       {"ignoredResources",
        [&](const ConfigValue& v) {
          v.items([&](const ConfigValue& item) {
            args.ignored_resources.push_back(item.text());
            if (!is_extended_resource(args.ignored_resources.back())) {
              item.fail(ErrorCode::kInvalid, fmt::format("{} is no extended resource; accepted: "
                                                         "DOMAIN/NAME",
                                                         item.shown()));
            }
          });
        }},
       {"ignoredResourceGroups", [&](const ConfigValue& v) {
          v.items([&](const ConfigValue& item) {
            args.ignored_resource_groups.push_back(item.text());
            const std::string& group = args.ignored_resource_groups.back();
            if (group.empty() || group.find('/') != std::string::npos) {
              item.fail(ErrorCode::kInvalid, fmt::format("{} is no group; accepted: what stands "
                                                         "before the / of an extended resource",
                                                         item.shown()));
            }
          });
        }}});
}

Result<void> check_args(const NodeResourcesFitArgs& args, const Profile&,
                        ResourceCheck& resources) {
  using Strategy = NodeResourcesFitArgs::Strategy;
  resources.add(args.resources, "NodeResourcesFit: scoringStrategy.resources");
  if (auto checked = check_shape(args.shape, "NodeResourcesFit: shape"); !checked) return checked;
  if (args.strategy == Strategy::kRequestedToCapacityRatio && args.shape.empty()) {
    return fail(ErrorCode::kInvalid, "NodeResourcesFit: RequestedToCapacityRatio needs a shape");
  }
  return {};
}

}  // namespace headroom
