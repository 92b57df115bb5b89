// Decoder: what reads of all wire objects have in common: texts, lists, quantities, labels, limits.
//
// Fills one object. The first fault is kept, with the path to it; what follows is skipped. Thread
// safety: one thread. Cost: a copy of the fields.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/error.h"
#include "objects/objects.h"
#include "schema/frame.h"
#include "schema/headroom_generated.h"
#include "schema/limits.h"
#include "server/requests/size_check.h"

namespace headroom {

class Decoder {
 public:
  template <typename Item>
  using List = flatbuffers::Vector<flatbuffers::Offset<Item>>;

  void string(const char* field, const flatbuffers::String* in, std::string& out) {
    if (in == nullptr) {
      out.clear();
      return;
    }
    if (too_long(field, *in)) return;
    out.assign(in->c_str(), in->size());
    spend(in->size());
  }

  // The engine looks after the other names.
  void namespace_name(const char* field, const flatbuffers::String* in, std::string& out) {
    if (in->size() == 0) {
      refuse(ErrorCode::kInvalid, field, "is empty");
    } else {
      string(field, in, out);
    }
  }

  // One call of `each(wire item, out item)` per item.
  template <typename Item, typename Out, typename Each>
  void list(const char* field, const List<Item>* in, std::vector<Out>& out, Each each) {
    const std::size_t size = size_of(in);
    if (too_many(field, size)) return;
    spend(size * kItemBytes);
    if (error_) return;
    out.resize(size);
    for (std::size_t i = 0; i < size && !error_; ++i) {
      each(*in->Get(static_cast<flatbuffers::uoffset_t>(i)), out[i]);
      if (error_) {
        within(fmt::format("{}[{}]", field, i));
      }
    }
  }

  void strings(const char* field, const List<flatbuffers::String>* in,
               std::vector<std::string>& out) {
    list(field, in, out, [&](const flatbuffers::String& item, std::string& text_out) {
      string("", &item, text_out);
    });
  }

  void resources(const char* field, const List<wire::Resource>* in, ResourceList& out) {
    if (in != nullptr && in->size() > kResourcesPerListMax) {
      refuse(ErrorCode::kLimitExceeded, field,
             fmt::format("{} resources: kResourcesPerListMax is {}", in->size(),
                         kResourcesPerListMax));
      return;
    }
    list(field, in, out,
         [&](const wire::Resource& item, std::pair<std::string, Quantity>& resource) {
           string("name", item.name(), resource.first);
           if (too_long("quantity", *item.quantity())) return;
           const Result<Quantity> quantity = Quantity::parse(text(item.quantity()));
           if (!quantity) {
             refuse(quantity.error().code, text(item.name()), quantity.error().message);
             return;
           }
           resource.second = *quantity;
         });
    sort_names(field, out);
  }

  // Absent and empty differ.
  void resources(const char* field, const List<wire::Resource>* in,
                 std::optional<ResourceList>& out) {
    if (in == nullptr) {
      out.reset();
      return;
    }
    if (!out) out.emplace();
    resources(field, in, *out);
  }

  // Values may be long (annotations); kLabelBytesMax bounds them all.
  void map(const char* field, const List<wire::KeyValue>* in, StringMap& out) {
    list(field, in, out,
         [&](const wire::KeyValue& item, std::pair<std::string, std::string>& entry) {
           string("key", item.key(), entry.first);
           const std::string_view value = text(item.value());
           label_bytes_ += entry.first.size() + value.size();
           if (label_bytes_ > kLabelBytesMax) {
             refuse(ErrorCode::kLimitExceeded, entry.first,
                    fmt::format("labels and annotations of more than {} bytes, which is"
                                " kLabelBytesMax",
                                kLabelBytesMax));
             return;
           }
           entry.second.assign(value);
           spend(value.size());
         });
    sort_names(field, out);
  }

  void selector_term(const wire::NodeSelectorTerm& in, NodeSelectorTerm& out) {
    requirements("matchExpressions", in.match_expressions(), out.match_expressions);
    requirements("matchFields", in.match_fields(), out.match_fields);
  }

  void requirements(const char* field, const List<wire::NodeSelectorRequirement>* in,
                    std::vector<NodeSelectorRequirement>& out) {
    list(field, in, out,
         [&](const wire::NodeSelectorRequirement& item, NodeSelectorRequirement& requirement) {
           string("key", item.key(), requirement.key);
           string("op", item.op(), requirement.op);
           strings("values", item.values(), requirement.values);
         });
  }

  // Sorted by name, each once. Items are names, or pairs that begin with one.
  template <typename Item>
  void sort_names(const char* field, std::vector<Item>& list) {
    const auto by_name = [](const Item& a, const Item& b) { return name_of(a) < name_of(b); };
    if (!std::is_sorted(list.begin(), list.end(), by_name)) {
      std::sort(list.begin(), list.end(), by_name);
    }
    const auto twice =
        std::adjacent_find(list.begin(), list.end(),
                           [](const Item& a, const Item& b) { return name_of(a) == name_of(b); });
    if (twice != list.end()) {
      refuse(ErrorCode::kInvalid, field, fmt::format("\"{}\" comes twice", name_of(*twice)));
    }
  }

  static std::optional<std::int64_t> optional(std::int64_t value) {
    return value == 0 ? std::nullopt : std::optional(value);
  }

  // True: the list is refused.
  bool too_many(const char* field, std::size_t items) {
    if (items <= kItemsPerListMax) return false;
    refuse(ErrorCode::kLimitExceeded, field, too_many_items(items));
    return true;
  }

  void refuse(ErrorCode code, std::string_view field, std::string_view message) {
    if (!error_) {
      field_named_ = !field.empty();
      error_ =
          Error{code, field.empty() ? std::string(message) : fmt::format("{}: {}", field, message)};
    }
  }

  // `object`: "pod team-a/web-1".
  template <typename Describe>
  Result<std::size_t> result(Describe object) {
    if (!error_) return bytes_;
    error_->message = fmt::format("{}: {}", object(), error_->message);
    return tl::unexpected(*error_);
  }

 private:
  static const std::string& name_of(const std::string& name) { return name; }
  template <typename Value>
  static const std::string& name_of(const std::pair<std::string, Value>& named) {
    return named.first;
  }

  bool too_long(const char* field, const flatbuffers::String& in) {
    if (in.size() <= kTextBytesMax) return false;
    refuse(ErrorCode::kLimitExceeded, field, too_many_bytes(in.size()));
    return true;
  }
  // An item that is a value itself has no field to name.
  void within(const std::string& item) {
    error_->message = item + (field_named_ ? "." : ": ") + error_->message;
    field_named_ = true;
  }
  void spend(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kObjectBytesMax) {
      refuse(ErrorCode::kLimitExceeded, "",
             fmt::format("more than {} bytes, which is kObjectBytesMax", kObjectBytesMax));
    }
  }

  std::optional<Error> error_;
  bool field_named_ = false;  // error_ begins with a field's name
  std::size_t label_bytes_ = 0;
  std::size_t bytes_ = 0;  // read so far, as kObjectBytesMax counts them
};

}  // namespace headroom
