#include "engine/cluster/shape_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/kept/check_resources.h"
#include "engine/kept/check_terms.h"
#include "layout/heap_bytes.h"
#include "objects/assert.h"

namespace headroom {

namespace {

Result<PodShape*> decidable(const Pod& pod, Result<PodShape*> shape) {
  if (auto checked = check_terms(pod); !checked) {
    return tl::unexpected(checked.error());
  }
  if (shape && (*shape)->filter_terms.size() > kFilterTermsMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Pod {}: its filters check {} things, kFilterTermsMax is {}",
                            pod_key(pod.namespace_name, pod.name), (*shape)->filter_terms.size(),
                            kFilterTermsMax));
  }
  return shape;
}

// Extended resources that the pod names, sorted.
std::vector<std::string> names_of(const Pod& pod) {
  std::vector<std::string> names;
  const auto add = [&](const ResourceList& list) {
    for (const auto& [name, quantity] : list) {
      if (name != "cpu" && name != "memory" && name != "ephemeral-storage") {
        names.push_back(name);
      }
    }
  };
  for (const auto* containers : {&pod.containers, &pod.init_containers}) {
    for (const Container& container : *containers) {
      add(container.requests);
      add(container.limits);
      add(container.actuated_requests.value_or(ResourceList()));
      add(container.allocated_requests);
    }
  }
  add(pod.pod_requests);
  add(pod.pod_limits);
  add(pod.overhead);
  add(pod.actuated_requests.value_or(ResourceList()));
  add(pod.allocated_requests);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

ShapeBook::ShapeBook(ShapeSources sources, Facts& facts, std::size_t bytes_max)
    : sources_(std::move(sources)),
      has_node_ports_(sources_.profile.filters_by(PluginId::kNodePorts)),
      has_node_affinity_(sources_.profile.filters_by(PluginId::kNodeAffinity)),
      facts_(facts),
      bytes_max_(bytes_max) {}

// --- Finding and making ---

Result<PodShape*> ShapeBook::for_counting(const Pod& pod) {
  return find_or_make(pod, ShapeUse::kCounting, true);
}

Result<PodShape*> ShapeBook::for_decision(const Pod& pod) {
  // Where classes say something of the pod the shape is kept: to ask them all takes turns.
  const bool passing = (has_node_affinity_ && names_its_nodes(pod.required_node_affinity)) ||
                       (has_node_ports_ && has_host_ports(pod) && !has_class_constraint(pod));
  return decidable(pod, find_or_make(pod, ShapeUse::kDecision, !passing));
}

Result<PodShape*> ShapeBook::for_good(const Pod& pod) {
  const auto shape = decidable(pod, find_or_make(pod, ShapeUse::kDecision, true));
  if (shape && !std::exchange((*shape)->handed_out, true)) {
    hold((*shape)->id);
  }
  return shape;
}

Result<PodShape*> ShapeBook::find_or_make(const Pod& pod, ShapeUse use, bool lasting) {
  HostPorts ports = use == ShapeUse::kDecision ? host_ports(pod) : HostPorts();
  write_shape_key(pod, use, ports, key_);
  if (const auto found = ids_.find(std::string_view(key_)); found != ids_.end()) {
    PodShape& shape = *facts_.shapes[found->second];
    note_use(shape);
    return &shape;
  }
  ShapeHolds holds(*this);
  ShapeId counts_as = kNoShape;
  if (use == ShapeUse::kDecision && (has_class_constraint(pod) || !ports.empty())) {
    const auto counting = for_counting(pod);
    if (!counting) {
      return counting;
    }
    holds.add(*counting);
    counts_as = (*counting)->id;
    write_shape_key(pod, use, ports, key_);
  }
  if (auto checked = check_resources(pod); !checked) {
    return tl::unexpected(checked.error());
  }
  trim();
  if (!lasting) {
    return &take_passing(make(pod, use, std::move(ports), kPassingShape, counts_as));
  }
  if (count_ >= kShapesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Pod {}: kShapesMax ({}) shapes are needed",
                            pod_key(pod.namespace_name, pod.name), kShapesMax));
  }
  const ShapeId id = free_ids_.next([this] {
    facts_.shapes.push_back(nullptr);
    return id_limit() - 1;
  });
  auto made = make(pod, use, std::move(ports), id, counts_as);
  made->use_place = out_of_use_order_.insert(out_of_use_order_.begin(), id);
  facts_.shapes[id] = std::move(made);
  free_ids_.take();
  ++count_;
  PodShape& shape = *facts_.shapes[id];
  count_asked(shape);
  ids_.emplace(shape.key, id);
  count_bytes(shape);
  return &shape;
}

