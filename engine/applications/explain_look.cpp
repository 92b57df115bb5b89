// ApplicationLook::explain: every number that went into an application's filters and scores.
#include <fmt/format.h>

#include <algorithm>

#include "engine/applications/look.h"

namespace headroom {

namespace {

ExplainTerm line_of(PluginId plugin, const char* extension_point) {
  ExplainTerm line;
  line.plugin = plugin;
  line.extension_point = extension_point;
  return line;
}

const char* words_of(Counter::Kind kind) {
  switch (kind) {
    case Counter::Kind::kAffinity:
      return "pods that match all required affinity terms";
    case Counter::Kind::kAntiAffinity:
      return "pods that match a required anti-affinity term";
    case Counter::Kind::kOthersAnti:
      return "pods whose required anti-affinity this pod matches";
    default:
      return "";
  }
}

}  // namespace

std::string ApplicationLook::domain_text(TopologyKeyId key, std::uint32_t row) const {
  const Topology& topology = applications_.topology();
  const DomainId domain = topology.domain(key, row);
  return domain == kNoDomain
             ? fmt::format("{} (no such label)", topology.name(key))
             : fmt::format("{}={}", topology.name(key), topology.value(key, domain));
}

void ApplicationLook::explain(std::uint32_t row, const ScoredRows* scored,
                              std::vector<ExplainTerm>& out) const {
  if (volumes_ != nullptr) {
    const std::uint32_t code = rejected_.empty() ? volumes_->code(row, nullptr, false) : 0;
    ExplainTerm line =
        line_of(code == 0 ? PluginId::kVolumeBinding : applications_.rejections().at(code).plugin,
                "Filter");
    line.passed = code == 0 && rejected_.empty();
    line.note = !rejected_.empty() ? rejected_.front()
                : code == 0        ? "the pod's volumes can be here"
                                   : applications_.rejections().at(code).reasons.front();
    out.push_back(std::move(line));
  }
  explain_filters(row, out);
  if (scored != nullptr) {
    explain_scores(row, *scored, out);
  }
}

void ApplicationLook::explain_filters(std::uint32_t row, std::vector<ExplainTerm>& out) const {
  for (std::size_t i = 0; spreads_ && i < application_.hard.size(); ++i) {
    const SpreadConstraint& constraint = application_.hard[i];
    ExplainTerm line = line_of(PluginId::kPodTopologySpread, "Filter");
    line.resource = domain_text(constraint.key, row);
    line.capacity = constraint.its.max_skew;
    line.aggregate = count(application_.counters[constraint.counter], row, false, nullptr);
    line.need = constraint.self;
    line.formula = "pods that match + self - least of a domain <= maxSkew";
    line.result = line.aggregate + line.need - least_[i];
    line.passed = applications_.topology().domain(constraint.key, row) != kNoDomain &&
                  line.result <= line.capacity;
    line.note = fmt::format("least {} in {} domains", least_[i], constraint.domains);
    out.push_back(std::move(line));
  }
  for (const Counter& counter : application_.counters) {
    if (!pod_affinity_ || *words_of(counter.kind) == '\0') {
      continue;
    }
    ExplainTerm line = line_of(PluginId::kInterPodAffinity, "Filter");
    line.resource = domain_text(counter.key, row);
    line.aggregate = count(counter, row, false, nullptr);
    line.result = line.aggregate;
    line.formula = words_of(counter.kind);
    const bool first = affinity_pods_ == 0 && application_.matches_own_affinity;
    const bool has_key = applications_.topology().domain(counter.key, row) != kNoDomain;
    line.passed = counter.kind == Counter::Kind::kAffinity
                      ? has_key && (line.aggregate > 0 || first)
                      : line.aggregate == 0;
    line.note = counter.kind == Counter::Kind::kAffinity && first
                    ? "no pod matches anywhere, and this one matches its own terms"
                    : "";
    out.push_back(std::move(line));
  }
}

void ApplicationLook::explain_scores(std::uint32_t row, const ScoredRows& scored,
                                     std::vector<ExplainTerm>& out) const {
  const std::vector<ApplicationScore>& scores = applications_.scores();
  for (std::size_t s = 0; s < scores.size(); ++s) {
    if (skips_[s]) {
      continue;
    }
    const PluginId plugin = scores[s].plugin;
    if (plugin == PluginId::kPodTopologySpread) {
      for (std::size_t i = 0; i < application_.soft.size(); ++i) {
        const SpreadConstraint& constraint = application_.soft[i];
        ExplainTerm line = line_of(plugin, "Score");
        line.resource = domain_text(constraint.key, row);
        line.aggregate = count(application_.counters[constraint.counter], row, false, nullptr);
        line.need = constraint.its.max_skew - 1;
        line.formula = "pods that match * ln(domains + 2) + (maxSkew - 1)";
        line.note = fmt::format("{} domains", i < sizes_.size() ? sizes_[i] : 0);
        out.push_back(std::move(line));
      }
    }
    for (const Counter& counter : application_.counters) {
      if (plugin == PluginId::kInterPodAffinity && counter.kind == Counter::Kind::kPreferred) {
        ExplainTerm line = line_of(plugin, "Score");
        line.resource = domain_text(counter.key, row);
        line.aggregate = count(counter, row, false, nullptr);
        line.result = line.aggregate;
        line.formula = "sum of the weights of preferred terms that pods match";
        out.push_back(std::move(line));
      }
    }
    ExplainTerm total = line_of(plugin, "Score");
    total.result = scored.raw[s];
    switch (plugin) {
      case PluginId::kTaintToleration:
        total.formula = "PreferNoSchedule taints that are not tolerated";
        break;
      case PluginId::kNodeAffinity:
        total.formula = "sum of the weights of preferred terms that match";
        break;
      case PluginId::kImageLocality:
        total.formula =
            "sizes of the pod's images here, scaled by the share of nodes that have them";
        break;
      case PluginId::kVolumeBinding:
        total.formula = "use of the volumes that would be bound";
        break;
      default:
        total.formula = "sum";
        break;
    }
    total.note = fmt::format("normalised {}, weight {}", scored.score[s], scores[s].weight);
    out.push_back(std::move(total));
  }
}

}  // namespace headroom
