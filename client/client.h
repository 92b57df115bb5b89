// Client: asks a headroomd.
//
//   const Endpoint endpoint = Endpoint::parse("unix:///run/headroom/headroom.sock").value();
//   Client client = Client::connect(endpoint).value();
//   const answers::Decision decision = client.evaluate(pod, {.top_k = 16})->decisions[0];
//   for (const answers::Candidate& candidate : decision.candidates) {
//     if (client.reserve(pod, candidate.node_name)) break;
//   }
//
// Blocking calls send one request and wait for its reply, at most SocketOptions::timeout (5 s),
// then the connection is closed; a lost connection is made again, one that the server closed while
// nobody asked before the next request, and what changes nothing (evaluate, explain, post_filter,
// stats, ...) is asked again, until the timeout. A reservation whose reply was lost is an error
// (kIo): whether it holds is not known; to reserve again is safe (of nodes under the same id:
// kConflict then says that it holds). Answers are plain values
// (answers.h). Pipelined calls: send() any number of requests, flush(), receive() the replies in
// their order, as frames that are valid until the next call; decode.h makes plain values of them.
//
// Thread safety: one thread at a time; a thread that asks has a client of its own. Errors: kIo (no
// connection, no answer), or what the server's Error says. Facts go through a Feeder (feeder.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/answers.h"
#include "client/decode.h"
#include "client/encode.h"
#include "client/socket.h"
#include "schema/endpoint.h"
#include "schema/frame.h"

namespace headroom {

struct ClientOptions {
  std::string name = "headroom-client";  // in the server's logs
  // Whose profile decides, where the server has several; empty: its first. Greeting::scheduler_name
  // says which it is. A name that the server does not have is kNotFound.
  std::string scheduler_name = {};
  SocketOptions socket;
};

// What the server said of itself, last.
struct Greeting {
  std::string server;
  std::uint64_t incarnation = 0;
  std::string scheduler_name;                // of the profile that decides for this client
  std::vector<std::string> plugin_names;     // decisions name plugins by their place here
  std::vector<wire::Role> roles;             // what this client may do
  std::string owner;                         // whose its reservations are
  std::chrono::seconds reservation_time{0};  // 0: a server that ends none
};

class Client {
 public:
  static Result<Client> connect(const Endpoint& endpoint, const ClientOptions& options = {});
  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) noexcept = default;

  const Greeting& greeting() const { return greeting_; }

