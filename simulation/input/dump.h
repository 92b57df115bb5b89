// Dump: the objects of several files, as kubectl printed them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "objects/error.h"
#include "objects/limits.h"
#include "objects/objects.h"
#include "objects/reading/object_reader.h"

namespace headroom {

// Something in the input that is probably not meant so. It is used all the same, unless `what` says
// otherwise.
struct InputWarning {
  std::string what;  // "objects that come twice, of which the last counts"
  std::uint64_t count = 0;
  std::vector<std::string> first;  // by name, at most kNearFieldsNamedMax
  void add(std::string name);      // one more
  std::string text() const;        // "2 WHAT: FIRST, SECOND"
};

// Of two objects of one name the later one counts.
struct Dump : ObjectLists {
  std::map<std::string, std::uint64_t> other_kinds;  // how many of each
  // Unknown fields that are nearly a known one, duplicates, ElasticQuotas with a min above their
  // max; and, where there are nodes, pods on nodes that are not there, and pods whose controller or
  // claims are of a kind that the dump was made without.
  std::vector<InputWarning> warnings;
};

Dump make_dump(std::vector<ObjectFile> files);
Result<Dump> read_dump(const std::vector<std::string>& paths);

// For --json.
nlohmann::ordered_json warnings_json(std::span<const InputWarning> warnings);

// The moment at which a dump was taken is not in it: its newest metric's time is near, or its
// newest pod's. `otherwise` where it has neither.
std::int64_t newest_time_us(const Dump& dump, std::int64_t otherwise);

// A line on standard error for each other kind, and for each warning.
void report_oddities(const Dump& dump, const char* command);
// The second half of it.
void report_warnings(std::span<const InputWarning> warnings, const char* command);

}  // namespace headroom
