// Replies of a headroomd as plain values (answers.h); Client does it for its blocking calls.
//
// Thread safety: pure functions. Cost: one copy of the reply's texts and numbers. Replies come from
// a FrameBuffer, which has verified them; of lists that should be of one length and are not, what
// is missing is 0 or "".
#pragma once

#include "client/answers.h"

namespace headroom {

// An Error's code and message.
Error error_of(const wire::Error& error);

answers::Evaluated decode(const wire::Evaluated& reply);
answers::NodesEvaluated decode(const wire::NodesEvaluated& reply);
answers::Placed decode(const wire::Placed& reply);
answers::Explained decode(const wire::Explained& reply);
answers::BoundVolumes decode(const wire::BoundVolumesReply& reply);
answers::Reservations decode(const wire::ReservationsReply& reply);
answers::Stats decode(const wire::StatsReply& reply);
answers::PostFiltered decode(const wire::PostFiltered& reply);
answers::ExplainedVictims decode(const wire::ExplainedVictims& reply);
answers::ElasticQuotaStatus decode(const wire::ElasticQuotaStatusReply& reply);
answers::CapacityChecked decode(const wire::CapacityChecked& reply);
answers::CapacityPlanned decode(const wire::CapacityPlanned& reply);
answers::CapacityReserved decode(const wire::CapacityReserved& reply);
answers::CapacityQuotaStatus decode(const wire::CapacityQuotaStatusReply& reply);
answers::CapacityReservations decode(const wire::CapacityReservationsReply& reply);
// Empty: it is reserved.
Result<void> decode(const wire::Reserved& reply);

}  // namespace headroom
