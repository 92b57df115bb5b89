// headroom_capacity_quotas_*().
#include "autoscaling/capacity_quotas.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "c/handle.h"
#include "c/headroom.h"
#include "c/objects.h"
#include "objects/all_or_none.h"
#include "objects/reading/object_reader.h"

struct headroom_capacity_quotas {
  explicit headroom_capacity_quotas(bool ignore_deleting)
      : quotas({.ignore_deleting = ignore_deleting, .aliases = {}}) {}

  std::string error;
  headroom::CapacityQuotas quotas;
  std::uint32_t forks = 0;

  headroom::CapacityCheck check;
  std::vector<headroom_capacity_quota_limit> limits;
  std::vector<std::string> texts;  // the limits' quotas and resources
};

namespace headroom {

namespace {

Result<void> upsert_quotas(CapacityQuotas& quotas, const ObjectFile& objects) {
  Result<void> done;
  for (std::size_t i = 0; done && i < objects.capacity_quotas.size(); ++i) {
    done = quotas.upsert(objects.capacity_quotas[i]);
  }
  for (std::size_t i = 0; done && i < objects.nodes.size(); ++i) {
    done = quotas.upsert(objects.nodes[i]);
  }
  return done;
}

std::int64_t within_int64(Int128 amount) {
  return static_cast<std::int64_t>(std::clamp(amount, Int128{INT64_MIN}, Int128{INT64_MAX}));
}

headroom_capacity_quota_check checked(headroom_capacity_quotas& handle, std::int64_t requested) {
  const std::vector<CapacityQuotaRow>& rows = handle.check.rows;
  handle.texts.resize(2 * rows.size());
  handle.limits.clear();
  for (const CapacityQuotaRow& row : rows) {
    std::string& quota = handle.texts[2 * handle.limits.size()];
    std::string& resource = handle.texts[2 * handle.limits.size() + 1];
    quota.assign(row.quota);
    resource.assign(row.resource);
    handle.limits.push_back({.quota = quota.c_str(),
                             .resource = resource.c_str(),
                             .limit = within_int64(row.limit),
                             .used = within_int64(row.used),
                             .reserved = within_int64(row.reserved),
                             .need = within_int64(row.need),
                             .max_nodes = row.max_nodes,
                             .binding = row.binding});
  }
  return {.requested = requested,
          .allowed = handle.check.allowed,
          .limits = handle.limits.data(),
          .limit_count = handle.limits.size()};
}

// With the node of a call as an object.
template <typename Call>
headroom_status with_node(headroom_capacity_quotas* quotas, const headroom_node* node,
                          const char* argument, const Call& call) noexcept {
  return guarded(quotas, [&](headroom_capacity_quotas& handle) -> Result<void> {
    if (node == nullptr) return fail_null(argument);
    const Result<Node> read = node_of(*node);
    return read ? call(handle, *read) : tl::unexpected(read.error());
  });
}

}  // namespace

}  // namespace headroom

using headroom::ErrorCode;
using headroom::fail;
using headroom::fail_null;
using headroom::guarded;
using headroom::Result;
using headroom::text_of;

