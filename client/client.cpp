#include "client/client.h"

#include <fmt/format.h>

#include <thread>

namespace headroom {

namespace {

// Between attempts to connect.
constexpr std::chrono::milliseconds kReconnectPause(10);
// After so long without a request the server may have let the connection go.
constexpr std::chrono::seconds kQuietTime(1);

// A reply as a plain value.
constexpr auto kDecode = [](const auto* reply) { return decode(*reply); };
constexpr auto kNothing = [](const auto*) {};

}  // namespace

Result<Client> Client::connect(const Endpoint& endpoint, const ClientOptions& options) {
  Client client(endpoint, options);
  if (auto connected = client.reconnect(); !connected) return tl::unexpected(connected.error());
  return client;
}

Socket::Clock::time_point Client::deadline() const {
  return Socket::Clock::now() + options_.socket.timeout;
}

Result<void> Client::reconnect() { return reconnect(deadline()); }

Result<void> Client::reconnect(Socket::Clock::time_point deadline) {
  socket_.reset();
  out_.clear();
  Result<std::unique_ptr<Socket>> socket = Socket::connect(endpoint_, options_.socket, deadline);
  if (!socket) return tl::unexpected(socket.error());
  socket_ = std::move(*socket);
  auto greeted = greet(deadline);
  if (!greeted) socket_.reset();
  return greeted;
}

Result<void> Client::greet(Socket::Clock::time_point deadline) {
  builder_.Clear();
  const auto name = builder_.CreateString(options_.name);
  const auto scheduler_name = write_text_if_any(builder_, options_.scheduler_name);
  const std::uint64_t id =
      send(wire::CreateHello(builder_, kProtocolVersion, kProtocolVersion, name, scheduler_name));
  if (auto sent = flush(deadline); !sent) return sent;
  const Result<const wire::Frame*> frame = reply_to(id, deadline);
  if (!frame) return tl::unexpected(frame.error());
  const wire::HelloReply* reply = (*frame)->body_as_HelloReply();
  if (reply == nullptr) return fail(ErrorCode::kInvalid, "the server's answer to Hello is another");
  return read_greeting(*reply);
}

Result<void> Client::read_greeting(const wire::HelloReply& reply) {
  if (reply.version() != kProtocolVersion) {
    return fail(ErrorCode::kUnsupported, fmt::format("version: the server chose {}; {} was offered",
                                                     reply.version(), kProtocolVersion));
  }
  greeting_ = {};
  greeting_.server = text(reply.server());
  greeting_.incarnation = reply.incarnation();
  if (reply.profiles() != nullptr && reply.profiles()->size() > 0) {
    greeting_.scheduler_name = text(reply.profiles()->Get(0)->scheduler_name());
  }
  if (reply.plugin_names() != nullptr) {
    for (const auto* plugin : *reply.plugin_names()) {
      greeting_.plugin_names.emplace_back(text(plugin));
    }
  }
  if (reply.roles() != nullptr)
    greeting_.roles.assign(reply.roles()->begin(), reply.roles()->end());
  greeting_.owner = text(reply.owner());
  greeting_.reservation_time = std::chrono::seconds(reply.reservation_seconds());
  return {};
}

Result<void> Client::flush() { return flush(deadline()); }

Result<void> Client::flush(Socket::Clock::time_point deadline) {
  if (socket_ == nullptr) return fail(ErrorCode::kIo, endpoint_.text() + ": not connected");
  auto written = socket_->write(out_, deadline);
  out_.clear();
  if (!written) {
    if (std::optional<Error> reason = last_words()) written = tl::unexpected(*reason);
    socket_.reset();
  }
  return written;
}

// Why the server closed the connection, if it said so.
std::optional<Error> Client::last_words() {
  for (;;) {
    const Result<FrameBuffer::Received> received = socket_->receive_now();
    if (!received || received->frame == nullptr) return std::nullopt;
    const wire::Error* error = received->frame->body_as_Error();
    if (error != nullptr && received->frame->id() == 0) return error_of(*error);
  }
}

Result<FrameBuffer::Received> Client::receive() { return receive(deadline()); }

Result<FrameBuffer::Received> Client::receive(Socket::Clock::time_point deadline) {
  if (socket_ == nullptr) return fail(ErrorCode::kIo, endpoint_.text() + ": not connected");
  auto received = socket_->receive(deadline);
  if (!received) socket_.reset();
  return received;
}

Result<FrameBuffer::Received> Client::receive_now() {
  if (socket_ == nullptr) return fail(ErrorCode::kIo, endpoint_.text() + ": not connected");
  auto received = socket_->receive_now();
  if (!received) socket_.reset();
  return received;
}

// Replies come in order: what comes before it was asked for by calls that gave up.
Result<const wire::Frame*> Client::reply_to(std::uint64_t id, Socket::Clock::time_point deadline) {
  for (;;) {
    const Result<FrameBuffer::Received> received = receive(deadline);
    if (!received) return tl::unexpected(received.error());
    const wire::Frame& frame = *received->frame;
    if (frame.id() != id && frame.id() != 0) continue;
    if (frame.id() == 0) {
      if (auto heeded = heed_unasked(frame); !heeded) return tl::unexpected(heeded.error());
      continue;
    }
    if (const wire::Error* error = frame.body_as_Error(); error != nullptr) {
      return tl::unexpected(error_of(*error));
    }
    return &frame;
  }
}

// An error is about the connection, which the server closes.
Result<void> Client::heed_unasked(const wire::Frame& frame) {
  if (const auto* reply = frame.body_as_HelloReply()) return read_greeting(*reply);
  const wire::Error* error = frame.body_as_Error();
  if (error == nullptr) return {};
  Error why = error_of(*error);
  socket_.reset();  // the frame goes with it
  return tl::unexpected(std::move(why));
}

// Before a request that would be lost with the connection. What is there is for calls that gave up.
void Client::notice_close() {
  for (;;) {
    const Result<FrameBuffer::Received> received = receive_now();
    if (!received || received->frame == nullptr) return;
    if (received->frame->id() == 0 && !heed_unasked(*received->frame)) return;
  }
}

template <typename Reply, typename Build>
Result<const Reply*> Client::ask(bool repeatable, Build build) {
  const auto start = Socket::Clock::now();
  const auto ends = start + options_.socket.timeout;
  if (connected() && start - asked_at_ > kQuietTime) notice_close();
  asked_at_ = start;
  for (;;) {
    Result<const wire::Frame*> frame = nullptr;
    Result<void> ready;
    if (!connected()) ready = reconnect(ends);
    bool sent = false;
    if (ready) {
      const std::uint64_t id = send(build(builder()));
      if (builder_.GetSize() > kFrameBytesMax) {
        out_.clear();
        return fail(ErrorCode::kLimitExceeded,
                    fmt::format("request of {} bytes: kFrameBytesMax is {}", builder_.GetSize(),
                                kFrameBytesMax));
      }
      ready = flush(ends);
      sent = ready.has_value();  // what is not whole the server has not taken
      if (ready) frame = reply_to(id, ends);
    }
    if (!ready) frame = tl::unexpected(ready.error());
    if (frame) {
      const Reply* reply = (*frame)->template body_as<Reply>();
      if (reply == nullptr) {
        return fail(ErrorCode::kInvalid, fmt::format("the server answered with {}",
                                                     wire::EnumNameBody((*frame)->body_type())));
      }
      return reply;
    }
    const bool lost = frame.error().code == ErrorCode::kIo;
    if (!lost || (sent && !repeatable) || Socket::Clock::now() > ends) {
      return tl::unexpected(frame.error());
    }
    std::this_thread::sleep_for(kReconnectPause);
  }
}

Result<answers::Evaluated> Client::evaluate(std::span<const PodRef> pods,
                                            const EvaluateRequest& request) {
  const auto build = [&](Builder& builder) { return encode_evaluate(builder, pods, request); };
  return ask<wire::Evaluated>(request.reserve == nullptr, build).map(kDecode);
}

Result<answers::NodesEvaluated> Client::evaluate_nodes(const PodRef& pod,
                                                       const EvaluateNodesRequest& request) {
  const auto build = [&](Builder& builder) { return encode_evaluate_nodes(builder, pod, request); };
  return ask<wire::NodesEvaluated>(true, build).map(kDecode);
}

Result<void> Client::reserve(const PodRef& pod, std::string_view node_name) {
  const auto build = [&](Builder& builder) {
    return encode_reserve(builder, {.pod = pod, .node_name = node_name});
  };
  return ask<wire::Reserved>(false, build).and_then(kDecode);
}

Result<void> Client::unreserve(const Pod& pod, std::string_view node_name) {
  const auto build = [&](Builder& builder) { return encode_unreserve(builder, pod, node_name); };
  return ask<wire::Unreserved>(true, build).map(kNothing);
}

Result<std::uint32_t> Client::renew_reservations() {
  return ask<wire::ReservationsRenewed>(true, wire::CreateRenewReservations)
      .map([](const wire::ReservationsRenewed* reply) { return reply->renewed(); });
}

Result<answers::Reservations> Client::reservations(const PodName& after) {
  const auto build = [&](Builder& builder) { return encode_reservations(builder, after); };
  return ask<wire::ReservationsReply>(true, build).map(kDecode);
}

Result<answers::Placed> Client::place(std::span<const PodRef> pods, bool reasons) {
  const auto build = [&](Builder& builder) { return encode_place(builder, pods, reasons); };
  return ask<wire::Placed>(false, build).map(kDecode);
}

Result<answers::Explained> Client::explain(const PodRef& pod, std::string_view node_name) {
  const auto build = [&](Builder& builder) { return encode_explain(builder, pod, node_name); };
  return ask<wire::Explained>(true, build).map(kDecode);
}

Result<answers::BoundVolumes> Client::bound_volumes(const PodRef& pod, std::string_view node_name) {
  const auto build = [&](Builder& builder) {
    return encode_bound_volumes(builder, pod, node_name);
  };
  return ask<wire::BoundVolumesReply>(true, build).map(kDecode);
}

Result<answers::PostFiltered> Client::post_filter(const PodRef& pod, bool candidates) {
  const auto build = [&](Builder& builder) { return encode_post_filter(builder, pod, candidates); };
  return ask<wire::PostFiltered>(true, build).map(kDecode);
}

Result<answers::ElasticQuotaStatus> Client::elastic_quota_status(std::string_view after) {
  const auto build = [&](Builder& builder) { return encode_elastic_quota_status(builder, after); };
  return ask<wire::ElasticQuotaStatusReply>(true, build).map(kDecode);
}

Result<answers::ExplainedVictims> Client::explain_victims(const PodRef& pod,
                                                          std::string_view node_name) {
  const auto build = [&](Builder& builder) {
    return encode_explain_victims(builder, pod, node_name);
  };
  return ask<wire::ExplainedVictims>(true, build).map(kDecode);
}

Result<answers::CapacityChecked> Client::capacity_check(std::span<const CapacityItem> items,
                                                        bool binding_only) {
  const auto build = [&](Builder& builder) {
    return encode_capacity_check(builder, items, binding_only);
  };
  return ask<wire::CapacityChecked>(true, build).map(kDecode);
}

Result<answers::CapacityChecked> Client::capacity_check(const Node& node, std::int64_t count) {
  const CapacityItem item{.node = &node, .count = count};
  return capacity_check(std::span(&item, 1));
}

Result<answers::CapacityPlanned> Client::capacity_plan(std::span<const CapacityItem> add,
                                                       std::span<const std::string> remove) {
  const auto build = [&](Builder& builder) { return encode_capacity_plan(builder, add, remove); };
  return ask<wire::CapacityPlanned>(true, build).map(kDecode);
}

Result<answers::CapacityReserved> Client::capacity_reserve(const CapacityReserveRequest& request) {
  const auto build = [&](Builder& builder) { return encode_capacity_reserve(builder, request); };
  return ask<wire::CapacityReserved>(false, build).map(kDecode);
}

Result<bool> Client::capacity_release(std::string_view id) {
  const auto build = [&](Builder& builder) { return encode_capacity_release(builder, id); };
  return ask<wire::CapacityReleased>(true, build).map([](const wire::CapacityReleased* reply) {
    return reply->released();
  });
}

Result<answers::CapacityQuotaStatus> Client::capacity_quota_status(std::string_view after) {
  const auto build = [&](Builder& builder) { return encode_capacity_quota_status(builder, after); };
  return ask<wire::CapacityQuotaStatusReply>(true, build).map(kDecode);
}

Result<answers::CapacityReservations> Client::capacity_reservations(std::string_view after) {
  const auto build = [&](Builder& builder) { return encode_capacity_reservations(builder, after); };
  return ask<wire::CapacityReservationsReply>(true, build).map(kDecode);
}

Result<answers::Stats> Client::stats(bool digest) {
  const auto build = [&](Builder& builder) { return wire::CreateStats(builder, digest); };
  return ask<wire::StatsReply>(true, build).map(kDecode);
}

}  // namespace headroom
