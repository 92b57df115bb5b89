#include "bench/clusters/claims.h"

namespace headroom {

std::vector<ReferredObject> storage_class_of(const std::string& name, bool tells_capacity) {
  StorageClass storage_class;
  storage_class.name = storage_class.provisioner = name;
  storage_class.waits_for_first_consumer = true;
  CsiDriver driver;
  driver.name = name;
  driver.storage_capacity = tells_capacity;
  return {storage_class, driver};
}

CsiStorageCapacity storage_of(const std::string& storage_class, const std::string& key,
                              const std::string& value, std::int64_t bytes) {
  CsiStorageCapacity capacity;
  capacity.namespace_name = "storage";
  capacity.name = value;
  capacity.storage_class = storage_class;
  capacity.node_topology = LabelSelector{{key, "In", {value}}};
  capacity.capacity_bytes = bytes;
  return capacity;
}

PersistentVolumeClaim waiting_claim(const std::string& namespace_name, const std::string& name,
                                    const std::string& storage_class) {
  PersistentVolumeClaim claim;
  claim.namespace_name = namespace_name;
  claim.name = claim.uid = name;
  claim.storage_class = storage_class;
  claim.access_modes = {"ReadWriteOnce"};
  claim.volume_mode = "Filesystem";
  claim.request_bytes = std::int64_t{10} << 30;
  return claim;
}

}  // namespace headroom
