// Cuts JSON text into values without reading them: where does the next value end?
//
// The reader uses this to take a dump of any size object by object: each object's text is then
// parsed, and with that validated, on its own, and memory does not grow with the dump. Brackets
// are counted and strings are skipped; nothing else is checked here.
// Thread safety: a cursor per thread. Cost: one pass over the text, no allocation.
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom {

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  std::size_t offset() const { return offset_; }

  // After white space; '\0' at the end.
  char peek();
  // Takes `c` where it is next.
  bool take(char c);
  // The text of the next value. False where the text ends inside it or no value starts here.
  bool value(std::string_view& out);

 private:
  bool skip_string();
  bool skip_brackets();

  std::string_view text_;
  std::size_t offset_ = 0;
};

}  // namespace headroom
