// Feeds a headroomd, loads it, compares it with an echo server, and prints what it saw.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "engine/profile/profile_reader.h"
#include "simulation/input/dump.h"
#include "simulation/text/printable.h"
#include "tools/command/command_line.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/progress.h"
#include "tools/command/text_output.h"
#include "tools/load/daemon_process.h"
#include "tools/load/echo_server.h"
#include "tools/load/report.h"
#include "tools/load/run.h"
#include "tools/load/verify.h"
#include "workloads/cluster_generator.h"
#include "workloads/temporary_directory.h"

namespace headroom {
namespace {

constexpr std::uint32_t kLoadNodesMax = 1'000'000;
constexpr std::uint32_t kLoadPodsMax = 20'000'000;
constexpr double kLoadSecondsMax = 86'400;
constexpr double kRateMax = 10'000'000;
constexpr std::uint32_t kPodsPerNode = 10;
// --find-limit: where it begins, and how close two rates may come.
constexpr double kFirstRate = 1000;
constexpr double kRatesApart = 1.1;

struct LoadOptions {
  std::string endpoint, config, mix = "evaluate=1", out, plot;
  bool replace_facts = false, no_echo = false, json = false, no_scores = false;
  std::uint32_t nodes = 5000;
  std::optional<std::uint32_t> pods;
  std::vector<std::string> cluster_files;
  LoadPlan plan;
  std::optional<double> find_limit_us;
  std::uint32_t verify = 64;
  std::int64_t busy_poll_us = 50;
  ClientTls tls;

  ClientOptions client() const {
    ClientOptions client;
    client.name = "headroom-load";
    client.socket.busy_poll = std::chrono::microseconds(busy_poll_us);
    client.socket.timeout = std::chrono::seconds(30);
    client.socket.tls = tls;
    return client;
  }
};

// "evaluate=9,reserve=1"
Result<std::array<std::uint32_t, kLoadKinds>> parse_mix(const std::string& text) {
  std::array<std::uint32_t, kLoadKinds> mix{};
  const auto refuse = [&] {
    return fail(ErrorCode::kInvalid,
                fmt::format("--mix {}: shares of evaluate, reserve and place, as in"
                            " evaluate=9,reserve=1",
                            text));
  };
  std::uint64_t sum = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    bool known = false;
    for (std::size_t k = 0; k < kLoadKinds && equals != std::string::npos; ++k) {
      if (part.substr(0, equals) != to_string(static_cast<LoadKind>(k))) continue;
      const std::string digits = part.substr(equals + 1);
      if (digits.empty() || digits.size() > 6 ||
          digits.find_first_not_of("0123456789") != std::string::npos) {
        return refuse();
      }
      mix[k] = static_cast<std::uint32_t>(std::stoul(digits));
      sum += mix[k];
      known = true;
    }
    if (!known) return refuse();
    begin = end + 1;
  }
  return sum > 0 ? Result<std::array<std::uint32_t, kLoadKinds>>(mix) : refuse();
}

Result<LoadFacts::Objects> read_objects(const LoadOptions& options) {
  LoadFacts::Objects objects;
  if (!options.cluster_files.empty()) {
    Result<Dump> dump = read_dump(options.cluster_files);
    if (!dump) return tl::unexpected(dump.error());
    report_oddities(*dump, "load");
    objects.now_us = newest_time_us(*dump, kTraceStartUs);
    static_cast<ObjectLists&>(objects) = std::move(*dump);
    return objects;
  }
  const ClusterGenerator generator({.nodes = options.nodes,
                                    .pods = options.pods.value_or(options.nodes * kPodsPerNode),
                                    .seed = options.plan.seed});
  const ClusterGenerator::Options& generated = generator.options();
  objects.now_us = generated.now_us;
  for (std::uint32_t n = 0; n < generated.nodes; ++n) {
    objects.nodes.push_back(generator.node(n));
    if (generator.has_node_metric(n)) objects.node_metrics.push_back(generator.node_metric(n));
  }
  for (std::uint32_t p = 0; p < generated.pods; ++p) objects.pods.push_back(generator.pod(p));
  return objects;
}

class LoadCommand {
 public:
  explicit LoadCommand(const LoadOptions& options) : options_(options) {}

