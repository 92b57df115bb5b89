#include "server/sockets/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/http/span_body.hpp>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace headroom {

namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Tcp = net::ip::tcp;

// After a failure to accept.
constexpr std::chrono::milliseconds kAcceptPause(100);
// A peer that is told to go may take so long to read that: a socket that is closed while bytes of
// the peer wait in it takes its reply with it.
constexpr std::chrono::seconds kLingerTime(1);
constexpr std::size_t kLingerBytes = 64 << 10;
// Connections taken before those there are have their turn.
constexpr int kAcceptsPerTurn = 32;

struct Answer {
  http::status status;
  std::string text;
};

Answer answer_to(std::string_view target, const Metrics& metrics) {
  const auto check = [](bool good, const char* otherwise) {
    return good ? Answer{http::status::ok, "ok\n"}
                : Answer{http::status::service_unavailable, otherwise};
  };
  if (target == "/healthz") return check(metrics.alive(), "the control thread does not answer\n");
  if (target == "/readyz") {
    return check(metrics.ready(), "no feeder has completed a resync yet\n");
  }
  return {http::status::not_found, "/metrics, /healthz and /readyz are served\n"};
}

// What a request that cannot be read is answered.
Answer refusal_of(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return {http::status::request_header_fields_too_large,
            fmt::format("more than kHttpHeaderBytesMax ({}) bytes\n", kHttpHeaderBytesMax)};
  }
  if (error == http::error::body_limit || error == http::error::unexpected_body) {
    return {http::status::payload_too_large, "requests have no body here\n"};
  }
  return {http::status::bad_request, error.message() + "\n"};
}

class Session;

// What the connections have in common.
struct Shared {
  Metrics& metrics;
  std::set<Session*> open;
  // Those that wait for /metrics: one text is made for all that asked in the same turn.
  std::vector<std::shared_ptr<Session>> scraping;
};

// One connection. Lives as long as an operation of it is under way.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Tcp::socket socket, net::ip::address peer, Shared& shared)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        peer_(std::move(peer)),
        shared_(shared) {
    shared_.open.insert(this);
  }
  ~Session() { shared_.open.erase(this); }

  const net::ip::address& peer() const { return peer_; }
  Clock::time_point waits_since() const { return waits_since_; }

  void await_request() {
    waits_since_ = Clock::now();
    if (buffer_.size() > 0) {
      read();
      return;
    }
    stage_ = Stage::kIdle;
    deadline(kHttpIdleTime);
    socket_.async_wait(Tcp::socket::wait_read,
                       [self = shared_from_this()](const error_code& error) {
                         if (error) {
                           self->close();
                         } else {
                           self->read();
                         }
                       });
  }

  // What is under way ends.
  void close() {
    shared_.open.erase(this);
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  enum class Stage { kIdle, kRequest, kReply, kLinger };

  void deadline(Clock::duration after) {
    timer_.expires_after(after);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      // Another deadline may have been set since this one fired.
      if (!error && Clock::now() >= self->timer_.expiry()) self->late();
    });
  }

  void late() {
    if (stage_ != Stage::kRequest) {
      close();
      return;
    }
    error_code ignored;
    socket_.cancel(ignored);
  }

  void read() {
    stage_ = Stage::kRequest;
    deadline(kHttpRequestTime);
    parser_.emplace();
    parser_->header_limit(kHttpHeaderBytesMax);
    parser_->body_limit(std::uint64_t{0});
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                       self->arrived(error, bytes);
                     });
  }

  // The parser holds the first line against its limit, and then the rest.
  void arrived(error_code error, std::size_t bytes) {
    if (!socket_.is_open()) return;
    if (!error && bytes > kHttpHeaderBytesMax) error = http::error::header_limit;
    if (!error) {
      serve(parser_->get());
    } else if (error == net::error::operation_aborted) {
      refuse({http::status::request_timeout,
              fmt::format("no whole request within {} seconds\n", kHttpRequestTime.count())});
    } else if (error != http::error::end_of_stream &&
               error.category() == http::make_error_code(http::error::end_of_stream).category()) {
      refuse(refusal_of(error));
    } else {
      close();
    }
  }

  void serve(const http::request<http::empty_body>& request) {
    head_ = request.method() == http::verb::head;
    keep_alive_ = request.keep_alive();
    const std::string_view whole(request.target().data(), request.target().size());
    const std::string_view target = whole.substr(0, whole.find('?'));
    if (!head_ && request.method() != http::verb::get) {
      reply({http::status::method_not_allowed, "GET and HEAD are served\n"});
    } else if (target == "/metrics") {
      scrape();
    } else {
      reply(answer_to(target, shared_.metrics));
    }
  }

  void scrape() {
    stage_ = Stage::kReply;
    if (shared_.scraping.empty()) {
      net::post(socket_.get_executor(), [&shared = shared_] {
        const std::vector<std::shared_ptr<Session>> asked = std::move(shared.scraping);
        shared.scraping.clear();
        const auto text = std::make_shared<const std::string>(shared.metrics.text());
        for (const auto& session : asked) {
          session->reply(http::status::ok, text, "text/plain; version=0.0.4; charset=utf-8");
        }
      });
    }
    shared_.scraping.push_back(shared_from_this());
  }

  void refuse(Answer answer) {
    head_ = keep_alive_ = false;
    reply(std::move(answer));
  }

  void reply(Answer answer) {
    reply(answer.status, std::make_shared<const std::string>(std::move(answer.text)), "text/plain");
  }

  void reply(http::status status, std::shared_ptr<const std::string> text, const char* type) {
    if (!socket_.is_open()) return;
    stage_ = Stage::kReply;
    deadline(kHttpReplyTime);
    shared_.metrics.http_replied(static_cast<unsigned>(status));
    text_ = std::move(text);
    reply_ = {};
    reply_.result(status);
    reply_.set(http::field::content_type, type);
    if (status == http::status::method_not_allowed) reply_.set(http::field::allow, "GET, HEAD");
    reply_.keep_alive(keep_alive_);
    reply_.content_length(text_->size());
    if (!head_) reply_.body() = {text_->data(), text_->size()};
    http::async_write(socket_, reply_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->replied(error);
                      });
  }

  void replied(const error_code& error) {
    if (!socket_.is_open()) return;
    text_.reset();  // it may be long, and the next one may not come for a while
    if (error) {
      close();
    } else if (keep_alive_) {
      await_request();
    } else {
      error_code ignored;
      socket_.shutdown(Tcp::socket::shutdown_send, ignored);
      stage_ = Stage::kLinger;
      deadline(kLingerTime);
      drain();
    }
  }

  void drain() {
    socket_.async_read_some(net::buffer(dropped_), [self = shared_from_this()](
                                                       const error_code& error, std::size_t bytes) {
      self->drained_ += bytes;
      if (error || self->drained_ > kLingerBytes) {
        self->close();
      } else {
        self->drain();
      }
    });
  }

  Tcp::socket socket_;
  net::steady_timer timer_;
  const net::ip::address peer_;
  Shared& shared_;
  Stage stage_ = Stage::kIdle;
  Clock::time_point waits_since_;
  boost::beast::flat_buffer buffer_{kHttpHeaderBytesMax};
  std::optional<http::request_parser<http::empty_body>> parser_;
  bool head_ = false, keep_alive_ = false;   // of the request
  std::shared_ptr<const std::string> text_;  // of the reply
  http::response<http::span_body<const char>> reply_;
  std::array<char, 4096> dropped_;
  std::size_t drained_ = 0;
};

}  // namespace

