// Text for a terminal: names and values come from files and from peers, and may hold anything.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace headroom {

// Control characters, but for line ends and tabs, as "\\x1b": nothing in the text moves a cursor,
// changes a colour or hides what follows. All else, also beyond ASCII, stays.
std::string printable(std::string_view text);

// What `print` writes to the file that it is given, printable, to `file`.
void print_printable(std::FILE* file, const std::function<void(std::FILE*)>& print);

// "headroom simulate: MESSAGE" on standard error. A message is one line.
void print_error(std::string_view command, std::string_view message);

}  // namespace headroom