  Result<LoadOutcome> run() {
    if (auto prepared = prepare(); !prepared) return tl::unexpected(prepared.error());
    LoadOutcome outcome;
    outcome.busy_poll_us = options_.busy_poll_us;
    outcome.own_daemon = options_.endpoint.empty();
    outcome.verified_answers = options_.verify;
    if (feeder_ != nullptr) {
      if (auto fed = feed(outcome); !fed) return tl::unexpected(fed.error());
      if (auto verified = verify(outcome); !verified) return tl::unexpected(verified.error());
    }
    outcome.plan = options_.plan;
    LoadRun runner(endpoint_, options_.client(), *facts_, feeder_.get());
    if (options_.find_limit_us) {
      if (auto found = find_limit(runner, outcome); !found) return tl::unexpected(found.error());
    }
    Result<LoadResult> served = run_once(runner, outcome.plan);
    if (!served) return tl::unexpected(served.error());
    outcome.served = std::move(*served);
    if (!options_.no_echo) {
      if (auto echoed = echo(runner, outcome); !echoed) return tl::unexpected(echoed.error());
    }
    if (feeder_ != nullptr && !(outcome.verified && !*outcome.verified)) {
      if (auto verified = verify(outcome); !verified) return tl::unexpected(verified.error());
    }
    return outcome;
  }

 private:
  Result<void> prepare() {
    Profile profile = Profile::standard();
    if (!options_.config.empty()) {
      Result<Profile> read = read_profile_file(options_.config);
      if (!read) return tl::unexpected(read.error());
      profile = std::move(*read);
    }
    Result<LoadFacts::Objects> objects = read_objects(options_);
    if (!objects) return tl::unexpected(objects.error());
    auto facts = LoadFacts::create(std::move(*objects), profile, options_.plan.seed);
    if (!facts) return tl::unexpected(facts.error());
    facts_ = std::move(*facts);
    if (auto opened = open_server(); !opened) return opened;
    if (options_.endpoint.empty() || options_.replace_facts) {
      Feeder::Options feeding;
      feeding.client = options_.client();
      feeding.client.name = "headroom-load-feeder";
      feeding.clock = [this] { return facts_->now_us(); };
      feeding.on_refused = [](const Error& error) {
        print_error("load", "refused: " + error.message);
      };
      feeder_ =
          std::make_unique<Feeder>(endpoint_, std::move(feeding),
                                   [this](const Feeder::Emit& emit) { facts_->for_each(emit); });
    } else if (options_.plan.events_per_second > 0) {
      return fail(ErrorCode::kInvalid,
                  "--events changes the facts of the server: give --replace-facts as well");
    }
    return {};
  }

  Result<void> open_server() {
    if (!options_.endpoint.empty()) {
      Result<Endpoint> endpoint = Endpoint::parse(options_.endpoint);
      if (!endpoint) return tl::unexpected(endpoint.error());
      endpoint_ = *endpoint;
      return {};
    }
    Result<TemporaryDirectory> directory = TemporaryDirectory::make("headroom-load");
    if (!directory) return tl::unexpected(directory.error());
    directory_.emplace(std::move(*directory));
    endpoint_.path = directory_->path() + "/headroomd.sock";
    std::vector<std::string> arguments = {"--listen",       endpoint_.text(),
                                          "--metrics",      "none",
                                          "--log-level",    "warning",
                                          "--threads",      "1",
                                          "--busy-poll-us", fmt::to_string(options_.busy_poll_us)};
    if (!options_.config.empty()) {
      arguments.insert(arguments.end(), {"--profile", options_.config});
    }
    auto daemon =
        DaemonProcess::start(headroomd_beside_this_program(), std::move(arguments), endpoint_);
    if (!daemon) return tl::unexpected(daemon.error());
    daemon_.emplace(std::move(*daemon));
    return {};
  }

  Result<void> feed(LoadOutcome& outcome) {
    const auto start = std::chrono::steady_clock::now();
    if (auto fed = feeder_->resync(); !fed) return fed;
    if (auto applied = feeder_->barrier(); !applied) return tl::unexpected(applied.error());
    outcome.feed_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    outcome.fed_objects = facts_->object_count();
    return {};
  }

  // A difference is an outcome, another error is one.
  Result<void> verify(LoadOutcome& outcome) {
    if (options_.verify == 0) return {};
    const auto same =
        verify_server(endpoint_, options_.client(), *facts_, *feeder_, options_.verify);
    if (!same && same.error().code != ErrorCode::kConflict) return same;
    outcome.verified = same.has_value();
    if (!same) outcome.difference = same.error().message;
    return {};
  }

  Result<LoadResult> run_once(LoadRun& runner, const LoadPlan& plan) {
    ProgressBar bar(plan.rate > 0 ? fmt::format("{:.0f} requests/s, ms", plan.rate) : "load, ms",
                    static_cast<std::uint64_t>((plan.warm_up_seconds + plan.seconds) * 1000));
    return runner.run(
        plan, [&](double seconds) { bar.update(static_cast<std::uint64_t>(seconds * 1000)); });
  }

