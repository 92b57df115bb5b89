#include "server/sockets/connection.h"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <type_traits>
#include <utility>

#include "objects/assert.h"
#include "schema/frame.h"
#include "server/answers/encode.h"
#include "server/sockets/access.h"

namespace headroom {

namespace {

using asio::error_code;

// What one turn may take before others have theirs.
constexpr std::chrono::microseconds kTurnTime(200);
// Replies are written in pieces of about this size.
constexpr std::size_t kWriteBytes = 64 << 10;
// Memory for replies that a connection keeps.
constexpr std::size_t kKeptBytesMax = 256 << 10;
// How long a peer that is being closed may take to read its last replies and to close its end. A
// socket that is closed while bytes of the peer wait in it would take its replies with it.
constexpr std::chrono::seconds kLingerTime(5);
// The last part of that when the server stops.
constexpr std::chrono::milliseconds kStopLingerTime(100);

using TlsStream = asio::ssl::stream<PlainSocket>;

template <typename Stream>
class StreamConnection final : public Connection,
                               public std::enable_shared_from_this<StreamConnection<Stream>> {
 public:
  StreamConnection(Stream stream, const ConnectionContext& context,
                   std::shared_ptr<asio::ssl::context> tls)
      : tls_(std::move(tls)),
        stream_(std::move(stream)),
        timer_(stream_.get_executor()),
        context_(context) {}
  // Where an exception has ended what it was about.
  ~StreamConnection() override { abort(); }

  void start() override {
    error_code ignored;
    stream_.lowest_layer().non_blocking(true, ignored);
    deadline(std::chrono::seconds(kHelloSecondsMax), "no hello in time");
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      shake_hands();
    } else {
      begin();
    }
  }

