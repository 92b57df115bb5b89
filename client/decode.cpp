#include "client/decode.h"

#include <utility>

#include "schema/codes.h"
#include "schema/frame.h"

namespace headroom {

namespace {

// A wire's verdict that means none.
constexpr std::uint16_t kFeasibleVerdict = 65535;

std::string string_of(const flatbuffers::String* string) { return std::string(text(string)); }

// 0 where the list is too short.
template <typename T>
T number_at(const flatbuffers::Vector<T>* list, std::uint32_t place) {
  return place < size_of(list) ? list->Get(place) : T{};
}

template <typename T>
std::vector<T> numbers(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? std::vector<T>() : std::vector<T>(list->begin(), list->end());
}

std::vector<NotConsidered> not_considered(const flatbuffers::Vector<wire::NotConsidered>* from) {
  std::vector<NotConsidered> list;
  for (std::uint32_t i = 0; i < size_of(from); ++i) {
    list.push_back(static_cast<NotConsidered>(from->Get(i)));
  }
  return list;
}

// Members of a class see each other whatever their order: so each reader finds that of its items.
struct Read {
  template <typename Wire>
  static auto list(const flatbuffers::Vector<flatbuffers::Offset<Wire>>* from) {
    std::vector<decltype(one(std::declval<const Wire&>()))> items;
    items.reserve(size_of(from));
    for (std::uint32_t i = 0; i < size_of(from); ++i) items.push_back(one(*from->Get(i)));
    return items;
  }

  static std::string one(const flatbuffers::String& from) { return from.str(); }

  static std::string one(const wire::ReferredObject& from) { return string_of(from.json()); }

  static answers::ReasonCount one(const wire::ReasonCount& from) {
    return {.reason = string_of(from.reason()), .nodes = from.nodes()};
  }

  static std::vector<answers::Candidate> candidates(const wire::Decision& from) {
    std::vector<answers::Candidate> candidates(size_of(from.node_names()));
    const std::uint32_t plugins = size_of(from.plugins());
    for (std::uint32_t c = 0; c < candidates.size(); ++c) {
      answers::Candidate& candidate = candidates[c];
      candidate.node_name = string_of(from.node_names()->Get(c));
      candidate.node_index = number_at(from.node_indices(), c);
      candidate.total = number_at(from.totals(), c);
      candidate.plugins.resize(plugins);
      for (std::uint32_t p = 0; p < plugins; ++p) {
        candidate.plugins[p] = {.plugin = from.plugins()->Get(p),
                                .raw = number_at(from.raw_scores(), c * plugins + p),
                                .score = number_at(from.scores(), c * plugins + p)};
      }
    }
    return candidates;
  }

  static answers::Decision one(const wire::Decision& from) {
    return {.code = from.code(),
            .nodes = from.nodes(),
            .feasible = from.feasible(),
            .candidates = candidates(from),
            .reasons = list(from.reasons()),
            .pre_filter = list(from.pre_filter()),
            .not_considered = not_considered(from.not_considered())};
  }

  static answers::NodeVerdict one(const wire::NodeVerdict& from) {
    return {.code = from.code(), .plugin = from.plugin(), .reasons = list(from.reasons())};
  }

  static std::vector<answers::NodeStanding> standings(const wire::NodesEvaluated& from) {
    std::vector<answers::NodeStanding> rows(size_of(from.node_names()));
    for (std::uint32_t r = 0; r < rows.size(); ++r) {
      rows[r].node_name = string_of(from.node_names()->Get(r));
      const std::uint16_t verdict = number_at(from.node_verdicts(), r);
      if (verdict != kFeasibleVerdict) rows[r].verdict = verdict;
      rows[r].total = number_at(from.totals(), r);
    }
    return rows;
  }

  static answers::ExplainTerm one(const wire::ExplainTerm& from) {
    return {.plugin = string_of(from.plugin()),
            .extension_point = string_of(from.extension_point()),
            .resource = string_of(from.resource()),
            .capacity = from.capacity(),
            .aggregate = from.aggregate(),
            .need = from.need(),
            .formula = string_of(from.formula()),
            .result = from.result(),
            .passed = from.passed(),
            .note = string_of(from.note())};
  }

  static answers::Reservation one(const wire::Reservation& from) {
    return {.namespace_name = string_of(from.namespace_name()),
            .name = string_of(from.name()),
            .uid = string_of(from.uid()),
            .node_name = string_of(from.node_name()),
            .owner = string_of(from.owner()),
            .reserved_us = from.reserved_us(),
            .expires_us = from.expires_us()};
  }

  static answers::Victim one(const wire::Victim& from) {
    return {.namespace_name = string_of(from.namespace_name()),
            .name = string_of(from.name()),
            .uid = string_of(from.uid()),
            .priority = from.priority(),
            .node_name = string_of(from.node_name())};
  }