  // Doubles the rate until the bound is left, then closes in.
  Result<void> find_limit(LoadRun& runner, LoadOutcome& outcome) {
    double good = 0, bad = 0;
    LoadPlan plan = options_.plan;
    plan.rate = plan.rate > 0 ? plan.rate : kFirstRate;
    while ((bad == 0 || bad / std::max(good, 1.0) > kRatesApart) && plan.rate < kRateMax) {
      const Result<LoadResult> result = run_once(runner, plan);
      if (!result) return tl::unexpected(result.error());
      const double p99 = result->all().quantile_us(0.99);
      outcome.limit_steps.emplace_back(plan.rate, p99);
      const bool held = p99 <= *options_.find_limit_us && result->lost == 0 && result->errors == 0;
      (held ? good : bad) = plan.rate;
      if (bad == 0) {
        plan.rate *= 2;
      } else if (good == 0) {
        if (plan.rate < 1) break;
        plan.rate /= 2;
      } else {
        plan.rate = (good + bad) / 2;
      }
    }
    outcome.limit_rate = good;
    outcome.limit_bound_us = *options_.find_limit_us;
    outcome.plan.rate = std::max(good, 1.0);
    return {};
  }

  // The same loop against an echo server on the same transport.
  Result<void> echo(LoadRun& runner, LoadOutcome& outcome) {
    const LoadPlan& plan = outcome.plan;
    outcome.echo_kind = static_cast<LoadKind>(std::max_element(plan.mix.begin(), plan.mix.end()) -
                                              plan.mix.begin());
    const Result<LoadSample> sample = runner.sample(plan, outcome.echo_kind);
    if (!sample) return tl::unexpected(sample.error());
    Endpoint endpoint;
    if (endpoint_.kind == Endpoint::Kind::kUnix) {
      if (!directory_) {
        Result<TemporaryDirectory> directory = TemporaryDirectory::make("headroom-load");
        if (!directory) return tl::unexpected(directory.error());
        directory_.emplace(std::move(*directory));
      }
      endpoint.path = directory_->path() + "/echo.sock";
    } else {
      // Without TLS: what that costs is in the difference.
      endpoint.kind = Endpoint::Kind::kTcp;
      endpoint.host = "127.0.0.1";
    }
    const auto server = EchoServer::start(endpoint, sample->reply,
                                          std::chrono::microseconds(options_.busy_poll_us));
    if (!server) return tl::unexpected(server.error());
    Result<LoadResult> result =
        LoadRun::run_echo((*server)->endpoint(), options_.client().socket, plan, *sample);
    if (!result) return tl::unexpected(result.error());
    outcome.echo = std::move(*result);
    return {};
  }

  const LoadOptions& options_;
  Endpoint endpoint_;
  std::optional<TemporaryDirectory> directory_;
  std::optional<DaemonProcess> daemon_;
  std::unique_ptr<LoadFacts> facts_;
  std::unique_ptr<Feeder> feeder_;
};

Result<void> write_file(const std::string& path, const std::string& content) {
  Result<TextOutput> output = TextOutput::open(path);
  if (!output) return tl::unexpected(output.error());
  output->text() = content;
  return output->close();
}

// --- The command. ------------------------------------------------------------------------------

Result<int> run(LoadOptions& options) {
  const auto mix = parse_mix(options.mix);
  if (!mix) return tl::unexpected(mix.error());
  options.plan.mix = *mix;
  options.plan.scores = !options.no_scores;
  const Result<LoadOutcome> outcome = LoadCommand(options).run();
  if (!outcome) return tl::unexpected(outcome.error());
  if (options.json) {
    fmt::print("{}\n", outcome_json(*outcome).dump(2));
  } else {
    print_outcome(*outcome);
  }
  if (!options.out.empty()) {
    auto written = write_file(options.out, outcome_json(*outcome).dump(2) + "\n");
    if (!written) return tl::unexpected(written.error());
  }
  if (!options.plot.empty()) {
    if (auto written = write_file(options.plot, outcome_plot(*outcome)); !written) {
      return tl::unexpected(written.error());
    }
  }
  return outcome->failed() ? kExitFailures : kExitSuccess;
}

}  // namespace

