// parse_yaml: the only place where a YAML text is read, whatever for. Reading ends on every text,
// in time that grows with its length, and within the memory that the limits allow:
//
// * yaml-cpp reports empty documents for ever where no value can start (a "," between values): two
//   documents that start at one place are an error;
// * it keeps what stands in brackets, some 250 bytes a token, until it knows whether that is a key:
//   no more than limits.pending bytes are read before the next value is known.
//
// Values are counted as they stand in the text; what an alias repeats is the handler's to count.
// Thread safety: any number of threads, each with its own handler. Internal to objects/.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "objects/yaml/yaml_value.h"

namespace headroom {

// What a handler throws to end the reading.
YamlError yaml_error(const YAML::Mark& mark, ErrorCode code, std::string problem);

// The events of all documents in their order. kInvalid for text that is not YAML; kLimitExceeded
// for `limits`, kNestingMax and kYamlPendingBytesMax. What the handler throws as YamlError is
// returned.
tl::expected<void, YamlError> parse_yaml(std::string_view text, const YamlLimits& limits,
                                         YAML::EventHandler& handler);

}  // namespace headroom