PodShape& ShapeBook::take_passing(std::unique_ptr<PodShape> made) {
  if (passing_ != nullptr) {
    unread(*passing_);
    let_go(*passing_);
    release(passing_->counts_as);
  }
  passing_ = std::move(made);
  count_asked(*passing_);
  return *passing_;
}

// Its key lies in key_. The shape that it counts as, if it is another one, is held for it.
std::unique_ptr<PodShape> ShapeBook::make(const Pod& pod, ShapeUse use, HostPorts ports, ShapeId id,
                                          ShapeId counts_as) {
  auto made = std::make_unique<PodShape>();
  PodShape& shape = *made;
  shape.id = id;
  shape.counts_as = id;
  if (counts_as != kNoShape) {
    hold(counts_as);
    shape.counts_as = counts_as;
  }
  shape.daemon_set = pod.daemon_set;
  shape.host_ports = std::move(ports);
  if (use == ShapeUse::kDecision) {
    shape.constraint = {pod.node_selector, pod.required_node_affinity, pod.tolerations};
  }
  shape.key = key_;
  shape.key_hash = hash_bytes(key_);
  if (has_node_affinity_) {
    shape.pinned = shape.constraint.pinned();
  }
  shape.names = names_of(pod);
  describe(shape, pod);
  measure(shape);
  return made;
}

void ShapeBook::read(PodShape& shape) {
  if (shape.is_read) {
    return;
  }
  if (shape.constraint.has_affinity()) {
    shape.affinity = std::make_unique<const NodeAffinity>(shape.constraint);
    measure(shape);
    if (shape.id != kPassingShape) {
      count_bytes(shape);
    }
  }
  shape.split = sources_.classes.read(shape.constraint);
  shape.is_read = true;
}

void ShapeBook::unread(const PodShape& shape) {
  if (shape.is_read) {
    sources_.classes.unread(shape.constraint);
  }
}

// What follows from the pod and from what names of resources mean.
void ShapeBook::describe(PodShape& shape, const Pod& pod) {
  static_cast<ShapeDescription&>(shape) = {};
  shape.active_generation = UINT64_MAX;
  shape.version = ++described_;
  shape.normalize_in_double = sources_.profile.mode == Mode::kUpstream;
  Amounts elastic_quota_request;
  if (sources_.capacity_scheduling != nullptr) {
    free_elastic_quota_names();
    elastic_quota_request = sources_.capacity_scheduling->elastic_quota_request(pod);
  }
  for (const auto& policy : sources_.policies) {
    policy->describe(pod, shape);
  }
  ProgramBuilder builder(shape);
  for (const PluginId plugin : sources_.profile.filters) {
    if (Policy* policy = sources_.policies.of(plugin); policy != nullptr) {
      policy->add_filter(plugin, pod, builder);
    }
  }
  for (const ScorePlugin& score : sources_.profile.scores) {
    if (Policy* policy = sources_.policies.of(score.plugin); policy != nullptr) {
      policy->add_score(score, pod, builder);
    }
  }
  builder.finish(sources_.profile.scores);
  shape.reason_bytes = 0;
  for (std::string_view& reason : shape.reasons) {
    shape.reason_bytes += sources_.reasons.hold(reason);
  }
  // Last: what the shape asks is counted once it is described, where memory did not end before.
  shape.elastic_quota_request = std::move(elastic_quota_request);
}

