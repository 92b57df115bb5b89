// Reads Kubernetes objects from JSON or YAML, as kubectl prints them: a List (or any *List),
// several documents, JSON lines, or one object; from a file, standard input ("-") or memory.
//
// Whole or not at all: the first object that cannot be used is an error that names the source, the
// object, the field and the value:
//   nodes.json: Node n1: status.allocatable.cpu: "4x" is not a quantity
// An object without a name is "item 17", counting the source's objects from 1. Kinds that Headroom
// does not read are counted; nothing but their form is looked at. Text whose first character is
// { or [ is JSON, other text is YAML.
//
// Unknown fields are skipped, those that are nearly a known one are noted, null is an absent field,
// of equal keys the last wins. Negative requests, limits, overhead and allocatable are refused;
// usage may be negative. Only the annotations of annotations.h are kept. Thread safety: any number
// of threads, each with its own text. Cost: one pass over JSON; beyond the result, memory for one
// object (YAML: for the text once more).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "objects/error.h"
#include "objects/object_lists.h"

namespace headroom {

// The lists may have reserved more room than they use, untouched.
struct ObjectFile : ObjectLists {
  std::map<std::string, std::uint64_t> other_kinds;  // "apps/v1/Deployment" to count
  // Unknown fields whose names are an edit or two from one that is read there; by name the first
  // kNearFieldsNamedMax, "Pod d/web-1: spec.containers[0].resources.reqests (requests?)".
  std::uint64_t near_count = 0;
  std::vector<std::string> near_fields;
};

// `source` names the text in errors. Errors: kInvalid, kLimitExceeded; kUnsupported for a list
// within a list and for YAML that JSON cannot say; kIo where the file cannot be read.
Result<ObjectFile> read_objects(std::string_view text, std::string_view source);
// The same in parts, for who uses the first while the next are read: one after the other their
// lists are those of the whole. `take` gets parts of up to kObjectsInPart objects; it may exchange
// one for an empty one, whose memory is used again, and returns false where it wants no more. On an
// error what has come is not all.
inline constexpr std::size_t kObjectsInPart = 256;
Result<void> read_objects(std::string_view text, std::string_view source,
                          const std::function<bool(ObjectFile& part)>& take);
// "-" is standard input. A regular file is mapped: it must not be cut short while it is read.
Result<ObjectFile> read_object_file(const std::string& path);

// One object (conformance cases, tests), JSON only. A kind that Headroom does not read is
// kUnsupported.
Result<Object> read_object(std::string_view json, std::string_view source);

}  // namespace headroom
