#include "tools/load/echo_server.h"

#include "server/sockets/event_loop.h"
#include "server/sockets/listener.h"

namespace headroom {

namespace {

class EchoHandler final : public FrameHandler {
 public:
  explicit EchoHandler(std::span<const std::uint8_t> reply) : reply_(reply.begin(), reply.end()) {}

  void connected(Peer& peer) override { peer.greeted = true; }
  void disconnected(Peer&) noexcept override {}
  bool handle(Peer& peer, const FrameBuffer::Received&) override {
    peer.send(reply_);
    return true;
  }
  void broken(Peer& peer, FrameFault, const Error&) override { peer.close(); }

 private:
  const std::vector<std::uint8_t> reply_;
};

}  // namespace

struct EchoServer::Impl {
  Impl(std::span<const std::uint8_t> reply) : handler(reply) {}

  Metrics metrics;
  EchoHandler handler;
  asio::io_context io{1};
  Listeners listeners{io, handler, metrics, [](LogLevel, const char*, LogFields) {}};
  std::thread thread;
};

EchoServer::EchoServer(std::unique_ptr<Impl> impl, Endpoint endpoint)
    : impl_(std::move(impl)), endpoint_(std::move(endpoint)) {}

Result<std::unique_ptr<EchoServer>> EchoServer::start(const Endpoint& endpoint,
                                                      std::span<const std::uint8_t> reply,
                                                      std::chrono::microseconds busy_poll) {
  auto impl = std::make_unique<Impl>(reply);
  ListenOptions options;
  options.endpoints = {endpoint};
  if (auto opened = impl->listeners.open(options); !opened) return tl::unexpected(opened.error());
  Result<Endpoint> listening = Endpoint::parse(impl->listeners.addresses().front());
  if (!listening) return tl::unexpected(listening.error());
  impl->thread = std::thread(
      [&io = impl->io, busy_poll] { run_event_loop(io, busy_poll, [](const std::exception&) {}); });
  return std::unique_ptr<EchoServer>(new EchoServer(std::move(impl), std::move(*listening)));
}

EchoServer::~EchoServer() {
  impl_->io.stop();
  impl_->thread.join();
}

}  // namespace headroom