class HttpServer::Listener {
 public:
  explicit Listener(Metrics& metrics) : shared_{.metrics = metrics, .open = {}, .scraping = {}} {}
  ~Listener() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
    shared_.scraping.clear();
  }

  // Where it listens then.
  Result<Tcp::endpoint> open(const HostAndPort& address) {
    error_code error;
    const net::ip::address host = net::ip::make_address(address.host, error);
    if (error) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("metrics: \"{}\" is not an IP address", address.host));
    }
    const Tcp::endpoint wanted(host, address.port);
    acceptor_.open(wanted.protocol(), error);
    if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(wanted, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    Tcp::endpoint bound;
    if (!error) bound = acceptor_.local_endpoint(error);
    if (!error) acceptor_.non_blocking(true, error);
    if (error) {
      return fail(ErrorCode::kIo, fmt::format("metrics: {}:{} cannot be listened on: {}",
                                              address.host, address.port, error.message()));
    }
    thread_ = std::thread([this] { run(); });
    return bound;
  }

 private:
  void run() {
    for (;;) {
      try {
        if (!accepting_) accept();
        io_.run();
        return;
      } catch (const std::exception&) {
        // No memory, most likely: what was under way is gone, and the rest goes on.
        std::this_thread::sleep_for(kAcceptPause);
      }
    }
  }

  void accept() {
    acceptor_.async_accept([this](const error_code& error, Tcp::socket socket) {
      accepting_ = false;
      if (error == net::error::operation_aborted) return;
      if (error) {
        pause();
        return;
      }
      accept();
      take(std::move(socket));
      error_code none;
      for (int more = 1; more < kAcceptsPerTurn && !none; ++more) {
        Tcp::socket next = acceptor_.accept(none);
        if (!none) take(std::move(next));
      }
    });
    accepting_ = true;
  }

  // Out of descriptors, or a peer that left.
  void pause() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const error_code& error) {
      if (!error) accept();
    });
    accepting_ = true;
  }

  void take(Tcp::socket socket) {
    error_code error;
    const net::ip::address peer = socket.remote_endpoint(error).address();
    if (error) return;  // gone already
    socket.set_option(Tcp::no_delay(true), error);
    if (shared_.open.size() >= kHttpConnectionsMax) make_room();
    std::make_shared<Session>(std::move(socket), peer, shared_)->await_request();
  }

  void make_room() {
    std::map<net::ip::address, std::size_t> counts;
    for (const Session* session : shared_.open) ++counts[session->peer()];
    const auto goes_first = [&](const Session* a, const Session* b) {
      const std::size_t of_a = counts[a->peer()], of_b = counts[b->peer()];
      return of_a != of_b ? of_a > of_b : a->waits_since() < b->waits_since();
    };
    Session* const goes = *std::min_element(shared_.open.begin(), shared_.open.end(), goes_first);
    shared_.metrics.http_evicted();
    goes->close();
  }

  Shared shared_;
  // After that: what it still holds at the end refers to it.
  net::io_context io_{1};
  Tcp::acceptor acceptor_{io_};
  net::steady_timer pause_{io_};
  bool accepting_ = false;  // or will soon
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Listener> listener, std::string address)
    : listener_(std::move(listener)), address_(std::move(address)) {}

HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HostAndPort& address,
                                                      Metrics& metrics) {
  auto listener = std::make_unique<Listener>(metrics);
  const Result<Tcp::endpoint> bound = listener->open(address);
  if (!bound) return tl::unexpected(bound.error());
  const Endpoint endpoint{.kind = Endpoint::Kind::kTcp,
                          .path = {},
                          .host = bound->address().to_string(),
                          .port = bound->port()};
  // Without the scheme: an endpoint's text puts IPv6 in brackets.
  std::string text = "http" + endpoint.text().substr(std::string_view("tcp").size()) + "/metrics";
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listener), std::move(text)));
}

}  // namespace headroom
