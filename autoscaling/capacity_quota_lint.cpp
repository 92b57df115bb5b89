#include "autoscaling/capacity_quota_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "autoscaling/capacity_quota_spec.h"
#include "autoscaling/label_set.h"
#include "objects/text/count_text.h"

namespace headroom {

namespace {

// The label of nodes and templates that no quota counts.
constexpr std::string_view kTypeLabel = "type";
constexpr std::string_view kVirtualKubelet = "virtual-kubelet";

std::vector<const Node*> counted(std::span<const Node> nodes) {
  std::vector<const Node*> list;
  for (const Node& node : nodes) {
    const std::string* type = find(node.labels, kTypeLabel);
    if (type == nullptr || *type != kVirtualKubelet) list.push_back(&node);
  }
  return list;
}

// One node of each kind that neither a selector with these keys nor a limit can tell apart, in the
// order of the first ones.
std::vector<const Node*> kinds_of(const std::vector<const Node*>& nodes,
                                  const std::set<std::string>& keys) {
  std::set<std::pair<std::vector<std::optional<std::string_view>>, std::string>> seen;
  std::vector<const Node*> kinds;
  for (const Node* node : nodes) {
    std::vector<std::optional<std::string_view>> labels;
    for (const std::string& key : keys) {
      const std::string* value = find(node->labels, key);
      labels.push_back(value == nullptr ? std::nullopt : std::optional<std::string_view>(*value));
    }
    std::string capacity;
    for (const auto& [resource, quantity] : node->capacity) {
      capacity += resource + '=' + quantity.canonical() + ',';
    }
    if (seen.emplace(std::move(labels), std::move(capacity)).second) kinds.push_back(node);
  }
  return kinds;
}

// How many of some nodes have a label.
class LabelCounts {
 public:
  explicit LabelCounts(const std::vector<const Node*>& nodes) {
    for (const Node* node : nodes) {
      for (const auto& [key, value] : node->labels) {
        ++keys_[key];
        ++labels_[{key, value}];
      }
    }
  }
  std::uint64_t of(const std::string& key) const {
    const auto at = keys_.find(key);
    return at == keys_.end() ? 0 : at->second;
  }
  std::uint64_t of(const std::string& key, const std::string& value) const {
    const auto at = labels_.find({key, value});
    return at == labels_.end() ? 0 : at->second;
  }

 private:
  std::map<std::string, std::uint64_t> keys_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> labels_;
};

struct LintedLimit {
  std::string resource, text;  // as written
  std::string counts;          // the resource that it counts
  Int128 amount = 0;
};

struct LintedCapacityQuota {
  std::string id, invalid;
  LabelSelector selector;
  std::vector<LintedLimit> limits;
  LabelSet accepted{LabelSelector{}};  // less the nodes that no quota counts
};

// How much one node has, rounded up; nullopt: more than a node may have.
std::optional<std::int64_t> amount_of(const Node& node, const std::string& resource) {
  if (resource == kNodesResource) return 1;
  const Quantity* quantity = find(node.capacity, resource);
  if (quantity == nullptr) return 0;
  const Result<std::int64_t> amount = resource_amount(resource, *quantity);
  return amount ? std::optional(*amount) : std::nullopt;
}

class Linter {
 public:
  Linter(std::span<const CapacityQuotaUpsert> quotas, std::span<const Node> nodes,
         std::span<const Node> templates, const CapacityQuotasOptions& options)
      : has_templates_(!templates.empty()),
        nodes_(counted(nodes)),
        templates_(counted(templates.empty() ? nodes : templates)),
        node_labels_(nodes_),
        template_labels_(templates_) {
    std::vector<const CapacityQuotaUpsert*> order;
    for (const CapacityQuotaUpsert& quota : quotas) order.push_back(&quota);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return std::tie(a->quota_class, a->quota.name) < std::tie(b->quota_class, b->quota.name);
    });
    std::set<std::string> keys;
    for (const CapacityQuotaUpsert* quota : order) {
      read(*quota, options);
      for (const auto& asked : quotas_.back().selector) keys.insert(asked.key);
    }
    node_kinds_ = kinds_of(nodes_, keys);
    template_kinds_ = kinds_of(templates_, keys);
  }

