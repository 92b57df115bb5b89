// What the encoders of objects have in common: quantities, resource lists, maps, selectors.
//
// Thread safety and cost: as in encode.h.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "objects/objects.h"
#include "schema/write.h"

namespace headroom {

// As short as can be: whole units or thousandths as plain digits, which is what most are.
inline TextOffset quantity(Builder& builder, const Quantity& quantity) {
  constexpr Int128 kNanosInMilli = 1'000'000;
  constexpr Int128 kMilliMax = 1'000'000'000'000'000'000;
  const Int128 nanos = quantity.nanos();
  if (nanos < 0 || nanos % kNanosInMilli != 0 || nanos / kNanosInMilli > kMilliMax) {
    return write_text(builder, quantity.canonical());
  }
  auto rest = static_cast<std::uint64_t>(nanos / kNanosInMilli);
  std::array<char, 24> digits{};
  std::size_t begin = digits.size();
  if (rest % 1000 == 0) {
    rest /= 1000;
  } else {
    digits[--begin] = 'm';
  }
  do {
    digits[--begin] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  return builder.CreateString(digits.data() + begin, digits.size() - begin);
}

inline ListOffset<wire::Resource> present(Builder& builder, const ResourceList& list) {
  return write_list<wire::Resource>(builder, list, [&](const auto& resource) {
    const auto name = write_text(builder, resource.first);
    return wire::CreateResource(builder, name, quantity(builder, resource.second));
  });
}

// Absent and empty differ.
inline ListOffset<wire::Resource> resources(Builder& builder,
                                            const std::optional<ResourceList>& list) {
  return list ? present(builder, *list) : 0;
}

inline ListOffset<wire::Resource> resources(Builder& builder, const ResourceList& list) {
  return list.empty() ? 0 : present(builder, list);
}

inline ListOffset<wire::KeyValue> map(Builder& builder, const StringMap& map) {
  return write_list_if_any<wire::KeyValue>(builder, map, [&](const auto& entry) {
    const auto key = write_text(builder, entry.first);
    return wire::CreateKeyValue(builder, key, write_text_if_any(builder, entry.second));
  });
}

inline ListOffset<flatbuffers::String> strings(Builder& builder,
                                               std::span<const std::string> list) {
  return write_texts_if_any(builder, list);
}

inline ListOffset<wire::NodeSelectorRequirement> requirements(
    Builder& builder, const std::vector<NodeSelectorRequirement>& list) {
  return write_list_if_any<wire::NodeSelectorRequirement>(
      builder, list, [&](const NodeSelectorRequirement& requirement) {
        const auto key = write_text_if_any(builder, requirement.key);
        const auto op = write_text_if_any(builder, requirement.op);
        return wire::CreateNodeSelectorRequirement(builder, key, op,
                                                   strings(builder, requirement.values));
      });
}

inline flatbuffers::Offset<wire::NodeSelectorTerm> selector_term(Builder& builder,
                                                                 const NodeSelectorTerm& term) {
  const auto expressions = requirements(builder, term.match_expressions);
  return wire::CreateNodeSelectorTerm(builder, expressions,
                                      requirements(builder, term.match_fields));
}

}  // namespace headroom
