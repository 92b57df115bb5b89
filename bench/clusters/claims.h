// Claims that wait for their first consumer, and the storage that they wait for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "objects/objects.h"

namespace headroom {

// The class of storage of which each node has its own, and its driver: both have this name.
inline constexpr const char* kLocalStorage = "local.example.com";

// A class of a driver of its own, and the driver, which may tell what storage it has where.
std::vector<ReferredObject> storage_class_of(const std::string& name, bool tells_capacity);
// What the class has on the nodes with the label.
CsiStorageCapacity storage_of(const std::string& storage_class, const std::string& key,
                              const std::string& value, std::int64_t bytes);
// For 10 GiB.
PersistentVolumeClaim waiting_claim(const std::string& namespace_name, const std::string& name,
                                    const std::string& storage_class);

}  // namespace headroom
