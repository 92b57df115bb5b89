#include "tools/load/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "simulation/text/table.h"
#include "tools/load/latency_plot.h"

namespace headroom {

using nlohmann::ordered_json;

namespace {

std::string microseconds(double us) {
  return us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us / 1000);
}

std::string rate_text(double per_second) { return grouped(static_cast<std::int64_t>(per_second)); }

std::string loop_text(const LoadPlan& plan) {
  if (plan.rate > 0) {
    return fmt::format("open loop, {} requests/s, {} connection{}", rate_text(plan.rate),
                       plan.connections, plan.connections == 1 ? "" : "s");
  }
  return fmt::format("closed loop, {} connection{}, {} request{} under way on each",
                     plan.connections, plan.connections == 1 ? "" : "s", plan.depth,
                     plan.depth == 1 ? "" : "s");
}

void add_row(Table& table, const std::string& name, const LatencyHistogram& histogram,
             double per_second) {
  table.row({name, microseconds(histogram.quantile_us(0.5)),
             microseconds(histogram.quantile_us(0.9)), microseconds(histogram.quantile_us(0.99)),
             microseconds(histogram.quantile_us(0.999)), microseconds(histogram.max_us()),
             rate_text(per_second)});
}

}  // namespace

void print_outcome(const LoadOutcome& outcome) {
  if (outcome.fed_objects > 0) {
    fmt::print(
        "fed {} objects in {:.2f} s ({} a second)\n\n", grouped(outcome.fed_objects),
        outcome.feed_seconds,
        rate_text(static_cast<double>(outcome.fed_objects) / std::max(outcome.feed_seconds, 1e-9)));
  }
  if (outcome.limit_rate) {
    Table steps;
    steps.row({"offered requests/s", "p99"});
    for (const auto& [rate, p99] : outcome.limit_steps) {
      steps.row({rate_text(rate), microseconds(p99)});
    }
    fmt::print("looking for the rate at which p99 leaves {}\n{}",
               microseconds(outcome.limit_bound_us), steps.text());
    fmt::print("highest rate within the bound: {} requests/s\n\n", rate_text(*outcome.limit_rate));
  }
  const LoadResult& served = outcome.served;
  fmt::print("{}, {:.1f} s after {:.1f} s of warming up{}\n", loop_text(outcome.plan),
             served.seconds, outcome.plan.warm_up_seconds,
             outcome.plan.events_per_second > 0
                 ? fmt::format(", {} events/s beside it",
                               rate_text(static_cast<double>(served.events) /
                                         (outcome.plan.warm_up_seconds + served.seconds)))
                 : "");
  Table table;
  table.row({"", "p50", "p90", "p99", "p99.9", "max", "per second"});
  for (std::size_t k = 0; k < kLoadKinds; ++k) {
    const LatencyHistogram& histogram = served.latency[k];
    if (histogram.count() == 0) continue;
    add_row(table, fmt::format("headroomd, {}", to_string(static_cast<LoadKind>(k))), histogram,
            static_cast<double>(histogram.count()) / served.seconds);
  }
  if (outcome.echo) {
    const LatencyHistogram all = outcome.echo->all();
    add_row(table, fmt::format("echo of {}'s bytes", to_string(outcome.echo_kind)), all,
            static_cast<double>(all.count()) / outcome.echo->seconds);
  }
  fmt::print("{}", table.text());
  fmt::print(
      "\n{} pods decided ({} a second), {} without a node, {} reservations in conflict\n"
      "{} errors, {} lost{}\n",
      grouped(served.pods), rate_text(static_cast<double>(served.pods) / served.seconds),
      grouped(served.unplaced), grouped(served.conflicts), grouped(served.errors),
      grouped(served.lost), served.first_error.empty() ? "" : "; the first: " + served.first_error);
  if (!outcome.verified) {
    fmt::print("answers not verified: the facts are the server's own\n");
  } else if (*outcome.verified) {
    fmt::print("verified: the digest of all facts and {} answers equal the engine in process\n",
               outcome.verified_answers);
  } else {
    fmt::print("WRONG: {}\n", outcome.difference);
  }
  const unsigned cores = std::thread::hardware_concurrency();
  fmt::print(
      "{} processor{}: headroomd has one thread, the load another; {} polls {} us before it"
      " sleeps\n",
      cores, cores == 1 ? "" : "s", outcome.own_daemon ? "each" : "the load", outcome.busy_poll_us);
}

namespace {

ordered_json histogram_json(const LatencyHistogram& histogram, double seconds) {
  ordered_json result;
  result["count"] = histogram.count();
  result["per_second"] = seconds > 0 ? static_cast<double>(histogram.count()) / seconds : 0;
  for (const auto& [name, share] : {std::pair{"p50_us", 0.5}, std::pair{"p90_us", 0.9},
                                    std::pair{"p99_us", 0.99}, std::pair{"p99_9_us", 0.999}}) {
    result[name] = histogram.quantile_us(share);
  }
  result["max_us"] = histogram.max_us();
  result["buckets"] = ordered_json::array();
  for (const LatencyHistogram::Bucket& bucket : histogram.buckets()) {
    result["buckets"].push_back({{"up_to_us", bucket.up_to_us}, {"count", bucket.count}});
  }
  return result;
}

}  // namespace

ordered_json outcome_json(const LoadOutcome& outcome) {
  const LoadResult& served = outcome.served;
  ordered_json result;
  result["loop"] = loop_text(outcome.plan);
  result["seconds"] = served.seconds;
  result["fed_objects"] = outcome.fed_objects;
  result["feed_seconds"] = outcome.feed_seconds;
  for (std::size_t k = 0; k < kLoadKinds; ++k) {
    if (served.latency[k].count() == 0) continue;
    result["headroomd"][to_string(static_cast<LoadKind>(k))] =
        histogram_json(served.latency[k], served.seconds);
  }
  if (outcome.echo) {
    result["echo"][to_string(outcome.echo_kind)] =
        histogram_json(outcome.echo->all(), outcome.echo->seconds);
  }
  result["pods"] = served.pods;
  result["events"] = served.events;
  result["unplaced"] = served.unplaced;
  result["conflicts"] = served.conflicts;
  result["errors"] = served.errors;
  result["first_error"] = served.first_error;
  result["lost"] = served.lost;
  if (outcome.verified) result["verified"] = *outcome.verified;
  if (!outcome.difference.empty()) result["difference"] = outcome.difference;
  if (outcome.limit_rate) {
    result["limit"] = {{"p99_bound_us", outcome.limit_bound_us}, {"rate", *outcome.limit_rate}};
    for (const auto& [rate, p99] : outcome.limit_steps) {
      result["limit"]["steps"].push_back({{"rate", rate}, {"p99_us", p99}});
    }
  }
  result["seed"] = outcome.plan.seed;
  result["processors"] = std::thread::hardware_concurrency();
  return result;
}

std::string outcome_plot(const LoadOutcome& outcome) {
  std::vector<std::pair<std::string, const LatencyHistogram*>> lines;
  for (std::size_t k = 0; k < kLoadKinds; ++k) {
    lines.emplace_back(to_string(static_cast<LoadKind>(k)), &outcome.served.latency[k]);
  }
  LatencyHistogram echo;
  if (outcome.echo) echo = outcome.echo->all();
  lines.emplace_back("echo", &echo);
  return latency_plot("headroomd: " + loop_text(outcome.plan), lines);
}

}  // namespace headroom
