// HttpServer: /metrics, /healthz and /readyz on a thread of their own, so that a scrape never waits
// for a decision nor a decision for a scrape.
#pragma once

#include <memory>
#include <string>

#include "objects/error.h"
#include "schema/endpoint.h"
#include "server/metrics.h"

namespace headroom {

class HttpServer {
 public:
  // Port 0: any. kIo if it cannot listen there.
  static Result<std::unique_ptr<HttpServer>> start(const HostAndPort& address, Metrics& metrics);
  ~HttpServer();
  const std::string& address() const { return address_; }

 private:
  struct Impl;
  HttpServer();
  std::unique_ptr<Impl> impl_;
  std::string address_;
};

}  // namespace headroom
