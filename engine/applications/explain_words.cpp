#include "engine/applications/explain_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/domains/volume_index.h"
#include "objects/selector_syntax.h"
#include "objects/text/count_text.h"

namespace headroom {

namespace {

std::string cut_text(NodeSelectorRequirement its) {
  if (its.values.size() > kNamedMax) {
    its.values.resize(kNamedMax);
    its.values.emplace_back("...");
  }
  return requirement_text(its);
}

// "rack=r1 (here r2)" of the first requirement of the term that does not hold.
std::string unmet_text(const NodeSelectorTerm& term, const KeptNode& node) {
  for (const NodeSelectorRequirement& its : term.match_expressions) {
    PersistentVolume alone;
    alone.node_affinity = {{.match_expressions = {its}, .match_fields = {}}};
    if (VolumeReach(alone).has(node)) {
      continue;
    }
    const std::string* label = find(node.labels, its.key);
    return fmt::format("{} ({})", cut_text(its),
                       label == nullptr ? "no such label here" : "here " + *label);
  }
  return "a term that matches no node";
}

}  // namespace

ExplainTerm line_of(PluginId plugin, const char* extension_point) {
  ExplainTerm line;
  line.plugin = plugin;
  line.extension_point = extension_point;
  return line;
}

std::string list_text(const std::vector<std::string>& names, const char* separator) {
  const std::size_t shown = std::min(names.size(), kNamedMax);
  std::string text = fmt::format(
      "{}",
      fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), separator));
  return shown == names.size() ? text : text + separator + "...";
}

std::string pods_text(std::vector<std::string> names) {
  if (names.empty()) {
    return "no pod";
  }
  std::sort(names.begin(), names.end());
  return count_text(static_cast<std::int64_t>(names.size()), "pod") + ": " + list_text(names);
}

std::string terms_text(const std::vector<LabelSelector>& terms) {
  std::vector<std::string> texts;
  for (const LabelSelector& term : terms) {
    std::vector<std::string> asked;
    for (const NodeSelectorRequirement& its : term) {
      asked.push_back(cut_text(its));
    }
    texts.push_back(list_text(asked, ","));
  }
  return list_text(texts, " or ");
}

std::string reach_text(const PersistentVolume& volume, const KeptNode& node) {
  if (!volume.node_affinity) {
    return "can be used everywhere";
  }
  if (VolumeReach(volume).has(node)) {
    return "can be used here";
  }
  std::vector<std::string> unmet;
  for (const NodeSelectorTerm& term : *volume.node_affinity) {
    unmet.push_back(unmet_text(term, node));
  }
  return "asks for " + (unmet.empty() ? "a node that there is not" : list_text(unmet, " or "));
}

}  // namespace headroom
