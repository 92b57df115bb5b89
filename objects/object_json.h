// Parsed JSON to the objects of objects.h, one function for each kind. Internal to objects/.
//
// The value is the whole object, whose kind the caller knows. False after the first error, with
// `errors` filled; the output is then unspecified.
#pragma once

#include "objects/json_fields.h"

namespace headroom {

bool read_node(JsonValue value, FieldErrors& errors, Node& out);
bool read_pod(JsonValue value, FieldErrors& errors, Pod& out);
bool read_node_metric(JsonValue value, FieldErrors& errors, NodeMetric& out);

// The parts of an object, the last of each name; null where absent.
struct ObjectParts {
  std::optional<JsonValue> metadata, spec, status;
};
ObjectParts object_parts(JsonValue value);

// metadata, for every kind. `namespace_name`, `uid`, ...: nullptr where the kind has no use for it.
struct MetadataFields {
  std::string* name = nullptr;
  std::string* namespace_name = nullptr;
  std::string* uid = nullptr;
  StringMap* labels = nullptr;
  StringMap* annotations = nullptr;
  bool* daemon_set = nullptr;
  std::optional<std::int64_t>* creation_us = nullptr;
};
bool read_metadata(const ObjectParts& parts, FieldErrors& errors, const MetadataFields& out);

}  // namespace headroom
