#include "server/daemon.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <random>

#include "engine/profile/profile_reader.h"
#include "schema/wall_clock.h"
#include "server/service/log_limit.h"
#include "server/service/service.h"
#include "server/sockets/event_loop.h"
#include "server/sockets/http_server.h"

namespace headroom {

namespace {

// Peers have so long to take their last replies.
constexpr std::chrono::seconds kStopTime(5);
constexpr std::chrono::milliseconds kStopStep(10);
constexpr std::chrono::seconds kTick(1);

// Not 0, and another one after every start.
std::uint64_t new_incarnation() {
  std::random_device random;
  return (std::uint64_t{random()} << 32 | random()) | 1;
}

Result<std::vector<Profile>> configured_profiles(const DaemonOptions& options) {
  return options.profile_path.empty() ? std::vector{Profile::standard()}
                                      : read_profiles_file(options.profile_path);
}

class Daemon {
 public:
  Daemon(const DaemonOptions& options, LogFunction log)
      : options_(options),
        log_limit_(std::move(log)),
        log_([this](LogLevel level, const char* what, LogFields fields) {
          log_limit_.write(level, what, fields);
        }),
        signals_(io_, SIGTERM, SIGINT, SIGHUP),
        timer_(io_) {}

  Result<void> start() {
    Result<std::vector<Profile>> profiles = configured_profiles(options_);
    if (!profiles) return tl::unexpected(profiles.error());
    Result<std::unique_ptr<RequestService>> service =
        RequestService::create({.profiles = std::move(*profiles),
                                .engine = options_.engine,
                                .quotas = options_.quotas,
                                .incarnation = new_incarnation(),
                                .wall_clock = wall_clock_us,
                                .reservation_time = options_.reservation_time,

                                .memory_bytes_max = options_.memory_bytes_max,
                                .log = log_},
                               metrics_);
    if (!service) return tl::unexpected(service.error());
    service_ = std::move(*service);
    ListenOptions listen = options_.listen;
    if (options_.tls.given()) {
      Result<std::shared_ptr<asio::ssl::context>> tls = make_tls_context(options_.tls);
      if (!tls) return tl::unexpected(tls.error());
      listen.tls = std::move(*tls);
    }
    listeners_ = std::make_unique<Listeners>(io_, *service_, metrics_, log_);
    if (auto opened = listeners_->open(listen); !opened) return opened;
    if (options_.metrics) {
      Result<std::unique_ptr<HttpServer>> http = HttpServer::start(*options_.metrics, metrics_);
      if (!http) return tl::unexpected(http.error());
      http_ = std::move(*http);
      log_(LogLevel::kInfo, "metrics", {{"address", http_->address()}});
    }
    return {};
  }

  void run() {
    await_signal();
    tick();
    for (const std::string& address : listeners_->addresses()) {
      log_(LogLevel::kInfo, "listening", {{"endpoint", address}});
    }
    sd_notify(0, "READY=1\nSTATUS=listening");
    run_event_loop(io_, options_.busy_poll, [this](const std::exception& error) {
      log_(LogLevel::kError, "a fault of the daemon's own, which goes on",
           {{"reason", error.what()}});
    });
    // What is left of the connections ends before the service does.
    listeners_.reset();
    log_(LogLevel::kInfo, "stopped", {});
  }

 private:
  void await_signal() {
    signals_.async_wait([this](const asio::error_code& error, int signal) {
      if (error) return;
      if (signal == SIGHUP) {
        await_signal();  // whatever becomes of this one
        reload();
      } else {
        stop(signal);
      }
    });
  }

  void tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([this](const asio::error_code& error) {
      if (error) return;
      tick();
      service_->tick();
      listeners_->tick();
      log_limit_.tick();
    });
  }

  // What cannot be used is said, and the old one stays.
  void reload() {
    sd_notify(0, "RELOADING=1");
    const auto failed = [this](const Error& error) {
      log_(LogLevel::kError, "reload failed, the old one stays", {{"reason", error.message}});
    };
    log_(LogLevel::kInfo, "reloading", {});
    if (auto profiles = configured_profiles(options_); !profiles) {
      failed(profiles.error());
    } else if (auto set = service_->set_profiles(std::move(*profiles)); !set) {
      failed(set.error());
    }
    if (options_.tls.given()) {
      if (auto tls = make_tls_context(options_.tls); !tls) {
        failed(tls.error());
      } else {
        listeners_->set_tls(std::move(*tls));
      }
    }
    sd_notify(0, "READY=1");
  }

  void stop(int signal) {
    sd_notify(0, "STOPPING=1");
    log_(LogLevel::kInfo, "stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
    listeners_->close();
    stop_at_ = std::chrono::steady_clock::now() + kStopTime;
    await_end();
  }

  void await_end() {
    if (listeners_->connection_count() == 0 || std::chrono::steady_clock::now() > stop_at_) {
      io_.stop();
      return;
    }
    timer_.expires_after(kStopStep);
    timer_.async_wait([this](const asio::error_code&) { await_end(); });
  }

  const DaemonOptions& options_;
  LogLimit log_limit_;
  const LogFunction log_;
  Metrics metrics_;
  std::unique_ptr<RequestService> service_;
  // After the service: what it still holds at the end refers to it.
  asio::io_context io_{1};
  asio::signal_set signals_;
  asio::steady_timer timer_;
  std::unique_ptr<Listeners> listeners_;
  std::unique_ptr<HttpServer> http_;
  std::chrono::steady_clock::time_point stop_at_;
};

}  // namespace

int run_daemon(const DaemonOptions& options) {
  const Result<LogFunction> log = make_log(options.log);
  if (!log) {
    fmt::print(stderr, "headroomd: {}\n", log.error().message);
    return kExitCannotRun;
  }
  std::signal(SIGPIPE, SIG_IGN);
  install_memory_reserve();
  Daemon daemon(options, *log);
  if (auto started = daemon.start(); !started) {
    (*log)(LogLevel::kError, "cannot run", {{"reason", started.error().message}});
    return kExitCannotRun;
  }
  daemon.run();
  return 0;
}

}  // namespace headroom
