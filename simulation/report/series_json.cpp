#include "simulation/report/series_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "objects/text/time_text.h"
#include "simulation/figures/ranks.h"
#include "simulation/text/resource_text.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

double percent(std::int64_t permille) { return static_cast<double>(permille) / 10; }

// An entry for each sample.
template <typename F>
ordered_json column(const SimulationSeries& series, F f) {
  ordered_json column = ordered_json::array();
  for (const Sample& sample : series.samples) column.push_back(f(sample));
  return column;
}

ordered_json measure_json(const SimulationSeries& series, std::size_t resource, Measure measure) {
  const auto m = static_cast<std::size_t>(measure);
  const auto shares = [&](std::int64_t Distribution::*quantile) {
    return column(series,
                  [&](const Sample& at) { return percent(at.by_nodes[m][resource].*quantile); });
  };
  ordered_json json;
  json["sum"] = column(series, [&](const Sample& at) { return at.sums[m][resource]; });
  json["mean"] = shares(&Distribution::mean);
  json["p50"] = shares(&Distribution::p50);
  json["p90"] = shares(&Distribution::p90);
  json["p99"] = shares(&Distribution::p99);
  json["max"] = shares(&Distribution::max);
  json["nodes_above_100"] =
      column(series, [&](const Sample& at) { return at.by_nodes[m][resource].above_allocatable; });
  if (hot_percent(series.resources[resource]) > 0) {
    json["hot_nodes"] =
        column(series, [&](const Sample& at) { return at.by_nodes[m][resource].hot; });
  }
  json["nodes"] = column(
      series, [&](const Sample& at) { return ordered_json(at.by_nodes[m][resource].buckets); });
  return json;
}

ordered_json summary_json(const MeasureSummary& at, bool has_threshold) {
  ordered_json json = {{"mean_percent", at.mean_percent},
                       {"p99_percent", at.p99_percent},
                       {"max_percent", at.max_percent},
                       {"nodes_above_100", at.nodes_above_100},
                       {"nodes_above_100_max", at.nodes_above_100_max}};
  if (has_threshold) {
    json["hot_nodes"] = at.hot_nodes;
    json["hot_nodes_max"] = at.hot_nodes_max;
  }
  return json;
}

using ElasticQuotaAmount = std::int64_t ElasticQuotaLedger::Standing::*;

ordered_json elastic_quota_totals_json(const SimulationSeries& series) {
  ordered_json totals = ordered_json::array();
  const std::size_t resources = series.quota_resources.size();
  for (std::size_t r = 0; r < resources; ++r) {
    const auto total = [&](ElasticQuotaAmount amount) {
      return column(series, [&](const Sample& sample) {
        std::int64_t sum = 0;
        for (std::size_t at = r; at < sample.quotas.size(); at += resources) {
          sum += sample.quotas[at].*amount;
        }
        return sum;
      });
    };
    totals.push_back({{"name", series.quota_resources[r]},
                      {"unit", unit_of(series.quota_resources[r])},
                      {"used", total(&ElasticQuotaLedger::Standing::used)},
                      {"borrowed", total(&ElasticQuotaLedger::Standing::borrowed)},
                      {"lent", total(&ElasticQuotaLedger::Standing::lent)}});
  }
  return totals;
}