  static answers::NodeVictims one(const wire::NodeVictims& from) {
    return {.node_name = string_of(from.node_name()),
            .code = from.code(),
            .reasons = list(from.reasons()),
            .victims = list(from.victims()),
            .pdb_violations = from.pdb_violations()};
  }

  static answers::PodVerdict one(const wire::PodVerdict& from) {
    return {.pod = from.pod() == nullptr ? answers::Victim{} : one(*from.pod()),
            .victim = from.victim(),
            .why = string_of(from.why())};
  }

  static answers::ElasticQuotaAmount one(const wire::ElasticQuotaAmount& from) {
    return {.resource = string_of(from.resource()),
            .min = from.min(),
            .max = from.max(),
            .used = from.used(),
            .nominated = from.nominated()};
  }

  static answers::ElasticQuotaState one(const wire::ElasticQuotaState& from) {
    return {.namespace_name = string_of(from.namespace_name()),
            .name = string_of(from.name()),
            .over_min = from.over_min(),
            .amounts = list(from.amounts())};
  }

  static answers::CapacityQuotaRow one(const wire::CapacityQuotaRow& from) {
    return {.quota = string_of(from.quota()),
            .resource = string_of(from.resource()),
            .limit = from.limit(),
            .used = from.used(),
            .reserved = from.reserved(),
            .need = from.need(),
            .headroom = from.headroom(),
            .shortfall = from.shortfall(),
            .max_nodes = from.max_nodes(),
            .binding = from.binding()};
  }

  static answers::SkippedCapacityQuota one(const wire::SkippedCapacityQuota& from) {
    return {.quota = string_of(from.quota()), .why = string_of(from.why())};
  }

  static answers::CapacityAnswer one(const wire::CapacityAnswer& from) {
    return {.allowed = from.allowed(),
            .rows = list(from.rows()),
            .rows_left_out = from.rows_left_out()};
  }

  static std::optional<answers::CapacityBreak> one(const wire::CapacityBreak* from) {
    if (from == nullptr) return std::nullopt;
    return answers::CapacityBreak{.item = from->item(),
                                  .fits = from->fits(),
                                  .rows = list(from->rows()),
                                  .rows_left_out = from->rows_left_out()};
  }

  static answers::PlanRow one(const wire::PlanRow& from) {
    return {.quota = string_of(from.quota()),
            .resource = string_of(from.resource()),
            .limit = from.limit(),
            .used = from.used(),
            .reserved = from.reserved(),
            .added = from.added(),
            .removed = from.removed(),
            .net = from.net(),
            .peak = from.peak()};
  }

  static answers::CapacityAmount one(const wire::CapacityAmount& from) {
    return {.resource = string_of(from.resource()),
            .limit = from.limit(),
            .used = from.used(),
            .reserved = from.reserved()};
  }

  static answers::CapacityQuotaState one(const wire::CapacityQuotaState& from) {
    return {.id = string_of(from.id()),
            .name = string_of(from.name()),
            .quota_class = from.quota_class(),
            .generation_in_force = from.generation_in_force(),
            .generation = from.generation(),
            .in_force = from.in_force(),
            .invalid = string_of(from.invalid()),
            .nodes = from.nodes(),
            .amounts = list(from.amounts())};
  }

