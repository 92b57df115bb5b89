#include "server/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>

#include "engine/limits.h"
#include "engine/profile/config_value.h"
#include "server/service/memory_budget.h"
#include "server/sockets/event_loop.h"

namespace headroom {

namespace {

constexpr const char* kDefaultMetrics = "127.0.0.1:8612";
constexpr std::int64_t kBusyPollUsMax = 10'000;
constexpr std::int64_t kCacheMebibytesMax = 1 << 20;
// CLI11 takes a negative number for one of the greatest.
constexpr std::uint64_t kTieSeedMax = INT64_MAX;
constexpr std::int64_t kMemoryMebibytesMin = 64;
constexpr std::int64_t kMemoryMebibytesMax = 16 << 20;
constexpr std::int64_t kReservationSecondsMin = 10;
constexpr std::int64_t kReservationSecondsMax = 24 * 60 * 60;
constexpr int kExitBadInput = 2;

constexpr const char* kFooter = R"(A configuration file is YAML with the same names:

  listen: ["unix:///run/headroom/headroom.sock", "tls://10.0.0.7:8611"]
  socket-mode: "0660"
  allow-user: [kube-scheduler]
  feeder: ["user:kube-scheduler", "cert:headroom-feeder"]
  tls-certificate: /etc/headroom/tls.crt
  tls-key: /etc/headroom/tls.key
  tls-client-ca: /etc/headroom/ca.crt
  profile: /etc/headroom/profile.yaml
  metrics: 0.0.0.0:8612

Flags win over the file. SIGHUP reads the profile and the certificates again; SIGTERM stops after the
last replies. Under systemd, sockets come from the socket unit where there is one.
Exit codes: 0 it stopped as asked; 1 it could not run (the profile or a certificate cannot be used,
or an address cannot be listened on); 2 the command line or the file of options cannot be used.)";

// CLI11 reads its options from this as it does from flags.
class YamlConfig : public CLI::Config {
 public:
  explicit YamlConfig(const CLI::App& app) : app_(app) {}

  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

  // The line of the option that a message like "--threads: ..." is about; 0: not of the file.
  int line_of(const std::string& message) const {
    for (const auto& [name, line] : lines_) {
      if (message.starts_with("--" + name + ":")) return line;
    }
    return 0;
  }

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> read;
    lines_.clear();
    std::string text(kConfigBytesMax + 1, '\0');  // One more than may be, so that too many shows.
    input.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(input.gcount()));
    const auto documents = read_yaml(text, kConfigLimits);
    if (!documents) throw CLI::ConfigError("--config: " + documents.error().text());
    if (documents->size() > 1) throw CLI::ConfigError("--config: the file has a second document");
    if (documents->empty() || documents->front().kind == YamlValue::Kind::kNull) return read;
    const YamlValue& file = documents->front();
    if (file.kind != YamlValue::Kind::kMap) {
      throw CLI::ConfigError("--config: the file is not a map of options");
    }
    for (std::size_t i = 0; i + 1 < file.items.size(); i += 2) {
      const YamlValue& key = file.items[i];
      if (key.kind != YamlValue::Kind::kScalar) {
        throw CLI::ConfigError(
            fmt::format("--config: line {}: the name of an option is expected", key.line));
      }
      const std::string& name = key.scalar;
      if (const auto [first, is_new] = lines_.emplace(name, key.line); !is_new) {
        throw CLI::ConfigError(fmt::format("--config: line {}: \"{}\" stands in line {} already",
                                           key.line, name, first->second));
      }
      if (name == "config" || app_.get_option_no_throw("--" + name) == nullptr) {
        throw CLI::ConfigError(
            fmt::format("--config: line {}: \"{}\" is no option; see --help", key.line, name));
      }
      CLI::ConfigItem item;
      item.name = name;
      for (const YamlValue& value : values_of(file.items[i + 1])) {
        if (value.kind != YamlValue::Kind::kScalar) {
          throw CLI::ConfigError(
              fmt::format("--config: line {}: {}: a text, a number or a list of"
                          " them is expected",
                          key.line, name));
        }
        item.inputs.push_back(value.scalar);
      }
      read.push_back(std::move(item));
    }
    return read;
  }

 private:
  static std::vector<YamlValue> values_of(const YamlValue& value) {
    return value.kind == YamlValue::Kind::kList ? value.items : std::vector<YamlValue>{value};
  }

  const CLI::App& app_;
  mutable std::map<std::string, int> lines_;
};

