// What `headroom capacity-quota` asks about: the nodes and quotas of some files, limits given as
// options, and the templates of nodes that may come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "objects/error.h"
#include "objects/objects.h"
#include "simulation/input/dump.h"

namespace headroom {

struct CapacityQuotaInputOptions {
  std::vector<std::string> cluster_files;
  std::vector<std::string> cluster_limits;  // "cpu=128,memory=256Gi"
  std::optional<std::int64_t> max_nodes;
  std::vector<std::string> group_limits;  // "pool=a:nodes=10,cpu=64"
  bool ignore_deleting = false;
  std::vector<std::string> aliases;  // "gpu=nvidia.com/gpu"
  std::vector<std::string> template_files;
  std::vector<std::string> like;     // names of nodes
  std::vector<std::string> reserve;  // "NAME=COUNT"
};

// So many nodes like this one.
struct NodesLike {
  Node node;
  std::int64_t count = 0;
};

struct CapacityQuotaInput {
  CapacityQuotasOptions options;
  CapacityQuotas quotas;
  std::vector<CapacityQuotaUpsert> specs;  // as they were told to `quotas`
  std::vector<Node> nodes;
  std::vector<Node> templates;         // those asked for, each name once
  std::vector<InputWarning> warnings;  // of all files that were read

  // A node of the cluster. `option` names who asks in the error. kNotFound.
  Result<const Node*> node_named(std::string_view name, std::string_view option) const;
  // The template of that name, or what a node of the cluster of that name would be as one (as
  // --like). kNotFound.
  Result<Node> template_named(std::string_view name, std::string_view option) const;
  // Of "NAME=COUNT", one each: the template of that name, and how many. kInvalid: no such form, or
  // a count below 0. kNotFound.
  Result<std::vector<NodesLike>> counted(std::string_view option,
                                         const std::vector<std::string>& texts) const;
  // `templates`, or every kind of node that is there.
  std::vector<Node> templates_or_kinds() const;
  // The spec of a quota by its name or id. kNotFound.
  Result<const CapacityQuotaUpsert*> spec_named(std::string_view quota,
                                                std::string_view option) const;
};

// The objects of files; what is odd in them goes to standard error and into `warnings`.
Result<Dump> read_capacity_quota_files(const std::vector<std::string>& paths,
                                       std::vector<InputWarning>& warnings);

// Errors name the option or the file, and the value.
Result<CapacityQuotaInput> read_capacity_quota_input(const CapacityQuotaInputOptions& options);

// The errors of a spec that cannot be used, with the option that made it.
Result<void> check_spec(std::string_view option, const CapacityQuota& quota);

}  // namespace headroom
