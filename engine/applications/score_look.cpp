// ApplicationLook: scores of rows that pass, among each other.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/applications/look.h"

namespace headroom {

namespace {

// a / b, in a quarter of the time where both are small and none is negative.
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return ((a | b) >> 32) == 0 ? static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b)
                              : a / b;
}

// kube-scheduler's DefaultNormalizeScore.
std::int64_t normalized_by_highest(std::int64_t raw, std::int64_t highest, bool reversed) {
  if (highest == 0) {
    return reversed ? 100 : raw;
  }
  const std::int64_t score = quotient(100 * raw, highest);
  return reversed ? 100 - score : score;
}

}  // namespace

// fdlibm's: x = 2^k (1 + f), and log(1 + f) by a polynomial in s = f / (2 + f).
double go_log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr double kL1 = 6.666666666666735130e-01, kL2 = 3.999999999940941908e-01,
                   kL3 = 2.857142874366239149e-01, kL4 = 2.222219843214978396e-01,
                   kL5 = 1.818357216161805012e-01, kL6 = 1.531383769920937332e-01,
                   kL7 = 1.479819860511658591e-01;
  constexpr double kHalfSqrt2 = 0.70710678118654752440;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < kHalfSqrt2) {
    mantissa *= 2;
    --exponent;
  }
  const double f = mantissa - 1;
  const double k = exponent;
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double s4 = s2 * s2;
  const double t1 = s2 * (kL1 + s4 * (kL3 + s4 * (kL5 + s4 * kL7)));
  const double t2 = s4 * (kL2 + s4 * (kL4 + s4 * kL6));
  const double half_square = 0.5 * f * f;
  return k * kLn2High - ((half_square - (s * (half_square + (t1 + t2)) + k * kLn2Low)) - f);
}

std::int64_t ApplicationLook::sum_of(const Counter& counter, const ScoredRows& its, std::size_t i,
                                     const LocatedRows* located) const {
  if (located == nullptr) {
    return count(counter, its.row, its.plain, nullptr);
  }
  return located_sum(*located, i, index_of(counter));
}

void Extent::add(std::int64_t value) {
  if (value < lowest) {
    lowest = value;
    at_lowest = 0;
  }
  if (value > highest) {
    highest = value;
    at_highest = 0;
  }
  at_lowest += value == lowest ? 1U : 0U;
  at_highest += value == highest ? 1U : 0U;
}

void Extent::remove(std::int64_t value) {
  at_lowest -= value == lowest ? 1U : 0U;
  at_highest -= value == highest ? 1U : 0U;
}

void ScoreScale::take_out(const ScoredRows& rows) {
  for (std::size_t s = 0; s < raw.size(); ++s) {
    if (!skips[s] && !(s == spread && rows.ignored)) {
      raw[s].remove(rows.raw[s]);
    }
  }
}

struct ApplicationLook::Picked {
  const std::vector<std::uint32_t>* changed;  // nullptr: all
  std::size_t all;

  std::size_t size() const { return changed == nullptr ? all : changed->size(); }
  std::size_t operator[](std::size_t i) const { return changed == nullptr ? i : (*changed)[i]; }
};

void ApplicationLook::find_skips() {
  const Profile& profile = applications_.profile();
  const std::vector<ApplicationScore>& scores = applications_.scores();
  for (std::size_t s = 0; s < scores.size(); ++s) {
    switch (scores[s].plugin) {
      case PluginId::kNodeAffinity:
        skips_[s] = application_.preferred.empty() && profile.node_affinity.preferred.empty();
        break;
      case PluginId::kVolumeBinding:
        skips_[s] = profile.kubernetes_version < KubernetesVersion::k137;
        break;
      case PluginId::kPodTopologySpread:
        skips_[s] = application_.soft.empty();
        break;
      case PluginId::kInterPodAffinity:
        skips_[s] = !prefers();
        break;
      default:
        break;
    }
  }
}

void ApplicationLook::score(std::span<ScoredRows> rows, bool images_apart,
                            const LocatedRows* located, ScoreScale& scale) {
  find_skips();
  scale.raw.fill({});
  scale.skips = skips_;
  scale.sizes.clear();
  scale.weights.clear();
  score_picked(rows, {nullptr, rows.size()}, images_apart, located, scale);
}

bool ApplicationLook::rescore(std::span<ScoredRows> rows, const std::vector<std::uint32_t>& changed,
                              const LocatedRows& located, ScoreScale& scale) {
  find_skips();
  if (skips_ != scale.skips) {
    score(rows, true, &located, scale);
    return true;
  }
  return score_picked(rows, {&changed, rows.size()}, true, &located, scale);
}

