#include "tests/engine/random/engine_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/engine/random/elastic_quota_check.h"
#include "tests/support/answer_text.h"

namespace headroom {
namespace {

// More rows than the clusters of these tests ever have.
constexpr std::uint32_t kRowsMax = 200;

std::string text_of(const Explanation& explanation) {
  std::string text = std::string(to_string(explanation.code)) +
                     scores_text(explanation.plugins, explanation.total);
  for (const ExplainTerm& term : explanation.terms) {
    text += std::string("\n    ") + to_string(term.plugin) + " " + term.extension_point + " " +
            term.resource + " " + std::to_string(term.capacity) + " " +
            std::to_string(term.aggregate) + " " + std::to_string(term.need) + " " + term.formula +
            " = " + std::to_string(term.result) + (term.passed ? " passed " : " failed ") +
            term.note;
  }
  return text + "\n";
}

std::string text_of(const std::vector<ElasticQuotaStatus>& quotas) {
  std::string text;
  for (const ElasticQuotaStatus& quota : quotas) {
    text += "quota " + quota.namespace_name + "/" + quota.name + (quota.over_min ? " over" : "");
    for (const ElasticQuotaAmount& amount : quota.amounts) {
      text += " " + amount.resource + " " + std::to_string(amount.min) + " " +
              std::to_string(amount.max) + " " + std::to_string(amount.used) + " " +
              std::to_string(amount.nominated);
    }
    text += "\n";
  }
  return text;
}

// Of a pod that its filters can be asked about; else why not.
std::string text_of(Engine& engine, const Pod& pod) {
  const Result<Decision> decision = engine.evaluate(pod, {.top_k = 40});
  if (!decision) return decision.error().message + "\n";
  std::string text = decision_text(engine, *decision) + "\n";
  if (engine.profile().capacity_scheduling) {
    const Result<PostFilter> answer = engine.post_filter(pod, {.candidates = true});
    text += answer ? post_filter_text(engine, *answer) + "\n" : answer.error().message + "\n";
  }
  for (std::uint32_t row = 0; row < kRowsMax; ++row) {
    const std::string name(engine.node_name(static_cast<NodeIndex>(row)));
    if (name.empty() || engine.find_node(name) == kNoNode) continue;
    const Result<Explanation> explanation = engine.explain(pod, name);
    text += name + ": " + (explanation ? text_of(*explanation) : explanation.error().message);
    if (!engine.profile().capacity_scheduling) continue;
    const Result<std::vector<PodVerdict>> verdicts = engine.explain_victims(pod, name);
    for (std::size_t v = 0; verdicts && v < verdicts->size(); ++v) {
      const PodVerdict& verdict = (*verdicts)[v];
      text += name + ": " + verdict.pod.namespace_name + "/" + verdict.pod.name + " " +
              std::to_string(verdict.pod.priority) + (verdict.victim ? " goes " : " stays ") +
              verdict.why + "\n";
    }
  }
  return text;
}

}  // namespace

std::string snapshot_text(Engine& engine, const std::vector<Pod>& pods) {
  const EngineStats stats = engine.stats();
  std::string text = "digest " + std::to_string(engine.digest()) + " now " +
                     std::to_string(engine.now_us()) + " nodes " + std::to_string(stats.nodes) +
                     " pods " + std::to_string(engine.pod_count()) + " bad annotations " +
                     std::to_string(stats.bad_annotations) + "\n" +
                     text_of(engine.elastic_quota_status());
  for (std::uint32_t row = 0; row < kRowsMax; ++row) {
    const std::string name(engine.node_name(static_cast<NodeIndex>(row)));
    if (name.empty()) continue;
    text += "row " + std::to_string(row) + " " + name +
            (engine.find_node(name) == static_cast<NodeIndex>(row) ? " a node\n" : " a name\n");
  }
  for (const Pod& pod : pods) {
    const auto row = static_cast<std::uint32_t>(engine.node_of_pod(pod.namespace_name, pod.name));
    text += "pod " + pod.namespace_name + "/" + pod.name + " on row " + std::to_string(row) + "\n" +
            text_of(engine, pod);
  }
  return text;
}

std::string snapshot_difference(const std::string& expected, const std::string& came) {
  const auto lines_of = [](const std::string& text) {
    std::multiset<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.insert(line);
    return lines;
  };
  if (expected == came) return "";
  const std::multiset<std::string> a = lines_of(expected), b = lines_of(came);
  std::vector<std::string> lost, gained;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(lost));
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(gained));
  std::string text = "not as it was (or in another order):\n";
  for (const std::string& line : lost) text += " expected " + line + "\n";
  for (const std::string& line : gained) text += " came     " + line + "\n";
  return text;
}

}  // namespace headroom
