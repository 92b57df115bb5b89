#include "server/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace headroom {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// What a peer sent may be no UTF-8, or have line ends in it: JSON's quoting makes it one safe line.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool plain(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
  });
}

}  // namespace

Result<LogFunction> make_log(const LogOptions& options) {
  const std::map<std::string, LogLevel> levels = {{"debug", LogLevel::kDebug},
                                                  {"info", LogLevel::kInfo},
                                                  {"warning", LogLevel::kWarning},
                                                  {"error", LogLevel::kError}};
  const auto level = levels.find(options.level);
  if (level == levels.end()) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("log-level: \"{}\"; accepted: debug, info, warning, error", options.level));
  }
  if (options.format != "text" && options.format != "json") {
    return fail(ErrorCode::kInvalid,
                fmt::format("log-format: \"{}\"; accepted: text, json", options.format));
  }
  const bool json = options.format == "json";
  auto logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog_level(level->second));
  logger->flush_on(spdlog::level::debug);
  logger->set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l",%v})"
                           : "%Y-%m-%dT%H:%M:%S.%fZ %-7l %v",
                      spdlog::pattern_time_type::utc);
  return [logger, json](LogLevel at, const char* what, LogFields fields) {
    if (!logger->should_log(spdlog_level(at))) return;
    std::string line = json ? fmt::format("\"message\":{}", quoted(what)) : what;
    for (const auto& [name, value] : fields) {
      if (json) {
        line += fmt::format(",\"{}\":{}", name, quoted(value));
      } else {
        line += fmt::format(" {}={}", name, plain(value) ? value : quoted(value));
      }
    }
    logger->log(spdlog_level(at), line);
  };
}

}  // namespace headroom
