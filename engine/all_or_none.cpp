#include "engine/all_or_none.h"

namespace headroom {

Result<std::size_t> upsert_all(Engine& engine, const ObjectFile& objects) {
  return all_or_none_in_bulk(engine, [&]() -> Result<std::size_t> {
    Result<void> done;
    std::size_t count = 0;
    const auto upsert = [&](const auto& list) {
      for (std::size_t i = 0; done && i < list.size(); ++i) {
        done = engine.upsert(list[i]);
      }
      count += list.size();
    };
    // What others refer to comes first: it is less work.
    upsert(objects.priority_classes);
    upsert(objects.elastic_quotas);
    upsert(objects.pod_disruption_budgets);
    upsert(objects.referred_objects);
    upsert(objects.nodes);
    upsert(objects.node_metrics);
    upsert(objects.pods);
    if (!done) {
      return tl::unexpected(done.error());
    }
    return count;
  });
}

}  // namespace headroom
