#include "simulation/text/resource_text.h"

#include <fmt/format.h>

#include "simulation/text/table.h"

namespace headroom {
namespace {

constexpr std::int64_t kMilliPerCore = 1000;
constexpr std::int64_t kBytesPerGib = std::int64_t{1} << 30;

std::int64_t shown_unit_of(std::string_view resource) {
  if (resource == "cpu") return kMilliPerCore;
  if (resource == "memory" || resource == "ephemeral-storage") return kBytesPerGib;
  return 1;
}

}  // namespace

const char* unit_of(std::string_view resource) { return resource == "cpu" ? "milli" : "1"; }

std::string resource_label(std::string_view resource) {
  if (resource == "cpu") return "cpu (cores)";
  return std::string(resource) + (shown_unit_of(resource) == kBytesPerGib ? " (GiB)" : "");
}

std::string rounded_text(std::string_view resource, std::int64_t amount) {
  const std::int64_t unit = shown_unit_of(resource);
  return grouped(saturated((Int128{amount} + unit / 2) / unit));
}

std::string tenths_text(std::string_view resource, Int128 amount) {
  const std::int64_t unit = shown_unit_of(resource);
  if (amount % unit == 0) return grouped(saturated(amount / unit));
  const std::int64_t tenths = saturated((amount * 10 + unit / 2) / unit);
  return fmt::format("{}.{}", grouped(tenths / 10), tenths % 10);
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace headroom
