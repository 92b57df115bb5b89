#include "objects/reading/volume_json.h"

#include "objects/disk_kinds.h"
#include "objects/limits.h"

namespace headroom {

namespace {

constexpr std::string_view kClaimFields[] = {"claimName"};
constexpr std::string_view kImageFields[] = {"reference"};
// ImageLocality's name of an image without a reference, which counts.
constexpr const char* kUnnamedImage = ":latest";
// Beside those of disk_kinds.h, what not every node can attach.
constexpr std::string_view kOtherAttached[] = {
    "csi", "fc", "flexVolume", "photonPersistentDisk", "scaleIO", "storageos"};
// All that are read, and common ones that are not, so that nobody compares their names.
constexpr std::string_view kVolumeFields[] = {"name",
                                              "persistentVolumeClaim",
                                              "ephemeral",
                                              "image",
                                              "gcePersistentDisk",
                                              "awsElasticBlockStore",
                                              "azureDisk",
                                              "azureFile",
                                              "cinder",
                                              "portworxVolume",
                                              "vsphereVolume",
                                              "iscsi",
                                              "rbd",
                                              "csi",
                                              "configMap",
                                              "downwardAPI",
                                              "emptyDir",
                                              "hostPath",
                                              "projected",
                                              "secret"};

// One text of an object: claimName, reference.
bool read_one_text(const FieldPath& path, JsonValue value, FieldErrors& errors,
                   std::span<const std::string_view> known, std::string& out) {
  out.clear();
  return for_each_field(path, value, errors, known, [&](FieldName name, JsonValue inner) {
    return name != known.front() ||
           read_string(FieldPath{&path, name}, inner, errors, kStringBytesMax, out);
  });
}

// An entry of spec.volumes.
bool read_volume(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  // Most volumes are not kept, and cost no memory.
  std::string_view volume_name;
  Volume volume;
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == "name") return read_text(field, inner, errors, kNameBytesMax, volume_name);
    if (name == "persistentVolumeClaim") {
      out.not_considered.add(NotConsidered::kPersistentVolumeClaims);
      return read_one_text(field, inner, errors, kClaimFields, volume.claim.emplace());
    }
    if (name == "ephemeral") {
      out.not_considered.add(NotConsidered::kPersistentVolumeClaims);
      volume.ephemeral = true;
      return true;
    }
    if (name == "image") {
      if (!read_one_text(field, inner, errors, kImageFields, volume.image)) return false;
      if (volume.image.empty()) volume.image = kUnnamedImage;
      return true;
    }
    if (find_disk_kind(name) != nullptr ||
        std::find(std::begin(kOtherAttached), std::end(kOtherAttached), name) !=
            std::end(kOtherAttached)) {
      out.not_considered.add(NotConsidered::kVolumes);
    }
    return read_disk(field, inner, errors, volume.disk);
  };
  if (!for_each_field(path, value, errors, kVolumeFields, read)) return false;
  if (volume.claim || volume.ephemeral || !volume.image.empty() || volume.disk) {
    volume.name = volume_name;
    out.volumes.push_back(std::move(volume));
  }
  return true;
}

}  // namespace

bool read_disk(const FieldPath& path, JsonValue value, FieldErrors& errors,
               std::optional<Disk>& out) {
  const DiskKind* kind = find_disk_kind(path.name);
  if (kind == nullptr) return true;
  const bool rbd = kind->kind == kRbd;
  Disk& disk = out.emplace();
  disk.kind = kind->kind;
  std::string pool(kRbdPoolDefault);
  const auto read = [&](FieldName name, JsonValue inner) {
    const FieldPath field{&path, name};
    if (name == kind->id) return read_string(field, inner, errors, kStringBytesMax, disk.id);
    if (name == "readOnly") return read_bool(field, inner, errors, disk.read_only);
    if (rbd && name == "monitors") {
      return read_string_list(field, inner, errors, kStringBytesMax, disk.monitors);
    }
    return !rbd || name != "pool" || read_string(field, inner, errors, kStringBytesMax, pool);
  };
  const std::string_view known[] = {kind->id, "readOnly", "monitors", "pool"};
  if (!for_each_field(path, value, errors, std::span(known).first(rbd ? 4 : 2), read)) return false;
  if (rbd) disk.id = (pool.empty() ? std::string(kRbdPoolDefault) : pool) + "/" + disk.id;
  return true;
}

bool read_volumes(const FieldPath& path, JsonValue value, FieldErrors& errors, Pod& out) {
  out.volumes.clear();
  return for_each_element(path, value, errors, kListMax,
                          [&](const FieldPath& element, JsonValue volume) {
                            return read_volume(element, volume, errors, out);
                          });
}

}  // namespace headroom
