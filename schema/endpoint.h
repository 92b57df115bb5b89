// Endpoint: where a server listens and a client connects to, as text:
//
//   unix:///run/headroom/headroom.sock   a Unix socket
//   tcp://127.0.0.1:8610                 TCP without encryption, for loopback addresses only
//   tls://10.0.0.7:8611                  TCP with mutual TLS
//
// Hosts are addresses, not names; IPv6 in brackets. Thread safety: a plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "objects/error.h"

namespace headroom {

struct Endpoint {
  enum class Kind : std::uint8_t { kUnix, kTcp, kTls };
  Kind kind = Kind::kUnix;
  std::string path;  // kUnix
  std::string host;  // the others
  std::uint16_t port = 0;

  // kInvalid with the text and what is accepted.
  static Result<Endpoint> parse(std::string_view text);
  // headroom.sock in the directory that the service manager gives ($RUNTIME_DIRECTORY), the user's
  // runtime directory ($XDG_RUNTIME_DIR), or, for root, /run/headroom. kNotFound: there is none.
  static Result<Endpoint> in_runtime_directory();
  std::string text() const;
};

// "HOST:PORT", "[::1]:PORT".
struct HostAndPort {
  std::string host;
  std::uint16_t port = 0;
};
Result<HostAndPort> parse_host_and_port(std::string_view text);

}  // namespace headroom
