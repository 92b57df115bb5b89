// Volumes from JSON: those of pods, and the disks that a volume names itself. Internal to objects/.
#pragma once

#include "objects/reading/json_fields.h"

namespace headroom {

// The value of a field of disk_kinds.h; nothing for another field.
bool read_disk(const FieldPath& path, JsonValue value, FieldErrors& errors,
               std::optional<Disk>& out);
// spec.volumes of a pod, and what they ask for beyond it.
bool read_volumes(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out);

}  // namespace headroom
