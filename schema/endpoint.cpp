#include "schema/endpoint.h"

#include <fmt/format.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

namespace headroom {

namespace {

constexpr std::string_view kUnixPrefix = "unix://", kTcpPrefix = "tcp://", kTlsPrefix = "tls://";
constexpr std::size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace

Result<HostAndPort> parse_host_and_port(std::string_view text) {
  const auto refuse = [&] {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("\"{}\" is not ADDRESS:PORT, as in 127.0.0.1:8610 or [::1]:8610", text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return refuse();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.front() == '[') {
    if (host.back() != ']') return refuse();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return refuse();
  }
  HostAndPort result{.host = std::string(host)};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (host.empty() || error != std::errc() || end != port.data() + port.size()) return refuse();
  return result;
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  Endpoint endpoint;
  if (text.starts_with(kUnixPrefix)) {
    endpoint.path = text.substr(kUnixPrefix.size());
    if (endpoint.path.empty() || endpoint.path.front() != '/' ||
        endpoint.path.size() > kPathBytesMax) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("\"{}\": the socket's path begins with / and has at most {} bytes",
                              text, kPathBytesMax));
    }
    return endpoint;
  }
  if (!text.starts_with(kTcpPrefix) && !text.starts_with(kTlsPrefix)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\": accepted are unix:///PATH, tcp://ADDRESS:PORT and"
                            " tls://ADDRESS:PORT",
                            text));
  }
  endpoint.kind = text.starts_with(kTcpPrefix) ? Kind::kTcp : Kind::kTls;
  Result<HostAndPort> parts = parse_host_and_port(text.substr(kTcpPrefix.size()));
  if (!parts) {
    return fail(parts.error().code, fmt::format("\"{}\": {}", text, parts.error().message));
  }
  endpoint.host = std::move(parts->host);
  endpoint.port = parts->port;
  return endpoint;
}

Result<Endpoint> Endpoint::in_runtime_directory() {
  std::string directory;
  for (const char* variable : {"RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"}) {
    if (const char* value = std::getenv(variable); value != nullptr && value[0] == '/') {
      directory = value;
      break;
    }
  }
  if (directory.empty() && geteuid() == 0) directory = "/run/headroom";
  if (directory.empty()) {
    return fail(ErrorCode::kNotFound,
                "no runtime directory: neither RUNTIME_DIRECTORY nor XDG_RUNTIME_DIR is set");
  }
  return parse(fmt::format("{}{}/headroom.sock", kUnixPrefix, directory));
}

std::string Endpoint::text() const {
  if (kind == Kind::kUnix) return fmt::format("{}{}", kUnixPrefix, path);
  const std::string_view prefix = kind == Kind::kTcp ? kTcpPrefix : kTlsPrefix;
  const bool brackets = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}{}:{}", prefix, brackets ? "[" : "", host, brackets ? "]" : "", port);
}

}  // namespace headroom