void add_load_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<LoadOptions>();
  LoadPlan& plan = options->plan;
  CLI::App* command =
      app.add_subcommand("load", "Load a headroomd, beside an echo server on the same transport");
  CLI::Option* endpoint =
      command
          ->add_option("--endpoint", options->endpoint,
                       "A running headroomd: unix:///PATH, tcp://ADDRESS:PORT or"
                       " tls://ADDRESS:PORT; default: starts its own")
          ->type_name("ENDPOINT");
  command
      ->add_flag("--replace-facts", options->replace_facts,
                 "Feed the running headroomd: ITS FACTS ARE REPLACED")
      ->needs(endpoint);
  CLI::Option* nodes = add_number(*command, "--nodes", options->nodes, 1, kLoadNodesMax,
                                  "Generate a cluster of so many nodes");
  add_number(*command, "--pods", options->pods, 1, kLoadPodsMax,
             "With so many pods (default: 10 for each node)");
  command->add_option("--cluster", options->cluster_files, "What kubectl printed (JSON or YAML)")
      ->type_name("FILE")
      ->excludes(nodes);
  command
      ->add_option("--config", options->config,
                   "Profile of the headroomd, a running one's too (YAML)")
      ->type_name("FILE");
  add_number(*command, "--seconds", plan.seconds, 0.1, kLoadSecondsMax, "How long a run takes");
  add_number(*command, "--warm-up", plan.warm_up_seconds, 0.0, kLoadSecondsMax,
             "Seconds of the same before that, which are not measured");
  add_number(*command, "--connections", plan.connections, 1, kLoadConnectionsMax,
             "Connections that ask");
  CLI::Option* depth = add_number(*command, "--depth", plan.depth, 1, kLoadDepthMax,
                                  "Closed loop: requests under way on each");
  command->add_option("--rate", plan.rate, "Open loop: requests a second, whatever the server does")
      ->check(between(0.1, kRateMax))
      ->type_name("NUMBER")
      ->excludes(depth);
  command->add_option("--events", plan.events_per_second, "Changes of facts a second beside it")
      ->check(between(0.0, kRateMax))
      ->type_name("NUMBER");
  command->add_option("--mix", options->mix, "Shares of evaluate, reserve and place")
      ->type_name("KIND=SHARE,...")
      ->capture_default_str();
  add_number(*command, "--top-k", plan.top_k, 1, 1024, "Nodes of an answer");
  command->add_flag("--no-scores", options->no_scores, "Answers without scores per plugin");
  add_number(*command, "--place-pods", plan.place_pods, 1, kPodsPerRequestMax,
             "Pods of a place request");
  add_number(*command, "--find-limit", options->find_limit_us, 1.0, 1e9,
             "Raise the rate until p99 leaves this bound")
      ->type_name("MICROSECONDS")
      ->excludes(depth);
  command->add_option("--verify", options->verify, "Answers held against an engine in process")
      ->type_name("NUMBER")
      ->capture_default_str();
  command->add_flag("--no-echo", options->no_echo, "Leave the echo server out");
  add_number(*command, "--busy-poll-us", options->busy_poll_us, 0, 10'000,
             "What the load polls before it sleeps, and a headroomd of its own");
  add_number(*command, "--seed", plan.seed, 0, kSeedMax, "Of the cluster, the mix and the events");
  command->add_option("--out", options->out, "Write the figures and histograms as JSON")
      ->type_name("FILE");
  command->add_option("--plot", options->plot, "Draw the quantiles (SVG)")->type_name("FILE");
  command->add_flag("--json", options->json, "Print what --out writes");
  command->add_option("--tls-certificate", options->tls.certificate, "PEM file, for tls://")
      ->type_name("FILE");
  command->add_option("--tls-key", options->tls.key, "PEM file, for tls://")->type_name("FILE");
  command->add_option("--tls-server-ca", options->tls.server_ca, "PEM file, for tls://")
      ->type_name("FILE");
  command->add_option("--tls-server-name", options->tls.server_name,
                      "In the server's certificate; default: its address");
  command->footer(
      R"(A latency of the closed loop counts from when its request was sent, one of the open loop from
when it was due. What is reserved is given back, so that the cluster stays as it was. Without
--endpoint the daemon is the headroomd beside this program, fed with the cluster; its answers and the
digest of its facts are compared with an engine in this process, before and after.
Exit code 1: errors, lost requests or wrong answers.

Examples:
  headroom load                                      5,000 nodes, one request at a time
  headroom load --nodes 50000 --depth 32             what one connection can carry
  headroom load --rate 20000 --events 5000 --plot latency.svg
  headroom load --mix evaluate=3,reserve=1 --connections 8
  headroom load --find-limit 300                     the highest rate with p99 below 300 us
  headroom load --endpoint unix:///run/headroom/headroom.sock
)");
  command->callback([options, &exit_code] {
    const Result<int> code = run(*options);
    if (!code) print_error("load", code.error().message);
    exit_code = code ? *code : kExitBadInput;
  });
}

}  // namespace headroom
