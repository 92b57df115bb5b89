#include "python/src/capacity_quotas.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "autoscaling/capacity_quotas.h"
#include "objects/all_or_none.h"
#include "python/src/errors.h"
#include "python/src/objects.h"
#include "python/src/results.h"
#include "python/src/shared.h"
#include "python/src/time.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headroom::python {
namespace {

using SharedCapacityQuotas = Shared<CapacityQuotas>;

// --- Answers ---

nb::object number(Int128 value) {
  const auto high = static_cast<std::int64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  return (nb::int_(high) << nb::int_(64)) | nb::int_(low);
}

// None: nothing limits it.
nb::object count_of(std::int64_t nodes) {
  if (nodes == INT64_MAX) return nb::none();
  return nb::int_(nodes);
}

nb::dict skipped_of(const std::vector<SkippedCapacityQuota>& skipped) {
  nb::dict why;
  for (const SkippedCapacityQuota& quota : skipped) why[text(quota.quota)] = text(quota.why);
  return why;
}

nb::object row_of(const CapacityQuotaRow& row) {
  return make("CapacityQuotaRow", text(row.quota), text(row.resource), number(row.limit),
              number(row.used), number(row.reserved), number(row.need), number(row.headroom),
              number(row.shortfall), count_of(row.max_nodes), row.binding);
}

nb::object check_of(const CapacityCheck& check) {
  return make("CapacityCheck", check.allowed, list_of(check.rows, row_of),
              skipped_of(check.skipped));
}

nb::object break_of(const std::optional<PlanBreak>& stop) {
  if (!stop) return nb::none();
  return make("PlanBreak", stop->item, stop->fits, list_of(stop->rows, row_of));
}

nb::object plan_of(const PlanAnswer& plan) {
  const nb::list rows = list_of(plan.rows, [](const PlanRow& row) {
    return make("PlanRow", text(row.quota), text(row.resource), number(row.limit), number(row.used),
                number(row.reserved), number(row.added), number(row.removed), number(row.net),
                number(row.peak));
  });
  return make("PlanAnswer", break_of(plan.net_break), break_of(plan.peak_break), rows,
              skipped_of(plan.skipped));
}

nb::object headroom_of(const TemplateHeadroom& headroom) {
  const nb::list rows = list_of(headroom.rows, [](const TemplateHeadroom::Row& row) {
    return make("HeadroomRow", text(row.quota), text(row.resource), number(row.headroom),
                number(row.stranded), count_of(row.max_nodes), row.binding);
  });
  return make("TemplateHeadroom", count_of(headroom.max_nodes), rows, skipped_of(headroom.skipped));
}

nb::object amounts_of(const std::optional<WhatIf::Amounts>& amounts) {
  if (!amounts) return nb::none();
  return make("LimitAmounts", number(amounts->limit), number(amounts->used),
              number(amounts->reserved));
}

nb::object what_if_of(const WhatIf& answer) {
  const nb::list rows = list_of(answer.rows, [](const WhatIf::Row& row) {
    return make("ChangedLimit", text(row.quota), text(row.resource), amounts_of(row.before),
                amounts_of(row.after), row.newly_over);
  });
  const nb::list templates = list_of(answer.templates, [](const WhatIf::Template& each) {
    return make("ChangedTemplate", text(each.name), count_of(each.max_nodes_before),
                count_of(each.max_nodes_after), texts(each.blocked_by));
  });
  nb::dict skipped;
  for (const auto& [quota, why] : answer.skipped) skipped[text(quota)] = text(why);
  return make("WhatIf", rows, templates, skipped);
}

nb::object status_of(const CapacityQuotaStatus& status) {
  nb::dict amounts;
  for (const CapacityQuotaStatus::Amount& amount : status.amounts) {
    amounts[text(amount.resource)] =
        make("LimitAmounts", number(amount.limit), number(amount.used), number(amount.reserved));
  }
  return make("CapacityQuotaStatus", text(status.id), text(status.name), status.in_force,
              text(status.invalid), status.nodes, amounts);
}

// --- Questions ---

// Templates and their counts, from pairs (node, count).
struct Items {
  std::vector<Node> nodes;
  std::vector<PlanItem> items;
};

Items items_of(nb::handle pairs, const char* what) {
  Items items;
  std::vector<std::int64_t> counts;
  for (const nb::handle pair : nb::iter(pairs)) {
    if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2) {
      throw nb::type_error((std::string(what) + ": give pairs (node, count)").c_str());
    }
    std::int64_t count = 0;
    if (!nb::try_cast(pair[1], count)) {
      throw nb::type_error((std::string(what) + ": a count is a whole number of 64 bits").c_str());
    }
    for (Node& node : nodes_of(pair[0], what)) {
      items.nodes.push_back(std::move(node));
      counts.push_back(count);
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    items.items.push_back({.node = &items.nodes[i], .count = counts[i]});
  }
  return items;
}

Node template_of(nb::handle node) {
  std::vector<Node> nodes = nodes_of(node, "template");
  if (nodes.size() != 1) {
    raise({ErrorCode::kInvalid, "template: " + std::to_string(nodes.size()) + " nodes: give one"});
  }
  return std::move(nodes.front());
}

// Of both kinds of facts; anything else is somebody's mistake.
ObjectFile facts_of(nb::handle objects, const char* what) {
  ObjectFile file = objects_of(objects, what);
  if (!file.pods.empty() || !file.elastic_quotas.empty() || !file.node_metrics.empty() ||
      !file.pod_disruption_budgets.empty() || !file.priority_classes.empty() ||
      !file.referred_objects.empty() || !file.other_kinds.empty()) {
    raise({ErrorCode::kUnsupported,
           std::string(what) + ": only Node and CapacityQuota are facts of capacity quotas"});
  }
  return file;
}

Result<std::size_t> upsert(CapacityQuotas& quotas, const ObjectFile& file) {
  return all_or_none(quotas, [&]() -> Result<std::size_t> {
    for (const Node& node : file.nodes) {
      if (Result<void> done = quotas.upsert(node); !done) return tl::unexpected(done.error());
    }
    for (const CapacityQuota& quota : file.capacity_quotas) {
      if (Result<void> done = quotas.upsert(quota); !done) return tl::unexpected(done.error());
    }
    return file.nodes.size() + file.capacity_quotas.size();
  });
}

void bind_facts(nb::class_<SharedCapacityQuotas>& quotas) {
  quotas
      .def(
          "__init__",
          [](SharedCapacityQuotas* self, bool ignore_deleting,
             const std::map<std::string, std::string>& aliases) {
            new (self) SharedCapacityQuotas(CapacityQuotas(
                {.ignore_deleting = ignore_deleting, .aliases = {aliases.begin(), aliases.end()}}));
          },
          nb::kw_only(), "ignore_deleting"_a = false,
          "aliases"_a = std::map<std::string, std::string>(),
          nb::sig("def __init__(self, *, ignore_deleting: bool = False, "
                  "aliases: collections.abc.Mapping[str, str] = ...) -> None"),
          R"(ignore_deleting: nodes marked for deletion do not count. aliases: a limit of the first
name counts the resource of the second.)")
      .def(
          "upsert",
          [](SharedCapacityQuotas& self, nb::object objects) {
            const ObjectFile file = facts_of(objects, "objects");
            return value_of(self.run([&](CapacityQuotas& q) { return upsert(q, file); }));
          },
          "objects"_a, nb::sig("def upsert(self, objects: headroom._types.ObjectsLike) -> int"),
          "Takes nodes and CapacityQuotas as facts, as in Engine.upsert(). Returns how many.")
      .def("remove_node", removal(&CapacityQuotas::remove_node), "name"_a,
           "Deleting what is not there changes nothing.")
      .def(
          "remove_capacity_quota",
          [](SharedCapacityQuotas& self, std::string name) {
            self.run([&](CapacityQuotas& q) { q.remove_capacity_quota(name); });
          },
          "name"_a, "Deleting what is not there changes nothing.")
      .def(
          "advance",
          [](SharedCapacityQuotas& self, nb::object now) {
            const std::int64_t now_us = time_us(now, "now");
            value_of(self.run([&](CapacityQuotas& q) { return q.advance(now_us); }));
          },
          "now"_a, nb::sig("def advance(self, now: int | datetime.datetime) -> None"),
          "Moves the clock, as Engine.advance() does. Reservations lapse.")
      .def("_fork", &SharedCapacityQuotas::fork)
      .def("_end_fork", &SharedCapacityQuotas::end_fork)
      .def(
          "fork",
          [](nb::handle self) { return nb::module_::import_("headroom._fork").attr("Fork")(self); },
          nb::sig("def fork(self) -> headroom._fork.Fork"),
          "Tries changes: `with quotas.fork(): ...` takes back all that happens inside, unless the "
          "fork's commit() keeps it. Forks nest.");
}

void bind_questions(nb::class_<SharedCapacityQuotas>& quotas) {
  quotas
      .def(
          "check",
          [](SharedCapacityQuotas& self, nb::object node, std::int64_t count) {
            const Node asked = template_of(node);
            return self.run([&](CapacityQuotas& q) { return q.check(asked, count); },
                            [](auto&, const CapacityCheck& check) { return check_of(check); });
          },
          "template"_a, "count"_a = 1,
          nb::sig("def check(self, template: headroom._types.ObjectsLike, count: int = 1) -> "
                  "headroom._results.CapacityCheck"),
          "May so many such nodes be created, and how many?")
      .def(
          "plan",
          [](SharedCapacityQuotas& self, nb::object add, std::vector<std::string> remove) {
            const Items items = items_of(add, "add");
            const Plan plan{.add = items.items, .remove = std::move(remove)};
            return self.run([&](CapacityQuotas& q) { return q.plan(plan); },
                            [](auto&, const PlanAnswer& answer) { return plan_of(answer); });
          },
          "add"_a, "remove"_a = std::vector<std::string>(),
          nb::sig("def plan(self, add: collections.abc.Sequence[tuple["
                  "headroom._types.ObjectsLike, int]], remove: collections.abc.Sequence[str] = ())"
                  " -> headroom._results.PlanAnswer"),
          "All of it in order, net of the removed nodes and at its peak. add: pairs (node, count).")
      .def(
          "max_total",
          [](SharedCapacityQuotas& self, nb::object templates) {
            const Items items = items_of(templates, "templates");
            return self.run([&](CapacityQuotas& q) { return q.max_total(items.items); },
                            [](auto&, const MaxTotal& most) {
                              return make("MaxTotal", most.total, nb::cast(most.counts),
                                          most.upper_bound, skipped_of(most.skipped));
                            });
          },
          "templates"_a,
          nb::sig("def max_total(self, templates: collections.abc.Sequence[tuple["
                  "headroom._types.ObjectsLike, int]]) -> headroom._results.MaxTotal"),
          "The most nodes of several templates together, at most the counts each.")
      .def(
          "headroom",
          [](SharedCapacityQuotas& self, nb::object templates) {
            const std::vector<Node> nodes = nodes_of(templates, "templates");
            return self.run([&](CapacityQuotas& q) { return q.headroom(nodes); },
                            [](auto&, const std::vector<TemplateHeadroom>& answers) {
                              return list_of(answers, headroom_of);
                            });
          },
          "templates"_a,
          nb::sig("def headroom(self, templates: headroom._types.ObjectsLike) -> "
                  "list[headroom._results.TemplateHeadroom]"),
          "How many more of each template on its own, and what would then be left over.")
      .def(
          "what_if",
          [](SharedCapacityQuotas& self, nb::object changes,
             const std::vector<std::string>& remove_capacity_quotas, nb::object templates) {
            const ObjectFile file = facts_of(changes, "changes");
            const std::vector<Node> nodes = nodes_of(templates, "templates");
            std::vector<CapacityQuotaChange> all;
            for (const CapacityQuota& quota : file.capacity_quotas) {
              all.push_back(CapacityQuotaUpsert{.quota = quota});
            }
            for (const std::string& name : remove_capacity_quotas)
              all.push_back(CapacityQuotaRemoval{.name = name});
            for (const Node& node : file.nodes) all.push_back(NodeUpsert{.node = node});
            return self.run([&](CapacityQuotas& q) { return q.what_if(all, nodes); },
                            [](auto&, const WhatIf& answer) { return what_if_of(answer); });
          },
          "changes"_a = nb::make_tuple(), nb::kw_only(),
          "remove_capacity_quotas"_a = std::vector<std::string>(), "templates"_a = nb::make_tuple(),
          nb::sig("def what_if(self, changes: headroom._types.ObjectsLike = (), *, "
                  "remove_capacity_quotas: collections.abc.Sequence[str] = (), "
                  "templates: headroom._types.ObjectsLike = ()) -> headroom._results.WhatIf"),
          "What changed or further CapacityQuotas and nodes would do. templates: whose nodes may "
          "be "
          "newly blocked; none, the kinds of nodes that are there.")
      .def(
          "reserve",
          [](SharedCapacityQuotas& self, std::string id, nb::object templates, nb::object expires,
             bool up_to) {
            const Items items = items_of(templates, "templates");
            const std::int64_t expires_us = time_us(expires, "expires");
            const ReserveMode mode = up_to ? ReserveMode::kUpTo : ReserveMode::kAll;
            return self.run(
                [&](CapacityQuotas& q) { return q.reserve(id, items.items, expires_us, mode); },
                [](auto&, const ReserveAnswer& answer) {
                  return make("ReserveAnswer", answer.accepted, nb::cast(answer.allowed),
                              break_of(answer.stopped), skipped_of(answer.skipped));
                });
          },
          "id"_a, "templates"_a, "expires"_a, nb::kw_only(), "up_to"_a = false,
          nb::sig("def reserve(self, id: str, templates: collections.abc.Sequence[tuple["
                  "headroom._types.ObjectsLike, int]], expires: int | datetime.datetime, *, "
                  "up_to: bool = False) -> headroom._results.ReserveAnswer"),
          "Holds these nodes until they register, expire or are released: all or none, or, with "
          "up_to, as many as fit.")
      .def(
          "release",
          [](SharedCapacityQuotas& self, std::string id) {
            return self.run([&](CapacityQuotas& q) { return q.release(id); });
          },
          "id"_a, "Gives back what is left of a reservation; False: there is none.")
      .def(
          "reservations",
          [](SharedCapacityQuotas& self) {
            return list_of(self.run([](CapacityQuotas& q) { return q.reservations(); }),
                           [](const ReservationStatus& status) {
                             return make("ReservationStatus", text(status.id), status.expires_us,
                                         status.nodes_left, status.nodes_registered);
                           });
          },
          nb::sig("def reservations(self) -> list[headroom._results.ReservationStatus]"), "By id.")
      .def(
          "status",
          [](SharedCapacityQuotas& self) {
            return list_of(self.run([](CapacityQuotas& q) { return q.status(); }), status_of);
          },
          nb::sig("def status(self) -> list[headroom._results.CapacityQuotaStatus]"),
          "What is used of every limit, what is reserved, what is in force; by name.")
      .def(
          "digest", [](SharedCapacityQuotas& self) { return self.run(&CapacityQuotas::digest); },
          "The same for the same facts, reservations and time.")
      .def(
          "validate",
          [](SharedCapacityQuotas& self) { value_of(self.run(&CapacityQuotas::validate)); },
          "Recomputes every sum and compares; raises where one differs.")
      .def(
          "__repr__",
          [](SharedCapacityQuotas& self) {
            const CapacityQuotasStats stats = self.run(&CapacityQuotas::stats);
            return nb::str("<headroom.CapacityQuotas: {:,} quotas, {:,} nodes, {:,} reservations>")
                .attr("format")(stats.quotas, stats.nodes, stats.reservations);
          },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace

void bind_capacity_quotas(nb::module_& module) {
  nb::class_<SharedCapacityQuotas> quotas(
      module, "CapacityQuotas",
      R"(May the cluster grow by these nodes, and if not, what stands in the way?

Fed with nodes and CapacityQuota objects. A template is a Node, of which labels and capacity are
read. Amounts are exact: cpu in milli, all else in whole units. Threads as with Engine.)");
  bind_facts(quotas);
  bind_questions(quotas);
}

}  // namespace headroom::python
