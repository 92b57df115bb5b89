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
void normalize_by_highest(std::span<ScoredRows> rows, std::size_t s, bool reversed) {
  std::int64_t highest = 0;
  for (const ScoredRows& its : rows) {
    if (its.code == 0) {
      highest = std::max(highest, its.raw[s]);
    }
  }
  for (ScoredRows& its : rows) {
    const std::int64_t score =
        highest == 0 ? (reversed ? 100 : its.raw[s])
                     : (reversed ? 100 - 100 * its.raw[s] / highest : 100 * its.raw[s] / highest);
    its.score[s] = static_cast<std::int32_t>(score);
  }
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
      application.counters.begin(), application.counters.end(), [](const Counter& counter) {
        return counter.kind == Counter::Kind::kOthersAnti && !counter.empty();
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
    for (const auto& [domain, place] : counter.places) {
      affinity_pods_ += counter.kind == Counter::Kind::kAffinity ? counter.cells[place].sum : 0;
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
  if (plain && counter.fine) {
    return 0;
  }
  const std::uint32_t cell =
      counter.key == kByRow ? row : applications_.topology().domain(counter.key, row);
  if (cell == kNoDomain) {
    return 0;
  }
  std::int64_t sum = counter.sum_at(counter.place_of(cell));
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
  if (change == nullptr && counter.places.size() < constraint.domains) {
    return 0;  // some domain has no pod, and none has fewer
  }
  const std::uint32_t changed =
      change == nullptr ? kNoDomain : applications_.cell_of(application_, counter, row);
  const std::int64_t now = changed == kNoDomain ? 0 : count(counter, row, false, change);
  std::int64_t least = kNoLeast;
  std::uint32_t seen = 0;
  for (const auto& [domain, place] : counter.places) {
    if (domain != changed) {
      least = std::min(least, counter.cells[place].sum);
      ++seen;
    }
  }
  if (changed != kNoDomain) {
    least = std::min(least, now);
    ++seen;
  }
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

void LocatedRows::clear() {
  places.clear();
  sums.clear();
  keys.clear();
}

void LocatedRows::add(const LocatedRows& others, std::size_t i) {
  const std::size_t counters = others.places.size() / others.keys.size();
  const auto first = static_cast<std::ptrdiff_t>(i * counters);
  const auto last = first + static_cast<std::ptrdiff_t>(counters);
  places.insert(places.end(), others.places.begin() + first, others.places.begin() + last);
  sums.insert(sums.end(), others.sums.begin() + first, others.sums.begin() + last);
  keys.push_back(others.keys[i]);
}

std::size_t LocatedRows::bytes() const {
  return heap_bytes(places) + heap_bytes(sums) + heap_bytes(keys);
}

void ApplicationLook::locate(std::uint32_t row, bool plain, LocatedRows& rows) const {
  std::uint64_t keys = 0;
  for (std::size_t c = 0; c < application_.counters.size(); ++c) {
    const Counter& counter = application_.counters[c];
    const std::uint32_t domain =
        counter.key == kByRow ? row : applications_.topology().domain(counter.key, row);
    const bool none = (plain && counter.fine) || domain == kNoDomain;
    const std::uint32_t place = none ? kNoCell : counter.place_of(domain);
    rows.places.push_back(counter.fine ? kNoCell : place);
    rows.sums.push_back(counter.fine ? counter.sum_at(place) : 0);
    keys |= std::uint64_t{has_key(counter, row)} << c;
  }
  rows.keys.push_back(keys);
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

void ApplicationLook::score(std::span<ScoredRows> rows, bool images_apart,
                            const LocatedRows* located, bool same_classes) {
  const Profile& profile = applications_.profile();
  const std::vector<ApplicationScore>& scores = applications_.scores();
  skips_ = {};
  failed_ = false;
  for (std::size_t s = 0; s < scores.size(); ++s) {
    switch (scores[s].plugin) {
      case PluginId::kTaintToleration:
        if (!same_classes) {
          score_by_class(rows, s, true);
        }
        break;
      case PluginId::kNodeAffinity:
        failed_ |= application_.bad_preference &&
                   std::any_of(rows.begin(), rows.end(),
                               [](const ScoredRows& its) { return its.code == 0; });
        skips_[s] = application_.preferred.empty() && profile.node_affinity.preferred.empty();
        if (!skips_[s] && !same_classes) {
          score_by_class(rows, s, false);
        }
        break;
      case PluginId::kVolumeBinding:
        skips_[s] = profile.kubernetes_version < KubernetesVersion::k137;
        for (ScoredRows& its : rows) {
          if (volumes_ != nullptr && !skips_[s] && its.code == 0) {
            its.raw[s] = volumes_->score(its.row);
            its.score[s] = static_cast<std::int32_t>(its.raw[s]);
          }
        }
        break;
      case PluginId::kPodTopologySpread:
        skips_[s] = application_.soft.empty();
        if (!skips_[s]) {
          score_spread(rows, s, located);
        }
        break;
      case PluginId::kInterPodAffinity:
        skips_[s] = !prefers();
        if (!skips_[s]) {
          score_affinity(rows, s, located);
        }
        break;
      case PluginId::kImageLocality:
        for (ScoredRows& its : rows) {
          if (its.code == 0 && !images_apart && most_image_score_ != 0) {
            its.raw[s] = image_score(its.row);
            its.score[s] = static_cast<std::int32_t>(its.raw[s]);
          }
        }
        break;
      default:
        break;
    }
  }
  for (ScoredRows& its : rows) {
    its.total = 0;
    for (std::size_t s = 0; s < scores.size(); ++s) {
      its.total += skips_[s] ? 0 : scores[s].weight * its.score[s];
    }
  }
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

void ApplicationLook::score_by_class(std::span<ScoredRows> rows, std::size_t s, bool taints) {
  for (ScoredRows& its : rows) {
    if (its.code == 0) {
      its.raw[s] = taints ? soft_taints(its.row) : preference(its.row);
    }
  }
  normalize_by_highest(rows, s, taints);
}

void ApplicationLook::score_spread(std::span<ScoredRows> rows, std::size_t s,
                                   const LocatedRows* located) {
  const Topology& topology = applications_.topology();
  const std::vector<SpreadConstraint>& soft = application_.soft;
  std::uint64_t counted = 0;
  for (ScoredRows& its : rows) {
    its.ignored = !application_.system_defaults &&
                  std::any_of(soft.begin(), soft.end(), [&](const SpreadConstraint& constraint) {
                    return topology.domain(constraint.key, its.row) == kNoDomain;
                  });
    counted += its.code == 0 && !its.ignored ? its.rows : 0;
  }
  std::vector<double> weights;
  std::vector<bool> seen;
  sizes_.clear();
  for (const SpreadConstraint& constraint : soft) {
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
    sizes_.push_back(size);
    weights.push_back(go_log(static_cast<double>(size + 2)));
  }
  std::int64_t lowest = INT64_MAX, highest = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    ScoredRows& its = rows[r];
    if (its.code != 0 || its.ignored) {
      continue;
    }
    double sum = 0;
    for (std::size_t i = 0; i < soft.size(); ++i) {
      if (topology.domain(soft[i].key, its.row) == kNoDomain) {
        continue;
      }
      const std::int64_t pods = sum_of(application_.counters[soft[i].counter], its, r, located);
      sum += static_cast<double>(pods) * weights[i] + static_cast<double>(soft[i].its.max_skew - 1);
    }
    its.raw[s] = static_cast<std::int64_t>(std::round(sum));
    lowest = std::min(lowest, its.raw[s]);
    highest = std::max(highest, its.raw[s]);
  }
  for (ScoredRows& its : rows) {
    its.score[s] = its.code != 0 || its.ignored ? 0
                   : highest == 0
                       ? 100
                       : static_cast<std::int32_t>(100 * (highest + lowest - its.raw[s]) / highest);
  }
}

// Whether some pair was touched.
bool ApplicationLook::prefers() const {
  const bool own =
      !application_.affinity.preferred.empty() || !application_.anti_affinity.preferred.empty();
  if (!own && applications_.profile().inter_pod_affinity.ignore_preferred_terms_of_existing_pods) {
    return false;
  }
  return std::any_of(application_.counters.begin(), application_.counters.end(),
                     [](const Counter& counter) {
                       return counter.kind == Counter::Kind::kPreferred && !counter.empty();
                     });
}

void ApplicationLook::score_affinity(std::span<ScoredRows> rows, std::size_t s,
                                     const LocatedRows* located) {
  std::int64_t lowest = INT64_MAX, highest = INT64_MIN;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ScoredRows& its = rows[i];
    if (its.code != 0) {
      continue;
    }
    its.raw[s] = 0;
    for (const Counter& counter : application_.counters) {
      if (counter.kind == Counter::Kind::kPreferred) {
        its.raw[s] += sum_of(counter, its, i, located);
      }
    }
    lowest = std::min(lowest, its.raw[s]);
    highest = std::max(highest, its.raw[s]);
  }
  for (ScoredRows& its : rows) {
    its.score[s] = 0;
    if (its.code == 0 && highest != lowest) {
      its.score[s] = static_cast<std::int32_t>(100.0 * (static_cast<double>(its.raw[s] - lowest) /
                                                        static_cast<double>(highest - lowest)));
    }
  }
}

std::int64_t ApplicationLook::image_score(std::uint32_t row) const {
  std::int64_t sum = 0;
  for (const auto& [name, size] : image_sizes_) {
    sum += applications_.images().on_row(row, *name) ? size : 0;
  }
  return headroom::image_score(sum, application_.image_count);
}

}  // namespace headroom
