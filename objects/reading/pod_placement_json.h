// What a pod says about where it may run and beside whom, from JSON. Internal to objects/.
//
// Each reads one field of spec, and adds to not_considered what it asks for there.
#pragma once

#include "objects/reading/json_fields.h"

namespace headroom {

// spec.affinity
bool read_affinity(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out);
bool read_topology_spread(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out);
bool read_scheduling_gates(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out);
bool read_tolerations(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out);

}  // namespace headroom
