// ApplicationLook::explain: every number that went into an application's filters and scores.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/applications/explain_words.h"
#include "engine/applications/look.h"

namespace headroom {

namespace {

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

void ApplicationLook::explain_pre_filter(std::vector<ExplainTerm>& out) const {
  if (!rejected_.empty()) {
    ExplainTerm& line = out.emplace_back(line_of(rejected_by_, "PreFilter"));
    line.passed = false;
    line.note = rejected_.front();
  }
}

void ApplicationLook::explain(std::uint32_t row, const ScoredRows* scored,
                              std::vector<ExplainTerm>& out) const {
  // With nominated pods where it is they who keep this one away.
  const RowChange* with = nullptr;
  for (const auto& [expected, change] : expected_) {
    with = expected == row && code_as_it_is(row, &change, false) != 0 ? &change : with;
  }
  const std::size_t first = out.size();
  if (volumes_ != nullptr && volumes_->pre_filter().empty()) {
    volumes_->explain(row, with, out);
  }
  explain_filters(row, with, out);
  for (std::size_t i = first; with != nullptr && i < out.size(); ++i) {
    out[i].note += out[i].note.empty() ? "with the pods that are nominated here"
                                       : "; with the pods that are nominated here";
  }
  if (scored != nullptr) {
    explain_scores(row, *scored, out);
  }
}

// "3 pods: team/a, team/b, team/c": those that the counter has in the row's domain; of a preference
// with what each weighs.
std::string ApplicationLook::counted_pods(const Counter& counter, std::uint32_t row,
                                          const RowChange* change) const {
  const std::uint32_t domain = applications_.cell_of(application_, counter, row);
  const Facts& facts = applications_.facts();
  std::vector<std::string> names;
  const auto add = [&](PodId id, const std::vector<Feed>& feeds) {
    for (const Feed& feed : feeds) {
      if (feed.counter != index_of(counter) || feed.weight == 0) {
        continue;
      }
      const PodPeer& kin = applications_.peers().kin_of(facts.pods[id].peer);
      names.push_back(fmt::format("{}/{}", kin.namespace_name, facts.pods[id].name()));
      if (counter.kind == Counter::Kind::kPreferred) {
        names.back() += fmt::format(" {}", feed.weight);
      }
    }
  };
  for (const auto& [peer, feeds] : application_.feeds) {
    applications_.peers().each_pod(applications_.peers().at(peer), [&, &its = feeds](PodId id) {
      if (domain != kNoDomain &&
          applications_.cell_of(application_, counter, facts.pods[id].counted_row) == domain) {
        add(id, its);
      }
    });
  }
  for (std::size_t i = 0; change != nullptr && i < change->come.size(); ++i) {
    if (const std::vector<Feed>* its = feeds(change->come[i]); its != nullptr) {
      add(change->come[i], *its);
    }
  }
  return pods_text(std::move(names));
}

void ApplicationLook::explain_filters(std::uint32_t row, const RowChange* change,
                                      std::vector<ExplainTerm>& out) const {
  for (std::size_t i = 0; spreads_ && i < application_.hard.size(); ++i) {
    const SpreadConstraint& constraint = application_.hard[i];
    const Counter& counter = application_.counters[constraint.counter];
    const std::int64_t least = change == nullptr ? least_[i] : this->least(constraint, row, change);
    ExplainTerm line = line_of(PluginId::kPodTopologySpread, "Filter");
    line.resource = domain_text(constraint.key, row);
    line.capacity = constraint.its.max_skew;
    line.aggregate = count(counter, row, false, change);
    line.need = constraint.self;
    line.formula = "pods that match + self - least of a domain <= maxSkew";
    line.result = line.aggregate + line.need - least;
    line.passed = applications_.topology().domain(constraint.key, row) != kNoDomain &&
                  line.result <= line.capacity;
    line.note = fmt::format("least {} in {} domains; here {}", least, constraint.domains,
                            counted_pods(counter, row, change));
    out.push_back(std::move(line));
  }
  const bool first = affinity_pods(row, change) == 0 && application_.matches_own_affinity;
  for (const Counter& counter : application_.counters) {
    if (!pod_affinity_ || *words_of(counter.kind) == '\0') {
      continue;
    }
    ExplainTerm line = line_of(PluginId::kInterPodAffinity, "Filter");
    line.resource = domain_text(counter.key, row);
    line.aggregate = count(counter, row, false, change);
    line.result = line.aggregate;
    line.formula = words_of(counter.kind);
    const bool has_key = applications_.topology().domain(counter.key, row) != kNoDomain;
    line.passed = counter.kind == Counter::Kind::kAffinity
                      ? has_key && (line.aggregate > 0 || first)
                      : line.aggregate == 0;
    line.note = counter.kind == Counter::Kind::kAffinity && first
                    ? "no pod matches anywhere, and this one matches its own terms"
                    : counted_pods(counter, row, change);
    out.push_back(std::move(line));
  }
  if (features_) {
    std::vector<std::string_view> missing;
    for (const std::string& feature : application_.required_features) {
      if (!declares(row, feature)) {
        missing.push_back(feature);
      }
    }
    ExplainTerm line = line_of(PluginId::kNodeDeclaredFeatures, "Filter");
    line.passed = missing.empty();
    line.note = missing.empty()
                    ? fmt::format("declares {}", fmt::join(application_.required_features, ", "))
                    : fmt::format("does not declare {}", fmt::join(missing, ", "));
    out.push_back(std::move(line));
  }
}

// What its score is the sum of, a line each.
void ApplicationLook::explain_parts(PluginId plugin, std::uint32_t row,
                                    std::vector<ExplainTerm>& out) const {
  const auto add = [&](std::string resource, std::int64_t result, const char* formula,
                       std::string note = "") {
    ExplainTerm& line = out.emplace_back(line_of(plugin, "Score"));
    line.resource = std::move(resource);
    line.result = result;
    line.formula = formula;
    line.note = std::move(note);
    return &line;
  };
  const std::uint32_t node_class = applications_.table().node_class(row);
  const NodeClass& its = applications_.classes().classes().at(node_class);
  switch (plugin) {
    case PluginId::kPodTopologySpread:
      for (std::size_t i = 0; i < application_.soft.size(); ++i) {
        const SpreadConstraint& constraint = application_.soft[i];
        const Counter& counter = application_.counters[constraint.counter];
        ExplainTerm* line =
            add(domain_text(constraint.key, row), 0,
                "pods that match * ln(domains + 2) + (maxSkew - 1)",
                fmt::format("{} domains; here {}", i < sizes_.size() ? sizes_[i] : 0,
                            counted_pods(counter, row, nullptr)));
        line->aggregate = count(counter, row, false, nullptr);
        line->need = constraint.its.max_skew - 1;
      }
      break;
    case PluginId::kInterPodAffinity:
      for (const Counter& counter : application_.counters) {
        if (counter.kind == Counter::Kind::kPreferred) {
          const std::int64_t sum = count(counter, row, false, nullptr);
          add(domain_text(counter.key, row), sum,
              "sum of the weights of preferred terms that pods match",
              counted_pods(counter, row, nullptr))
              ->aggregate = sum;
        }
      }
      break;
    case PluginId::kNodeAffinity:
      for (const Application::Preferred& preferred : application_.preferences) {
        const bool matches = preferred.affinity->passes(
            its, preferred.by_name ? applications_.facts().nodes[row].name : its.name);
        add("", matches ? preferred.weight : 0, "the weight of a preferred term that matches",
            fmt::format("weight {}", preferred.weight));
      }
      break;
    case PluginId::kTaintToleration:
      for (const Taint& taint : its.taints) {
        if (minds(taint)) {
          add(fmt::format("{}={}", taint.key, taint.value), 1, "a taint that is not tolerated");
        }
      }
      break;
    case PluginId::kImageLocality:
      for (const auto& [name, size] : image_sizes_) {
        add(*name, applications_.images().on_row(row, *name) ? size : 0,
            "an image's size here, scaled by the share of nodes that have it");
      }
      break;
    case PluginId::kVolumeBinding:
      if (volumes_ != nullptr) {
        volumes_->explain_score(row, out);
      }
      break;
    default:
      break;
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
    explain_parts(plugin, row, out);
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
        total.formula = "mean over storage classes, rounded";
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
