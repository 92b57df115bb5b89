// Many facts of an engine at once: all of them or, on an error, none.
//
// Thread safety: as the engine. Cost: that of the changes, and a fork's copy of what they replace.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/engine.h"
#include "objects/all_or_none.h"
#include "objects/object_lists.h"

namespace headroom {

// all_or_none() for many facts without a decision between them.
template <typename Change>
auto all_or_none_in_bulk(Engine& engine, const Change& change) {
  const Engine::Bulk bulk = engine.bulk();
  return all_or_none(engine, change);
}

// Takes the objects as facts, but for CapacityQuotas. Returns how many.
Result<std::size_t> upsert_all(Engine& engine, const ObjectLists& objects);
// read_objects() and that, with the same result and the same errors. A large text for an engine
// that has never had a node is read by a second thread meanwhile; neither object nor text is kept.
Result<std::size_t> upsert_text(Engine& engine, std::string_view text, std::string_view source);

}  // namespace headroom
