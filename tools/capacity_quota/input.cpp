// Reads files and options; see input.h.
#include "tools/capacity_quota/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "autoscaling/capacity_quota_spec.h"
#include "objects/labels.h"
#include "simulation/input/dump.h"
#include "simulation/text/suggestions.h"

namespace headroom {
namespace {

constexpr std::string_view kReservationId = "--reserve";

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, std::move(message));
}

template <typename T>
std::vector<std::string> names_of(const std::vector<T>& objects) {
  std::vector<std::string> names;
  for (const T& object : objects) names.push_back(object.name);
  return names;
}

// "a=b,c=d".
Result<void> parse_pairs(std::string_view option, std::string_view text, StringMap& pairs) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return invalid(fmt::format("{} {}: \"{}\" is not RESOURCE=QUANTITY", option, text, pair));
    }
    set_entry(pairs, pair.substr(0, equals), pair.substr(equals + 1));
    begin = end + 1;
  }
  return {};
}

struct NamedCount {
  std::string_view name;
  std::int64_t count = 0;
};

// "a=3".
Result<NamedCount> parse_named_count(std::string_view option, std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals != std::string_view::npos && equals > 0) {
    NamedCount named{text.substr(0, equals)};
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + equals + 1, end, named.count);
    if (parsed.ec == std::errc() && parsed.ptr == end && named.count >= 0) return named;
  }
  return invalid(
      fmt::format("{} {}: want NAME=COUNT, where COUNT is a number from 0 on", option, text));
}

Result<void> add_limits(const CapacityQuotaInputOptions& options,
                        std::vector<CapacityQuotaUpsert>& specs) {
  if (!options.cluster_limits.empty()) {
    CapacityQuotaUpsert& quota = specs.emplace_back();
    quota.quota_class = CapacityQuotaClass::kClusterWide;
    for (const std::string& text : options.cluster_limits) {
      if (auto ok = parse_pairs("--cluster-limit", text, quota.quota.limits); !ok) return ok;
    }
    if (auto ok = check_spec("--cluster-limit", quota.quota); !ok) return ok;
  }
  if (options.max_nodes) {
    CapacityQuotaUpsert& quota = specs.emplace_back();
    quota.quota_class = CapacityQuotaClass::kMaxNodes;
    quota.quota.limits = {{std::string(kNodesResource), std::to_string(*options.max_nodes)}};
    if (auto ok = check_spec("--max-nodes", quota.quota); !ok) return ok;
  }
  for (const std::string& text : options.group_limits) {
    const std::size_t colon = text.find(':'), equals = text.find('=');
    if (colon == std::string::npos || equals == 0 || equals > colon) {
      return invalid(fmt::format("--group-limit {}: want KEY=VALUE:RESOURCE=QUANTITY,...", text));
    }
    CapacityQuotaUpsert& quota = specs.emplace_back();
    quota.quota_class = CapacityQuotaClass::kNodeGroup;
    quota.quota.name = text.substr(0, colon);
    quota.quota.selector = {
        {text.substr(0, equals), "In", {text.substr(equals + 1, colon - equals - 1)}}};
    if (auto ok = parse_pairs("--group-limit", text.substr(colon + 1), quota.quota.limits); !ok) {
      return ok;
    }
    if (auto ok = check_spec("--group-limit " + text, quota.quota); !ok) return ok;
    const auto same = [&](const CapacityQuotaUpsert& other) {
      return other.quota_class == CapacityQuotaClass::kNodeGroup &&
             other.quota.name == quota.quota.name;
    };
    if (std::count_if(specs.begin(), specs.end(), same) > 1) {
      return invalid(fmt::format("--group-limit {}: {} is there twice", text, quota.quota.name));
    }
  }
  return {};
}

Result<void> add_templates(const CapacityQuotaInputOptions& options, CapacityQuotaInput& input) {
  const auto add = [&](Node node, const std::string& option) -> Result<void> {
    const std::vector<std::string> names = names_of(input.templates);
    if (std::find(names.begin(), names.end(), node.name) != names.end()) {
      return invalid(fmt::format("{}: there is a template {} already", option, node.name));
    }
    input.templates.push_back(std::move(node));
    return {};
  };
  for (const std::string& path : options.template_files) {
    Result<Dump> file = read_capacity_quota_files({path}, input.warnings);
    if (!file) return tl::unexpected(file.error());
    if (file->nodes.empty()) return invalid(path + ": has no Node to be a template");
    for (Node& node : file->nodes) {
      if (auto ok = add(std::move(node), "--template " + path); !ok) return ok;
    }
  }
  for (const std::string& name : options.like) {
    Result<Node> node = input.template_named(name, "--like");
    if (!node) return tl::unexpected(node.error());
    if (auto ok = add(std::move(*node), "--like " + name); !ok) return ok;
  }
  return {};
}

Result<void> add_reserved(const CapacityQuotaInputOptions& options, CapacityQuotaInput& input) {
  if (options.reserve.empty()) return {};
  const Result<std::vector<NodesLike>> nodes = input.counted("--reserve", options.reserve);
  if (!nodes) return tl::unexpected(nodes.error());
  std::vector<PlanItem> items;
  for (const NodesLike& of : *nodes) items.push_back({&of.node, of.count});
  const Result<ReserveAnswer> answer = input.quotas.reserve(
      kReservationId, items, std::numeric_limits<std::int64_t>::max(), ReserveMode::kAll);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->accepted) return {};
  const PlanBreak& stopped = *answer->stopped;
  return fail(ErrorCode::kConflict,
              fmt::format("--reserve {}: the quotas allow {} of them ({} {})",
                          options.reserve[stopped.item], stopped.fits, stopped.rows.front().quota,
                          stopped.rows.front().resource));
}

}  // namespace