// True: scores of all of them were made anew.
bool ApplicationLook::score_picked(std::span<ScoredRows> rows, const Picked& picked,
                                   bool images_apart, const LocatedRows* located,
                                   ScoreScale& scale) {
  const std::vector<ApplicationScore>& scores = applications_.scores();
  const Picked every{nullptr, rows.size()};
  bool all = picked.changed == nullptr;
  // The raw scores of those that pass, and from their extent the scores.
  const auto rate = [&](std::size_t s, auto counts, auto raw, auto score) {
    Extent& extent = scale.raw[s];
    const Extent before = extent;
    for (std::size_t k = 0; k < picked.size(); ++k) {
      const std::size_t i = picked[k];
      if (counts(rows[i])) {
        rows[i].raw[s] = raw(rows[i], i);
        extent.add(rows[i].raw[s]);
      }
    }
    if (picked.changed != nullptr && !extent.known()) {
      extent = {};
      for (const ScoredRows& its : rows) {
        if (counts(its)) {
          extent.add(its.raw[s]);
        }
      }
    }
    const bool anew = picked.changed == nullptr || extent.lowest != before.lowest ||
                      extent.highest != before.highest;
    const Picked& those = anew ? every : picked;
    for (std::size_t k = 0; k < those.size(); ++k) {
      ScoredRows& its = rows[those[k]];
      its.score[s] = counts(its) ? static_cast<std::int32_t>(score(its.raw[s], extent)) : 0;
    }
    all |= anew;
  };
  const auto passes = [](const ScoredRows& its) { return its.code == 0; };
  const auto by_highest = [](bool reversed) {
    return [reversed](std::int64_t raw, const Extent& extent) {
      return normalized_by_highest(raw, std::max<std::int64_t>(extent.highest, 0), reversed);
    };
  };
  const auto as_it_is = [](std::int64_t raw, const Extent&) { return raw; };
  failed_ = application_.bad_preference && std::any_of(rows.begin(), rows.end(), passes);
  for (std::size_t s = 0; s < scores.size(); ++s) {
    if (skips_[s]) {
      continue;
    }
    switch (scores[s].plugin) {
      case PluginId::kTaintToleration:
        rate(
            s, passes,
            [&](const ScoredRows& its, std::size_t) {
              return its.is_new ? soft_taints(its.row) : its.raw[s];
            },
            by_highest(true));
        break;
      case PluginId::kNodeAffinity:
        rate(
            s, passes,
            [&](const ScoredRows& its, std::size_t) {
              return its.is_new ? preference(its.row) : its.raw[s];
            },
            by_highest(false));
        break;
      case PluginId::kVolumeBinding:
        if (volumes_ != nullptr) {
          rate(
              s, passes,
              [&](const ScoredRows& its, std::size_t) { return volumes_->score(its.row); },
              as_it_is);
        }
        break;
      case PluginId::kPodTopologySpread: {
        scale.spread = s;
        for (std::size_t k = 0; k < picked.size(); ++k) {
          ScoredRows& its = rows[picked[k]];
          its.ignored = its.is_new ? is_ignored(its.row) : its.ignored;
        }
        if (picked.changed == nullptr) {
          measure_spread(rows, scale);
        }
        rate(
            s, [](const ScoredRows& its) { return its.code == 0 && !its.ignored; },
            [&](const ScoredRows& its, std::size_t i) {
              return spread(its, i, located, scale.weights);
            },
            [](std::int64_t raw, const Extent& extent) {
              return extent.highest == 0
                         ? 100
                         : quotient(100 * (extent.highest + extent.lowest - raw), extent.highest);
            });
        break;
      }
      case PluginId::kInterPodAffinity:
        rate(
            s, passes,
            [&](const ScoredRows& its, std::size_t i) { return affinity(its, i, located); },
            [](std::int64_t raw, const Extent& extent) {
              const auto [lowest, highest] = std::pair(extent.lowest, extent.highest);
              return lowest == highest ? 0
                                       : static_cast<std::int64_t>(
                                             100.0 * (static_cast<double>(raw - lowest) /
                                                      static_cast<double>(highest - lowest)));
            });
        break;
      case PluginId::kImageLocality:
        if (!images_apart && most_image_score_ != 0) {
          rate(
              s, passes, [&](const ScoredRows& its, std::size_t) { return image_score(its.row); },
              as_it_is);
        }
        break;
      default:
        break;
    }
  }
  sizes_ = scale.sizes;
  const Picked& those = all ? every : picked;
  for (std::size_t k = 0; k < those.size(); ++k) {
    ScoredRows& its = rows[those[k]];
    its.is_new = its.is_new && its.code != 0;
    its.total = 0;
    for (std::size_t s = 0; s < scores.size(); ++s) {
      its.total += skips_[s] ? 0 : scores[s].weight * its.score[s];
    }
  }
  return all;
}