ordered_json elastic_quotas_json(const SimulationSeries& series) {
  const auto activity = [&](std::size_t q) {
    const ElasticQuotaReport& quota = series.quotas[q];
    double shares = 0;  // of mins that were borrowed or lent, to rank those that lost nobody
    for (const ElasticQuotaResourceReport& at : quota.resources) {
      const double moved =
          static_cast<double>(at.peak_borrowed) + static_cast<double>(at.peak_lent);
      shares += moved / static_cast<double>(std::max<std::int64_t>(at.min, 1));
    }
    return std::pair(quota.reclaimed_pods + quota.given_back_pods + quota.own_victims, shares);
  };
  ordered_json quotas = ordered_json::array();
  for (const std::size_t q : highest(series.quotas.size(), kElasticQuotaSeriesMax, activity)) {
    const ElasticQuotaReport& quota = series.quotas[q];
    ordered_json resources = ordered_json::array();
    for (const ElasticQuotaResourceReport& at : quota.resources) {
      const auto found =
          std::find(series.quota_resources.begin(), series.quota_resources.end(), at.resource);
      const std::size_t place = q * series.quota_resources.size() +
                                static_cast<std::size_t>(found - series.quota_resources.begin());
      const auto amounts = [&](ElasticQuotaAmount amount) {
        return column(series, [&](const Sample& sample) { return sample.quotas[place].*amount; });
      };
      ordered_json resource = {{"name", at.resource},
                               {"unit", unit_of(at.resource)},
                               {"min", at.min},
                               {"max", at.max},
                               {"used", amounts(&ElasticQuotaLedger::Standing::used)},
                               {"borrowed", amounts(&ElasticQuotaLedger::Standing::borrowed)},
                               {"lent", amounts(&ElasticQuotaLedger::Standing::lent)}};
      if (at.max == INT64_MAX) resource["max"] = nullptr;
      resources.push_back(std::move(resource));
    }
    quotas.push_back({{"namespace", quota.namespace_name},
                      {"name", quota.name},
                      {"resources", std::move(resources)}});
  }
  return quotas;
}

ordered_json capacity_quotas_json(const SimulationReport& report) {
  const SimulationSeries& series = *report.series;
  const auto blocked_us = [&](std::size_t limit) {
    for (const CapacityQuotaReport& quota : report.growth->autoscaler.quotas) {
      if (quota.id != series.limits[limit].quota) continue;
      for (const LimitReport& at : quota.limits) {
        if (at.resource == series.limits[limit].resource) return at.block.blocked_us;
      }
    }
    return std::int64_t{0};
  };
  ordered_json limits = ordered_json::array();
  for (const std::size_t l : highest(series.limits.size(), kLimitSeriesMax, blocked_us)) {
    const auto amounts = [&](Int128 Sample::CapacityLimit::*amount) {
      return column(series,
                    [&](const Sample& at) { return saturated(at.capacity_limits[l].*amount); });
    };
    limits.push_back({{"quota", series.limits[l].quota},
                      {"resource", series.limits[l].resource},
                      {"unit", unit_of(series.limits[l].resource)},
                      {"limit", amounts(&Sample::CapacityLimit::limit)},
                      {"used", amounts(&Sample::CapacityLimit::used)},
                      {"reserved", amounts(&Sample::CapacityLimit::reserved)},
                      {"nodes_refused", column(series, [&](const Sample& at) {
                         return at.capacity_limits[l].nodes_refused;
                       })}});
  }
  return limits;
}

bool is_flat(const ordered_json& json) {
  return json.is_array() && std::none_of(json.begin(), json.end(), [](const ordered_json& item) {
           return item.is_structured();
         });
}

void append_json_text(std::string& text, const ordered_json& json, std::size_t indent) {
  if (!json.is_structured() || json.empty() || is_flat(json)) {
    text += json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    return;
  }
  text += json.is_array() ? "[" : "{";
  const char* separator = "\n";
  for (const auto& [key, value] : json.items()) {
    text += separator;
    text.append(indent + 2, ' ');
    if (json.is_object()) {
      append_json_text(text, key, 0);
      text += ": ";
    }
    append_json_text(text, value, indent + 2);
    separator = ",\n";
  }
  text += '\n';
  text.append(indent, ' ');
  text += json.is_array() ? ']' : '}';
}

}  // namespace

const char* to_string(Measure measure) {
  switch (measure) {
    case Measure::kRequested:
      return "requested";
    case Measure::kLimits:
      return "limits";
    case Measure::kEstimated:
      return "estimated_usage";
    case Measure::kUsage:
      return "usage";
  }
  return "";
}

bool has_measure(const std::string& resource, Measure measure) {
  return measure == Measure::kRequested || measure == Measure::kLimits || resource == "cpu" ||
         resource == "memory";
}