void ShapeBook::release_reasons(PodShape& shape) {
  for (const std::string_view reason : shape.reasons) {
    sources_.reasons.release(reason);
  }
  shape.reasons.clear();
}

void ShapeBook::count_asked(const PodShape& shape) noexcept {
  for (const auto& [resource, amount] : shape.elastic_quota_request) {
    ++asked_of_quotas_[resource];
  }
}

// Of a shape that was counted: of all that is held for its description.
void ShapeBook::let_go(PodShape& shape) {
  release_reasons(shape);
  for (const auto& [resource, amount] : shape.elastic_quota_request) {
    HEADROOM_ASSERT(asked_of_quotas_[resource] != 0);
    --asked_of_quotas_[resource];
  }
  shape.elastic_quota_request.clear();
}

bool ShapeBook::counts_who_asks() const {
  std::array<std::uint32_t, kResourcesMax> asked{};
  const auto count = [&](const PodShape* shape) {
    if (shape != nullptr) {
      for (const auto& [resource, amount] : shape->elastic_quota_request) {
        ++asked[resource];
      }
    }
  };
  std::for_each(facts_.shapes.begin(), facts_.shapes.end(),
                [&](const auto& shape) { count(shape.get()); });
  count(passing_.get());
  return asked == asked_of_quotas_;
}

// Where there is no number left for what pods ask of quotas: takes those of names that no shape has
// any more.
void ShapeBook::free_elastic_quota_names() {
  ElasticQuotas& quotas = sources_.capacity_scheduling->elastic_quotas();
  if (!quotas.names_full()) {
    return;
  }
  ResourceMask used = 0;
  for (ResourceId resource = 0; resource < kResourcesMax; ++resource) {
    used |= ResourceMask{asked_of_quotas_[resource] != 0} << resource;
  }
  quotas.forget_names_but(used);
}

std::vector<ShapeId> ShapeBook::naming(const std::vector<std::string>& names) const {
  std::vector<ShapeId> ids;
  for (const auto& shape : facts_.shapes) {
    if (shape != nullptr &&
        std::any_of(shape->names.begin(), shape->names.end(), [&](const std::string& name) {
          return std::binary_search(names.begin(), names.end(), name);
        })) {
      ids.push_back(shape->id);
    }
  }
  return ids;
}

void ShapeBook::describe_again(const std::vector<ShapeId>& ids) {
  for (const ShapeId id : ids) {
    let_go(*facts_.shapes[id]);  // the numbers of what it asks for may be others' now
  }
  for (const ShapeId id : ids) {
    PodShape& shape = *facts_.shapes[id];
    describe(shape, pod_of_shape_key(shape.key));
    count_asked(shape);
    measure(shape);
    count_bytes(shape);
  }
  ++generation_;
}

// Against a new description.
Result<void> ShapeBook::validate(const PodShape& shape) {
  // Who has borrowed a number is no fact: there may be room now where there was none.
  const auto held = [this](Amounts request) {
    std::erase_if(request, [this](const auto& asked) {
      return sources_.capacity_scheduling->elastic_quotas().is_borrowed(asked.first);
    });
    return request;
  };
  PodShape again;
  again.key = shape.key;
  again.daemon_set = shape.daemon_set;
  describe(again, pod_of_shape_key(shape.key));
  const auto same = [](const Contribution& a, const Contribution& b) {
    return a.sum == b.sum && a.amount == b.amount;
  };
  const bool is_same = again.reasons == shape.reasons &&
                       std::equal(again.contributions.begin(), again.contributions.end(),
                                  shape.contributions.begin(), shape.contributions.end(), same) &&
                       held(again.elastic_quota_request) == held(shape.elastic_quota_request);
  release_reasons(again);
  if (!is_same) {
    return fail(ErrorCode::kConflict,
                fmt::format("validate: shape {} is described otherwise than its pods", shape.id));
  }
  return {};
}

// --- Keeping ---