// A PreferNoSchedule taint that is not tolerated, by tolerations of that effect or of any.
bool ApplicationLook::minds(const Taint& taint) const {
  return taint.effect == "PreferNoSchedule" &&
         !tolerated(application_.constraint.tolerations, taint);
}

std::int64_t ApplicationLook::soft_taints(std::uint32_t row) const {
  const NodeClass& its =
      applications_.classes().classes().at(applications_.table().node_class(row));
  return std::count_if(its.taints.begin(), its.taints.end(),
                       [&](const Taint& taint) { return minds(taint); });
}

std::int64_t ApplicationLook::preference(std::uint32_t row) const {
  const std::uint32_t node_class = applications_.table().node_class(row);
  const NodeClass& its = applications_.classes().classes().at(node_class);
  std::int64_t sum = application_.preferences.empty() ? 0 : application_.preference[node_class];
  for (const Application::Preferred& preferred : application_.preferences) {
    sum +=
        preferred.by_name && preferred.affinity->passes(its, applications_.facts().nodes[row].name)
            ? preferred.weight
            : 0;
  }
  return sum;
}

// A row without the key of some soft constraint, where it is the pod's own.
bool ApplicationLook::is_ignored(std::uint32_t row) const {
  return !application_.system_defaults &&
         std::any_of(application_.soft.begin(), application_.soft.end(),
                     [&](const SpreadConstraint& constraint) {
                       return applications_.topology().domain(constraint.key, row) == kNoDomain;
                     });
}

// How many domains of each soft constraint feasible rows are in.
void ApplicationLook::measure_spread(std::span<const ScoredRows> rows, ScoreScale& scale) const {
  const Topology& topology = applications_.topology();
  std::uint64_t counted = 0;
  for (const ScoredRows& its : rows) {
    counted += its.code == 0 && !its.ignored ? its.rows : 0;
  }
  std::vector<bool> seen;
  for (const SpreadConstraint& constraint : application_.soft) {
    std::uint64_t size = counted;
    if (!constraint.hostname) {
      // One more for nodes without the key, which System's defaults do not ignore, where no node
      // has the value "".
      const std::uint32_t limit = topology.domain_limit(constraint.key);
      seen.assign(limit + 1, false);
      size = 0;
      for (const ScoredRows& its : rows) {
        if (its.code == 0 && !its.ignored) {
          const std::size_t at =
              std::min(applications_.soft_domain(application_, constraint.key, its.row), limit);
          size += !seen[at];
          seen[at] = true;
        }
      }
    }
    scale.sizes.push_back(size);
    scale.weights.push_back(go_log(static_cast<double>(size + 2)));
  }
}

std::int64_t ApplicationLook::spread(const ScoredRows& its, std::size_t i,
                                     const LocatedRows* located,
                                     const std::vector<double>& weights) const {
  const std::vector<SpreadConstraint>& soft = application_.soft;
  double sum = 0;
  for (std::size_t c = 0; c < soft.size(); ++c) {
    if (applications_.topology().domain(soft[c].key, its.row) == kNoDomain) {
      continue;
    }
    const std::int64_t pods = sum_of(application_.counters[soft[c].counter], its, i, located);
    sum += static_cast<double>(pods) * weights[c] + static_cast<double>(soft[c].its.max_skew - 1);
  }
  return static_cast<std::int64_t>(std::round(sum));
}

// Whether some pair was touched.
bool ApplicationLook::prefers() const {
  const bool own =
      !application_.affinity.preferred.empty() || !application_.anti_affinity.preferred.empty();
  if (!own && applications_.profile().inter_pod_affinity.ignore_preferred_terms_of_existing_pods) {
    return false;
  }
  return std::any_of(
      application_.counters.begin(), application_.counters.end(), [this](const Counter& counter) {
        return counter.kind == Counter::Kind::kPreferred && application_.is_fed(counter);
      });
}

std::int64_t ApplicationLook::affinity(const ScoredRows& its, std::size_t i,
                                       const LocatedRows* located) const {
  std::int64_t sum = 0;
  for (const Counter& counter : application_.counters) {
    sum += counter.kind == Counter::Kind::kPreferred ? sum_of(counter, its, i, located) : 0;
  }
  return sum;
}

std::int64_t ApplicationLook::image_score(std::uint32_t row) const {
  std::int64_t sum = 0;
  for (const auto& [name, size] : image_sizes_) {
    sum += applications_.images().on_row(row, *name) ? size : 0;
  }
  return headroom::image_score(sum, application_.image_count);
}

}  // namespace headroom
