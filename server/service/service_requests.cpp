// RequestService: every body that clients send, in one table: the role it takes, how it is counted,
// what serves it. Roles are enforced here and nowhere else.
#include <fmt/format.h>

#include <array>

#include "server/service/service.h"

namespace headroom {

// A handler in the table's form. It replies with what it leaves in builder_, unless it says itself
// what there is to say.
template <typename Wire, Result<void> (RequestService::*kMember)(std::uint64_t, const Wire&)>
struct RequestService::Handler<kMember> {
  static constexpr bool kReplies = true;
  static Result<void> serve(RequestService& service, Peer&, std::uint64_t id,
                            const wire::Frame& frame) {
    return (service.*kMember)(id, *frame.body_as<Wire>());
  }
};
template <typename Wire, Result<void> (RequestService::*kMember)(Peer&, std::uint64_t, const Wire&)>
struct RequestService::Handler<kMember> {
  static constexpr bool kReplies = true;
  static Result<void> serve(RequestService& service, Peer& peer, std::uint64_t id,
                            const wire::Frame& frame) {
    return (service.*kMember)(peer, id, *frame.body_as<Wire>());
  }
};
template <typename Wire, void (RequestService::*kMember)(Peer&, std::uint64_t, const Wire&)>
struct RequestService::Handler<kMember> {
  static constexpr bool kReplies = false;
  static Result<void> serve(RequestService& service, Peer& peer, std::uint64_t id,
                            const wire::Frame& frame) {
    (service.*kMember)(peer, id, *frame.body_as<Wire>());
    return {};
  }
};

const RequestService::Request* RequestService::request_of(wire::Body body) {
  constexpr std::size_t kBodies = static_cast<std::size_t>(wire::Body::MAX) + 1;
  static const std::array<Request, kBodies> kTable = [] {
    std::array<Request, kBodies> table{};
    const auto add = [&table]<typename Serves>(wire::Body of, std::optional<Role> role,
                                               RequestKind kind, Serves) {
      table[static_cast<std::size_t>(of)] = {role, kind, Serves::kReplies, &Serves::serve};
    };
    using wire::Body;
    using K = RequestKind;
    add(Body::Hello, {}, K::kHello, Handler<&RequestService::greet>());
    add(Body::FeedBegin, Role::kFeed, K::kFeed, Handler<&RequestService::feed_begin>());
    add(Body::Facts, Role::kFeed, K::kFacts, Handler<&RequestService::facts>());
    add(Body::FeedEnd, Role::kFeed, K::kFeed, Handler<&RequestService::feed_end>());
    add(Body::Evaluate, Role::kLook, K::kEvaluate, Handler<&RequestService::evaluate>());
    add(Body::EvaluateNodes, Role::kLook, K::kEvaluateNodes,
        Handler<&RequestService::evaluate_nodes>());
    add(Body::Explain, Role::kLook, K::kExplain, Handler<&RequestService::explain>());
    add(Body::BoundVolumes, Role::kLook, K::kBoundVolumes,
        Handler<&RequestService::bound_volumes>());
    add(Body::PostFilter, Role::kLook, K::kPostFilter, Handler<&RequestService::post_filter>());
    add(Body::ExplainVictims, Role::kLook, K::kExplainVictims,
        Handler<&RequestService::explain_victims>());
    add(Body::ElasticQuotaStatus, Role::kLook, K::kElasticQuotaStatus,
        Handler<&RequestService::elastic_quota_status>());
    add(Body::Stats, Role::kLook, K::kStats, Handler<&RequestService::stats>());
    add(Body::Reserve, Role::kDecide, K::kReserve, Handler<&RequestService::serve_reserve>());
    add(Body::Unreserve, Role::kDecide, K::kUnreserve, Handler<&RequestService::unreserve>());
    add(Body::Place, Role::kDecide, K::kPlace, Handler<&RequestService::place>());
    add(Body::RenewReservations, Role::kDecide, K::kRenewReservations,
        Handler<&RequestService::renew_reservations>());
    add(Body::Reservations, Role::kLook, K::kReservations,
        Handler<&RequestService::reservations>());
    add(Body::CapacityCheck, Role::kLook, K::kCapacityCheck,
        Handler<&RequestService::capacity_check>());
    add(Body::CapacityPlan, Role::kLook, K::kCapacityPlan,
        Handler<&RequestService::capacity_plan>());
    add(Body::CapacityReserve, Role::kDecide, K::kCapacityReserve,
        Handler<&RequestService::capacity_reserve>());
    add(Body::CapacityRelease, Role::kDecide, K::kCapacityRelease,
        Handler<&RequestService::capacity_release>());
    add(Body::CapacityQuotaStatus, Role::kLook, K::kCapacityQuotaStatus,
        Handler<&RequestService::capacity_quota_status>());
    add(Body::CapacityReservations, Role::kLook, K::kCapacityReservations,
        Handler<&RequestService::capacity_reservations>());
    return table;
  }();
  const auto place = static_cast<std::size_t>(body);
  return place < kBodies && kTable[place].serve != nullptr ? &kTable[place] : nullptr;
}

Result<void> RequestService::serve(const Request& request, Peer& peer, std::uint64_t id,
                                   const wire::Frame& frame) {
  std::optional<Role> role = request.role;
  // The one request that asks for more than its body says.
  if (const wire::Evaluate* evaluate = frame.body_as_Evaluate();
      evaluate != nullptr && evaluate->reserve() != nullptr) {
    role = Role::kDecide;
  }
  if (role && !peer.roles.contains(*role)) {
    return fail(ErrorCode::kForbidden,
                fmt::format("{}: it takes the role {}, which this connection does not have",
                            wire::EnumNameBody(frame.body_type()), to_string(*role)));
  }
  if (given_up_ && role && *role != Role::kFeed && frame.body_type() != wire::Body::Stats) {
    return fail(
        ErrorCode::kInternal,
        "not ready: the cluster was given up after a fault; a feeder's resync makes another");
  }
  if (auto decides = decides_for(peer, request); !decides) return decides;
  return request.serve(*this, peer, id, frame);
}

}  // namespace headroom