  static answers::CapacityReservation one(const wire::CapacityReservation& from) {
    return {.id = string_of(from.id()),
            .expires_us = from.expires_us(),
            .nodes_left = from.nodes_left(),
            .nodes_registered = from.nodes_registered()};
  }
};

}  // namespace

Error error_of(const wire::Error& error) {
  return {code_of(error.code()), string_of(error.message())};
}

Result<void> decode(const wire::Reserved& reply) {
  if (reply.code() == wire::ErrorCode::None) return {};
  return fail(code_of(reply.code()), string_of(reply.message()));
}

answers::Evaluated decode(const wire::Evaluated& reply) {
  return {.epoch = reply.epoch(),
          .decisions = Read::list(reply.decisions()),
          .reserved = reply.reserved() == nullptr ? Result<void>() : decode(*reply.reserved())};
}

answers::NodesEvaluated decode(const wire::NodesEvaluated& reply) {
  return {.epoch = reply.epoch(),
          .nodes = reply.nodes(),
          .pre_filter = Read::list(reply.pre_filter()),
          .verdicts = Read::list(reply.verdicts()),
          .rows = Read::standings(reply),
          .next = reply.next(),
          .not_considered = not_considered(reply.not_considered())};
}

answers::Placed decode(const wire::Placed& reply) {
  return {.epoch = reply.epoch(),
          .node_names = Read::list(reply.node_names()),
          .node_indices = numbers(reply.node_indices()),
          .failures = Read::list(reply.failures())};
}

answers::Explained decode(const wire::Explained& reply) {
  return {.epoch = reply.epoch(),
          .code = reply.code(),
          .total = reply.total(),
          .terms = Read::list(reply.terms()),
          .not_considered = not_considered(reply.not_considered())};
}

answers::BoundVolumes decode(const wire::BoundVolumesReply& reply) {
  return {.epoch = reply.epoch(), .objects = Read::list(reply.objects())};
}

answers::Reservations decode(const wire::ReservationsReply& reply) {
  return {.reservations = Read::list(reply.reservations()),
          .more = reply.more(),
          .now_us = reply.now_us()};
}

answers::Stats decode(const wire::StatsReply& reply) {
  return {.incarnation = reply.incarnation(),
          .epoch = reply.epoch(),
          .fed_sequence = reply.fed_sequence(),
          .ready = reply.ready(),
          .resyncing = reply.resyncing(),
          .nodes = reply.nodes(),
          .pods = reply.pods(),
          .pending_pods = reply.pending_pods(),
          .reserved_pods = reply.reserved_pods(),
          .shapes = reply.shapes(),
          .connections = reply.connections(),
          .decisions = reply.decisions(),
          .cache_hits = reply.cache_hits(),
          .cold_passes = reply.cold_passes(),
          .rows_replayed = reply.rows_replayed(),
          .digest = reply.digest(),
          .invalid = string_of(reply.invalid()),
          .capacity_quotas = reply.capacity_quotas(),
          .capacity_quotas_invalid = reply.capacity_quotas_invalid(),
          .capacity_reservations = reply.capacity_reservations(),
          .capacity_digest = reply.capacity_digest(),
          .memory_bytes = reply.memory_bytes(),
          .memory_bytes_max = reply.memory_bytes_max(),
          .time_us = reply.time_us()};
}

answers::PostFiltered decode(const wire::PostFiltered& reply) {
  return {.epoch = reply.epoch(),
          .code = reply.code(),
          .nominated_node = string_of(reply.nominated_node()),
          .victims = Read::list(reply.victims()),
          .pdb_violations = reply.pdb_violations(),
          .reasons = Read::list(reply.reasons()),
          .cross_node = reply.cross_node(),
          .cross_node_would_help = reply.cross_node_would_help(),
          .victims_at_least = reply.victims_at_least(),
          .candidates = Read::list(reply.candidates()),
          .candidates_left_out = reply.candidates_left_out(),
          .nodes_dry_run = reply.nodes_dry_run(),
          .nodes_ruled_out = reply.nodes_ruled_out(),
          .stays_nominated = reply.stays_nominated(),
          .not_considered = not_considered(reply.not_considered())};
}

answers::ExplainedVictims decode(const wire::ExplainedVictims& reply) {
  return {.epoch = reply.epoch(), .pods = Read::list(reply.pods()), .left_out = reply.left_out()};
}

answers::ElasticQuotaStatus decode(const wire::ElasticQuotaStatusReply& reply) {
  return {.epoch = reply.epoch(), .quotas = Read::list(reply.quotas()), .more = reply.more()};
}

answers::CapacityChecked decode(const wire::CapacityChecked& reply) {
  return {.epoch = reply.epoch(),
          .answers = Read::list(reply.answers()),
          .skipped = Read::list(reply.skipped()),
          .skipped_left_out = reply.skipped_left_out()};
}

answers::CapacityPlanned decode(const wire::CapacityPlanned& reply) {
  return {.epoch = reply.epoch(),
          .net_break = Read::one(reply.net_break()),
          .peak_break = Read::one(reply.peak_break()),
          .rows = Read::list(reply.rows()),
          .rows_left_out = reply.rows_left_out(),
          .skipped = Read::list(reply.skipped()),
          .skipped_left_out = reply.skipped_left_out()};
}

answers::CapacityReserved decode(const wire::CapacityReserved& reply) {
  return {.epoch = reply.epoch(),
          .accepted = reply.accepted(),
          .allowed = numbers(reply.allowed()),
          .stopped = Read::one(reply.stopped()),
          .now_us = reply.now_us(),
          .skipped = Read::list(reply.skipped()),
          .skipped_left_out = reply.skipped_left_out()};
}

answers::CapacityQuotaStatus decode(const wire::CapacityQuotaStatusReply& reply) {
  return {.epoch = reply.epoch(), .quotas = Read::list(reply.quotas()), .more = reply.more()};
}

answers::CapacityReservations decode(const wire::CapacityReservationsReply& reply) {
  return {.epoch = reply.epoch(),
          .reservations = Read::list(reply.reservations()),
          .more = reply.more(),
          .now_us = reply.now_us()};
}

}  // namespace headroom
