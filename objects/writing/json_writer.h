// JsonWriter: one JSON value after the other, with the commas where they belong; and the parts that
// several kinds of objects share, in kubectl's form.
//
// What is empty is left out, unless said otherwise. Thread safety: a writer and its text belong to
// one thread. Cost: appends to the text, allocates little else.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "objects/objects.h"

namespace headroom {

class JsonWriter {
 public:
  // The text must outlive the writer.
  explicit JsonWriter(std::string& text) : text_(text) {}

  // Scopes nest by open() and close().
  void open(char bracket) {
    comma();
    text_ += bracket;
    first_ = true;
  }
  void open(std::string_view key_name, char bracket) {
    key(key_name);
    open(bracket);
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    string(name);
    text_ += ':';
    first_ = true;  // the value follows without a comma
  }
  void string(std::string_view value);
  void number(std::int64_t value);
  void boolean(bool value) {
    comma();
    text_ += value ? "true" : "false";
  }

  // "key":value, for what is set; an empty text, map or list is left out.
  void field(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    key(name);
    string(value);
  }
  void field(std::string_view name, std::same_as<bool> auto value) {
    key(name);
    boolean(value);
  }
  void field(std::string_view name, std::int64_t value) {
    key(name);
    number(value);
  }
  void field(std::string_view name, const std::vector<std::string>& list);
  void field(std::string_view name, const StringMap& map) {
    if (!map.empty()) object(name, map);
  }
  void field(std::string_view name, const ResourceList& list) {
    if (!list.empty()) object(name, list);
  }
  // The same where an empty one says something: {}.
  void object(std::string_view name, const StringMap& map);
  void object(std::string_view name, const ResourceList& list);
  // "key":[{...},...], where write(item) writes what stands in each item's braces; an empty list is
  // left out.
  template <typename Item>
  void list(std::string_view name, const std::vector<Item>& items, const auto& write) {
    if (items.empty()) return;
    open(name, '[');
    for (const Item& item : items) {
      open('{');
      write(item);
      close('}');
    }
    close(']');
  }

 private:
  void comma() {
    if (!first_) text_ += ',';
    first_ = false;
  }

  std::string& text_;
  bool first_ = true;  // nothing stands before the next value in its scope
};

// {"apiVersion":...,"kind":...,"metadata":{, both left open.
void open_object(JsonWriter& json, std::string_view api_version, std::string_view kind);
// "matchExpressions":[...], and the like.
void write_requirements(JsonWriter& json, std::string_view name,
                        const std::vector<NodeSelectorRequirement>& requirements);
// All requirements as matchExpressions; {} without any, nothing where it is absent.
void write_label_selector(JsonWriter& json, std::string_view name,
                          const std::optional<LabelSelector>& selector);
void write_node_selector_term(JsonWriter& json, const NodeSelectorTerm& term);
// "required...":{"nodeSelectorTerms":[...]}
void write_node_selector(JsonWriter& json, std::string_view name,
                         const std::vector<NodeSelectorTerm>& terms);
// An entry of ownerReferences with controller: true.
void write_controller(JsonWriter& json, const OwnerReference& owner);
// "iscsi":{"iqn":...}, and the like.
void write_disk(JsonWriter& json, const Disk& disk);

// When an object was deleted, of which only that it was is known.
inline constexpr std::string_view kSomeTime = "2026-01-01T00:00:00Z";

}  // namespace headroom