  // --- Blocking ---
  Result<answers::Evaluated> evaluate(std::span<const PodRef> pods,
                                      const EvaluateRequest& request = {});
  Result<answers::Evaluated> evaluate(const PodRef& pod, const EvaluateRequest& request = {}) {
    return evaluate(std::span(&pod, 1), request);
  }
  // What every node says, a page at a time: while its `next` is not 0, ask again from there. Or
  // what single nodes say.
  Result<answers::NodesEvaluated> evaluate_nodes(const PodRef& pod,
                                                 const EvaluateNodesRequest& request = {});
  // kConflict: the node no longer fits.
  Result<void> reserve(const PodRef& pod, std::string_view node_name);
  Result<void> unreserve(const Pod& pod, std::string_view node_name);
  // What this client's owner reserves ends Greeting::reservation_time from now: call it a few times
  // in that time while any of it is still to be bound. How many it holds.
  Result<std::uint32_t> renew_reservations();
  // Who reserves what, until when; a page, as of elastic_quota_status(): `after` is the last one's
  // pod.
  Result<answers::Reservations> reservations(const PodName& after = {});
  Result<answers::Placed> place(std::span<const PodRef> pods, bool reasons = true);
  Result<answers::Explained> explain(const PodRef& pod, std::string_view node_name);
  // What the cluster would write of the pod's claims that wait, as Engine::bound_volumes() has it.
  Result<answers::BoundVolumes> bound_volumes(const PodRef& pod, std::string_view node_name);
  // Who must go so that the pod has its place; kUnsupported without CapacityScheduling.
  Result<answers::PostFiltered> post_filter(const PodRef& pod, bool candidates = false);
  // A page of them; where its `more` says so, ask again with its last namespace.
  Result<answers::ElasticQuotaStatus> elastic_quota_status(std::string_view after = {});
  Result<answers::ExplainedVictims> explain_victims(const PodRef& pod, std::string_view node_name);
  // May so many such nodes be created? kConflict: the server knows no quota yet.
  Result<answers::CapacityChecked> capacity_check(std::span<const CapacityItem> items,
                                                  bool binding_only = false);
  Result<answers::CapacityChecked> capacity_check(const Node& node, std::int64_t count);
  // kNotFound: a node to remove is not there.
  Result<answers::CapacityPlanned> capacity_plan(std::span<const CapacityItem> add,
                                                 std::span<const std::string> remove = {});
  // Not an error where it is not accepted. kConflict: the id is live; kLimitExceeded: it would
  // lapse later than in a week; kIo: the server's memory is used up.
  Result<answers::CapacityReserved> capacity_reserve(const CapacityReserveRequest& request);
  // False: no such reservation is live, or it was given back and that answer was lost. kForbidden:
  // another one made it.
  Result<bool> capacity_release(std::string_view id);
  // Pages, as of elastic_quota_status(): `after` is the last one's id.
  Result<answers::CapacityQuotaStatus> capacity_quota_status(std::string_view after = {});
  Result<answers::CapacityReservations> capacity_reservations(std::string_view after = {});
  Result<answers::Stats> stats(bool digest = false);

  // --- Pipelined ---
  // Cleared; build a request's body in it, then send() it.
  Builder& builder() {
    builder_.Clear();
    return builder_;
  }
  // Queues the request; returns its id.
  template <typename Body>
  std::uint64_t send(flatbuffers::Offset<Body> body) {
    finish_frame(builder_, ++last_id_, body);
    queue(bytes_of(builder_));
    return last_id_;
  }
  // What send() has just sent.
  const Builder& built() const { return builder_; }
  // Queues a finished frame.
  void queue(std::span<const std::uint8_t> frame) {
    out_.insert(out_.end(), frame.begin(), frame.end());
  }
  std::size_t queued_bytes() const { return out_.size(); }
  Result<void> flush();
  // The next frame from the server; an Error too.
  Result<FrameBuffer::Received> receive();
  // If it is there already: else its `frame` is nullptr.
  Result<FrameBuffer::Received> receive_now();
  bool connected() const { return socket_ != nullptr; }
  // Makes a lost connection again.
  Result<void> reconnect();

 private:
  Client(const Endpoint& endpoint, const ClientOptions& options)
      : endpoint_(endpoint), options_(options) {}
  Socket::Clock::time_point deadline() const;  // of a call that begins now
  Result<void> reconnect(Socket::Clock::time_point deadline);
  Result<void> greet(Socket::Clock::time_point deadline);
  Result<void> flush(Socket::Clock::time_point deadline);
  Result<FrameBuffer::Received> receive(Socket::Clock::time_point deadline);
  Result<void> read_greeting(const wire::HelloReply& reply);
  Result<void> heed_unasked(const wire::Frame& frame);
  // Sends what `build` makes and waits for the reply, again on a new connection if it may be.
  template <typename Reply, typename Build>
  Result<const Reply*> ask(bool repeatable, Build build);
  Result<const wire::Frame*> reply_to(std::uint64_t id, Socket::Clock::time_point deadline);
  void notice_close();
  std::optional<Error> last_words();

  Endpoint endpoint_;
  ClientOptions options_;
  std::unique_ptr<Socket> socket_;
  Greeting greeting_;
  Builder builder_;
  std::vector<std::uint8_t> out_;
  std::uint64_t last_id_ = 0;
  std::chrono::steady_clock::time_point asked_at_;
};

}  // namespace headroom