Result<void> check_spec(std::string_view option, const CapacityQuota& quota) {
  const Result<CapacityQuotaSpec> spec = read_capacity_quota_spec(quota);
  if (spec) return {};
  return fail(spec.error().code, fmt::format("{}: {}", option, spec.error().message));
}

Result<const Node*> CapacityQuotaInput::node_named(std::string_view name,
                                                   std::string_view option) const {
  const auto node = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const Node& known) { return known.name == name; });
  if (node != nodes.end()) return &*node;
  return fail(ErrorCode::kNotFound, fmt::format("{} {}: no such node{}", option, name,
                                                suggestions(names_of(nodes), name, "node")));
}

Result<Node> CapacityQuotaInput::template_named(std::string_view name,
                                                std::string_view option) const {
  const auto named = [&](const Node& node) { return node.name == name; };
  const auto given = std::find_if(templates.begin(), templates.end(), named);
  if (given != templates.end()) return *given;
  const auto node = std::find_if(nodes.begin(), nodes.end(), named);
  if (node == nodes.end()) {
    std::vector<std::string> names = names_of(templates);
    for (std::string& known : names_of(nodes)) names.push_back(std::move(known));
    return fail(ErrorCode::kNotFound, fmt::format("{} {}: no such template or node{}", option, name,
                                                  suggestions(std::move(names), name, "node")));
  }
  Node like = *node;
  like.annotations.clear();
  like.labels.erase(std::remove_if(like.labels.begin(), like.labels.end(),
                                   [](const auto& label) { return label.first == kHostnameLabel; }),
                    like.labels.end());
  return like;
}

Result<std::vector<NodesLike>> CapacityQuotaInput::counted(
    std::string_view option, const std::vector<std::string>& texts) const {
  std::vector<NodesLike> found;
  for (const std::string& text : texts) {
    const Result<NamedCount> named = parse_named_count(option, text);
    if (!named) return tl::unexpected(named.error());
    Result<Node> node = template_named(named->name, option);
    if (!node) return tl::unexpected(node.error());
    found.push_back({std::move(*node), named->count});
  }
  return found;
}

std::vector<Node> CapacityQuotaInput::templates_or_kinds() const {
  return templates.empty() ? quotas.node_kinds() : templates;
}

Result<const CapacityQuotaUpsert*> CapacityQuotaInput::spec_named(std::string_view quota,
                                                                  std::string_view option) const {
  std::vector<std::string> ids;
  for (const CapacityQuotaUpsert& spec : specs) {
    ids.push_back(capacity_quota_id(spec.quota_class, spec.quota.name));
    if (ids.back() == quota || (!quota.empty() && spec.quota.name == quota)) return &spec;
  }
  return fail(ErrorCode::kNotFound, fmt::format("{} {}: no such quota{}", option, quota,
                                                suggestions(std::move(ids), quota, "quota")));
}

Result<Dump> read_capacity_quota_files(const std::vector<std::string>& paths,
                                       std::vector<InputWarning>& warnings) {
  Result<Dump> dump = read_dump(paths);
  if (!dump) return dump;
  report_oddities(*dump, "capacity-quota");
  warnings.insert(warnings.end(), dump->warnings.begin(), dump->warnings.end());
  return dump;
}

Result<CapacityQuotaInput> read_capacity_quota_input(const CapacityQuotaInputOptions& options) {
  if (options.cluster_files.empty()) {
    return invalid("--cluster is missing: files that kubectl get -o json or yaml printed");
  }
  std::vector<InputWarning> warnings;
  Result<Dump> dump = read_capacity_quota_files(options.cluster_files, warnings);
  if (!dump) return tl::unexpected(dump.error());
  CapacityQuotasOptions quota_options;
  quota_options.ignore_deleting = options.ignore_deleting;
  for (const std::string& text : options.aliases) {
    if (auto ok = parse_pairs("--alias", text, quota_options.aliases); !ok) {
      return invalid(fmt::format("--alias {}: want NAME=RESOURCE", text));
    }
  }
  CapacityQuotaInput input{.options = quota_options,
                           .quotas = CapacityQuotas(quota_options),
                           .specs = {},
                           .nodes = std::move(dump->nodes),
                           .templates = {},
                           .warnings = std::move(warnings)};
  if (auto ok = add_limits(options, input.specs); !ok) return tl::unexpected(ok.error());
  for (CapacityQuota& quota : dump->capacity_quotas) {
    input.specs.push_back({std::move(quota), CapacityQuotaClass::kCapacityQuota});
  }
  for (const CapacityQuotaUpsert& spec : input.specs) {
    if (auto ok = input.quotas.upsert(spec.quota, spec.quota_class); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  for (const Node& node : input.nodes) {
    if (auto ok = input.quotas.upsert(node); !ok) return tl::unexpected(ok.error());
  }
  if (auto ok = add_templates(options, input); !ok) return tl::unexpected(ok.error());
  if (auto ok = add_reserved(options, input); !ok) return tl::unexpected(ok.error());
  return input;
}

}  // namespace headroom
