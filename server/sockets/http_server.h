// HttpServer: /metrics, /healthz and /readyz on a thread of their own, so that a scrape never waits
// for a decision nor a decision for a scrape.
//
// Nothing that a peer does keeps a health check from its answer: connections are asynchronous, so
// that none waits for another, and bounded in bytes and in time; where kHttpConnectionsMax are
// open, the next one takes the place of another: of the address that has the most of them the one
// that has waited the longest. HTTP/1.1 with keep-alive, GET and HEAD, no bodies. What does not
// keep to that is told so (400, 404, 405, 408, 413, 431) and, unless the request was whole, closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "objects/error.h"
#include "schema/endpoint.h"
#include "server/metrics.h"

namespace headroom {

inline constexpr std::size_t kHttpConnectionsMax = 128;
// Of a request: its first line and its headers.
inline constexpr std::size_t kHttpHeaderBytesMax = 8 << 10;
// Until a request begins, from its first byte to its last, and until its reply was taken.
inline constexpr std::chrono::seconds kHttpIdleTime(120);
inline constexpr std::chrono::seconds kHttpRequestTime(5);
inline constexpr std::chrono::seconds kHttpReplyTime(10);

class HttpServer {
 public:
  // Port 0: any. kInvalid: its host is no address; kIo: it cannot be listened on.
  static Result<std::unique_ptr<HttpServer>> start(const HostAndPort& address, Metrics& metrics);
  ~HttpServer();
  const std::string& address() const { return address_; }

 private:
  class Listener;
  explicit HttpServer(std::unique_ptr<Listener> listener, std::string address);
  std::unique_ptr<Listener> listener_;
  std::string address_;
};

}  // namespace headroom
