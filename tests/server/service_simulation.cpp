#include "tests/server/service_simulation.h"

#include <algorithm>
#include <utility>

#include "tests/support/objects.h"

namespace headroom::in_memory {

namespace {

constexpr std::size_t kFormerPodsMax = 8;

// Registries are slow to make.
Metrics& shared_metrics() {
  static Metrics metrics;
  return metrics;
}

std::string code_of(const wire::Reserved& reserved) {
  return reserved.code() == wire::ErrorCode::None ? "ok" : EnumNameErrorCode(reserved.code());
}

const char* name_of(ErrorCode code) { return wire::EnumNameErrorCode(wire_code(code)); }

std::string text_of(const Engine& engine, const PostFilter& answer) {
  std::string all = fmt::format("{} on {} stays {}:", static_cast<int>(answer.code),
                                engine.node_name(answer.nominated_node), answer.stays_nominated);
  for (const Victim& victim : answer.victims) all += " " + victim.uid;
  return all;
}

std::string text_of(const wire::PostFiltered& answer) {
  std::string all = fmt::format("{} on {} stays {}:", static_cast<int>(answer.code()),
                                text(answer.nominated_node()), answer.stays_nominated());
  if (answer.victims() != nullptr) {
    for (const auto* victim : *answer.victims()) all += " " + victim->uid()->str();
  }
  return all;
}

std::string key_of_referred(const ReferredObject& object) {
  return fmt::format("{} {}", to_string(kind_of(object)), key_of(object));
}

}  // namespace

ServiceSimulation::ServiceSimulation(Draws draws, const std::vector<Profile>& others)
    : draws_(draws), profiles_{Profile::standard()}, metrics_(shared_metrics()) {
  profiles_.insert(profiles_.end(), others.begin(), others.end());
  for (std::uint32_t n = 0; n < kNodes; ++n) add_node(n);
  start();
}

// --- The cluster, as the API server has it -------------------------------------------------------

void ServiceSimulation::add_node(std::uint32_t n) {
  const std::string name = fmt::format("n{}", n);
  nodes_[name] = node_of(name, 4 + static_cast<std::int64_t>(draws_.below(8)), 8);
  nodes_[name].labels = {{"host", name}, {"zone", n % 2 == 0 ? "a" : "b"}};
  changes_.emplace_back(nodes_[name]);
}

void ServiceSimulation::change_node() {
  const auto n = static_cast<std::uint32_t>(draws_.below(kNodes));
  const std::string name = fmt::format("n{}", n);
  if (draws_.one_in(3)) {
    changes_.emplace_back(node_metric_of(name, wall_us_, cores(draws_.between(0, 8))));
  } else if (draws_.one_in(4)) {
    changes_.emplace_back(removed_metric(name));
  } else if (nodes_.contains(name) && draws_.one_in(3)) {
    nodes_.erase(name);
    changes_.emplace_back(removed_node(name));
  } else {
    add_node(n);
  }
}

void ServiceSimulation::change_elastic_quota() {
  ElasticQuota quota;
  quota.namespace_name = "team";
  quota.name = draws_.one_in(3) ? "other" : "quota";
  if (quotas_.contains(quota.name) && draws_.one_in(2)) {
    changes_.emplace_back(removed_elastic_quota(quota));
    quotas_.erase(quota.name);
    return;
  }
  quota.min = cores(draws_.between(0, 20));
  quota.max = cores(draws_.between(20, 60));
  changes_.emplace_back(quota);
  quotas_[quota.name] = std::move(quota);
}

// A namespace gets other labels, or a service another selector; or it goes.
void ServiceSimulation::change_referred_object() {
  const std::string value = draws_.one_in(2) ? "x" : "y";
  ReferredObject object;
  if (draws_.one_in(2)) {
    object = Namespace{.name = draws_.one_in(3) ? "other" : "team", .labels = {{"env", value}}};
  } else {
    object = Service{.namespace_name = "team", .name = "s", .selector = StringMap{{"app", value}}};
  }
  const std::string key = key_of_referred(object);
  if (referred_.contains(key) && draws_.one_in(3)) {
    changes_.emplace_back(RemovedReferred{to_string(kind_of(object)), key_of(object)});
    referred_.erase(key);
    return;
  }
  changes_.emplace_back(object);
  referred_[key] = std::move(object);
}

// Away from its like, of its namespace or of those with a label; or spread over zones.
void ServiceSimulation::ask_for_company(Pod& pod) {
  pod.labels = {{"app", draws_.one_in(2) ? "x" : "y"}};
  const LabelSelector its = {{"app", "In", {pod.labels[0].second}}};
  if (draws_.one_in(2)) {
    TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
    constraint.topology_key = "zone";
    constraint.hard = draws_.one_in(2);
    constraint.selector = its;
    return;
  }
  PodAffinityTerm term;
  term.selector = its;
  term.topology_key = draws_.one_in(2) ? "host" : "zone";
  if (draws_.one_in(2)) term.namespace_selector = LabelSelector{{"env", "In", {"x"}}};
  if (draws_.one_in(2)) {
    pod.pod_anti_affinity.required = {std::move(term)};
  } else {
    term.weight = 10;
    pod.pod_affinity.preferred = {std::move(term)};
  }
}

void ServiceSimulation::change_pod() {
  const std::string name = fmt::format("p{}", draws_.below(kPodNames));
  const auto found = pods_.find(pod_key("team", name));
  if (found == pods_.end()) {
    create_pod(name);
    return;
  }
  Pod& pod = found->second;
  keep_former(pod);
  if (draws_.one_in(3)) {
    changes_.emplace_back(removed_pod(pod));
    pods_.erase(found);
    if (draws_.one_in(2)) create_pod(name);  // recreated at once
  } else if (!pod.node_name.empty() && draws_.one_in(2)) {
    pod.phase = "Succeeded";
    changes_.emplace_back(pod);
  } else if (pod.node_name.empty() && draws_.one_in(4)) {
    pod.nominated_node_name = draws_.one_in(2) ? "" : any_node();
    changes_.emplace_back(pod);
  } else {
    if (pod.labels.empty()) pod.labels = {{"touched", std::to_string(step_)}};
    pod.deleting = !pod.node_name.empty() && draws_.one_in(4);
    changes_.emplace_back(pod);
  }
}

void ServiceSimulation::create_pod(const std::string& name) {
  Pod pod = pod_of(name, 1 + static_cast<std::int64_t>(draws_.below(3)));
  // Seldom two pods claim one uid, as no API server lets them.
  pod.uid = draws_.one_in(50) ? "uid-shared" : fmt::format("uid-{}", ++uids_);
  pod.creation_us = wall_us_;
  pod.priority = static_cast<std::int32_t>(draws_.below(3));
  if (draws_.one_in(3)) ask_for_company(pod);
  changes_.emplace_back(pod);
  pods_[pod_key(pod)] = std::move(pod);
}

void ServiceSimulation::keep_former(const Pod& pod) {
  former_.push_back(pod);
  if (former_.size() > kFormerPodsMax) former_.pop_front();
}

// A feeder that sends what was once true, perhaps of another pod of that name or uid.
void ServiceSimulation::repeat_an_old_fact() {
  if (former_.empty()) return;
  Pod pod = former_[draws_.below(former_.size())];
  if (draws_.one_in(4)) pod.uid = former_[draws_.below(former_.size())].uid;
  if (draws_.one_in(4)) pod.node_name = any_node();  // maybe one that there is not
  changes_.emplace_back(std::move(pod));
}

void ServiceSimulation::cluster_changes() {
  change_pod();
  if (draws_.one_in(20)) change_node();
  if (draws_.one_in(40)) change_elastic_quota();
  if (draws_.one_in(40)) change_referred_object();
  if (draws_.one_in(12)) repeat_an_old_fact();
}

// --- The daemon, and time ------------------------------------------------------------------------

void ServiceSimulation::start() {
  ServiceOptions options;
  options.profiles = profiles_;
  options.engine.threads = 1;
  options.incarnation = ++incarnation_;
  options.wall_clock = [this] { return wall_us_; };
  options.steady_clock = [this] { return steady_ += clock_step_; };
  auto made = RequestService::create(std::move(options), metrics_);
  ASSERT_TRUE(made) << made.error().message;
  service_ = std::move(*made);
  known_ = std::make_unique<KnownFacts>(Profile::standard(), /*feeder_time=*/false);
  known_->follow(wall_us_);
  held_.clear();
  stop_feeding();
  viewer_ = std::make_unique<Client>(*service_);
  viewer_->roles = {Role::kLook};
  viewer_->greet("viewer");
}

// Nothing of it is left; who was connected notices, and what was under way is lost.
void ServiceSimulation::crash() {
  feeder_.reset();
  for (Scheduler& scheduler : schedulers_) scheduler.reset();
  viewer_.reset();
  service_.reset();
  start();
  ++counts_.crashes;
}

void ServiceSimulation::time_passes() {
  const auto seconds =
      std::chrono::seconds(draws_.one_in(10) ? 20 + draws_.below(200) : draws_.below(3));
  steady_ += seconds;
  wall_us_ += std::chrono::microseconds(seconds).count();
  // Somebody sets the clock: by seconds, or by hours.
  if (draws_.one_in(40)) wall_us_ += draws_.between(-30, 30) * kSecondUs;
  if (draws_.one_in(40)) wall_us_ += draws_.between(-30, 30) * 3600 * kSecondUs;
  service_->tick();
}

// Before each request the service looks at its clocks; so does the model.
void ServiceSimulation::clocks() {
  known_->follow(wall_us_);
  if (next_ != nullptr) next_->follow(wall_us_);
  for (auto it = held_.begin(); it != held_.end();) {
    if (it->second.due <= steady_) {
      give_back(it->second);
      it = held_.erase(it);
      ++counts_.expired;
    } else {
      ++it;
    }
  }
}

void ServiceSimulation::give_back(const Held& held) {
  known_->engine->forget(held.pod.namespace_name, held.pod.name, held.pod.uid, held.node);
  if (const Pod* fed = known_->of_key(pod_key(held.pod)); fed != nullptr) {
    ASSERT_TRUE(known_->engine->upsert(*fed));
  }
}

// --- The feeder ----------------------------------------------------------------------------------

void ServiceSimulation::feeder_acts() {
  if (feeder_ == nullptr) {
    feeder_ = std::make_unique<Client>(*service_);
    feeder_->greet("feeder");
    return;
  }
  if (draws_.one_in(60)) {  // its connection is lost, with what was on the way
    feeder_.reset();
    stop_feeding();
    return;
  }
  clocks();
  if (!feeding_ || draws_.one_in(100)) {
    begin_resync();
  } else if (draws_.one_in(100)) {
    another_feeds();
  } else if (draws_.one_in(100)) {
    lose_facts();
  } else if (draws_.one_in(100)) {
    reload_profile();
  } else if (draws_.one_in(40)) {
    send_what_no_server_takes();
  } else if (next_ != nullptr && snapshot_.empty()) {
    end_resync();
  } else {
    send_some(next_ != nullptr && !snapshot_.empty() ? snapshot_ : changes_);
  }
}

void ServiceSimulation::begin_resync() {
  const bool feeder_time = draws_.one_in(4);
  feeder_->begin(feeder_time ? wall_us_ : 0, incarnation_);
  next_ = std::make_unique<KnownFacts>(Profile::standard(), feeder_time);
  if (feeder_time) {
    ASSERT_TRUE(next_->engine->advance(wall_us_));
  }
  feeding_ = true;
  changes_.clear();  // the snapshot has them
  snapshot_.clear();
  for (const auto& [name, node] : nodes_) snapshot_.emplace_back(node);
  for (const auto& [key, pod] : pods_) snapshot_.emplace_back(pod);
  for (const auto& [name, quota] : quotas_) snapshot_.emplace_back(quota);
  for (const auto& [key, object] : referred_) snapshot_.emplace_back(object);
}

void ServiceSimulation::send_some(std::deque<Fact>& from) {
  std::vector<Fact> batch;
  for (std::uint64_t most = 1 + draws_.below(12); most > 0 && !from.empty(); --most) {
    batch.push_back(std::move(from.front()));
    from.pop_front();
  }
  const std::int64_t now_us = wall_us_ - (draws_.one_in(20) ? kSecondUs : 0);
  const std::uint64_t id = feeder_->facts(batch, now_us);
  for (const Fact& fact : batch) apply(fact);
  if (fed().feeder_time && !fed().engine->advance(now_us)) {
    EXPECT_TRUE(feeder_->is_answer<wire::Error>(id)) << "backwards";
  }
  EXPECT_FALSE(feeder_->has_answer());
}

void ServiceSimulation::apply(const Fact& fact) {
  fed().apply(fact);
  if (const auto* pod = std::get_if<Pod>(&fact)) {
    settle(pod_key(*pod), pod->node_name.empty() && !pod->terminal() ? pod : nullptr);
  } else if (const auto* removed = std::get_if<Removed>(&fact);
             removed != nullptr && removed->kind == wire::Fact::RemovedPod) {
    settle(pod_key(removed->namespace_name, removed->name), nullptr);
  }
}

// A reservation ends when its pod is bound, ends, goes, or is another one.
void ServiceSimulation::settle(const std::string& key, const Pod* waiting) {
  const auto found = held_.find(key);
  if (found == held_.end() || (waiting != nullptr && waiting->uid == found->second.pod.uid)) return;
  if (next_ != nullptr) {
    next_->settled.insert(key);
  } else {
    held_.erase(found);
  }
}

void ServiceSimulation::stop_feeding() {
  feeding_ = false;
  next_.reset();
}

// A frame of facts did not come: it has to begin anew.
void ServiceSimulation::lose_facts() {
  feeder_->facts_as(1 << 30, {removed_node("n0")});
  EXPECT_EQ(feeder_->stopped().substr(0, 4), "Gap:");
  stop_feeding();
  ++counts_.feeds_stopped;
}

Fact ServiceSimulation::no_fact() {
  switch (draws_.below(4)) {
    case 0:
      return ReferredJson{R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": 7}})"};
    case 1:
      return RemovedReferred{"Gadget", "team/s"};
    default:
      return UnknownFact();
  }
}

// Each is an error, and nothing more.
void ServiceSimulation::send_what_no_server_takes() {
  switch (draws_.below(3)) {
    case 0:
      EXPECT_TRUE(feeder_->is_answer<wire::Error>(feeder_->facts({no_fact()}, wall_us_)));
      if (fed().feeder_time) {
        const bool advanced = fed().engine->advance(wall_us_).has_value();
        EXPECT_EQ(feeder_->has_answer(), !advanced);
        feeder_->is_forbidden();  // takes it
      }
      break;
    case 1:
      EXPECT_TRUE(feeder_->is_answer<wire::Error>(feeder_->ask(
          [this](Builder& builder) { return wire::CreateFeedBegin(builder, incarnation_ + 1); })));
      break;
    default:
      if (next_ != nullptr) return;
      EXPECT_TRUE(feeder_->is_answer<wire::Error>(feeder_->end()));
  }
}

// The one before is told.
void ServiceSimulation::another_feeds() {
  const std::unique_ptr<Client> former = std::move(feeder_);
  feeder_ = std::make_unique<Client>(*service_);
  feeder_->greet("other");
  begin_resync();
  EXPECT_EQ(former->stopped(), "Replaced: other feeds now");
  ++counts_.feeds_stopped;
}

void ServiceSimulation::reload_profile() {
  ASSERT_TRUE(service_->set_profiles(profiles_));
  EXPECT_FALSE(feeder_->has_answer()) << "it is the one that there is";
  // Another one that decides as it does: of a plugin that is not in it.
  std::vector<ResourceWeight>& unused = profiles_.front().resource_limit_aware.resources;
  unused.front().weight = 3 - unused.front().weight;
  ASSERT_TRUE(service_->set_profiles(profiles_));
  EXPECT_EQ(feeder_->stopped().substr(0, 11), "NewProfile:");
  stop_feeding();
  ++counts_.feeds_stopped;
}

void ServiceSimulation::end_resync() {
  feeder_->end();
  EXPECT_FALSE(feeder_->has_answer());
  for (auto it = held_.begin(); it != held_.end();) {
    const Held& held = it->second;
    const Pod* fed = next_->of_key(it->first);
    bool holds = !next_->settled.contains(it->first);
    if (fed != nullptr) {
      holds = holds && fed->uid == held.pod.uid;
    } else {
      const Pod* was_fed = known_->of_key(it->first);
      holds = holds && (was_fed == nullptr || was_fed->uid != held.pod.uid) &&
              next_->engine->node_of_pod(held.pod.namespace_name, held.pod.name) == kNoNode;
    }
    if (holds && next_->engine->assume(held.pod, held.node)) {
      ++it;
    } else {
      it = held_.erase(it);
    }
  }
  known_ = std::move(next_);
  known_->settled.clear();
  known_->follow(wall_us_);
  ++counts_.resyncs;
}

// --- Schedulers ----------------------------------------------------------------------------------

void ServiceSimulation::scheduler_acts(std::size_t which) {
  Scheduler& scheduler = schedulers_[which];
  const std::string owner = which == 0 ? "red" : "blue";
  if (scheduler == nullptr) {
    scheduler = std::make_unique<Client>(*service_);
    scheduler->greet(owner.c_str());
    return;
  }
  if (draws_.one_in(80)) {  // it crashes; what it holds stays until it renews or time ends it
    scheduler.reset();
    return;
  }
  clocks();
  switch (draws_.below(12)) {
    case 0:
      renew(*scheduler, owner);
      break;
    case 1:
      unreserve(*scheduler, owner);
      break;
    case 2:
      place(*scheduler, owner);
      break;
    case 3:
      place_and_go(scheduler);
      break;
    case 4:
    case 5:
      bind(owner);
      break;
    case 6:
      post_filter(*scheduler);
      break;
    case 7:
    case 8:
      evaluate(*scheduler);
      break;
    default:
      reserve(*scheduler, owner);
  }
}

// A pod that it has seen: as the API server has it, which may be later than what the daemon has, or
// as it was, perhaps before it was deleted or recreated. nullptr: none that may be placed.
const Pod* ServiceSimulation::seen() {
  if (!former_.empty() && draws_.one_in(8)) {
    const Pod& pod = former_[draws_.below(former_.size())];
    return pod.terminal() ? nullptr : &pod;
  }
  if (pods_.empty()) return nullptr;
  auto it = pods_.begin();
  std::advance(it, static_cast<std::ptrdiff_t>(draws_.below(pods_.size())));
  return it->second.terminal() ? nullptr : &it->second;
}

// By its uid, or whole.
std::optional<ServiceSimulation::Named> ServiceSimulation::named() {
  const Pod* pod = seen();
  if (pod == nullptr) return std::nullopt;
  if (draws_.one_in(3)) {
    const Pod* found = known_->of_uid(pod->uid);
    if (found == nullptr) {
      ++counts_.unknown_uids;
      return Named{pod->uid, std::nullopt};
    }
    return Named{pod->uid, *found};
  }
  Pod whole = *pod;
  whole.node_name.clear();
  return Named{whole, whole};
}

// Whether the owner may reserve it: "ok", or the error's code.
std::string ServiceSimulation::reservable(const Named& named, const std::string& owner) const {
  if (!named.pod) return "NotFound";
  if (const auto held = held_.find(pod_key(*named.pod)); held != held_.end()) {
    return held->second.owner == owner ? "ok" : "Forbidden";
  }
  if (known_->has_ended(*named.pod)) return "Conflict";
  return known_->engine->node_of_pod(named.pod->namespace_name, named.pod->name) == kNoNode
             ? "ok"
             : "Conflict";
}

// Whether it may, there.
std::string ServiceSimulation::reservable(const Named& named, const std::string& node,
                                          const std::string& owner) const {
  if (const std::string code = reservable(named, owner); code != "ok") return code;
  const auto detail = known_->engine->filter(*named.pod, node);
  if (!detail) return name_of(detail.error().code);
  return detail->code == Code::kSuccess ? "ok" : "Conflict";
}

void ServiceSimulation::hold(const Pod& pod, const std::string& node, const std::string& owner) {
  ++counts_.reserved;
  known_->reserved(pod);
  if (next_ != nullptr) next_->settled.erase(pod_key(pod));
  held_.insert_or_assign(pod_key(pod), Held{pod, node, owner, steady_ + kReservationTime});
}

// What the service says of the pod is what the model's engine says, or that it does not know it.
void ServiceSimulation::evaluate(Client& scheduler) {
  const auto pod = named();
  if (!pod) return;
  const std::uint64_t id = scheduler.evaluate({pod->arg}, {.top_k = 3, .reasons = true});
  if (!pod->pod) {
    ASSERT_EQ(scheduler.error(id).substr(0, 9), "NotFound:");
    return;
  }
  const auto decision = known_->engine->evaluate(*pod->pod, {.top_k = 3, .plugin_scores = false});
  ASSERT_TRUE(decision);
  ASSERT_EQ(in_memory::text_of(*scheduler.take<wire::Evaluated>(id).decisions()->Get(0)),
            in_memory::text_of(*known_->engine, *decision, /*scores=*/false));
}

void ServiceSimulation::reserve(Client& scheduler, const std::string& owner) {
  const auto pod = named();
  if (!pod) return;
  // Now and then another node than the best, full or unknown.
  std::string node;
  if (pod->pod && !draws_.one_in(5)) node = scheduler.best(pod->arg);
  if (node.empty()) node = any_node();
  const std::string due = reservable(*pod, node, owner);
  std::string answer;
  if (draws_.one_in(4)) {  // with a question, which is answered after it
    const std::uint64_t id = scheduler.evaluate({pod->arg}, {.reserve = {{pod->arg, node}}});
    if (!pod->pod) {
      ASSERT_EQ(scheduler.error(id).substr(0, 9), "NotFound:");
      return;
    }
    answer = code_of(*scheduler.take<wire::Evaluated>(id).reserved());
  } else {
    answer = code_of(scheduler.reserve(pod->arg, node));
  }
  ASSERT_EQ(answer, due);
  if (due != "ok") {
    ++counts_.refused;
    return;
  }
  ASSERT_TRUE(known_->engine->assume(*pod->pod, node));
  hold(*pod->pod, node, owner);
}

// Some at once, perhaps one of them twice.
std::vector<ServiceSimulation::Named> ServiceSimulation::some_pods() {
  std::vector<Named> pods;
  for (std::uint64_t count = 1 + draws_.below(4); count > 0; --count) {
    if (auto pod = named()) pods.push_back(std::move(*pod));
  }
  return pods;
}

std::vector<PodArg> ServiceSimulation::args_of(const std::vector<Named>& pods) {
  std::vector<PodArg> args;
  for (const Named& pod : pods) args.push_back(pod.arg);
  return args;
}

void ServiceSimulation::place(Client& scheduler, const std::string& owner) {
  const std::vector<Named> pods = some_pods();
  if (pods.empty()) return;
  const std::uint64_t id = scheduler.place(args_of(pods));
  for (const Named& pod : pods) {
    const std::string due = reservable(pod, owner);
    if (due == "ok") continue;
    ASSERT_EQ(scheduler.error(id).substr(0, due.size()), due);  // and none is placed
    ++counts_.refused;
    return;
  }
  const auto& names = *scheduler.take<wire::Placed>(id).node_names();
  ASSERT_EQ(names.size(), pods.size());
  for (std::size_t p = 0; p < pods.size(); ++p) {
    const Pod& pod = *pods[p].pod;
    Placement placement;
    ASSERT_TRUE(known_->engine->place(pod, {.plugin_scores = false}, placement));
    const std::string node(known_->engine->node_name(placement.node));
    ASSERT_EQ(names.Get(static_cast<std::uint32_t>(p))->str(), node);
    if (placement.node != kNoNode) hold(pod, node, owner);
  }
}

// It is gone before all are placed: none of them is, and what it held before is as it was, but that
// the engine sees it there from now on.
void ServiceSimulation::place_and_go(Scheduler& scheduler) {
  const std::vector<Named> pods = some_pods();
  if (pods.size() < 2) return;
  const std::uint64_t decided_before = service_->state().engine.decisions;
  scheduler->in_turns = true;
  clock_step_ = kWorkTurnTime;
  scheduler->place(args_of(pods));
  // Each turn checks or places one of them; the first has been, and the last of either kind takes
  // no more.
  for (std::uint64_t turns = draws_.below(2 * pods.size() - 2); turns > 0; --turns) {
    if (scheduler->waiting()) scheduler->step();
  }
  const std::uint64_t decided = service_->state().engine.decisions - decided_before;
  ASSERT_LT(decided, pods.size());
  scheduler.reset();
  clock_step_ = std::chrono::nanoseconds(0);
  place_and_undo({pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(decided)});
  ++counts_.cut_short;
}

void ServiceSimulation::place_and_undo(const std::vector<Named>& pods) {
  Engine& engine = *known_->engine;
  std::vector<Held> made;
  for (const Named& pod : pods) {
    Placement placement;
    ASSERT_TRUE(engine.place(*pod.pod, {.plugin_scores = false}, placement));
    if (placement.node == kNoNode) continue;
    known_->reserved(*pod.pod);
    made.push_back({*pod.pod, std::string(engine.node_name(placement.node)), "", {}});
  }
  for (std::size_t m = made.size(); m-- > 0;) {
    const std::string key = pod_key(made[m].pod);
    give_back(made[m]);
    const auto same = [&](const Held& other) { return pod_key(other.pod) == key; };
    const auto earlier =
        std::find_if(made.rend() - static_cast<std::ptrdiff_t>(m), made.rend(), same);
    const auto held = held_.find(key);
    if (earlier != made.rend()) {
      ASSERT_TRUE(engine.assume(earlier->pod, earlier->node));
    } else if (held != held_.end()) {
      ASSERT_TRUE(engine.assume(held->second.pod, held->second.node));
    }
  }
}

// Also what others hold, and what is not held like that, which changes nothing.
void ServiceSimulation::unreserve(Client& scheduler, const std::string& owner) {
  if (held_.empty()) return;
  auto it = held_.begin();
  std::advance(it, static_cast<std::ptrdiff_t>(draws_.below(held_.size())));
  const Held held = it->second;
  const std::string uid = draws_.one_in(6) ? "another" : held.pod.uid;
  const std::string node = draws_.one_in(6) ? any_node() : held.node;
  scheduler.unreserve(held.pod, uid, node);
  if (held.owner != owner || uid != held.pod.uid || node != held.node) return;
  held_.erase(it);
  give_back(held);
}

void ServiceSimulation::renew(Client& scheduler, const std::string& owner) {
  std::uint32_t renewed = 0;
  for (auto& [key, held] : held_) {
    if (held.owner != owner) continue;
    held.due = steady_ + kReservationTime;
    ++renewed;
  }
  EXPECT_EQ(scheduler.renew_reservations(), renewed);
}

void ServiceSimulation::post_filter(Client& scheduler) {
  const auto pod = named();
  if (!pod) return;
  const std::uint64_t id = scheduler.post_filter(pod->arg);
  if (!pod->pod) {
    ASSERT_EQ(scheduler.error(id).substr(0, 9), "NotFound:");
    return;
  }
  const auto answer = known_->engine->post_filter(*pod->pod);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(text_of(scheduler.take<wire::PostFiltered>(id)), text_of(*known_->engine, *answer));
  if (!answer->victims.empty()) ++counts_.preemptions;
}

// What it holds is bound at the API server, if it is still that pod; the feeder will hear of it.
void ServiceSimulation::bind(const std::string& owner) {
  for (const auto& [key, held] : held_) {
    const auto found = pods_.find(key);
    if (held.owner != owner || found == pods_.end() || found->second.uid != held.pod.uid ||
        !found->second.node_name.empty() || draws_.one_in(3)) {
      continue;
    }
    keep_former(found->second);
    found->second.node_name = held.node;
    changes_.emplace_back(found->second);
    return;
  }
}

// Who may only look.
void ServiceSimulation::viewer_tries() {
  const Pod* pod = seen();
  if (pod == nullptr) return;
  clocks();
  switch (draws_.below(4)) {
    case 0:
      viewer_->begin();
      break;
    case 1:
      viewer_->facts({removed_node("n0")});
      break;
    case 2:
      viewer_->place({*pod});
      break;
    default:
      viewer_->ask([&](Builder& builder) { return write_reserve(builder, *pod, "n1"); });
  }
  EXPECT_TRUE(viewer_->is_forbidden());
}

// --- One step, and what must hold after it -------------------------------------------------------

void ServiceSimulation::step() {
  ++step_;
  switch (draws_.below(16)) {
    case 0:
      time_passes();
      break;
    case 1:
      if (draws_.one_in(150)) crash();
      break;
    case 2:
      viewer_tries();
      break;
    case 3:
    case 4:
    case 5:
      cluster_changes();
      break;
    case 6:
    case 7:
    case 8:
    case 9:
      feeder_acts();
      break;
    default:
      scheduler_acts(draws_.below(schedulers_.size()));
  }
}

void ServiceSimulation::check() {
  clocks();
  std::map<std::string, std::string> listed, due;
  for (const auto* reservation : *viewer_->reservations().reservations()) {
    listed[pod_key(text(reservation->namespace_name()), text(reservation->name()))] =
        fmt::format("{} on {} of {}", text(reservation->uid()), text(reservation->node_name()),
                    text(reservation->owner()));
  }
  for (const auto& [key, held] : held_) {
    due[key] = fmt::format("{} on {} of {}", held.pod.uid, held.node, held.owner);
  }
  ASSERT_EQ(listed, due);
  ASSERT_EQ(service_->engine().digest(), known_->engine->digest());
  ASSERT_EQ(service_->state().pending_pods, known_->pending());
}

void ServiceSimulation::validate() {
  const Result<void> valid = service_->validate();
  ASSERT_TRUE(valid) << valid.error().message;
}

}  // namespace headroom::in_memory