MeasureSummary summary(const SimulationSeries& series, std::size_t resource, Measure measure) {
  MeasureSummary of_all;
  for (const Sample& sample : series.samples) {
    const Distribution& at = sample.by_nodes[static_cast<std::size_t>(measure)][resource];
    of_all.mean_percent += percent(at.mean);
    of_all.p99_percent += percent(at.p99);
    of_all.max_percent = std::max(of_all.max_percent, percent(at.max));
    of_all.nodes_above_100 += at.above_allocatable;
    of_all.nodes_above_100_max = std::max(of_all.nodes_above_100_max, at.above_allocatable);
    of_all.hot_nodes += at.hot;
    of_all.hot_nodes_max = std::max(of_all.hot_nodes_max, at.hot);
  }
  const auto samples = static_cast<double>(series.samples.size());
  of_all.mean_percent /= samples;
  of_all.p99_percent /= samples;
  of_all.nodes_above_100 /= samples;
  of_all.hot_nodes /= samples;
  return of_all;
}

ordered_json series_json(const SimulationReport& report) {
  const SimulationSeries& series = *report.series;
  const std::int64_t from_us = series.samples.front().time_us;
  const auto number = [&](auto Sample::*member) {
    return column(series, [&](const Sample& at) { return at.*member; });
  };
  ordered_json json = {{"axis", series.over_decisions ? "decisions" : "time"},
                       {"from", time_text(from_us)}};
  json["seconds"] = column(series, [&](const Sample& at) {
    return static_cast<double>(at.time_us - from_us) / kMicrosPerSecond;
  });
  json["decisions"] = number(&Sample::decisions);
  json["nodes"] = number(&Sample::nodes);
  json["pods"] = number(&Sample::pods);
  json["pending"] = number(&Sample::pending);
  json["placed"] = number(&Sample::placed);
  json["failed"] = number(&Sample::failed);
  json["preemptors"] = number(&Sample::preemptors);
  json["victims"] = number(&Sample::victims);
  json["victims_placed_again"] = number(&Sample::victims_placed_again);
  json["failures"] = ordered_json::array();
  for (std::size_t r = 0; r < series.reasons.size(); ++r) {
    json["failures"].push_back(
        {{"reason", series.reasons[r]}, {"pods", column(series, [&](const Sample& at) {
                                           return r < at.failures.size() ? at.failures[r] : 0;
                                         })}});
  }
  json["bucket_percent"] = ordered_json::array();
  for (std::size_t b = 0; b + 1 < kBuckets; ++b) {
    json["bucket_percent"].push_back(static_cast<std::int64_t>(b) * kBucketPercent);
  }
  json["bucket_percent"].push_back(nullptr);
  json["resources"] = ordered_json::array();
  json["summary"] = ordered_json::object();
  for (std::size_t r = 0; r < series.resources.size(); ++r) {
    const std::string& name = series.resources[r];
    if (!report.has_resource(name)) continue;
    const std::int64_t threshold = hot_percent(name);
    ordered_json resource = {{"name", name}, {"unit", unit_of(name)}};
    resource["allocatable"] = column(series, [&](const Sample& at) { return at.allocatable[r]; });
    if (threshold > 0) resource["hot_percent"] = threshold;
    for (std::size_t m = 0; m < kMeasures; ++m) {
      const auto measure = static_cast<Measure>(m);
      if (!has_measure(name, measure)) continue;
      resource[to_string(measure)] = measure_json(series, r, measure);
      json["summary"][name][to_string(measure)] =
          summary_json(summary(series, r, measure), threshold > 0);
    }
    json["resources"].push_back(std::move(resource));
  }
  if (!series.quotas.empty()) {
    json["elastic_quota_totals"] = elastic_quota_totals_json(series);
    json["elastic_quotas"] = elastic_quotas_json(series);
  }
  if (!series.limits.empty()) json["capacity_quotas"] = capacity_quotas_json(report);
  return json;
}

ordered_json decisions_per_second_json(const SimulationSeries& series) {
  ordered_json json = ordered_json::array();
  const Sample* before = nullptr;
  for (const Sample& at : series.samples) {
    const auto decisions =
        static_cast<double>(before == nullptr ? at.decisions : at.decisions - before->decisions);
    const double seconds = at.busy_seconds - (before == nullptr ? 0 : before->busy_seconds);
    json.push_back(decisions > 0 && seconds > 0 ? ordered_json(std::round(decisions / seconds))
                                                : ordered_json(nullptr));
    before = &at;
  }
  return json;
}

std::string json_text(const ordered_json& json) {
  std::string text;
  append_json_text(text, json, 0);
  return text;
}

}  // namespace headroom