// Throws what CLI11 prints.
template <typename T>
T value_of(const char* option, Result<T> result) {
  if (!result) throw CLI::ValidationError(option, result.error().message);
  return std::move(*result);
}

// Not given: everybody.
Access::List list_of(const char* option, const std::vector<std::string>& principals) {
  if (principals.empty()) return std::nullopt;
  Access::List list(std::in_place);
  for (const std::string& text : principals) list->insert(value_of(option, parse_principal(text)));
  return list;
}

std::uint32_t mode_bits(const std::string& text) {
  std::uint32_t mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc() || end != text.data() + text.size() || mode > 0777) {
    throw CLI::ValidationError("--socket-mode",
                               fmt::format("\"{}\": octal digits up to 0777", text));
  }
  return mode;
}

// By name, each once.
StringMap alias_map(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> aliases;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      throw CLI::ValidationError(
          "--capacity-quota-alias",
          fmt::format("\"{}\": NAME=RESOURCE, as in gpu=nvidia.com/gpu", text));
    }
    if (!aliases.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      throw CLI::ValidationError(
          "--capacity-quota-alias",
          fmt::format("\"{}\": \"{}\" has another already", text, text.substr(0, equals)));
    }
  }
  return {aliases.begin(), aliases.end()};
}

void read(CLI::App& app, const std::shared_ptr<YamlConfig>& config, int argc, char** argv,
          DaemonOptions& options) {
  std::vector<std::string> endpoints, users, feeders, deciders, viewers, aliases;
  std::string mode = "0600", metrics = kDefaultMetrics;
  std::int64_t busy_poll_us = default_busy_poll().count();
  std::int64_t memory_mebibytes = 0;
  std::int64_t reservation_seconds = options.reservation_time.count();
  std::int64_t cache_mebibytes =
      static_cast<std::int64_t>(options.engine.shape_cache_bytes_max >> 20);

  app.set_config("--config", "", "YAML file with these options");
  app.config_formatter(config);
  app.add_option("--listen", endpoints,
                 "unix:///PATH, tcp://ADDRESS:PORT (loopback) or tls://ADDRESS:PORT; default:"
                 " headroom.sock in the runtime directory")
      ->type_name("ENDPOINT")
      ->allow_extra_args(false);
  app.add_option("--socket-mode", mode, "Of Unix sockets")->capture_default_str();
  app.add_option("--allow-user", users,
                 "Who may connect to Unix sockets, by name or number, beside the daemon's own user;"
                 " default: whom the mode lets in")
      ->allow_extra_args(false);
  const auto add_role = [&app](const char* option, std::vector<std::string>& principals,
                               const char* what) {
    app.add_option(option, principals, what)->type_name("PRINCIPAL")->allow_extra_args(false);
  };
  add_role("--feeder", feeders,
           "Who may feed facts and set the clock: user:NAME or user:ID of a Unix socket, cert:NAME"
           " of a client's certificate, or tcp; default: whoever may connect");
  add_role("--decider", deciders, "Who may reserve and place; the same, the same default");
  add_role("--viewer", viewers,
           "Who may look, beside feeders and deciders; the same, the same default");
  app.add_option("--tls-certificate", options.tls.certificate, "PEM file: the server's chain");
  app.add_option("--tls-key", options.tls.key, "PEM file: its key");
  app.add_option("--tls-client-ca", options.tls.client_ca,
                 "PEM file: who signs clients' certificates");
  app.add_option("--tls-minimum-version", options.tls.minimum_version, "1.2 or 1.3")
      ->check(CLI::IsMember({"1.2", "1.3"}))
      ->capture_default_str();
  app.add_option("--profile", options.profile_path,
                 "YAML file: KubeSchedulerConfiguration, HeadroomConfiguration; default: the"
                 " standard profile");
  app.add_option("--metrics", metrics, "ADDRESS:PORT of /metrics, /healthz and /readyz, or none")
      ->capture_default_str();
  app.add_option("--busy-poll-us", busy_poll_us,
                 "How long to poll before sleeping; default: 50, 0 on one processor")
      ->check(CLI::Range(std::int64_t{0}, kBusyPollUsMax));
  app.add_option("--threads", options.engine.threads, "For batches; 0: one per processor")
      ->check(CLI::Range(std::int64_t{0}, kThreadsMax))
      ->capture_default_str();
  app.add_option("--cache-mib", cache_mebibytes, "Memory of the shape cache")
      ->check(CLI::Range(std::int64_t{1}, kCacheMebibytesMax))
      ->capture_default_str();
  app.add_option("--tie-seed", options.engine.seed,
                 "Of the order among equal nodes; 0: the lowest row first")
      ->check(CLI::Range(std::uint64_t{0}, kTieSeedMax))
      ->capture_default_str();
  app.add_option(
         "--memory-mib", memory_mebibytes,
         "Near this facts and new connections are refused, and decisions go on; default: the"
         " cgroup's limit, else 90 % of the machine's memory")
      ->check(CLI::Range(kMemoryMebibytesMin, kMemoryMebibytesMax));
  app.add_option("--reservation-seconds", reservation_seconds,
                 "A pod that is reserved and neither bound nor renewed so long is free again")
      ->check(CLI::Range(kReservationSecondsMin, kReservationSecondsMax))
      ->capture_default_str();
  app.add_flag("--capacity-quota-ignore-deleting", options.quotas.ignore_deleting,
               "Nodes that are being deleted count in no CapacityQuota");
  app.add_option("--capacity-quota-alias", aliases,
                 "NAME=RESOURCE: limits of that name in CapacityQuotas count the resource, as in"
                 " gpu=nvidia.com/gpu")
      ->type_name("ALIAS")
      ->allow_extra_args(false);
  app.add_option("--log-format", options.log.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--log-level", options.log.level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.parse(argc, argv);

  for (const std::string& text : endpoints) {
    options.listen.endpoints.push_back(value_of("--listen", Endpoint::parse(text)));
  }
  if (endpoints.empty()) {
    options.listen.endpoints = {value_of("--listen", Endpoint::in_runtime_directory())};
  }
  options.listen.socket_mode = mode_bits(mode);
  for (const std::string& user : users) {
    options.listen.allowed_users.push_back(value_of("--allow-user", parse_user(user)));
  }
  options.listen.access = {.feeders = list_of("--feeder", feeders),
                           .deciders = list_of("--decider", deciders),
                           .viewers = list_of("--viewer", viewers)};
  options.quotas.aliases = alias_map(aliases);
  if (metrics != "none") options.metrics = value_of("--metrics", parse_host_and_port(metrics));
  options.busy_poll = std::chrono::microseconds(busy_poll_us);
  options.memory_bytes_max = memory_mebibytes == 0
                                 ? default_memory_budget()
                                 : static_cast<std::size_t>(memory_mebibytes) << 20;
  options.reservation_time = std::chrono::seconds(reservation_seconds);
  options.engine.shape_cache_bytes_max = static_cast<std::size_t>(cache_mebibytes) << 20;
}

}  // namespace

CommandLine read_command_line(int argc, char** argv) {
  CLI::App app{"headroomd: serves Headroom's decisions to schedulers over a socket.", "headroomd"};
  app.set_version_flag("--version", "headroomd " HEADROOM_VERSION);
  app.footer(kFooter);
  const auto config = std::make_shared<YamlConfig>(app);
  CommandLine line;
  const auto refuse = [&](const CLI::ParseError& error) {
    line.exit_code = app.exit(error) == 0 ? 0 : kExitBadInput;
  };
  try {
    read(app, config, argc, argv, line.options);
  } catch (const CLI::ParseError& error) {
    if (const int at = config->line_of(error.what()); at != 0) {
      refuse(CLI::ConfigError(fmt::format("--config: line {}: {}", at, error.what())));
    } else {
      refuse(error);
    }
  }
  return line;
}

}  // namespace headroom
