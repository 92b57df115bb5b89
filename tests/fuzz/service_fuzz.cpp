// Any bytes on three connections of a service: streams that interleave, drip in and are cut. The
// cluster stays what its facts say, and what waits in memory is bounded by what came.
//
// The input is pieces: a byte that picks the connection and how the piece ends, two bytes of
// length, and the piece. A broken or closed stream is replaced by a new connection.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "schema/frame.h"
#include "server/service/service.h"
#include "tests/fuzz/check.h"

namespace headroom {
namespace {

constexpr std::int64_t kNowUs = 1'767'225'600'000'000;
constexpr std::uint8_t kConnections = 3;
constexpr std::uint8_t kHangsUp = 0x80;  // of a piece's first byte: the connection is cut after it
constexpr std::size_t kRoomBytes = 128 << 10;  // that a stream may have before anything came

class Connection final : public Peer {
 public:
  explicit Connection(RequestService& service) : service_(service) { service_.connected(*this); }
  ~Connection() override { service_.disconnected(*this); }

  void send(std::span<const std::uint8_t> frame) override {
    HEADROOM_FUZZ_CHECK(!closed_);
    flatbuffers::Verifier verifier(frame.data(), frame.size());
    HEADROOM_FUZZ_CHECK(wire::VerifySizePrefixedFrameBuffer(verifier));
  }
  void close() override { closed_ = true; }
  void resume() override { waiting_ = false; }
  bool closed() const { return closed_; }

  void give(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty() && !closed_) {
      const std::span<std::uint8_t> room = buffer_.room();
      HEADROOM_FUZZ_CHECK(!room.empty());
      const std::size_t size = std::min(room.size(), bytes.size());
      std::memcpy(room.data(), bytes.data(), size);
      buffer_.received(size);
      received_ += size;
      bytes = bytes.subspan(size);
      while (!closed_ && take()) {
      }
    }
    HEADROOM_FUZZ_CHECK(buffer_.waiting() <= received_);
    HEADROOM_FUZZ_CHECK(buffer_.waiting() + buffer_.room().size() <=
                        std::max(2 * received_, kRoomBytes));
  }

 private:
  // False: no whole frame is there.
  bool take() {
    buffer_.set_frame_bytes_max(greeted ? kFrameBytesMax : kHelloBytesMax);
    const Result<FrameBuffer::Received> next = buffer_.next();
    if (!next) {
      service_.broken(*this, buffer_.fault(), next.error());
      HEADROOM_FUZZ_CHECK(closed_);
      return false;
    }
    if (next->frame == nullptr) return false;
    waiting_ = !service_.handle(*this, *next);
    while (waiting_) service_.step();
    return true;
  }

