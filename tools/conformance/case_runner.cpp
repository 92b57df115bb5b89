#include "tools/conformance/case_runner.h"

#include <set>
#include <variant>

#include "objects/reading/object_reader.h"
#include "objects/text/time_text.h"
#include "tools/conformance/case_facts.h"

namespace headroom {
namespace {

using nlohmann::json;

std::string value_or_absent(const json& object, const std::string& key) {
  return object.contains(key) ? object.at(key).dump() : "absent";
}

}  // namespace

void CaseRunner::differ(std::string_view field, std::string expected, std::string got) {
  differences_.push_back({at_.empty() ? std::string(field) : fmt::format("{}.{}", at_, field),
                          std::move(expected), std::move(got)});
}

void CaseRunner::check(std::string_view field, const Result<void>& result) {
  if (!result) differ(field, "accepted", result.error().message);
}

bool CaseRunner::read_pod(const json& object, Pod& pod) {
  Result<Object> read = read_object(object.dump(), at_);
  if (!read) {
    differ("pod", "accepted", read.error().message);
    return false;
  }
  if (!std::holds_alternative<Pod>(*read)) {
    differ("pod.kind", "Pod", value_or_absent(object, "kind"));
    return false;
  }
  pod = std::get<Pod>(std::move(*read));
  return true;
}

void CaseRunner::change(std::span<Engine> engines, const json& step) {
  const std::string op = step.at("op");
  if (step.contains("expect")) {
    return differ("expect", step.at("expect").dump(), "not supported after " + op);
  }
  if (op == "apply") return apply(engines, step.at("object"));
  if (op == "advance") return advance(engines, step.at("now"));
  if (op == "delete") {
    // Of several engines each says the same of what it cannot take.
    for (Engine& engine : engines) {
      const Result<void> removed = remove_object(engine, step.at("object"));
      check("object", removed);
      if (!removed) return;
    }
    return;
  }
  if (op == "reserve" || op == "unreserve") {
    Pod pod;
    if (!read_pod(step.at("pod"), pod)) return;
    const std::string node = step.at("node");
    for (Engine& engine : engines) {
      if (op == "reserve") {
        check("reserve", engine.assume(pod, node));
      } else {
        engine.forget(pod.namespace_name, pod.name, pod.uid, node);
      }
    }
    return;
  }
  differ("op", op, "not supported");
}

void CaseRunner::apply(std::span<Engine> engines, const json& object) {
  for (Engine& engine : engines) check("object", apply_object(engine, object, at_));
}

void CaseRunner::advance(std::span<Engine> engines, const std::string& time) {
  const Result<std::int64_t> now_us = parse_time_us(time);
  if (!now_us) return differ("now", time, now_us.error().message);
  for (Engine& engine : engines) check("now", engine.advance(*now_us));
}

void CaseRunner::compare_keys(const std::string& field, const json& want, const json& came,
                              Same same) {
  std::set<std::string> keys;
  for (const auto& [key, value] : want.items()) keys.insert(key);
  for (const auto& [key, value] : came.items()) keys.insert(key);
  for (const std::string& key : keys) {
    if (want.contains(key) && came.contains(key) && same(want.at(key), came.at(key))) continue;
    differ(fmt::format("{}.{}", field, key), value_or_absent(want, key),
           value_or_absent(came, key));
  }
}

}  // namespace headroom
