// YAML on any bytes, as a tree and as JSON: reading ends, within its limits, and JSON is YAML that
// says the same again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "objects/limits.h"
#include "objects/yaml/yaml_to_json.h"
#include "objects/yaml/yaml_value.h"
#include "tests/fuzz/check.h"

namespace headroom {
namespace {

constexpr YamlLimits kLimits{.bytes = 1 << 20, .pending = 1 << 16, .values = 10'000};

std::size_t count(const YamlValue& value, std::size_t depth) {
  HEADROOM_FUZZ_CHECK(depth <= kNestingMax);
  using Kind = YamlValue::Kind;
  const bool scalar = value.kind == Kind::kScalar;
  const bool holds = value.kind == Kind::kList || value.kind == Kind::kMap;
  HEADROOM_FUZZ_CHECK(value.line >= 1);
  HEADROOM_FUZZ_CHECK(scalar || (!value.plain && value.scalar.empty()));
  HEADROOM_FUZZ_CHECK(holds || value.items.empty());
  HEADROOM_FUZZ_CHECK(value.kind != Kind::kMap || value.items.size() % 2 == 0);
  std::size_t total = 1;
  for (const YamlValue& item : value.items) total += count(item, depth + 1);
  return total;
}

void check(std::string_view text) {
  const auto documents = read_yaml(text, kLimits);
  if (documents) {
    std::size_t total = 0;
    for (const YamlValue& document : *documents) total += count(document, 0);
    HEADROOM_FUZZ_CHECK(total <= 2 * kLimits.values);
  } else {
    HEADROOM_FUZZ_CHECK(!documents.error().text().empty());
  }
  const Result<std::string> json = yaml_to_json(text);
  if (!json) {
    HEADROOM_FUZZ_CHECK(!json.error().message.empty());
    return;
  }
  // A document a line; nothing for one that is null.
  for (std::string_view rest = *json; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    HEADROOM_FUZZ_CHECK(end != std::string_view::npos);
    const std::string line(rest.substr(0, end + 1));
    rest.remove_prefix(end + 1);
    if (line == "\n" || line.size() > kLimits.pending / 2) continue;
    const Result<std::string> again = yaml_to_json(line);
    HEADROOM_FUZZ_CHECK(!again || *again == line);  // A key of 1 KiB is no key of YAML.
  }
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
