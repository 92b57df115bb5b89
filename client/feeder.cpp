#include "client/feeder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "schema/wall_clock.h"

namespace headroom {

namespace {

constexpr std::chrono::milliseconds kResyncPause(10);
// Batches are written when so much is queued.
constexpr std::size_t kWriteBytes = 256 << 10;
// A frame has no more than that of changes, and one more: the server takes none above
// kObjectBytesMax. What is around them fits beside kFactsBytesMax.
constexpr std::size_t kFullBytes = kFrameBytesMax / 4;
constexpr std::size_t kFactsBytesMax = kFrameBytesMax - (64 << 10);
static_assert(kFullBytes + 2 * kObjectBytesMax <= kFactsBytesMax);
// Frames of a feeder are not answered; errors about them name the frame, which nobody waits for.
constexpr std::uint64_t kFirstFrameId = 1ull << 32;

}  // namespace

Feeder::Feeder(const Endpoint& endpoint, Options options, Snapshot snapshot)
    : endpoint_(endpoint), options_(std::move(options)), snapshot_(std::move(snapshot)) {}

Result<void> Feeder::resync() {
  replaced_ = false;
  const auto deadline = std::chrono::steady_clock::now() + options_.client.socket.timeout;
  for (;;) {
    auto done = try_resync();
    if (done || done.error().code != ErrorCode::kIo ||
        std::chrono::steady_clock::now() > deadline) {
      return done;
    }
    client_.reset();
    std::this_thread::sleep_for(kResyncPause);
  }
}

Result<void> Feeder::try_resync() {
  feeding_ = false;
  builder_.Clear();
  changes_.clear();  // the snapshot has them
  if (client_ == nullptr || !client_->connected()) {
    Result<Client> connected = Client::connect(endpoint_, options_.client);
    if (!connected) return tl::unexpected(connected.error());
    client_ = std::make_unique<Client>(std::move(*connected));
  }
  sequence_ = 0;
  frame_id_ = kFirstFrameId;
  finish_frame(builder_, ++frame_id_,
               wire::CreateFeedBegin(builder_, client_->greeting().incarnation,
                                     options_.clock ? options_.clock() : 0));
  client_->queue(bytes_of(builder_));
  builder_.Clear();
  feeding_ = true;
  Result<void> sent;
  snapshot_(Emit([&](const Object& object, wire::CapacityQuotaClass quota_class) {
    if (!sent || !feeding_) return;
    sent = collect(encode_upsert(builder_, object, quota_class));
    if (sent && is_full()) sent = send_batch();
  }));
  if (sent) sent = send_batch();
  if (!sent) return sent;
  finish_frame(builder_, ++frame_id_, wire::CreateFeedEnd(builder_, sequence_));
  client_->queue(bytes_of(builder_));
  builder_.Clear();
  if (auto flushed = client_->flush(); !flushed) return flushed;
  ++resyncs_;
  return listen();
}

// Changes that were collected become a frame; frames are written when there are enough.
Result<void> Feeder::send_batch() {
  send_facts();
  if (client_->queued_bytes() < kWriteBytes) return {};
  if (auto flushed = client_->flush(); !flushed) return flushed;
  return listen();
}

void Feeder::send_facts() {
  if (changes_.empty()) return;
  const auto changes = builder_.CreateVector(changes_);
  finish_frame(builder_, ++frame_id_,
               wire::CreateFacts(builder_, ++sequence_, changes,
                                 options_.clock ? options_.clock() : 0, wall_clock_us()));
  client_->queue(bytes_of(builder_));
  changes_.clear();
  builder_.Clear();
}

// A change that is too large for a frame is refused as the server would refuse it. With others
// before it, which it would take along, the feeding ends.
Result<void> Feeder::collect(flatbuffers::Offset<wire::Change> change) {
  if (const std::size_t bytes = builder_.GetSize(); bytes > kFactsBytesMax) {
    const bool alone = changes_.empty();
    builder_.Clear();
    changes_.clear();
    const Error error{
        ErrorCode::kLimitExceeded,
        fmt::format("facts of {} bytes: kFrameBytesMax is {}", bytes, kFrameBytesMax)};
    if (!alone) {
      feeding_ = false;
      return tl::unexpected(error);
    }
    if (options_.on_refused) options_.on_refused(error);
    return {};
  }
  changes_.push_back(change);
  return {};
}

bool Feeder::is_full() const {
  return changes_.size() >= std::min(options_.changes_per_facts, kChangesPerFactsMax) ||
         builder_.GetSize() >= kFullBytes;
}

Result<void> Feeder::add(flatbuffers::Offset<wire::Change> change) {
  if (!feeding_) {
    builder_.Clear();  // a resync's snapshot has it
    return flush();
  }
  if (auto collected = collect(change); !collected) return collected;
  return is_full() ? flush() : Result<void>();
}

Result<void> Feeder::upsert(const Object& object, wire::CapacityQuotaClass quota_class) {
  return add(encode_upsert(builder_, object, quota_class));
}

Result<void> Feeder::remove_node(std::string_view name) {
  return add(encode_removed_node(builder_, name));
}

Result<void> Feeder::remove_pod(std::string_view namespace_name, std::string_view name) {
  return add(encode_removed_pod(builder_, namespace_name, name));
}

Result<void> Feeder::remove_node_metric(std::string_view name) {
  return add(encode_removed_node_metric(builder_, name));
}

Result<void> Feeder::remove_elastic_quota(std::string_view namespace_name, std::string_view name) {
  return add(encode_removed_elastic_quota(builder_, namespace_name, name));
}

Result<void> Feeder::remove_pod_disruption_budget(std::string_view namespace_name,
                                                  std::string_view name) {
  return add(encode_removed_pod_disruption_budget(builder_, namespace_name, name));
}

Result<void> Feeder::remove_priority_class(std::string_view name) {
  return add(encode_removed_priority_class(builder_, name));
}

Result<void> Feeder::remove_referred_object(ReferredKind kind, std::string_view key) {
  return add(encode_removed_referred_object(builder_, kind, key));
}

Result<void> Feeder::remove_capacity_quota(std::string_view name,
                                           wire::CapacityQuotaClass quota_class) {
  return add(encode_removed_capacity_quota(builder_, name, quota_class));
}

Result<void> Feeder::flush() {
  if (!feeding_) return recover({ErrorCode::kIo, "not feeding"});
  send_facts();
  if (auto flushed = client_->flush(); !flushed) return recover(flushed.error());
  if (auto heard = listen(); !heard) return recover(heard.error());
  return {};
}

Result<void> Feeder::recover(const Error& lost) {
  if (replaced_) {
    return fail(ErrorCode::kConflict, "another feeder took over");
  }
  return lost.code == ErrorCode::kIo ? resync() : tl::unexpected(lost);
}

Result<void> Feeder::listen() {
  for (;;) {
    const Result<FrameBuffer::Received> received = client_->receive_now();
    if (!received) return tl::unexpected(received.error());
    if (received->frame == nullptr) return {};
    if (auto heeded = heed(*received->frame); !heeded) return heeded;
  }
}

// kIo where a resync helps.
Result<void> Feeder::heed(const wire::Frame& frame) {
  if (const wire::FeedStopped* stopped = frame.body_as_FeedStopped(); stopped != nullptr) {
    feeding_ = false;
    replaced_ = stopped->why() == wire::FeedStop::Replaced;
    return fail(replaced_ ? ErrorCode::kConflict : ErrorCode::kIo,
                std::string(text(stopped->message())));
  }
  if (const wire::Error* error = frame.body_as_Error(); error != nullptr) {
    if (error->change() < 0) {
      feeding_ = false;
      // A restarted server refuses the old incarnation; the greeting of a new connection helps.
      return fail(
          error->code() == wire::ErrorCode::Conflict ? ErrorCode::kIo : error_of(*error).code,
          std::string(text(error->message())));
    }
    if (options_.on_refused) options_.on_refused(error_of(*error));
  }
  return {};
}

Result<answers::Stats> Feeder::barrier(bool digest, bool validate) {
  if (auto flushed = flush(); !flushed) return tl::unexpected(flushed.error());
  const std::uint64_t id = client_->send(wire::CreateStats(client_->builder(), digest, validate));
  if (auto sent = client_->flush(); !sent) return tl::unexpected(sent.error());
  for (;;) {
    const Result<FrameBuffer::Received> received = client_->receive();
    if (!received) return tl::unexpected(received.error());
    if (received->frame->id() == id) {
      if (const auto* reply = received->frame->body_as_StatsReply(); reply != nullptr) {
        return decode(*reply);
      }
      if (const auto* error = received->frame->body_as_Error(); error != nullptr) {
        return tl::unexpected(error_of(*error));
      }
    }
    if (auto heeded = heed(*received->frame); !heeded) return tl::unexpected(heeded.error());
  }
}

}  // namespace headroom
