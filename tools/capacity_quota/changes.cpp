// Reads changes; see changes.h.
#include "tools/capacity_quota/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace headroom {
namespace {

// "QUOTA.RESOURCE=VALUE", where names of both may have dots: the longest quota that is there.
Result<void> apply_set(const std::string& text, const CapacityQuotaInput& input,
                       std::vector<CapacityQuotaUpsert>& specs) {
  const std::size_t equals = text.rfind('=');
  const std::string_view left = std::string_view(text).substr(0, equals);
  CapacityQuotaUpsert* found = nullptr;
  std::size_t found_bytes = 0;
  for (CapacityQuotaUpsert& spec : specs) {
    const std::string id = capacity_quota_id(spec.quota_class, spec.quota.name);
    for (const std::string_view name : {std::string_view(id), std::string_view(spec.quota.name)}) {
      if (name.size() <= found_bytes || left.size() <= name.size()) continue;
      if (left.substr(0, name.size()) != name || left[name.size()] != '.') continue;
      found = &spec;
      found_bytes = name.size();
    }
  }
  if (equals == std::string::npos || left.find('.') == std::string_view::npos) {
    return fail(ErrorCode::kInvalid, fmt::format("--set {}: want QUOTA.RESOURCE=VALUE", text));
  }
  if (found == nullptr) {
    const auto none = input.spec_named(left.substr(0, left.rfind('.')), "--set");
    return tl::unexpected(none.error());
  }
  set_entry(found->quota.limits, left.substr(found_bytes + 1), text.substr(equals + 1));
  ++found->quota.generation;
  return check_spec("--set " + text, found->quota);
}

// "NODE:key=value" or "NODE:key-".
Result<void> apply_label(const std::string& text, const CapacityQuotaInput& input,
                         std::vector<Node>& changed) {
  const std::size_t colon = text.find(':');
  const std::string label = colon == std::string::npos ? "" : text.substr(colon + 1);
  const std::size_t equals = label.find('=');
  const bool removes = equals == std::string::npos && label.size() > 1 && label.back() == '-';
  if (!removes && (equals == std::string::npos || equals == 0)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("--label {}: want NODE:KEY=VALUE, or NODE:KEY-", text));
  }
  const auto named = [&](const Node& node) { return node.name == text.substr(0, colon); };
  auto node = std::find_if(changed.begin(), changed.end(), named);
  if (node == changed.end()) {
    const Result<const Node*> known = input.node_named(text.substr(0, colon), "--label");
    if (!known) return tl::unexpected(known.error());
    node = changed.insert(changed.end(), **known);
  }
  if (!removes) {
    set_entry(node->labels, label.substr(0, equals), label.substr(equals + 1));
    return {};
  }
  const std::string key = label.substr(0, label.size() - 1);
  const auto at = std::find_if(node->labels.begin(), node->labels.end(),
                               [&](const auto& entry) { return entry.first == key; });
  if (at == node->labels.end()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("--label {}: the node has no label {}", text, key));
  }
  node->labels.erase(at);
  return {};
}

}  // namespace

Result<std::vector<CapacityQuotaChange>> read_capacity_quota_changes(
    const CapacityQuotaChangeOptions& options, CapacityQuotaInput& input) {
  std::vector<CapacityQuotaUpsert> specs = input.specs;
  for (const std::string& path : options.quota_files) {
    Result<Dump> file = read_capacity_quota_files({path}, input.warnings);
    if (!file) return tl::unexpected(file.error());
    if (file->capacity_quotas.empty())
      return fail(ErrorCode::kInvalid, path + ": has no CapacityQuota");
    for (CapacityQuota& quota : file->capacity_quotas) {
      const auto same =
          std::find_if(specs.begin(), specs.end(), [&](const CapacityQuotaUpsert& spec) {
            return spec.quota_class == CapacityQuotaClass::kCapacityQuota &&
                   spec.quota.name == quota.name;
          });
      CapacityQuotaUpsert& spec = same == specs.end() ? specs.emplace_back() : *same;
      spec.quota = std::move(quota);
    }
  }
  for (const std::string& text : options.set) {
    if (auto ok = apply_set(text, input, specs); !ok) return tl::unexpected(ok.error());
  }
  std::vector<Node> nodes;
  for (const std::string& text : options.labels) {
    if (auto ok = apply_label(text, input, nodes); !ok) return tl::unexpected(ok.error());
  }

  std::vector<CapacityQuotaChange> changes;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (i >= input.specs.size() || !(specs[i].quota == input.specs[i].quota)) {
      changes.emplace_back(std::move(specs[i]));
    }
  }
  for (const std::string& name : options.remove_capacity_quota) {
    const Result<const CapacityQuotaUpsert*> spec = input.spec_named(name, "--remove-quota");
    if (!spec) return tl::unexpected(spec.error());
    changes.emplace_back(CapacityQuotaRemoval{(*spec)->quota.name, (*spec)->quota_class});
  }
  for (Node& node : nodes) changes.emplace_back(NodeUpsert{std::move(node)});
  return changes;
}

}  // namespace headroom
