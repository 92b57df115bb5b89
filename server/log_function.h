// LogFunction: tells people what happens: a text that never varies, and fields that do.
//
// Who has something to say is given one; log.h makes that of headroomd. Thread safety: the
// control thread's. Cost: the fields are made for every call, whatever its level.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

namespace headroom {

// Names and values in turn.
using LogFields = std::initializer_list<std::pair<const char*, std::string>>;
enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };
using LogFunction = std::function<void(LogLevel, const char* what, LogFields fields)>;

}  // namespace headroom
