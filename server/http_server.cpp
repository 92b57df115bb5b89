#include "server/http_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <thread>

namespace headroom {

namespace {

constexpr std::size_t kHttpThreads = 2;
constexpr std::size_t kRequestBytesMax = 4096;

}  // namespace

struct HttpServer::Impl {
  httplib::Server server;
  std::thread thread;
};

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {}

HttpServer::~HttpServer() {
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HostAndPort& address,
                                                      Metrics& metrics) {
  std::unique_ptr<HttpServer> http(new HttpServer);
  httplib::Server& server = http->impl_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kHttpThreads); };
  server.set_payload_max_length(kRequestBytesMax);
  // Not the library's SO_REUSEPORT, with which two daemons would share the port.
  server.set_socket_options([](socket_t socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  });
  server.Get("/metrics", [&metrics](const httplib::Request&, httplib::Response& response) {
    response.set_content(metrics.text(), "text/plain; version=0.0.4; charset=utf-8");
  });
  const auto answer = [](bool good, const char* yes, const char* no, httplib::Response& response) {
    response.status = good ? 200 : 503;
    response.set_content(good ? yes : no, "text/plain");
  };
  server.Get("/healthz", [&metrics, answer](const httplib::Request&, httplib::Response& response) {
    answer(metrics.alive(), "ok\n", "the control thread does not answer\n", response);
  });
  server.Get("/readyz", [&metrics, answer](const httplib::Request&, httplib::Response& response) {
    answer(metrics.ready(), "ok\n", "no feeder has completed a resync yet\n", response);
  });
  const int port = address.port == 0
                       ? server.bind_to_any_port(address.host)
                       : (server.bind_to_port(address.host, address.port) ? address.port : -1);
  if (port < 0) {
    return fail(ErrorCode::kIo, fmt::format("metrics: {}:{} cannot be listened on: {}",
                                            address.host, address.port, std::strerror(errno)));
  }
  http->address_ = fmt::format("http://{}:{}/metrics", address.host, port);
  http->impl_->thread = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();
  return http;
}

}  // namespace headroom