  void send(std::span<const std::uint8_t> frame) override {
    if (ended_ || overflowed_) return;
    HEADROOM_ASSERT(!frame.empty());
    if (queued_bytes() + frame.size() > kQueuedBytesMax) {
      context_.metrics.rejected(RequestRejection::kSlowReader);
      cut_off("cut off: it does not read its replies", "kQueuedBytesMax", kQueuedBytesMax);
      return;
    }
    if (out_begin_ > out_.size() / 2) {
      // A peer that is always some replies behind never empties the queue.
      out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out_begin_));
      out_begin_ = 0;
    }
    out_.insert(out_.end(), frame.begin(), frame.end());
    count_bytes();
    if (!working_) {
      // From another connection's turn.
      asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->flush(); });
    }
  }

  void cut_off(const char* why, const char* limit, std::size_t value) override {
    if (ended_ || overflowed_) return;
    overflowed_ = true;
    context_.log(LogLevel::kWarning, why,
                 {{"client", name}, {"principal", principal}, {limit, fmt::to_string(value)}});
    count_bytes();
    abort_later();
  }

  bool stalled_since(Clock::time_point then) const override { return writing_ && taken_at_ < then; }

  std::size_t held_bytes() const override { return counted_bytes_; }

  void close() override {
    if (closing_) return;
    closing_ = true;
    deadline(kLingerTime, "it does not take its last replies");
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->flush(); });
  }

  void stop() override {
    stopping_ = true;
    if (all_sent_) {
      deadline(kStopLingerTime, "the server stops");
    } else {
      close();
    }
  }

  void resume() override {
    HEADROOM_ASSERT(waiting_);
    waiting_ = false;
    heard_at = Clock::now();
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->turn(); });
  }

  void abort() override {
    if (ended_) return;
    ended_ = true;
    count_bytes();
    timer_.cancel();
    error_code ignored;
    stream_.lowest_layer().close(ignored);
    if (begun_) context_.handler.disconnected(*this);
    context_.connections.ended(*this);
    context_.handshakes.leave(this);
  }

 private:
  // As the timer fires, unless another deadline was set: the peer is closed.
  void deadline(Clock::duration after, const char* why) {
    timer_.expires_after(after);
    timer_.async_wait([self = this->shared_from_this(), why](const error_code& error) {
      if (error || self->ended_ || (self->greeted && !self->closing_)) return;
      self->context_.log(self->stopping_ ? LogLevel::kDebug : LogLevel::kWarning,
                         "connection closed",
                         {{"client", self->name}, {"principal", self->principal}, {"reason", why}});
      self->abort();
    });
  }

  void shake_hands() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      stream_.set_verify_callback([this](bool verified, asio::ssl::verify_context& context) {
        if (!verified) {
          refusal_ =
              X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.native_handle()));
        }
        return verified;
      });
      await_turn();
    }
  }

  // For what the peer says next, and then for a turn to work on it. Its socket does not block: what
  // has not come ends the step, and what has gone through is kept.
  void await_turn() {
    stream_.lowest_layer().async_wait(
        asio::socket_base::wait_read, [self = this->shared_from_this()](const error_code& error) {
          if (self->ended_) return;
          if (error) {
            self->shook_hands(error);
          } else {
            self->context_.handshakes.enter(self.get(), [self] { self->shake_hands_further(); });
          }
        });
  }

  void shake_hands_further() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      error_code error;
      stream_.handshake(asio::ssl::stream_base::server, error);
      if (error == asio::error::would_block) {
        await_turn();
      } else {
        shook_hands(error);
      }
    }
  }

  void shook_hands(const error_code& error) {
    if (ended_) return;
    if (error) {
      context_.metrics.connection_refused(Refusal::kTls);
      context_.log(
          LogLevel::kWarning, "TLS handshake failed",
          {{"principal", principal}, {"reason", refusal_.empty() ? error.message() : refusal_}});
      abort();
      return;
    }
    begin();
  }

  void begin() {
    const std::vector<std::string> principals = identify();
    if (!principals.empty()) principal = principals.front();
    if (const auto let_in = context_.connections.admit(*this, principals); let_in) {
      begun_ = true;
      context_.handler.connected(*this);
    } else {
      refuse(let_in.error());
    }
    read();
  }

  std::vector<std::string> identify() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      const std::unique_ptr<X509, decltype(&X509_free)> certificate(
          SSL_get1_peer_certificate(stream_.native_handle()), &X509_free);
      return certificate == nullptr ? std::vector<std::string>() : principals_of(*certificate);
    } else {
      return {principal};
    }
  }

  void refuse(const Error& error) {
    Builder builder;
    finish_frame(
        builder, 0,
        wire::CreateError(builder, wire_code(error.code), builder.CreateString(error.message)));
    send(bytes_of(builder));
    close();
  }

  void read() {
    const std::span<std::uint8_t> room = buffer_.room();
    count_bytes();
    stream_.async_read_some(
        asio::buffer(room.data(), room.size()),
        [self = this->shared_from_this()](const error_code& error, std::size_t bytes) {
          self->arrived(error, bytes);
        });
  }

  void arrived(const error_code& error, std::size_t bytes) {
    if (ended_) return;
    if (error) {
      // A peer may close its half and wait for its replies: its requests have all been handled.
      peer_closed_ = true;
      if (closing_) {
        flush();
      } else {
        close();
      }
    } else if (closing_) {
      read();  // dropped
    } else {
      buffer_.received(bytes);
      turn();
    }
  }

  void turn() {
    if (ended_) return;
    const auto start = std::chrono::steady_clock::now();
    working_ = true;
    bool more = false;
    while (!closing_ && !overflowed_) {
      buffer_.set_frame_bytes_max(greeted ? kFrameBytesMax : kHelloBytesMax);
      const Result<FrameBuffer::Received> received = buffer_.next();
      if (!received) {
        context_.handler.broken(*this, buffer_.fault(), received.error());
        break;
      }
      if (received->frame == nullptr) break;
      HEADROOM_ASSERT(received->bytes.size() <= kFrameBytesMax + sizeof(flatbuffers::uoffset_t));
      heard_at = start;
      if (!context_.handler.handle(*this, *received)) {
        wait();
        break;
      }
      if (queued_bytes() > kWriteBytes) flush();
      if (std::chrono::steady_clock::now() - start > kTurnTime) {
        more = true;
        break;
      }
    }
    working_ = false;
    flush();
    context_.metrics.loop_turn(std::chrono::steady_clock::now() - start);
    if (overflowed_ || ended_ || waiting_) return;
    if (more && !closing_) {
      asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->turn(); });
    } else {
      read();
    }
  }

  // The answer takes turns. Nothing is read until then, so that a peer that goes is noticed here.
  void wait() {
    HEADROOM_ASSERT(!waiting_);
    waiting_ = true;
    context_.turns.begin();
    if (watched_) return;
    watched_ = true;
    stream_.lowest_layer().async_wait(asio::socket_base::wait_error,
                                      [self = this->shared_from_this()](const error_code&) {
                                        self->watched_ = false;
                                        if (self->waiting_) self->abort();
                                      });
  }

  void flush() {
    if (ended_ || writing_) return;
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      write_records();
    } else {
      write_bytes();
    }
  }

  // As much as the socket takes now.
  void write_bytes() {
    while (out_begin_ < out_.size()) {
      error_code error;
      const std::size_t written = stream_.write_some(
          asio::buffer(out_.data() + out_begin_, out_.size() - out_begin_), error);
      if (error == asio::error::would_block) {
        begin_writing();
        stream_.lowest_layer().async_wait(
            asio::socket_base::wait_write,
            [self = this->shared_from_this()](const error_code& failed) { self->wrote(failed); });
        return;
      }
      if (error) {
        abort_later();
        return;
      }
      out_begin_ += written;
      HEADROOM_ASSERT(out_begin_ <= out_.size());
    }
    drop_taken(out_);
    out_begin_ = 0;
    count_bytes();
    if (closing_ && !working_ && !waiting_) all_sent();
  }

  // The last reply is on its way: the peer closes next.
  void all_sent() {
    if (peer_closed_) {
      abort_later();
      return;
    }
    all_sent_ = true;
    error_code ignored;
    stream_.lowest_layer().shutdown(asio::socket_base::shutdown_send, ignored);
    if (stopping_) deadline(kStopLingerTime, "the server stops");
  }

  // All that is queued, as records that have to stay where they are until they have been written.
  void write_records() {
    if (out_.empty()) {
      if (closing_ && !working_ && !waiting_) all_sent();
      return;
    }
    begin_writing();
    std::swap(sending_, out_);
    asio::async_write(
        stream_, asio::buffer(sending_),
        [self = this->shared_from_this()](const error_code& failed, std::size_t) -> std::size_t {
          self->taken_at_ = Clock::now();
          return failed ? 0 : kWriteBytes;
        },
        [self = this->shared_from_this()](const error_code& failed, std::size_t) {
          self->drop_taken(self->sending_);
          self->count_bytes();
          self->wrote(failed);
        });
  }

  void begin_writing() {
    HEADROOM_ASSERT(!writing_);
    writing_ = true;
    taken_at_ = Clock::now();
  }

  void wrote(const error_code& failed) {
    writing_ = false;
    if (ended_) return;
    if (failed) {
      abort();
    } else {
      flush();
    }
  }

  // After what may have changed the memory held; may cut off another connection, or this one. What
  // one that is cut off holds is as good as gone.
  void count_bytes() {
    const std::size_t now =
        ended_ || overflowed_ ? 0 : out_.capacity() + sending_.capacity() + buffer_.held_bytes();
    if (now == counted_bytes_) return;
    const auto more =
        static_cast<std::ptrdiff_t>(now) - static_cast<std::ptrdiff_t>(counted_bytes_);
    counted_bytes_ = now;
    context_.connections.held(more);
  }

  std::size_t queued_bytes() const { return out_.size() - out_begin_ + sending_.size(); }
  static void drop_taken(std::vector<std::uint8_t>& bytes) {
    bytes.clear();
    if (bytes.capacity() > kKeptBytesMax) bytes.shrink_to_fit();
  }
  void abort_later() {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->abort(); });
  }

  const std::shared_ptr<asio::ssl::context> tls_;
  Stream stream_;
  asio::steady_timer timer_;
  const ConnectionContext& context_;
  FrameBuffer buffer_{kHelloBytesMax};
  std::vector<std::uint8_t> out_;  // replies; those before out_begin_ have been taken
  std::size_t out_begin_ = 0;
  std::vector<std::uint8_t> sending_;  // replies that are being written as TLS records
  Clock::time_point taken_at_;         // while writing_: when the peer took something of it
  std::size_t counted_bytes_ = 0;      // what the others know it holds
  std::string refusal_;                // of the peer's certificate
  bool begun_ = false;                 // the handler knows it
  bool working_ = false;               // within turn()
  bool waiting_ = false;               // for the answer to a frame, which takes turns
  bool watched_ = false;               // for the peer's end meanwhile
  bool writing_ = false;               // or waiting until the socket takes more
  bool closing_ = false;               // what is read is dropped
  bool stopping_ = false;              // because the server stops
  bool peer_closed_ = false;
  bool all_sent_ = false;    // the last reply too
  bool overflowed_ = false;  // about to be cut off
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<Connection> make_connection(PlainSocket socket, const ConnectionContext& context) {
  return std::make_shared<StreamConnection<PlainSocket>>(std::move(socket), context, nullptr);
}

std::shared_ptr<Connection> make_connection(PlainSocket socket,
                                            std::shared_ptr<asio::ssl::context> tls,
                                            const ConnectionContext& context) {
  TlsStream stream(std::move(socket), *tls);
  return std::make_shared<StreamConnection<TlsStream>>(std::move(stream), context, std::move(tls));
}

}  // namespace headroom
