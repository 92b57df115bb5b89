// Prints scenarios of random applications, a JSON line each, with what the oracle of the default
// plugins says: {"name", "objects", "pod", "expect"}. shim/oracle asks kube-scheduler's own plugins
// the same.
//
//   oracle_scenarios FIRST_SEED CLUSTERS
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "oracle/default/default_preemption.h"
#include "tests/support/random_applications.h"

namespace {

using oracle::Json;
using oracle::defaults::DefaultProfile;
using oracle::defaults::Facts;
using oracle::defaults::Pod;

constexpr int kStepsPerCluster = 12;

using Live = std::map<std::string, Json>;  // objects by kind and name

std::string key_of(const Json& object) {
  const Json& metadata = object.at("metadata");
  return object.at("kind").get<std::string>() + "/" + metadata.value("namespace", "") + "/" +
         metadata.at("name").get<std::string>();
}

// A reserved pod is a bound one to whoever has the objects only.
Json bound(const Json& step) {
  Json pod = step.at("pod");
  pod["spec"]["nodeName"] = step.at("node");
  pod["status"] = {{"phase", "Running"}, {"startTime", "2026-01-01T02:00:00Z"}};
  return pod;
}

void perform(Live& live, const Json& step) {
  const std::string op = step.at("op");
  if (op == "apply") live[key_of(step.at("object"))] = step.at("object");
  if (op == "delete") live.erase(key_of(step.at("object")));
  if (op == "reserve") live[key_of(step.at("pod"))] = bound(step);
  if (op == "unreserve") live.erase(key_of(step.at("pod")));
}

Json preemption_of(const DefaultProfile& profile, const Facts& facts, const Pod& pod,
                   const oracle::defaults::ProfileAnswer& before) {
  Json nodes = Json::object();
  for (const auto& [node, found] : preempt(profile, facts, pod, before).candidates) {
    Json victims = Json::array();
    for (const oracle::PodView& victim : found.victims) victims.push_back(victim.key);
    std::sort(victims.begin(), victims.end());
    nodes[node] = {{"code", to_string(found.status.code)},
                   {"victims", victims},
                   {"violations", found.pdb_violations}};
  }
  return nodes;
}

Json answer_of(const Facts& facts, const Pod& pod) {
  const DefaultProfile profile(oracle::Version::k137);
  const oracle::defaults::ProfileAnswer answer = profile.schedule(facts, pod);
  Json json{{"filter", Json::object()}, {"scores", answer.plugin_scores}};
  // Not asked of kube-scheduler: it has nothing to say about pods without claims.
  json["scores"].erase("DynamicResources");
  for (const auto& [node, status] : answer.filter) {
    json["filter"][node] = {
        {"code", to_string(status.code)}, {"reasons", status.reasons}, {"plugin", status.plugin}};
  }
  // Where a plugin failed nobody is preempted either.
  const bool preempts = answer.best.empty() && answer.pre_filter.code != oracle::Code::kError;
  json["preemption"] = preempts ? preemption_of(profile, facts, pod, answer) : Json::object();
  return json;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: oracle_scenarios FIRST_SEED CLUSTERS\n";
    return 2;
  }
  const std::uint64_t first = std::strtoull(arguments[1], nullptr, 10);
  const std::uint64_t clusters = std::strtoull(arguments[2], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + clusters; ++seed) {
    headroom::Draws draws(seed);
    headroom::RandomApplications applications(draws);
    Live live;
    for (const Json& object : applications.objects()) live[key_of(object)] = object;
    for (int i = 0; i < kStepsPerCluster; ++i) {
      perform(live, applications.event());
      const Json pod = applications.pod_to_place();
      Facts facts;
      Json objects = Json::array();
      for (const auto& [key, object] : live) {
        facts.apply(object);
        objects.push_back(object);
      }
      std::cout << Json{{"name", std::to_string(seed) + "-" + std::to_string(i)},
                        {"objects", objects},
                        {"pod", pod},
                        {"expect", answer_of(facts, oracle::defaults::read_pod(pod))}}
                       .dump()
                << "\n";
    }
  }
  return 0;
}
