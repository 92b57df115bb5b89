// YAML to JSON text, one JSON document for each YAML document that is not empty.
//
// Scalars as Kubernetes reads YAML: quoted ones are strings; plain ones are null, booleans (also
// yes, no, on, off) or numbers where they look like one. Anchors are copied to where they are used.
// Internal to objects/.
#pragma once

#include <string>
#include <string_view>

#include "objects/error.h"

namespace headroom {

// As parse_yaml; kUnsupported for merge keys, keys that are not scalars and numbers that JSON
// lacks; kLimitExceeded also for kYamlBytesMax and kYamlAliasBytesMax. Messages do not name the
// source.
Result<std::string> yaml_to_json(std::string_view text);

}  // namespace headroom
