#include "objects/writing/json_writer.h"

#include <charconv>

#include "objects/disk_kinds.h"
#include "objects/text/json_string.h"

namespace headroom {

void JsonWriter::string(std::string_view value) {
  comma();
  append_json_string(text_, value);
}

void JsonWriter::number(std::int64_t value) {
  char digits[24];
  comma();
  text_.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
}

void JsonWriter::field(std::string_view name, const std::vector<std::string>& list) {
  if (list.empty()) return;
  open(name, '[');
  for (const std::string& entry : list) string(entry);
  close(']');
}

void JsonWriter::object(std::string_view name, const StringMap& map) {
  open(name, '{');
  for (const auto& [entry, value] : map) {
    key(entry);
    string(value);
  }
  close('}');
}

void JsonWriter::object(std::string_view name, const ResourceList& list) {
  open(name, '{');
  for (const auto& [resource, quantity] : list) {
    key(resource);
    string(quantity.canonical());
  }
  close('}');
}

void open_object(JsonWriter& json, std::string_view api_version, std::string_view kind) {
  json.open('{');
  json.field("apiVersion", api_version);
  json.field("kind", kind);
  json.open("metadata", '{');
}

void write_requirements(JsonWriter& json, std::string_view name,
                        const std::vector<NodeSelectorRequirement>& requirements) {
  json.list(name, requirements, [&](const NodeSelectorRequirement& requirement) {
    json.field("key", requirement.key);
    json.field("operator", requirement.op);
    json.field("values", requirement.values);
  });
}

void write_label_selector(JsonWriter& json, std::string_view name,
                          const std::optional<LabelSelector>& selector) {
  if (!selector) return;
  json.open(name, '{');
  write_requirements(json, "matchExpressions", *selector);
  json.close('}');
}

void write_node_selector_term(JsonWriter& json, const NodeSelectorTerm& term) {
  json.open('{');
  write_requirements(json, "matchExpressions", term.match_expressions);
  write_requirements(json, "matchFields", term.match_fields);
  json.close('}');
}

void write_node_selector(JsonWriter& json, std::string_view name,
                         const std::vector<NodeSelectorTerm>& terms) {
  json.open(name, '{');
  json.open("nodeSelectorTerms", '[');
  for (const NodeSelectorTerm& term : terms) write_node_selector_term(json, term);
  json.close(']');
  json.close('}');
}

void write_controller(JsonWriter& json, const OwnerReference& owner) {
  json.open('{');
  json.field("apiVersion", owner.api_version);
  json.field("controller", true);
  json.field("kind", owner.kind);
  json.field("name", owner.name);
  json.field("uid", owner.uid);
  json.close('}');
}

void write_disk(JsonWriter& json, const Disk& disk) {
  const DiskKind* kind = find_disk_kind(disk.kind);
  if (kind == nullptr) return;
  json.open(disk.kind, '{');
  std::string_view id = disk.id;
  const std::size_t slash = id.rfind('/');
  if (kind->kind == kRbd && slash != std::string_view::npos) {
    json.field("pool", id.substr(0, slash));
    id.remove_prefix(slash + 1);
  }
  json.field(kind->id, id);
  json.field("monitors", disk.monitors);
  if (disk.read_only) json.field("readOnly", true);
  json.close('}');
}

}  // namespace headroom
