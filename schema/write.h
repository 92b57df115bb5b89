// Texts and lists of tables as they are written into a builder, by both ends.
//
// Thread safety: pure functions over the builder. Cost: one copy; they allocate for lists of more
// than some dozen items alone. A shared text is looked for among those that are there already.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "schema/headroom_generated.h"

namespace headroom {

using Builder = flatbuffers::FlatBufferBuilder;
using TextOffset = flatbuffers::Offset<flatbuffers::String>;
template <typename Item>
using ListOffset = flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<Item>>>;

inline TextOffset write_text(Builder& builder, std::string_view text) {
  return builder.CreateString(text.data(), text.size());
}

// Absent where it is empty.
inline TextOffset write_text_if_any(Builder& builder, std::string_view text) {
  return text.empty() ? 0 : write_text(builder, text);
}

// For names and reasons that come many times.
inline TextOffset write_shared_text(Builder& builder, std::string_view text) {
  return builder.CreateSharedString(text.data(), text.size());
}

// `write` makes one Item's offset of one item. Offsets are collected before their list is written:
// of short lists, which nearly all are, in place.
template <typename Item, typename Items, typename Write>
ListOffset<Item> write_list(Builder& builder, const Items& items, Write write) {
  constexpr std::size_t kInPlace = 32;
  std::array<flatbuffers::Offset<Item>, kInPlace> few;
  std::vector<flatbuffers::Offset<Item>> many;
  flatbuffers::Offset<Item>* offsets = few.data();
  if (items.size() > kInPlace) {
    many.resize(items.size());
    offsets = many.data();
  }
  std::size_t count = 0;
  for (const auto& item : items) offsets[count++] = write(item);
  return builder.CreateVector(offsets, count);
}

// Absent where it is empty.
template <typename Item, typename Items, typename Write>
ListOffset<Item> write_list_if_any(Builder& builder, const Items& items, Write write) {
  return items.empty() ? 0 : write_list<Item>(builder, items, write);
}

template <typename Texts>
ListOffset<flatbuffers::String> write_texts_if_any(Builder& builder, const Texts& texts) {
  return write_list_if_any<flatbuffers::String>(
      builder, texts, [&](std::string_view text) { return write_text(builder, text); });
}

}  // namespace headroom