extern "C" {

headroom_status headroom_capacity_quotas_create(int32_t ignore_deleting,
                                                headroom_capacity_quotas** quotas) {
  std::string error;
  return guarded(error, [&]() -> Result<void> {
    if (quotas == nullptr) return fail_null("quotas");
    const auto flag = headroom::flag_of(ignore_deleting, "ignore_deleting");
    if (!flag) return tl::unexpected(flag.error());
    *quotas = new headroom_capacity_quotas(*flag);
    return {};
  });
}

void headroom_capacity_quotas_destroy(headroom_capacity_quotas* quotas) { delete quotas; }

const char* headroom_capacity_quotas_error(const headroom_capacity_quotas* quotas) {
  return quotas == nullptr ? "" : quotas->error.c_str();
}

headroom_status headroom_capacity_quotas_apply(headroom_capacity_quotas* quotas, const char* text,
                                               size_t size, size_t* applied) {
  return guarded(quotas, [&](headroom_capacity_quotas& handle) -> Result<void> {
    if (text == nullptr && size > 0) return fail_null("text");
    const auto objects = headroom::read_objects({text, size}, "text");
    if (!objects) return tl::unexpected(objects.error());
    auto done = headroom::all_or_none(
        handle.quotas, [&] { return headroom::upsert_quotas(handle.quotas, *objects); });
    if (!done) return done;
    if (applied != nullptr) *applied = objects->nodes.size() + objects->capacity_quotas.size();
    return {};
  });
}

headroom_status headroom_capacity_quotas_apply_node(headroom_capacity_quotas* quotas,
                                                    const headroom_node* node) {
  return headroom::with_node(quotas, node, "node",
                             [](headroom_capacity_quotas& handle, const headroom::Node& read) {
                               return handle.quotas.upsert(read);
                             });
}

headroom_status headroom_capacity_quotas_remove_node(headroom_capacity_quotas* quotas,
                                                     const char* name) {
  return guarded(quotas, [&](headroom_capacity_quotas& handle) -> Result<void> {
    handle.quotas.remove_node(text_of(name));
    return {};
  });
}

headroom_status headroom_capacity_quotas_remove_quota(headroom_capacity_quotas* quotas,
                                                      const char* name) {
  return guarded(quotas, [&](headroom_capacity_quotas& handle) -> Result<void> {
    handle.quotas.remove_capacity_quota(text_of(name));
    return {};
  });
}

headroom_status headroom_capacity_quotas_advance(headroom_capacity_quotas* quotas, int64_t now_us) {
  return guarded(quotas,
                 [&](headroom_capacity_quotas& handle) { return handle.quotas.advance(now_us); });
}

headroom_status headroom_capacity_quotas_check(headroom_capacity_quotas* quotas,
                                               const headroom_node* node_template, int64_t count,
                                               headroom_capacity_quota_check* check) {
  return headroom::with_node(
      quotas, node_template, "node_template",
      [&](headroom_capacity_quotas& handle, const headroom::Node& node) -> Result<void> {
        if (check == nullptr) return fail_null("check");
        auto done = handle.quotas.check(node, count, handle.check);
        if (done) *check = headroom::checked(handle, count);
        return done;
      });
}

headroom_status headroom_capacity_quotas_reserve(headroom_capacity_quotas* quotas, const char* id,
                                                 const headroom_node* node_template, int64_t count,
                                                 int64_t expires_us, int32_t up_to,
                                                 int64_t* accepted) {
  return headroom::with_node(
      quotas, node_template, "node_template",
      [&](headroom_capacity_quotas& handle, const headroom::Node& node) -> Result<void> {
        if (accepted == nullptr) return fail_null("accepted");
        const auto flag = headroom::flag_of(up_to, "up_to");
        if (!flag) return tl::unexpected(flag.error());
        const headroom::PlanItem item{&node, count};
        const auto answer = handle.quotas.reserve(
            text_of(id), {&item, 1}, expires_us,
            *flag ? headroom::ReserveMode::kUpTo : headroom::ReserveMode::kAll);
        if (!answer) return tl::unexpected(answer.error());
        *accepted = answer->accepted ? answer->allowed.front() : 0;
        return {};
      });
}

headroom_status headroom_capacity_quotas_release(headroom_capacity_quotas* quotas, const char* id) {
  return guarded(quotas, [&](headroom_capacity_quotas& handle) -> Result<void> {
    if (handle.quotas.release(text_of(id))) return {};
    return fail(ErrorCode::kNotFound, "reservation " + std::string(text_of(id)) + " is not live");
  });
}

headroom_status headroom_capacity_quotas_fork(headroom_capacity_quotas* quotas) {
  return guarded(quotas, [](headroom_capacity_quotas& handle) -> Result<void> {
    handle.quotas.fork();
    ++handle.forks;
    return {};
  });
}

headroom_status headroom_capacity_quotas_rollback(headroom_capacity_quotas* quotas) {
  return guarded(quotas, [](headroom_capacity_quotas& handle) {
    return headroom::close_fork(handle.forks, [&] {
      --handle.forks;
      handle.quotas.rollback();
    });
  });
}

headroom_status headroom_capacity_quotas_commit(headroom_capacity_quotas* quotas) {
  return guarded(quotas, [](headroom_capacity_quotas& handle) {
    return headroom::close_fork(handle.forks, [&] {
      --handle.forks;
      handle.quotas.commit();
    });
  });
}

uint64_t headroom_capacity_quotas_digest(const headroom_capacity_quotas* quotas) {
  return headroom::looked(quotas, std::uint64_t{0}, [](const headroom_capacity_quotas& handle) {
    return handle.quotas.digest();
  });
}

}  // extern "C"