  std::vector<LintFinding> findings() {
    for (std::size_t q = 0; q < quotas_.size(); ++q) {
      const std::size_t first = findings_.size();
      look_at(q);
      std::sort(findings_.begin() + static_cast<std::ptrdiff_t>(first), findings_.end(),
                [](const LintFinding& a, const LintFinding& b) {
                  return std::tie(a.kind, a.subject) < std::tie(b.kind, b.subject);
                });
      // A requirement may be there twice.
      findings_.erase(
          std::unique(findings_.begin() + static_cast<std::ptrdiff_t>(first), findings_.end()),
          findings_.end());
    }
    return std::move(findings_);
  }

 private:
  void read(const CapacityQuotaUpsert& quota, const CapacityQuotasOptions& options) {
    LintedCapacityQuota& linted = quotas_.emplace_back();
    linted.id = capacity_quota_id(quota.quota_class, quota.quota.name);
    const Result<CapacityQuotaSpec> spec = read_capacity_quota_spec(quota.quota, options.aliases);
    if (!spec) {
      linted.invalid = spec.error().message;
      return;
    }
    linted.selector = spec->selector;
    linted.accepted = LabelSet(spec->selector);
    linted.accepted.narrow({std::string(kTypeLabel), "NotIn", {std::string(kVirtualKubelet)}});
    for (const CapacityQuotaLimit& limit : spec->limits) {
      linted.limits.push_back(
          {limit.resource, *find(quota.quota.limits, limit.resource), limit.counted, limit.amount});
    }
  }

  void look_at(std::size_t q) {
    const LintedCapacityQuota& quota = quotas_[q];
    if (!quota.invalid.empty()) {
      return add(quota, LintKind::kInvalidSpec, "", "cannot be used: " + quota.invalid);
    }
    if (quota.limits.empty()) add(quota, LintKind::kNoLimits, "", "limits nothing");
    if (const std::string* key = quota.accepted.contradiction()) {
      return add(
          quota, LintKind::kContradictorySelector, *key,
          fmt::format("no node can match: no value of {} satisfies the selector{}", *key,
                      *key == kTypeLabel ? "; nodes of type virtual-kubelet do not count" : ""));
    }
    look_at_labels(quota);
    look_at_domination(q);
    look_at_sizes(quota);
  }

  void look_at_labels(const LintedCapacityQuota& quota) {
    const auto matching = [&](const Node* node) { return matches(quota.selector, node->labels); };
    if (std::none_of(node_kinds_.begin(), node_kinds_.end(), matching) &&
        std::none_of(template_kinds_.begin(), template_kinds_.end(), matching)) {
      add(quota, LintKind::kSelectsNothing, "",
          "matches none of " + count_text(nodes_.size(), "node") +
              (has_templates_ ? " and none of " + count_text(templates_.size(), "template") : ""));
    }
    for (const NodeSelectorRequirement& asked : quota.selector) {
      const bool excludes = asked.op == "NotIn" || asked.op == "DoesNotExist";
      const auto look_at_label = [&](LintKind kind, const std::string& label, std::uint64_t here,
                                     std::uint64_t on_templates) {
        if (on_templates > 0 || (excludes && here > 0)) return false;
        add(quota, kind, label,
            excludes ? fmt::format("excludes {}, which nothing has", label)
            : here == 0
                ? fmt::format("nothing has {}", label)
                : fmt::format("no template has {}, though {} in the cluster: what gets it later "
                              "was not checked before it was there",
                              label, here == 1 ? "1 node does" : fmt::format("{} nodes do", here)));
        return true;
      };
      if (look_at_label(LintKind::kUnknownLabelKey, asked.key, node_labels_.of(asked.key),
                        template_labels_.of(asked.key))) {
        continue;
      }
      for (const std::string& value : asked.values) {
        look_at_label(LintKind::kUnknownLabelValue, asked.key + "=" + value,
                      node_labels_.of(asked.key, value), template_labels_.of(asked.key, value));
      }
    }
  }