void ShapeBook::use(ShapeId id, int by) {
  PodShape& shape = *facts_.shapes[id];
  const bool needed = shape.users != 0;
  shape.users += static_cast<std::uint32_t>(by);
  if (needed != (shape.users != 0)) {
    count_bytes(shape);
  }
}

void ShapeBook::give(PodFacts& pod, ShapeId id) {
  if (id != kNoShape) {
    hold(id);
  }
  if (const ShapeId before = std::exchange(pod.shape, id); before != kNoShape) {
    release(before);
  }
}

// With the shape that it counts as, which is mostly there for it alone.
void ShapeBook::measure(PodShape& shape) const {
  shape.measure();
  if (shape.counts_as != shape.id) {
    shape.own_bytes += facts_.shapes[shape.counts_as]->own_bytes;
  }
}

// Also puts the shape into the order of use, or takes it out. Its place there stays.
void ShapeBook::count_bytes(PodShape& shape) {
  const std::size_t bytes =
      shape.cached_bytes + heap_bytes(shape.class_codes) + (shape.users == 0 ? shape.own_bytes : 0);
  bytes_ += bytes - shape.counted_bytes;
  shape.counted_bytes = bytes;
  if (!shape.in_use_order && bytes != 0) {
    use_order_.splice(use_order_.begin(), out_of_use_order_, shape.use_place);
  } else if (shape.in_use_order && bytes == 0) {
    out_of_use_order_.splice(out_of_use_order_.begin(), use_order_, shape.use_place);
  }
  shape.in_use_order = bytes != 0;
}

void ShapeBook::note_use(PodShape& shape) {
  if (shape.in_use_order) {
    use_order_.splice(use_order_.begin(), use_order_, shape.use_place);
  }
}

void ShapeBook::set_cached_bytes(PodShape& shape, std::size_t bytes) {
  shape.cached_bytes = bytes;
  count_bytes(shape);
  note_use(shape);
}

void ShapeBook::set_bytes_max(std::size_t bytes) {
  bytes_max_ = bytes;
  trim();
}

void ShapeBook::trim(std::size_t room) {
  // The one that was used last may be in use now.
  while (use_order_.size() > 1 && (bytes_ + room > bytes_max_ || count_ >= kShapesMax)) {
    PodShape& last = *facts_.shapes[use_order_.back()];
    if (std::exchange(last.cached_bytes, 0) != 0) {
      drop_cached_(last.id);
    }
    if (last.users == 0) {
      free(last.id);
    } else {
      last.class_codes = std::vector<std::uint32_t>();
      count_bytes(last);
    }
  }
}

void ShapeBook::free(ShapeId id) {
  PodShape& shape = *facts_.shapes[id];
  const ShapeId counts_as = shape.counts_as;
  bytes_ -= shape.counted_bytes;
  use_order_.erase(shape.use_place);
  ids_.erase(shape.key);
  unread(shape);
  let_go(shape);
  facts_.shapes[id] = nullptr;
  free_ids_.give(id);
  --count_;
  if (counts_as != id) {
    PodShape& counting = *facts_.shapes[counts_as];
    const bool in_order = counting.in_use_order;
    release(counts_as);
    if (!in_order && counting.in_use_order) {
      // Not used later than the one that counted as it.
      use_order_.splice(use_order_.end(), use_order_, counting.use_place);
    }
  }
}

// --- For the time of a call ---

ShapeHolds::~ShapeHolds() {
  for (const ShapeId id : held_) {
    book_.release(id);
  }
  if (!held_.empty()) {
    book_.trim();
  }
}

void ShapeHolds::add(const PodShape* shape) {
  const ShapeId id = shape->id != kPassingShape ? shape->id : shape->counts_as;
  if (id != kPassingShape) {
    book_.hold(id);
    held_.push_back(id);
  }
}

Result<PodShape*> PodShapes::add(const Pod& pod) {
  auto shape = book_.for_decision(pod);
  if (!shape) {
    return shape;
  }
  holds_.add(*shape);
  if ((*shape)->id == kPassingShape) {
    *shape = nullptr;
  }
  shapes_.push_back(*shape);
  return shape;
}

}  // namespace headroom
