// The openb trace's tables on any bytes: refused with the table and its line, or read whole, with
// numbers that can be added and shapes that are there. A NUL ends a table.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/check.h"
#include "workloads/openb.h"

namespace headroom {
namespace {

std::string_view take_table(std::string_view& text) {
  const std::size_t end = text.find('\0');
  const std::string_view table = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return table;
}

void check(std::string_view text) {
  const std::string_view nodes = take_table(text), shapes = take_table(text);
  const Result<OpenbTrace> trace = read_openb_trace(nodes, shapes, text);
  if (!trace) {
    HEADROOM_FUZZ_CHECK(!trace.error().message.empty());
    return;
  }
  HEADROOM_FUZZ_CHECK(trace->nodes.size() <= kOpenbRowsMax);
  for (const OpenbNode& node : trace->nodes) {
    HEADROOM_FUZZ_CHECK(node.cpu_milli >= 0 && node.memory_mib >= 0 && node.gpu >= 0);
    memory_quantity(node.memory_mib);
  }
  for (const OpenbShape& shape : trace->shapes) {
    openb_container(shape, {.cpu_permille = 6000, .memory_permille = 2000});
  }
  std::int64_t creation = 0;
  for (const OpenbPod& pod : trace->pods) {
    HEADROOM_FUZZ_CHECK(pod.shape < trace->shapes.size());
    HEADROOM_FUZZ_CHECK(pod.creation >= creation && pod.deletion >= pod.creation);
    HEADROOM_FUZZ_CHECK(!pod.scheduled || *pod.scheduled >= pod.creation);
    creation = pod.creation;
  }
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
