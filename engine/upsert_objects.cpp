#include "engine/upsert_objects.h"

namespace headroom {

Result<std::size_t> upsert_all(Engine& engine, const ObjectLists& objects) {
  return all_or_none_in_bulk(engine, [&]() -> Result<std::size_t> {
    Result<void> done;
    std::size_t count = 0;
    each_engine_list(objects, [&](const auto& list) {
      for (std::size_t i = 0; done && i < list.size(); ++i) {
        done = engine.upsert(list[i]);
      }
      count += list.size();
    });
    if (!done) {
      return tl::unexpected(done.error());
    }
    return count;
  });
}

}  // namespace headroom
