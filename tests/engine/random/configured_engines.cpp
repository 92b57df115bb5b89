#include "tests/engine/random/configured_engines.h"

#include <cstdint>
#include <cstdlib>
#include <set>
#include <utility>

#include "tests/engine/random/answer_checks.h"
#include "tests/engine/random/random_cluster.h"
#include "tests/support/answer_text.h"
#include "tests/support/difference.h"
#include "tests/support/file_bytes.h"

namespace headroom {

using nlohmann::json;

namespace {

// Engines that a short run validates after a step, as that is most of what a script takes: of
// neighbours one loads in bulk and the other does not.
constexpr std::size_t kValidated = 2;

}  // namespace

ConfiguredEngines::ConfiguredEngines(const Profile& profile,
                                     const std::vector<Configuration>& configurations)
    : configurations_(configurations) {
  for (const Configuration& configuration : configurations) {
    engines_.push_back(make_engine(profile, configuration).value());
  }
  bulks_.resize(engines_.size());
  for (std::size_t e = 0; e < engines_.size(); ++e) begin_bulk(e);
}

void ConfiguredEngines::begin_bulk(std::size_t e) {
  if (configurations_[e].bulk) bulks_[e].emplace(engines_[e].bulk());
}

std::string ConfiguredEngines::apply(const json& event) {
  for (Engine& engine : engines_) {
    if (const Result<void> applied = apply_event(engine, event); !applied) {
      return "refused: " + applied.error().message;
    }
  }
  return "";
}

std::string ConfiguredEngines::prepare(const json& step) {
  const Pod pod = to_pod(step.at("pod"));
  for (std::size_t e = 1; e < engines_.size(); e += 2) {
    std::uint64_t left = step.at("pieces");
    const Result<bool> prepared = engines_[e].prepare(pod, [&left] { return --left == 0; });
    if (!prepared) return "prepare: " + prepared.error().message;
  }
  return "";
}

std::string ConfiguredEngines::evaluate(const json& objects) {
  std::vector<Pod> pods;
  for (const json& object : objects) pods.push_back(to_pod(object));
  for (Engine& engine : engines_) {
    const Result<std::vector<Decision>> together = engine.evaluate(pods, {.top_k = 5});
    if (!together) return "evaluate: " + together.error().message;
    for (std::size_t p = 0; p < pods.size(); ++p) {
      const Result<Decision> alone = engine.evaluate(pods[p], {.top_k = 5});
      if (!alone) return "evaluate: " + alone.error().message;
      const std::string wrong =
          difference(configuration_of(engine).text() + " pod " + std::to_string(p) + " of many",
                     decision_text(engine, *alone), decision_text(engine, (*together)[p]));
      if (!wrong.empty()) return wrong;
    }
  }
  return check_state();
}

std::string ConfiguredEngines::refuse_twice(json& pods) {
  std::set<std::string> names;
  std::vector<Pod> all;
  json once = json::array();
  for (const json& object : pods) {
    const Pod& pod = all.emplace_back(to_pod(object));
    if (names.insert(pod_key(pod.namespace_name, pod.name)).second) once.push_back(object);
  }
  for (Engine& engine : engines_) {
    if (once.size() == all.size()) break;
    const Result<std::vector<Placement>> placed = engine.place(all);
    if (placed || placed.error().code != ErrorCode::kInvalid) return "place: one pod twice";
  }
  pods = std::move(once);
  return "";
}

std::string ConfiguredEngines::save(std::size_t but) {
  const std::string path = directory_.path() + "/state", again = directory_.path() + "/again";
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    if (e % 3 == but) continue;
    if (const Result<void> saved = engines_[e].save(path); !saved) return saved.error().message;
    Result<Engine> loaded = make_engine(engines_[e].profile(), configurations_[e], path);
    if (!loaded) return configurations_[e].text() + ": " + loaded.error().message;
    std::string wrong = difference("loaded digest", engines_[e].digest(), loaded->digest());
    if (const Result<void> saved = loaded->save(again); !saved) return saved.error().message;
    if (file_bytes(path) != file_bytes(again)) wrong += "it is saved in other bytes once loaded\n";
    if (!wrong.empty()) return configurations_[e].text() + ": " + wrong;
    bulks_[e].reset();
    engines_[e] = std::move(*loaded);
    begin_bulk(e);
  }
  return check_state();
}

std::string ConfiguredEngines::check_state(bool all) {
  static const bool is_long = std::getenv("HEADROOM_LONG") != nullptr;
  for (std::size_t left = all || is_long ? engines_.size() : kValidated; left > 0; --left) {
    const Engine& engine = engines_[next_validated_++ % engines_.size()];
    if (const Result<void> valid = engine.validate(); !valid) {
      return configuration_of(engine).text() + ": " + valid.error().message;
    }
  }
  for (const Engine& engine : engines_) {
    const std::string name = configuration_of(engine).text();
    const std::string wrong =
        difference(name + " digest", engines_.front().digest(), engine.digest()) +
        difference(name + " bad annotations", engines_.front().stats().bad_annotations,
                   engine.stats().bad_annotations);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace headroom
