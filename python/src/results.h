// The engine's answers as values of headroom/_results.py. Everything here needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace headroom::python {

nanobind::str text(std::string_view value);
nanobind::list texts(const std::vector<std::string>& values);
// A new value of the class, with these fields in their order.
template <typename... Fields>
nanobind::object make(const char* type, Fields&&... fields) {
  return nanobind::module_::import_("headroom._results")
      .attr(type)(std::forward<Fields>(fields)...);
}
template <typename T, typename Present>
nanobind::list list_of(const std::vector<T>& values, Present present) {
  nanobind::list list;
  for (const T& value : values) list.append(present(value));
  return list;
}

nanobind::object decision_of(const Engine& engine, const Decision& decision);
nanobind::object placement_of(const Engine& engine, const Placement& placement);
nanobind::object node_detail_of(const Engine& engine, const NodeDetail& detail);
nanobind::object nodes_decision_of(NodesDecision&& decision);
nanobind::object explanation_of(const Explanation& explanation);
nanobind::object pre_filter_of(const PreFilterStatus& status);
nanobind::object post_filter_of(const Engine& engine, const PostFilter& answer);
nanobind::object pod_verdict_of(const Engine& engine, const PodVerdict& verdict);
nanobind::object elastic_quota_status_of(const ElasticQuotaStatus& status);
nanobind::object stats_of(const EngineStats& stats);

}  // namespace headroom::python