  // For each limit the first quota that makes it redundant; one finding where one quota does for
  // all.
  void look_at_domination(std::size_t q) {
    const LintedCapacityQuota& quota = quotas_[q];
    std::vector<std::size_t> first(quota.limits.size(), quotas_.size());
    for (std::size_t p = 0; p < quotas_.size(); ++p) {
      const LintedCapacityQuota& other = quotas_[p];
      if (p == q || other.limits.empty() || !quota.accepted.within(other.accepted)) continue;
      const bool same_nodes = other.accepted.within(quota.accepted);
      bool all = true;
      for (std::size_t i = 0; i < quota.limits.size(); ++i) {
        const bool dominates =
            std::any_of(other.limits.begin(), other.limits.end(), [&](const LintedLimit& limit) {
              if (limit.counts != quota.limits[i].counts) return false;
              if (limit.amount != quota.limits[i].amount) {
                return limit.amount < quota.limits[i].amount;
              }
              return !same_nodes || p < q;
            });
        if (dominates) first[i] = std::min(first[i], p);
        all = all && dominates;
      }
      if (all && !quota.limits.empty()) {
        return add(
            quota, LintKind::kDominated, "",
            fmt::format("never binds: {} selects all of its nodes and allows no more", other.id),
            other.id);
      }
    }
    for (std::size_t i = 0; i < quota.limits.size(); ++i) {
      if (first[i] == quotas_.size()) continue;
      const LintedLimit& limit = quota.limits[i];
      const std::string& other = quotas_[first[i]].id;
      add(quota, LintKind::kDominated, limit.resource,
          fmt::format("{} {} never binds: {} selects all of its nodes and allows no more",
                      limit.resource, limit.text, other),
          other);
    }
  }

  void look_at_sizes(const LintedCapacityQuota& quota) {
    for (const LintedLimit& limit : quota.limits) {
      if (limit.amount == 0) continue;  // nothing shall be added
      const Node* smallest = nullptr;
      std::int64_t least = 0;
      for (const Node* node : template_kinds_) {
        if (!matches(quota.selector, node->labels)) continue;
        const std::int64_t amount = amount_of(*node, limit.counts).value_or(0);
        if (amount == 0 || (smallest != nullptr && amount >= least)) continue;
        smallest = node;
        least = amount;
      }
      if (smallest == nullptr || least <= limit.amount) continue;
      const Quantity* quantity = find(smallest->capacity, limit.counts);
      add(quota, LintKind::kNeverFits, limit.resource,
          fmt::format("{} {} takes no node, even when nothing is used: the smallest, {}, has {}",
                      limit.resource, limit.text, smallest->name,
                      quantity == nullptr ? "1" : quantity->canonical()));
    }
  }

  void add(const LintedCapacityQuota& quota, LintKind kind, std::string subject,
           std::string message, std::string other = {}) {
    findings_.push_back({kind, quota.id, std::move(subject), std::move(other), std::move(message)});
  }

  const bool has_templates_;  // else the nodes stand for them
  std::vector<const Node*> nodes_, templates_;
  LabelCounts node_labels_, template_labels_;
  std::vector<const Node*> node_kinds_, template_kinds_;
  std::vector<LintedCapacityQuota> quotas_;
  std::vector<LintFinding> findings_;
};

}  // namespace

const char* to_string(LintKind kind) {
  switch (kind) {
    case LintKind::kInvalidSpec:
      return "InvalidSpec";
    case LintKind::kNoLimits:
      return "NoLimits";
    case LintKind::kContradictorySelector:
      return "ContradictorySelector";
    case LintKind::kSelectsNothing:
      return "SelectsNothing";
    case LintKind::kUnknownLabelKey:
      return "UnknownLabelKey";
    case LintKind::kUnknownLabelValue:
      return "UnknownLabelValue";
    case LintKind::kDominated:
      return "Dominated";
    case LintKind::kNeverFits:
      return "NeverFits";
  }
  return "";
}

std::vector<LintFinding> lint(std::span<const CapacityQuotaUpsert> quotas,
                              std::span<const Node> nodes, std::span<const Node> templates,
                              const CapacityQuotasOptions& options) {
  return Linter(quotas, nodes, templates, options).findings();
}

}  // namespace headroom
