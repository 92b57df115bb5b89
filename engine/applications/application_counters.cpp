// Applications: which counters an application has, what classes have to tell apart for them, and
// what of them a peer's pods feed.
#include <algorithm>
#include <utility>

#include "engine/applications/applications.h"
#include "engine/applications/terms.h"
#include "engine/applications/volumes.h"
#include "kernels/kernels.h"
#include "objects/labels.h"

namespace headroom {

namespace {

// A key of more domains than that is no matter of classes, of which there would be as many. Builds
// with small blocks cross it with few nodes.
constexpr std::uint32_t kClassDomainsMax = kBlockNodes < 16 ? 3 : 2048;

}  // namespace

bool Applications::is_fine(TopologyKeyId key) const {
  return topology_.name(key) == kHostnameLabel || topology_.domain_count(key) > kClassDomainsMax;
}

// All of it but what the counters come to.
void Applications::describe_counters(Application& application) {
  // Held meanwhile: a key that nobody holds is forgotten, and read anew of every node.
  const std::vector<TopologyKeyId> keys = std::exchange(application.keys, {});
  forget(application);
  const auto constraints = spreads_ ? spread_constraints(application, profile_.topology_spread,
                                                         referred_, application.system_defaults)
                                    : std::vector<TopologySpreadConstraint>();
  application.label_bits = {};
  application.label_bits.add(application.labels);
  application.label_bits.add(application.affinity);
  application.label_bits.add(application.anti_affinity);
  for (const TopologySpreadConstraint& constraint : constraints) {
    application.label_bits.add(constraint.selector);
    SpreadConstraint& made = (constraint.hard ? application.hard : application.soft).emplace_back();
    made.its = constraint;
    made.self = selects(constraint.selector, application.labels);
    made.hostname = !constraint.hard && constraint.topology_key == kHostnameLabel;
    made.key = hold_key(application, constraint.topology_key);
  }
  for (const PodAffinityTerm& term : application.affinity.required) {
    counter(application, Counter::Kind::kAffinity, term.topology_key);
  }
  for (const PodAffinityTerm& term : application.anti_affinity.required) {
    counter(application, Counter::Kind::kAntiAffinity, term.topology_key);
  }
  add_spread(application);
  application.matches_own_affinity =
      !application.affinity.required.empty() &&
      std::all_of(application.affinity.required.begin(), application.affinity.required.end(),
                  [&](const PodAffinityTerm& term) {
                    return own_term_matches(term, application.namespace_name, application.labels,
                                            application, referred_, profile_.kubernetes_version);
                  });
  // Others' terms bring keys, and these classes that have to be told apart: peers first.
  subscribe_all(application);
  release(keys);
  read_classes(application);
  application.described = true;
  application.keys_generation = keys_generation_;
  application.volumes_generation = volumes_generation_;
  application.node_changes = node_changes_;
  application.class_generation = classes_.classes().generation();
}

TopologyKeyId Applications::hold_key(Application& application, std::string_view key) {
  for (const TopologyKeyId held : application.keys) {
    if (topology_.name(held) == key) {
      return held;
    }
  }
  const TopologyKeyId id = topology_.hold(key, classes_.labels().has_key(key));
  application.keys.push_back(id);
  key_users_.resize(std::max<std::size_t>(key_users_.size(), id + 1));
  ++key_users_[id];
  return id;
}

std::uint32_t Applications::counter(Application& application, Counter::Kind kind,
                                    std::string_view key, std::uint32_t index) {
  const TopologyKeyId id = hold_key(application, key);
  for (std::uint32_t c = 0; c < application.counters.size(); ++c) {
    const Counter& known = application.counters[c];
    if (known.kind == kind && known.key == id && known.index == index) {
      return c;
    }
  }
  Counter& made = application.counters.emplace_back();
  made.kind = kind;
  made.key = id;
  made.index = index;
  // Of a soft constraint's domains the number counts, among feasible nodes: a matter of classes.
  if (kind != Counter::Kind::kSoftSpread && is_fine(id)) {
    make_fine(application, made);
  }
  const bool everywhere = topology_.node_count(id) == node_count_;
  application.rows_only |= made.fine() && !everywhere &&
                           (kind == Counter::Kind::kAffinity || kind == Counter::Kind::kHardSpread);
  return static_cast<std::uint32_t>(application.counters.size() - 1);
}

// Of a key that classes do not tell apart.
void Applications::make_fine(Application& application, Counter& counter) {
  counter.sums = 0;
  while (counter.sums < application.fine_sums.size() &&
         application.fine_sums[counter.sums]->key() != counter.key) {
    ++counter.sums;
  }
  if (counter.sums == application.fine_sums.size()) {
    application.fine_sums.push_back(std::make_unique<FineSums>(counter.key));
  }
  counter.number = application.fine_sums[counter.sums]->add_counter();
}

void Applications::add_spread(Application& application) {
  for (std::uint32_t i = 0; i < application.hard.size(); ++i) {
    application.hard[i].counter =
        counter(application, Counter::Kind::kHardSpread, application.hard[i].its.topology_key, i);
  }
  for (std::uint32_t i = 0; i < application.soft.size(); ++i) {
    SpreadConstraint& constraint = application.soft[i];
    if (!constraint.hostname) {
      constraint.counter =
          counter(application, Counter::Kind::kSoftSpread, constraint.its.topology_key, i);
      continue;
    }
    constraint.counter = static_cast<std::uint32_t>(application.counters.size());
    Counter& made = application.counters.emplace_back();
    made.kind = Counter::Kind::kSoftSpread;
    made.index = i;
    make_fine(application, made);
    application.rows_only |= topology_.node_count(constraint.key) != node_count_;
  }
  const auto honors = [](const SpreadConstraint& constraint) {
    return constraint.its.honors_affinity;
  };
  if (application.node_affinity == nullptr && application.constraint.has_affinity() &&
      (std::any_of(application.hard.begin(), application.hard.end(), honors) ||
       std::any_of(application.soft.begin(), application.soft.end(), honors))) {
    application.node_affinity = std::make_unique<const NodeAffinity>(application.constraint);
  }
}

// What classes have to tell apart, and to it that they do. Where something is not a matter of
// classes, each row is looked at.
void Applications::read_classes(Application& application) {
  Application::ClassReads reads;
  std::vector<NodeSelectorTerm>& terms = reads.constraint.required.emplace();
  // Which nodes take part in a constraint.
  if (!application.hard.empty() || !application.soft.empty()) {
    reads.constraint.node_selector = application.constraint.node_selector;
    // Where the pod names its nodes each row is looked at: no class has to know names.
    for (const NodeSelectorTerm& term :
         application.constraint.required.value_or(std::vector<NodeSelectorTerm>())) {
      if (!application.pinned) {
        terms.push_back(term);
      } else if (!term.match_expressions.empty()) {
        terms.push_back({term.match_expressions, {}});
      }
    }
  }
  for (const Counter& counter : application.counters) {
    if (!counter.fine()) {
      reads.keys.push_back(topology_.name(counter.key));
    }
  }
  bool by_name = false;
  for (const Application::Preferred& preferred : application.preferences) {
    const NodeSelectorTerm& term = preferred.constraint->required->front();
    by_name |= preferred.by_name;
    terms.push_back({term.match_expressions, {}});
  }
  application.rows_only |= by_name || application.pinned || !application.required_features.empty();
  if (!application.volumes.empty()) {
    const VolumeLook look(*this, application);
    application.volumes_by_row = !look.read(terms);
    application.volumes_read_nodes = look.reads_nodes();
  }
  if (std::exchange(application.reads_held, false)) {
    classes_.unread(application.reads.constraint, application.reads.keys);
  }
  application.reads = std::move(reads);
  // Who reads nothing does not wait for what others begin to read.
  const bool nothing = application.reads.keys.empty() &&
                       application.reads.constraint.node_selector.empty() &&
                       application.reads.constraint.required->empty();
  application.split =
      nothing ? 0 : classes_.read(application.reads.constraint, application.reads.keys);
  application.reads_held = !nothing;
}

// Domains with a node that takes part. Mostly each node of a class does, or none.
void Applications::count_domains(Application& application) {
  const bool by_class =
      !application.pinned && std::all_of(application.hard.begin(), application.hard.end(),
                                         [this](const SpreadConstraint& its) {
                                           return !is_fine(its.key) ||
                                                  topology_.node_count(its.key) == node_count_;
                                         });
  std::vector<bool> seen;
  for (SpreadConstraint& constraint : application.hard) {
    const bool all_take_part =
        !application.pinned &&
        std::all_of(constraint.takes_part.begin() + 1, constraint.takes_part.end(),
                    [](bool takes) { return takes; }) &&
        std::all_of(application.hard.begin(), application.hard.end(),
                    [this](const SpreadConstraint& other) {
                      return topology_.node_count(other.key) == node_count_;
                    });
    if (all_take_part) {
      constraint.domains = topology_.domain_count(constraint.key);
      continue;
    }
    const Counter& counter = application.counters[constraint.counter];
    const bool fine = counter.fine();
    const bool alone =
        topology_.domain_count(constraint.key) == topology_.node_count(constraint.key);
    if (!by_class || (fine && !alone)) {
      constraint.domains = count_domains_by_row(application, constraint);
      continue;
    }
    constraint.domains = 0;
    seen.assign(topology_.domain_limit(constraint.key), false);
    for (std::uint32_t c = kNoNodeClass + 1; c < first_rows_.size(); ++c) {
      const std::uint32_t cell =
          first_rows_[c] == kNoRow ? kNoDomain : cell_of(application, counter, first_rows_[c]);
      if (cell != kNoDomain && !seen[cell]) {
        seen[cell] = true;
        constraint.domains += fine ? classes_.nodes_in(c) : 1;
      }
    }
  }
}

std::uint32_t Applications::count_domains_by_row(const Application& application,
                                                 const SpreadConstraint& constraint) const {
  std::uint32_t domains = 0;
  std::vector<bool> seen(topology_.domain_limit(constraint.key));
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    const std::uint32_t cell =
        facts_.nodes[row].node == nullptr
            ? kNoDomain
            : cell_of(application, application.counters[constraint.counter], row);
    if (cell != kNoDomain && !seen[cell]) {
      seen[cell] = true;
      ++domains;
    }
  }
  return domains;
}

