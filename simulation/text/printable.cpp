#include "simulation/text/printable.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

namespace headroom {

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, which some terminals obey as well: 0xC2 and one more.
    const bool high =
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    const bool low = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    if (high) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else if (low) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

void print_printable(std::FILE* file, const std::function<void(std::FILE*)>& print) {
  char* bytes = nullptr;
  std::size_t size = 0;
  std::FILE* const memory = ::open_memstream(&bytes, &size);
  if (memory == nullptr) throw std::bad_alloc();
  print(memory);
  std::fclose(memory);
  const std::unique_ptr<char, decltype(&std::free)> owned(bytes, &std::free);
  fmt::print(file, "{}", printable({bytes, size}));
}

void print_error(std::string_view command, std::string_view message) {
  std::string line = printable(message);
  for (std::size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n', at)) {
    line.replace(at, 1, "\\n");
  }
  fmt::print(stderr, "headroom {}: {}\n", command, line);
}

}  // namespace headroom
