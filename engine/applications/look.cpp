#include "engine/applications/look.h"

#include <algorithm>
#include <utility>

#include "layout/heap_bytes.h"

namespace headroom {

namespace {

// The minimum over no domain.
constexpr std::int64_t kNoLeast = INT32_MAX;

}  // namespace

// --- Filters ---

ApplicationLook::ApplicationLook(const Applications& applications, const Application& application)
    : applications_(applications), application_(application) {
  const Profile& profile = applications.profile();
  // What the pod asks first: the profile's lists are longer.
  spreads_ = !application.hard.empty() && profile.filters_by(PluginId::kPodTopologySpread);
  features_ = !application.required_features.empty() &&
              profile.filters_by(PluginId::kNodeDeclaredFeatures) &&
              profile.kubernetes_version != KubernetesVersion::k135;
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
  pod_affinity_ = std::any_of(application.counters.begin(), application.counters.end(),
                              [](const Counter& counter) {
                                return counter.kind >= Counter::Kind::kAffinity &&
                                       counter.kind <= Counter::Kind::kOthersAnti;
                              }) &&
                  profile.filters_by(PluginId::kInterPodAffinity);
  filters_ = features_ || volumes_ != nullptr || spreads_ || pod_affinity_;
  // InterPodAffinity's PreFilter skips its filter for such a pod: it does not yield to the terms of
  // pods that are nominated alone.
  const bool others = std::any_of(
      application.counters.begin(), application.counters.end(), [&](const Counter& counter) {
        return counter.kind == Counter::Kind::kOthersAnti && application.is_fed(counter);
      });
  pod_affinity_ = pod_affinity_ && (others || !application.affinity.required.empty() ||
                                    !application.anti_affinity.required.empty());
  if (!application.images.empty() && profile.scores_by(PluginId::kImageLocality)) {
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
    const auto elsewhere = change->elsewhere.find(RowChange::cell_key(index, cell));
    sum += elsewhere == change->elsewhere.end() ? 0 : elsewhere->second;
  }
  return sum;
}

void ApplicationLook::change_elsewhere(RowChange& change, PodId id, int sign) const {
  sign < 0 ? change.take(id, nullptr) : change.put_back(id, nullptr);
  const std::vector<Feed>* its = feeds(id);
  const std::uint32_t row = applications_.facts().pods[id].counted_row;
  for (std::size_t f = 0; its != nullptr && f < its->size(); ++f) {
    const Feed& feed = (*its)[f];
    const std::uint32_t cell =
        applications_.cell_of(application_, application_.counters[feed.counter], row);
    if (cell != kNoDomain) {
      change.elsewhere[RowChange::cell_key(feed.counter, cell)] += sign * feed.given_back;
    }
  }
}

// Of all domains of nodes that take part.
std::int64_t ApplicationLook::least(const SpreadConstraint& constraint, std::uint32_t row,
                                    const RowChange* change) const {
  if (static_cast<std::int64_t>(constraint.domains) < constraint.its.min_domains) {
    return 0;
  }
  const Counter& counter = application_.counters[constraint.counter];
  // What changed domains were before is left out.
  std::vector<std::int64_t> before;
  std::int64_t least = kNoLeast;
  std::uint32_t seen = 0;
  const auto changes = [&](std::uint32_t domain, std::int64_t now) {
    if (const FedCell its = application_.cell(counter, domain); its.pods != 0) {
      before.push_back(its.sum);
    }
    least = std::min(least, now);
    ++seen;
  };
  if (change != nullptr) {
    const std::uint32_t own = applications_.cell_of(application_, counter, row);
    if (own != kNoDomain) {
      changes(own, count(counter, row, false, change));
    }
    for (const auto& [cell, delta] : change->elsewhere) {
      const auto domain = static_cast<std::uint32_t>(cell);
      if (cell == RowChange::cell_key(constraint.counter, domain) && domain != own) {
        changes(domain, application_.cell(counter, domain).sum + delta);
      }
    }
  }
  application_.each_sum(counter, [&](std::int64_t sum, std::uint32_t domains) {
    for (auto its = before.begin(); domains != 0 && its != before.end();) {
      if (*its == sum) {
        its = before.erase(its);
        --domains;
      } else {
        ++its;
      }
    }
    least = domains == 0 ? least : std::min(least, sum);
    seen += domains;
  });
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
    if (const std::uint32_t code = volumes_->code(row, change, plain); code != 0) {
      return code;
    }
  }
  if (spreads_ || pod_affinity_) {
    if (const std::uint32_t code = counted_code(row, plain, change); code != 0) {
      return code;
    }
  }
  const bool lacks =
      features_ &&
      !std::all_of(application_.required_features.begin(), application_.required_features.end(),
                   [&](const std::string& feature) { return declares(row, feature); });
  return lacks ? kFeaturesMissing : 0;
}

bool ApplicationLook::declares(std::uint32_t row, const std::string& feature) const {
  const std::vector<std::string>& declared =
      applications_.facts().nodes[row].node->traits->declared_features;
  return std::find(declared.begin(), declared.end(), feature) != declared.end();
}

std::int64_t ApplicationLook::affinity_pods(std::uint32_t row, const RowChange* change) const {
  std::int64_t pods = affinity_pods_;
  if (change == nullptr) {
    return pods;
  }
  for (std::size_t c = 0; c < change->deltas.size(); ++c) {
    const Counter& counter = application_.counters[c];
    pods +=
        counter.kind == Counter::Kind::kAffinity && has_key(counter, row) ? change->deltas[c] : 0;
  }
  for (const auto& [cell, delta] : change->elsewhere) {
    pods += application_.counters[cell >> 32U].kind == Counter::Kind::kAffinity ? delta : 0;
  }
  return pods;
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
  if (change != nullptr && change->changes_counters()) {
    for (const SpreadConstraint& constraint : application_.hard) {
      changed_least.push_back(this->least(constraint, row, change));
    }
    least = changed_least.data();
  }
  return code_of(
      [&](std::uint32_t c) { return count(application_.counters[c], row, plain, change); },
      [&](std::uint32_t c) { return has_key(application_.counters[c], row); }, least,
      affinity_pods(row, change));
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

bool ApplicationLook::is_located(std::uint32_t row, const LocatedRows& rows, std::size_t i) const {
  for (std::size_t c = 0; c < application_.counters.size(); ++c) {
    const Counter& counter = application_.counters[c];
    if (!counter.fine() &&
        rows.domains[c][i] != applications_.topology().domain(counter.key, row)) {
      return false;
    }
  }
  return true;
}

FilterScale ApplicationLook::filter_scale() const {
  return {.least = least_, .affinity_pods = affinity_pods_ != 0, .pod_affinity = pod_affinity_};
}

std::uint32_t ApplicationLook::code(const LocatedRows& rows, std::size_t i) const {
  return code_of([&](std::uint32_t c) { return located_sum(rows, i, c); },
                 [&](std::uint32_t c) { return (rows.keys[i] >> c & 1) != 0; }, least_.data(),
                 affinity_pods_);
}

}  // namespace headroom
