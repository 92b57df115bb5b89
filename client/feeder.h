// Feeder: keeps a headroomd's facts equal to the caller's.
//
// The caller holds the facts (an informer's cache, a simulator's cluster) and gives `snapshot`,
// which names them all. Changes are sent in batches, without waiting. Where the server lost them (a
// restart, a dropped connection, a gap, a new profile) the feeder connects again and resyncs from
// the snapshot: the changes that were queued are dropped then, because the snapshot has them.
//
// Thread safety: one thread at a time. Errors: kIo (no server within the timeout; call again),
// kConflict (another feeder took over: to feed again, call resync()).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/client.h"

namespace headroom {

class Feeder {
 public:
  // Takes an object; of a CapacityQuota also whose limit it is.
  class Emit {
   public:
    using Function = std::function<void(const Object&, wire::CapacityQuotaClass)>;
    explicit Emit(Function function) : function_(std::move(function)) {}
    void operator()(const Object& object, wire::CapacityQuotaClass quota_class =
                                              wire::CapacityQuotaClass::CapacityQuota) const {
      function_(object, quota_class);
    }

   private:
    Function function_;
  };
  // Calls `emit` once per current object.
  using Snapshot = std::function<void(const Emit& emit)>;

  struct Options {
    ClientOptions client{.name = "headroom-feeder", .socket = {}};
    std::uint32_t changes_per_facts = 64;  // at least 1; above kChangesPerFactsMax so many
    // Gives the server the time with each batch, in microseconds since the Unix epoch; empty: the
    // server uses its clock.
    std::function<std::int64_t()> clock;
    // A change that the server refused, with its message.
    std::function<void(const Error&)> on_refused;
  };

  Feeder(const Endpoint& endpoint, Options options, Snapshot snapshot);

  // Feeds the whole snapshot; the server decides on it from its end. Returns when all is sent.
  Result<void> resync();
  Result<void> upsert(const Object& object, wire::CapacityQuotaClass quota_class =
                                                wire::CapacityQuotaClass::CapacityQuota);
  Result<void> remove_node(std::string_view name);
  Result<void> remove_pod(std::string_view namespace_name, std::string_view name);
  Result<void> remove_node_metric(std::string_view name);
  Result<void> remove_elastic_quota(std::string_view namespace_name, std::string_view name);
  Result<void> remove_pod_disruption_budget(std::string_view namespace_name, std::string_view name);
  Result<void> remove_priority_class(std::string_view name);
  // `key`: "namespace/name", or the name where the kind has no namespace.
  Result<void> remove_referred_object(ReferredKind kind, std::string_view key);
  Result<void> remove_capacity_quota(
      std::string_view name,
      wire::CapacityQuotaClass quota_class = wire::CapacityQuotaClass::CapacityQuota);
  // Sends what is queued, and looks whether the server said anything. A lost server is resynced.
  Result<void> flush();
  // flush(), then waits until the server has applied it all. The answer as in Client::stats().
  Result<answers::Stats> barrier(bool digest = false, bool validate = false);

  std::uint64_t resyncs() const { return resyncs_; }

 private:
  Result<void> try_resync();
  Result<void> add(flatbuffers::Offset<wire::Change> change);
  Result<void> collect(flatbuffers::Offset<wire::Change> change);
  bool is_full() const;
  void send_facts();
  Result<void> send_batch();
  // What the server said unasked.
  Result<void> heed(const wire::Frame& frame);
  Result<void> listen();
  Result<void> recover(const Error& lost);

  const Endpoint endpoint_;
  const Options options_;
  const Snapshot snapshot_;
  std::unique_ptr<Client> client_;
  Builder builder_;  // of the Facts that are being collected
  std::vector<flatbuffers::Offset<wire::Change>> changes_;
  std::uint64_t sequence_ = 0, frame_id_ = 0, resyncs_ = 0;
  bool feeding_ = false;  // the server takes our facts
  bool replaced_ = false;
};

}  // namespace headroom
