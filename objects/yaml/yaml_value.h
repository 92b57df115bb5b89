// YamlValue: a YAML document (or JSON, which is a part of YAML) as a tree of plain values, for
// readers of configuration, which name the line of what they refuse. Objects do not take this way:
// yaml_to_json writes them without a tree.
//
// Whole or not at all. Aliases are copied to where they stand, and count each time; merge keys
// ("<<") are keys like any other. Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "objects/error.h"

namespace headroom {

struct YamlLimits {
  std::size_t bytes;    // Of the text.
  std::size_t pending;  // Bytes of one scalar, or of one list or map in brackets.
  std::size_t values;   // Scalars, lists, maps and documents; copies of them may be as many.
};

// Why a text cannot be used, and where; without the source's name.
struct YamlError {
  ErrorCode code;
  int line, column;  // From 1; 0: about the text as a whole.
  std::string problem;

  // "line 3, column 7: PROBLEM"
  std::string text() const;
};

struct YamlValue {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  bool plain = false;              // A scalar without quotes and tag.
  int line = 0;                    // From 1; 0 where there is none (an empty text).
  std::string scalar{};            // As written.
  std::vector<YamlValue> items{};  // Of a map: key, value, key, value, ...
};

// One for each document of the text, null for an empty one. Nested at most kNestingMax deep.
tl::expected<std::vector<YamlValue>, YamlError> read_yaml(std::string_view text,
                                                          const YamlLimits& limits);

}  // namespace headroom
