#include "client/client.h"

#include <fmt/format.h>

#include <thread>

namespace headroom {

namespace {

// Between attempts to connect.
constexpr std::chrono::milliseconds kRetryPause(10);
// After so long without a request the server may have let the connection go.
constexpr std::chrono::seconds kQuietTime(1);

ErrorCode code_of(wire::ErrorCode code) {
  switch (code) {
    case wire::ErrorCode::None:
    case wire::ErrorCode::Invalid:
      return ErrorCode::kInvalid;
    case wire::ErrorCode::NotFound:
      return ErrorCode::kNotFound;
    case wire::ErrorCode::Conflict:
      return ErrorCode::kConflict;
    case wire::ErrorCode::LimitExceeded:
      return ErrorCode::kLimitExceeded;
    case wire::ErrorCode::Unsupported:
      return ErrorCode::kUnsupported;
    case wire::ErrorCode::Io:
      return ErrorCode::kIo;
    case wire::ErrorCode::Forbidden:
      return ErrorCode::kForbidden;
    case wire::ErrorCode::Internal:
      return ErrorCode::kInternal;
  }
  return ErrorCode::kInvalid;
}

}  // namespace

Error error_of(const wire::Error& error) {
  return {code_of(error.code()), std::string(text(error.message()))};
}

Result<Client> Client::connect(const Endpoint& endpoint, const ClientOptions& options) {
  Client client(endpoint, options);
  if (auto connected = client.reconnect(); !connected) return tl::unexpected(connected.error());
  return client;
}

Result<void> Client::reconnect() {
  socket_.reset();
  out_.clear();
  Result<std::unique_ptr<Socket>> socket = Socket::connect(endpoint_, options_.socket);
  if (!socket) return tl::unexpected(socket.error());
  socket_ = std::move(*socket);
  auto greeted = greet();
  if (!greeted) socket_.reset();
  return greeted;
}

Result<void> Client::greet() {
  builder_.Clear();
  const auto name = builder_.CreateString(options_.name);
  const std::uint64_t id =
      send(wire::CreateHello(builder_, kProtocolVersion, kProtocolVersion, name));
  if (auto sent = flush(); !sent) return sent;
  const Result<const wire::Frame*> frame = reply_to(id);
  if (!frame) return tl::unexpected(frame.error());
  const wire::HelloReply* reply = (*frame)->body_as_HelloReply();
  if (reply == nullptr) return fail(ErrorCode::kInvalid, "the server's answer to Hello is another");
  greeting_ = {};
  greeting_.server = text(reply->server());
  greeting_.incarnation = reply->incarnation();
  if (reply->profiles() != nullptr && reply->profiles()->size() > 0) {
    greeting_.scheduler_name = text(reply->profiles()->Get(0)->scheduler_name());
  }
  if (reply->plugin_names() != nullptr) {
    for (const auto* plugin : *reply->plugin_names()) {
      greeting_.plugin_names.emplace_back(text(plugin));
    }
  }
  if (reply->roles() != nullptr)
    greeting_.roles.assign(reply->roles()->begin(), reply->roles()->end());
  greeting_.owner = text(reply->owner());
  greeting_.reservation_time = std::chrono::seconds(reply->reservation_seconds());
  return {};
}

Result<void> Client::flush() {
  if (socket_ == nullptr) return fail(ErrorCode::kIo, endpoint_.text() + ": not connected");
  auto written = socket_->write(out_);
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

Result<FrameBuffer::Received> Client::receive() {
  if (socket_ == nullptr) return fail(ErrorCode::kIo, endpoint_.text() + ": not connected");
  auto received = socket_->receive();
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
Result<const wire::Frame*> Client::reply_to(std::uint64_t id) {
  for (;;) {
    const Result<FrameBuffer::Received> received = receive();
    if (!received) return tl::unexpected(received.error());
    const wire::Frame& frame = *received->frame;
    if (frame.id() != id && frame.id() != 0) continue;
    if (const wire::Error* wire_error = frame.body_as_Error(); wire_error != nullptr) {
      Error error = error_of(*wire_error);
      if (frame.id() == 0) socket_.reset();  // about the connection, which the server closes
      return tl::unexpected(std::move(error));
    }
    if (frame.id() == id) return &frame;
  }
}

// Before a request that would be lost with the connection. What is there is for calls that gave up.
void Client::notice_close() {
  for (;;) {
    const Result<FrameBuffer::Received> received = receive_now();
    if (!received || received->frame == nullptr) return;
    if (received->frame->id() == 0) {
      socket_.reset();
      return;
    }
  }
}

template <typename Reply, typename Build>
Result<const Reply*> Client::ask(bool repeatable, Build build) {
  const auto start = std::chrono::steady_clock::now();
  const auto deadline = start + options_.socket.timeout;
  if (connected() && start - asked_at_ > kQuietTime) notice_close();
  asked_at_ = start;
  for (;;) {
    Result<const wire::Frame*> frame = nullptr;
    Result<void> ready;
    if (!connected()) ready = reconnect();
    bool sent = false;
    if (ready) {
      const std::uint64_t id = send(build(builder()));
      if (builder_.GetSize() > kFrameBytesMax) {
        out_.clear();
        return fail(ErrorCode::kLimitExceeded,
                    fmt::format("request of {} bytes: kFrameBytesMax is {}", builder_.GetSize(),
                                kFrameBytesMax));
      }
      ready = flush();
      sent = true;
      if (ready) frame = reply_to(id);
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
    if (!lost || (sent && !repeatable) || std::chrono::steady_clock::now() > deadline) {
      return tl::unexpected(frame.error());
    }
    std::this_thread::sleep_for(kRetryPause);
  }
}

Result<const wire::Evaluated*> Client::evaluate(std::span<const PodRef> pods,
                                                const EvaluateRequest& request) {
  return ask<wire::Evaluated>(request.reserve == nullptr, [&](Builder& builder) {
    return encode_evaluate(builder, pods, request);
  });
}

Result<const wire::NodesEvaluated*> Client::evaluate_nodes(const PodRef& pod,
                                                           const EvaluateNodesRequest& request) {
  return ask<wire::NodesEvaluated>(
      true, [&](Builder& builder) { return encode_evaluate_nodes(builder, pod, request); });
}

Result<const wire::Reserved*> Client::reserve(const PodRef& pod, std::string_view node_name) {
  const auto reserved = ask<wire::Reserved>(false, [&](Builder& builder) {
    return encode_reserve(builder, {.pod = pod, .node_name = node_name});
  });
  if (reserved && (*reserved)->code() != wire::ErrorCode::None) {
    return fail(code_of((*reserved)->code()), std::string(text((*reserved)->message())));
  }
  return reserved;
}

Result<const wire::Unreserved*> Client::unreserve(const Pod& pod, std::string_view node_name) {
  return ask<wire::Unreserved>(
      true, [&](Builder& builder) { return encode_unreserve(builder, pod, node_name); });
}

Result<const wire::ReservationsRenewed*> Client::renew_reservations() {
  return ask<wire::ReservationsRenewed>(
      true, [](Builder& builder) { return wire::CreateRenewReservations(builder); });
}

Result<const wire::ReservationsReply*> Client::reservations(const PodName& after) {
  // `after` may lie in the last reply.
  const std::string namespace_name(after.namespace_name), name(after.name);
  return ask<wire::ReservationsReply>(true, [&](Builder& builder) {
    return encode_reservations(builder, {namespace_name, name});
  });
}

Result<const wire::Placed*> Client::place(std::span<const PodRef> pods, bool reasons) {
  return ask<wire::Placed>(false,
                           [&](Builder& builder) { return encode_place(builder, pods, reasons); });
}

Result<const wire::Explained*> Client::explain(const PodRef& pod, std::string_view node_name) {
  return ask<wire::Explained>(
      true, [&](Builder& builder) { return encode_explain(builder, pod, node_name); });
}

Result<const wire::PostFiltered*> Client::post_filter(const PodRef& pod, bool candidates) {
  return ask<wire::PostFiltered>(
      true, [&](Builder& builder) { return encode_post_filter(builder, pod, candidates); });
}

Result<const wire::QuotaStatusReply*> Client::quota_status(std::string_view after) {
  // `after` may lie in the last reply.
  return ask<wire::QuotaStatusReply>(true, [&, last = std::string(after)](Builder& builder) {
    return encode_quota_status(builder, last);
  });
}

Result<const wire::ExplainedVictims*> Client::explain_victims(const PodRef& pod,
                                                              std::string_view node_name) {
  return ask<wire::ExplainedVictims>(
      true, [&](Builder& builder) { return encode_explain_victims(builder, pod, node_name); });
}

Result<const wire::CapacityChecked*> Client::capacity_check(std::span<const CapacityItem> items,
                                                            bool binding_only) {
  return ask<wire::CapacityChecked>(
      true, [&](Builder& builder) { return encode_capacity_check(builder, items, binding_only); });
}

Result<const wire::CapacityChecked*> Client::capacity_check(const Node& node, std::int64_t count) {
  const CapacityItem item{.node = &node, .count = count};
  return capacity_check(std::span(&item, 1));
}

Result<const wire::CapacityPlanned*> Client::capacity_plan(std::span<const CapacityItem> add,
                                                           std::span<const std::string> remove) {
  return ask<wire::CapacityPlanned>(
      true, [&](Builder& builder) { return encode_capacity_plan(builder, add, remove); });
}

Result<const wire::CapacityReserved*> Client::capacity_reserve(
    const CapacityReserveRequest& request) {
  return ask<wire::CapacityReserved>(
      false, [&](Builder& builder) { return encode_capacity_reserve(builder, request); });
}

Result<const wire::CapacityReleased*> Client::capacity_release(std::string_view id) {
  // As `after` below, it may lie in the last reply.
  return ask<wire::CapacityReleased>(true, [&, known = std::string(id)](Builder& builder) {
    return encode_capacity_release(builder, known);
  });
}

Result<const wire::CapacityQuotaStatusReply*> Client::capacity_quota_status(
    std::string_view after) {
  return ask<wire::CapacityQuotaStatusReply>(true,
                                             [&, last = std::string(after)](Builder& builder) {
                                               return encode_capacity_quota_status(builder, last);
                                             });
}

Result<const wire::CapacityReservationsReply*> Client::capacity_reservations(
    std::string_view after) {
  return ask<wire::CapacityReservationsReply>(true,
                                              [&, last = std::string(after)](Builder& builder) {
                                                return encode_capacity_reservations(builder, last);
                                              });
}

Result<const wire::StatsReply*> Client::stats(bool digest) {
  return ask<wire::StatsReply>(
      true, [&](Builder& builder) { return wire::CreateStats(builder, digest); });
}

}  // namespace headroom