  RequestService& service_;
  FrameBuffer buffer_{kHelloBytesMax};
  std::size_t received_ = 0;
  bool closed_ = false;
  bool waiting_ = false;
};

template <typename Create>
void ask(Connection& connection, Create create) {
  flatbuffers::FlatBufferBuilder builder;
  finish_frame(builder, 1, create(builder));
  connection.give(bytes_of(builder));
}

// With plugins that read every kind of fact.
Profile reading_profile() {
  Profile profile = Profile::standard();
  for (const PluginId plugin :
       {PluginId::kVolumeBinding, PluginId::kPodTopologySpread, PluginId::kInterPodAffinity}) {
    if (!profile.filters_by(plugin)) profile.filters.push_back(plugin);
  }
  return profile;
}

// Four nodes of 8 cores and a metric each, a pod on every one of them, and two that wait; a quota
// of 6 nodes and 50 cores; a namespace and a service.
void feed(Connection& feeder) {
  using flatbuffers::Offset;
  ask(feeder, [](auto& builder) { return wire::CreateHelloDirect(builder, 1, 1, "feeder"); });
  ask(feeder, [](auto& builder) { return wire::CreateFeedBegin(builder); });
  ask(feeder, [](auto& builder) {
    std::vector<Offset<wire::Change>> changes;
    const auto resources = [&](const char* cpu) {
      return std::vector{wire::CreateResourceDirect(builder, "cpu", cpu),
                         wire::CreateResourceDirect(builder, "memory", "1Gi"),
                         wire::CreateResourceDirect(builder, "pods", "9")};
    };
    const auto add_pod = [&](const char* name, const char* node) {
      const auto requests = resources("2");
      const std::vector containers = {
          wire::CreateContainerDirect(builder, "main", &requests, &requests)};
      changes.push_back(
          wire::CreateChange(builder, wire::Fact::Pod,
                             wire::CreatePodDirect(builder, "default", name, name, nullptr, nullptr,
                                                   false, 0, node, &containers)
                                 .Union()));
    };
    for (const char* node : {"n1", "n2", "n3", "n4"}) {
      const auto allocatable = resources("8");
      const auto usage = resources("1");
      changes.push_back(
          wire::CreateChange(builder, wire::Fact::Node,
                             wire::CreateNodeDirect(builder, node, nullptr, nullptr, false, nullptr,
                                                    &allocatable, &allocatable)
                                 .Union()));
      changes.push_back(wire::CreateChange(
          builder, wire::Fact::NodeMetric,
          wire::CreateNodeMetricDirect(builder, node, 60, kNowUs, true, &usage).Union()));
      add_pod(node, node);
    }
    add_pod("p1", "");
    add_pod("p2", "");
    const std::vector limits = {wire::CreateKeyValueDirect(builder, "cpu", "50"),
                                wire::CreateKeyValueDirect(builder, "nodes", "6")};
    changes.push_back(wire::CreateChange(
        builder, wire::Fact::CapacityQuota,
        wire::CreateCapacityQuotaDirect(builder, "q", 1, nullptr, &limits).Union()));
    for (const char* json :
         {R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})",
          R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},)"
          R"("spec":{"selector":{"app":"web"}}})"}) {
      changes.push_back(
          wire::CreateChange(builder, wire::Fact::ReferredObject,
                             wire::CreateReferredObjectDirect(builder, json).Union()));
    }
    return wire::CreateFactsDirect(builder, 1, &changes);
  });
  ask(feeder, [](auto& builder) { return wire::CreateFeedEnd(builder, 1); });
}

void check(std::span<const std::uint8_t> bytes) {
  static Metrics metrics;  // registries are slow to make
  std::int64_t now_us = kNowUs;
  ServiceOptions options;
  options.profiles = {reading_profile()};
  options.engine.threads = 1;
  options.wall_clock = [&now_us] { return now_us += 1000; };
  auto service = RequestService::create(std::move(options), metrics);
  HEADROOM_FUZZ_CHECK(service);
  Connection feeder(**service);
  feed(feeder);
  HEADROOM_FUZZ_CHECK((*service)->state().ready);
  HEADROOM_FUZZ_CHECK((*service)->state().pending_pods == 2);
  HEADROOM_FUZZ_CHECK((*service)->state().capacity.quotas == 1);
  std::unique_ptr<Connection> connections[kConnections];
  const auto renew = [&](std::unique_ptr<Connection>& connection) {
    connection.reset();
    connection = std::make_unique<Connection>(**service);
  };
  for (auto& connection : connections) renew(connection);
  constexpr std::size_t kHeadBytes = 3;
  while (bytes.size() > kHeadBytes) {
    const std::uint8_t head = bytes[0];
    const std::size_t length = bytes[1] + std::size_t{256} * bytes[2];
    bytes = bytes.subspan(kHeadBytes);
    const auto piece = bytes.first(std::min(length, bytes.size()));
    bytes = bytes.subspan(piece.size());
    auto& connection = connections[(head & ~kHangsUp) % kConnections];
    connection->give(piece);
    if (connection->closed() || (head & kHangsUp) != 0) renew(connection);
  }
  const ServiceState state = (*service)->state();
  HEADROOM_FUZZ_CHECK(state.connections == 1 + kConnections);
  HEADROOM_FUZZ_CHECK((*service)->engine().validate());
  HEADROOM_FUZZ_CHECK((*service)->capacity_quotas().validate());
  HEADROOM_FUZZ_CHECK(state.capacity.nodes <= state.engine.nodes);
  for (auto& connection : connections) connection.reset();
  HEADROOM_FUZZ_CHECK((*service)->engine().validate());
  (*service)->tick();
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::check({data, size});
  return 0;
}