std::vector<Feed> Applications::feeds_of(Application& application, const PodPeer& peer) {
  std::vector<Feed> feeds;
  const auto add = [&](std::uint32_t counter, std::int64_t weight, std::int64_t given_back) {
    for (Feed& known : feeds) {
      if (known.counter == counter) {
        known.weight += weight;
        known.given_back += given_back;
        return;
      }
    }
    feeds.push_back({counter, weight, given_back});
  };
  for (const auto* constraints : {&application.hard, &application.soft}) {
    for (const SpreadConstraint& constraint : *constraints) {
      if (peer.namespace_name != application.namespace_name ||
          !selects(constraint.its.selector, peer.labels)) {
        continue;
      }
      const bool counts = !peer.deleting && !constraint.its.selector->empty();
      if (counts || constraint.its.hard) {
        add(constraint.counter, counts, constraint.its.hard);
      }
    }
  }
  if (!pod_affinity_) {
    return feeds;
  }
  const auto own_matches = [&](const PodAffinityTerm& term) {
    return own_term_matches(term, peer.namespace_name, peer.labels, application, referred_,
                            profile_.kubernetes_version);
  };
  const auto at = [&](Counter::Kind kind, const PodAffinityTerm& term, std::int64_t weight) {
    add(counter(application, kind, term.topology_key), weight, weight);
  };
  const std::vector<PodAffinityTerm>& required = application.affinity.required;
  if (!required.empty() && std::all_of(required.begin(), required.end(), own_matches)) {
    for (const PodAffinityTerm& term : required) {
      at(Counter::Kind::kAffinity, term, 1);
    }
  }
  for (const PodAffinityTerm& term : application.anti_affinity.required) {
    if (own_matches(term)) {
      at(Counter::Kind::kAntiAffinity, term, 1);
    }
  }
  for (const PodAffinityTerm& term : application.affinity.preferred) {
    if (own_matches(term)) {
      at(Counter::Kind::kPreferred, term, term.weight);
    }
  }
  for (const PodAffinityTerm& term : application.anti_affinity.preferred) {
    if (own_matches(term)) {
      at(Counter::Kind::kPreferred, term, -std::int64_t{term.weight});
    }
  }
  if (!peer.has_terms()) {
    return feeds;
  }
  const auto others_matches = [&](const PodAffinityTerm& term) {
    return others_term_matches(term, peer, application, referred_);
  };
  for (const PodAffinityTerm& term : peer.anti_affinity.required) {
    if (others_matches(term)) {
      at(Counter::Kind::kOthersAnti, term, 1);
    }
  }
  const std::int64_t hard_weight = profile_.inter_pod_affinity.hard_pod_affinity_weight;
  for (const PodAffinityTerm& term : peer.affinity.required) {
    if (hard_weight > 0 && others_matches(term)) {
      at(Counter::Kind::kPreferred, term, hard_weight);
    }
  }
  for (const PodAffinityTerm& term : peer.affinity.preferred) {
    if (others_matches(term)) {
      at(Counter::Kind::kPreferred, term, term.weight);
    }
  }
  for (const PodAffinityTerm& term : peer.anti_affinity.preferred) {
    if (others_matches(term)) {
      at(Counter::Kind::kPreferred, term, -std::int64_t{term.weight});
    }
  }
  return feeds;
}

}  // namespace headroom
