#include "engine/applications/look.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "layout/heap_bytes.h"

namespace headroom {

namespace {

// The minimum over no domain.
constexpr std::int64_t kNoLeast = INT32_MAX;

// kube-scheduler's DefaultNormalizeScore.
std::int64_t normalized_by_highest(std::int64_t raw, std::int64_t highest, bool reversed) {
  if (highest == 0) {
    return reversed ? 100 : raw;
  }
  return reversed ? 100 - 100 * raw / highest : 100 * raw / highest;
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

// --- RowChange ---

bool RowChange::is_gone(PodId id) const {
  return std::find(gone.begin(), gone.end(), id) != gone.end();
}

void RowChange::shift(const std::vector<Feed>* feeds, int sign) {
  for (std::size_t f = 0; feeds != nullptr && f < feeds->size(); ++f) {
    const Feed& feed = (*feeds)[f];
    deltas.resize(std::max<std::size_t>(deltas.size(), feed.counter + 1));
    deltas[feed.counter] += sign * feed.given_back;
  }
}

void RowChange::take(PodId id, const std::vector<Feed>* feeds) {
  gone.push_back(id);
  shift(feeds, -1);
}

void RowChange::put_back(PodId id, const std::vector<Feed>* feeds) {
  std::erase(gone, id);
  shift(feeds, 1);
}

void RowChange::add(PodId id, const std::vector<Feed>* feeds) {
  come.push_back(id);
  shift(feeds, 1);
}

void RowChange::clear() {
  gone.clear();
  come.clear();
  deltas.clear();
}

// --- Filters ---

ApplicationLook::ApplicationLook(const Applications& applications, const Application& application)
    : applications_(applications), application_(application) {
  const Profile& profile = applications.profile();
  spreads_ = profile.filters_by(PluginId::kPodTopologySpread);
  pod_affinity_ = profile.filters_by(PluginId::kInterPodAffinity);
  features_ = profile.filters_by(PluginId::kNodeDeclaredFeatures) &&
              profile.kubernetes_version != KubernetesVersion::k135 &&
              !application.required_features.empty();
  if (application.affinity_conflict && profile.filters_by(PluginId::kNodeAffinity)) {
    rejected_ = {"pod affinity terms conflict"};
    rejected_by_ = PluginId::kNodeAffinity;
  }
  if (!application.volumes.empty()) {
    volumes_ = std::make_unique<const VolumeLook>(applications, application);
    if (rejected_.empty() && !volumes_->pre_filter().empty()) {
      rejected_ = volumes_->pre_filter();
      rejected_by_ = volumes_->plugin();
    }
  }
  filters_ = features_ || volumes_ != nullptr || (spreads_ && !application.hard.empty()) ||
             (pod_affinity_ && std::any_of(application.counters.begin(), application.counters.end(),
                                           [](const Counter& counter) {
                                             return counter.kind >= Counter::Kind::kAffinity &&
                                                    counter.kind <= Counter::Kind::kOthersAnti;
                                           }));
  // InterPodAffinity's PreFilter skips its filter for such a pod: it does not yield to the terms of
  // pods that are nominated alone.
  const bool others = std::any_of(
      application.counters.begin(), application.counters.end(), [&](const Counter& counter) {
        return counter.kind == Counter::Kind::kOthersAnti && application.is_fed(counter);
      });
  pod_affinity_ = pod_affinity_ && (others || !application.affinity.required.empty() ||
                                    !application.anti_affinity.required.empty());
  if (profile.scores_by(PluginId::kImageLocality)) {
    std::int64_t all = 0;
    for (const std::string& name : application.images) {
      const std::int64_t size = applications.images().scaled_size(name, applications.node_count());
      if (size != 0) {
        image_sizes_.emplace_back(&name, size);
        all += size;
      }
    }
    // Images that few nodes have score nowhere.
    most_image_score_ = headroom::image_score(all, application.image_count);
  }
  for (const SpreadConstraint& constraint : application.hard) {
    least_.push_back(least(constraint, kNoRow, nullptr));
  }
  for (const Counter& counter : application.counters) {
    if (counter.kind == Counter::Kind::kAffinity) {
      application.each_sum(counter, [this](std::int64_t sum, std::uint32_t domains) {
        affinity_pods_ += sum * domains;
      });
    }
  }
}

std::vector<ReferredObject> ApplicationLook::bound_volumes(std::uint32_t row) const {
  return volumes_ == nullptr ? std::vector<ReferredObject>() : volumes_->bound_volumes(row);
}

std::uint32_t ApplicationLook::pre_filter_code() const {
  return applications_.rejections().make(rejected_by_, Code::kUnschedulableAndUnresolvable,
                                         rejected_);
}

// Of a row, as the plugin looks its domain up: whether or not the row takes part itself.
std::int64_t ApplicationLook::count(const Counter& counter, std::uint32_t row, bool plain,
                                    const RowChange* change) const {
  if (plain && counter.fine()) {
    return 0;
  }
  const std::uint32_t cell = applications_.domain_of(counter.key, row);
  if (cell == kNoDomain) {
    return 0;
  }
  std::int64_t sum = application_.cell(counter, cell).sum;
  if (change != nullptr) {
    const std::uint32_t index = index_of(counter);
    // What changes on the row counts where the row takes part.
    if (index < change->deltas.size() && change->deltas[index] != 0 &&
        applications_.cell_of(application_, counter, row) != kNoDomain) {
      sum += change->deltas[index];
    }
  }
  return sum;
}

// Of all domains of nodes that take part.
std::int64_t ApplicationLook::least(const SpreadConstraint& constraint, std::uint32_t row,
                                    const RowChange* change) const {
  if (static_cast<std::int64_t>(constraint.domains) < constraint.its.min_domains) {
    return 0;
  }
  const Counter& counter = application_.counters[constraint.counter];
  const std::uint32_t changed =
      change == nullptr ? kNoDomain : applications_.cell_of(application_, counter, row);
  const FedCell before = changed == kNoDomain ? FedCell() : application_.cell(counter, changed);
  std::int64_t least = kNoLeast;
  std::uint32_t seen = 0;
  bool left_out = before.pods == 0;  // what the domain was before
  application_.each_sum(counter, [&](std::int64_t sum, std::uint32_t domains) {
    if (!left_out && sum == before.sum) {
      left_out = true;
      --domains;
    }
    least = domains == 0 ? least : std::min(least, sum);
    seen += domains;
  });
  if (changed != kNoDomain) {
    least = std::min(least, count(counter, row, false, change));
    ++seen;
  }
  // Some domain has no pod, and none has fewer.
  return seen < constraint.domains ? std::min<std::int64_t>(least, 0) : least;
}

void ApplicationLook::expect(std::uint32_t row, const std::vector<PodId>& pods) {
  RowChange& change = expected_.emplace_back(row, RowChange()).second;
  for (const PodId id : pods) {
    change.add(id, feeds(id));
  }
}

const std::vector<Feed>* ApplicationLook::feeds(PodId id) const {
  return applications_.feeds(application_, applications_.facts().pods[id].peer);
}

std::uint32_t ApplicationLook::code(std::uint32_t row, const RowChange* change, bool plain) const {
  for (const auto& [expected, with_them] : expected_) {
    if (expected != row || change != nullptr || plain) {
      continue;
    }
    if (const std::uint32_t code = code_as_it_is(row, &with_them, false); code != 0) {
      return code;
    }
  }
  return code_as_it_is(row, change, plain);
}

std::uint32_t ApplicationLook::code_as_it_is(std::uint32_t row, const RowChange* change,
                                             bool plain) const {
  if (volumes_ != nullptr) {
    if (const std::uint32_t code = volumes_->code(row, change); code != 0) {
      return code;
    }
  }
  if (spreads_ || pod_affinity_) {
    if (const std::uint32_t code = counted_code(row, plain, change); code != 0) {
      return code;
    }
  }
  if (features_) {
    const std::vector<std::string>& declared =
        applications_.facts().nodes[row].node->declared_features;
    const bool has_all =
        std::all_of(application_.required_features.begin(), application_.required_features.end(),
                    [&](const std::string& feature) {
                      return std::find(declared.begin(), declared.end(), feature) != declared.end();
                    });
    return has_all ? 0 : kFeaturesMissing;
  }
  return 0;
}

bool ApplicationLook::has_key(const Counter& counter, std::uint32_t row) const {
  // One by row is of a soft constraint, whose key it has besides.
  const TopologyKeyId key =
      counter.key == kByRow ? application_.soft[counter.index].key : counter.key;
  return applications_.topology().domain(key, row) != kNoDomain;
}

// By counter: its sum at the row, and whether the row has its key. `least` by hard constraint;
// `pods`: of all domains that match all required affinity terms.
template <typename Sum, typename Key>
std::uint32_t ApplicationLook::code_of(Sum sum, Key key, const std::int64_t* least,
                                       std::int64_t pods) const {
  for (std::size_t i = 0; spreads_ && i < application_.hard.size(); ++i) {
    const SpreadConstraint& constraint = application_.hard[i];
    if (!key(constraint.counter)) {
      return kSpreadKeyMissing;
    }
    if (sum(constraint.counter) + constraint.self - least[i] > constraint.its.max_skew) {
      return kSpreadTooSkewed;
    }
  }
  if (!pod_affinity_) {
    return 0;
  }
  bool has_keys = true, has_pods = true, hit = false, others_hit = false;
  for (std::uint32_t c = 0; c < application_.counters.size(); ++c) {
    const Counter::Kind kind = application_.counters[c].kind;
    if (kind == Counter::Kind::kAffinity) {
      has_keys = has_keys && key(c);
      has_pods = has_pods && sum(c) > 0;
    } else {
      hit |= kind == Counter::Kind::kAntiAffinity && sum(c) > 0;
      others_hit |= kind == Counter::Kind::kOthersAnti && sum(c) > 0;
    }
  }
  // The first of pods that want to be near each other may go where it will.
  const bool first = pods == 0 && application_.matches_own_affinity;
  if (!has_keys || (!has_pods && !first)) {
    return kPodAffinity;
  }
  return hit ? kPodAntiAffinity : others_hit ? kOthersAntiAffinity : 0;
}

std::uint32_t ApplicationLook::counted_code(std::uint32_t row, bool plain,
                                            const RowChange* change) const {
  std::vector<std::int64_t> changed_least;
  const std::int64_t* least = least_.data();
  std::int64_t pods = affinity_pods_;
  if (change != nullptr && !change->deltas.empty()) {
    for (const SpreadConstraint& constraint : application_.hard) {
      changed_least.push_back(this->least(constraint, row, change));
    }
    least = changed_least.data();
    for (std::size_t c = 0; c < change->deltas.size(); ++c) {
      const Counter& counter = application_.counters[c];
      pods +=
          counter.kind == Counter::Kind::kAffinity && has_key(counter, row) ? change->deltas[c] : 0;
    }
  }
  return code_of(
      [&](std::uint32_t c) { return count(application_.counters[c], row, plain, change); },
      [&](std::uint32_t c) { return has_key(application_.counters[c], row); }, least, pods);
}

// --- Located rows ---

void LocatedRows::clear(std::size_t counters) {
  domains.resize(counters);
  for (std::vector<DomainId>& of_rows : domains) {
    of_rows.clear();
  }
  sums.clear();
  keys.clear();
}

std::size_t LocatedRows::bytes() const {
  return heap_bytes(domains) + heap_bytes(sums) + heap_bytes(keys);
}

void ApplicationLook::locate(std::uint32_t row, bool plain, LocatedRows& rows) const {
  std::uint64_t keys = 0;
  for (std::size_t c = 0; c < application_.counters.size(); ++c) {
    const Counter& counter = application_.counters[c];
    if (!counter.fine()) {
      rows.domains[c].push_back(applications_.topology().domain(counter.key, row));
    }
    rows.sums.push_back(count(counter, row, plain, nullptr));
    keys |= std::uint64_t{has_key(counter, row)} << c;
  }
  rows.keys.push_back(keys);
}

FilterScale ApplicationLook::filter_scale() const {
  return {.least = least_, .affinity_pods = affinity_pods_ != 0, .pod_affinity = pod_affinity_};
}

std::uint32_t ApplicationLook::code(const LocatedRows& rows, std::size_t i) const {
  return code_of([&](std::uint32_t c) { return located_sum(rows, i, c); },
                 [&](std::uint32_t c) { return (rows.keys[i] >> c & 1) != 0; }, least_.data(),
                 affinity_pods_);
}

std::int64_t ApplicationLook::sum_of(const Counter& counter, const ScoredRows& its, std::size_t i,
                                     const LocatedRows* located) const {
  if (located == nullptr) {
    return count(counter, its.row, its.plain, nullptr);
  }
  return located_sum(*located, i, index_of(counter));
}

// --- Scores ---

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
  if (rows.code != 0) {
    return;
  }
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
  // The raw scores of those that pass, and from their extremes the scores.
  const auto rate = [&](std::size_t s, auto counts, auto raw, auto score) {
    Extent& extremes = scale.raw[s];
    const Extent before = extremes;
    for (std::size_t k = 0; k < picked.size(); ++k) {
      const std::size_t i = picked[k];
      if (counts(rows[i])) {
        rows[i].raw[s] = raw(rows[i], i);
        extremes.add(rows[i].raw[s]);
      }
    }
    if (picked.changed != nullptr && !extremes.known()) {
      extremes = {};
      for (const ScoredRows& its : rows) {
        if (counts(its)) {
          extremes.add(its.raw[s]);
        }
      }
    }
    const bool anew = picked.changed == nullptr || extremes.lowest != before.lowest ||
                      extremes.highest != before.highest;
    const Picked& those = anew ? every : picked;
    for (std::size_t k = 0; k < those.size(); ++k) {
      ScoredRows& its = rows[those[k]];
      its.score[s] = counts(its) ? static_cast<std::int32_t>(score(its.raw[s], extremes)) : 0;
    }
    all |= anew;
  };
  const auto passes = [](const ScoredRows& its) { return its.code == 0; };
  const auto by_highest = [](bool reversed) {
    return [reversed](std::int64_t raw, const Extent& extremes) {
      return normalized_by_highest(raw, std::max<std::int64_t>(extremes.highest, 0), reversed);
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
            [](std::int64_t raw, const Extent& extremes) {
              return extremes.highest == 0
                         ? 100
                         : 100 * (extremes.highest + extremes.lowest - raw) / extremes.highest;
            });
        break;
      }
      case PluginId::kInterPodAffinity:
        rate(
            s, passes,
            [&](const ScoredRows& its, std::size_t i) { return affinity(its, i, located); },
            [](std::int64_t raw, const Extent& extremes) {
              const auto [lowest, highest] = std::pair(extremes.lowest, extremes.highest);
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

// PreferNoSchedule taints that are not tolerated, by tolerations of that effect or of any.
std::int64_t ApplicationLook::soft_taints(std::uint32_t row) const {
  const NodeClass& its =
      applications_.classes().classes().at(applications_.table().node_class(row));
  return std::count_if(its.taints.begin(), its.taints.end(), [&](const Taint& taint) {
    return taint.effect == "PreferNoSchedule" &&
           !tolerated(application_.constraint.tolerations, taint);
  });
}

std::int64_t ApplicationLook::preference(std::uint32_t row) const {
  const NodeClass& its =
      applications_.classes().classes().at(applications_.table().node_class(row));
  std::int64_t sum = 0;
  for (const Application::Preferred& preferred : application_.preferences) {
    sum += preferred.affinity->passes(its, applications_.facts().nodes[row].name) ? preferred.weight
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
      // One more for nodes without the key, which System's defaults do not ignore.
      const std::uint32_t limit = topology.domain_limit(constraint.key);
      seen.assign(limit + 1, false);
      size = 0;
      for (const ScoredRows& its : rows) {
        if (its.code == 0 && !its.ignored) {
          const std::size_t at = std::min(topology.domain(constraint.key, its.row), limit);
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
