// Prints amounts and bars; see amount_text.h.
#include "tools/capacity_quota/amount_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "autoscaling/capacity_quota_spec.h"

namespace headroom {
namespace {

constexpr Int128 kMilli = 1000;
constexpr Int128 kMi = 1 << 20;
constexpr int kShortDigitsMax = 4;  // of a number that is printed exactly in the next smaller unit

struct BinaryUnit {
  std::string_view name;
  Int128 bytes;
};
constexpr std::array<BinaryUnit, 7> kBinaryUnits = {{{"Ei", Int128{1} << 60},
                                                     {"Pi", Int128{1} << 50},
                                                     {"Ti", Int128{1} << 40},
                                                     {"Gi", Int128{1} << 30},
                                                     {"Mi", Int128{1} << 20},
                                                     {"Ki", Int128{1} << 10},
                                                     {"", 1}}};

bool is_bytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource == "storage" ||
         resource.substr(0, 10) == "hugepages-";
}

// `thousandths` of one, without zeros at its end: "12.5".
std::string decimal_text(Int128 thousandths) {
  std::string text = fmt::format("{}", thousandths / kMilli);
  if (const auto rest = static_cast<int>(thousandths % kMilli); rest != 0) {
    text += fmt::format(".{:03}", rest);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string bytes_text(Int128 bytes) {
  std::size_t u = 0;
  while (kBinaryUnits[u].bytes > bytes && u + 1 < kBinaryUnits.size()) ++u;
  const auto hundredths = [&](Int128 unit) { return bytes * 100 / unit; };
  const BinaryUnit& unit = kBinaryUnits[u];
  if (hundredths(unit.bytes) * unit.bytes == bytes * 100) {
    return decimal_text(hundredths(unit.bytes) * 10) + std::string(unit.name);
  }
  const BinaryUnit& smaller = kBinaryUnits[std::min(u + 1, kBinaryUnits.size() - 1)];
  if (bytes % smaller.bytes == 0) {
    const std::string whole = fmt::format("{}", bytes / smaller.bytes);
    if (whole.size() <= kShortDigitsMax) return whole + std::string(smaller.name);
  }
  const Int128 rounded = (bytes * 100 + unit.bytes / 2) / unit.bytes;
  return '~' + decimal_text(rounded * 10) + std::string(unit.name);
}

Int128 divide_up(Int128 dividend, Int128 divisor) { return (dividend + divisor - 1) / divisor; }

// Of `cells`, the share that `part` is of `whole`, to the nearest; at least one where there is
// some.
std::size_t share(Int128 part, Int128 whole, std::size_t cells) {
  if (part <= 0) return 0;
  const auto all = static_cast<Int128>(cells);
  const Int128 nearest = (part * all * 2 + whole) / (whole * 2);
  return static_cast<std::size_t>(std::clamp(nearest, Int128{1}, all));
}

}  // namespace

std::string_view AmountText::counted(std::string_view resource) const {
  const std::string* alias = resource == kNodesResource ? nullptr : find(aliases_, resource);
  return alias == nullptr ? resource : std::string_view(*alias);
}

std::string AmountText::amount(std::string_view name, Int128 amount) const {
  if (amount < 0) return '-' + this->amount(name, -amount);
  const std::string_view resource = counted(name);
  if (resource == "cpu") return decimal_text(amount);
  return is_bytes(resource) ? bytes_text(amount) : fmt::format("{}", amount);
}

std::string AmountText::limit(std::string_view name, Int128 amount) const {
  const std::string_view resource = counted(name);
  if (resource == "cpu") return fmt::format("{}", divide_up(amount, kMilli));
  if (!is_bytes(resource)) return fmt::format("{}", amount);
  if (amount >= kMi) amount = divide_up(amount, kMi) * kMi;
  const auto* unit =
      std::find_if(kBinaryUnits.begin(), kBinaryUnits.end(),
                   [&](const BinaryUnit& tried) { return amount % tried.bytes == 0; });
  return amount == 0 ? "0" : fmt::format("{}{}", amount / unit->bytes, unit->name);
}

std::string bar_text(Int128 limit, Int128 used, Int128 reserved, std::size_t cells) {
  const Int128 taken = used + reserved;
  if (limit <= 0 && taken <= 0) return '[' + std::string(cells, '-') + "]    -";
  if (taken <= limit) {
    std::size_t hashes = share(used, limit, cells);
    std::size_t equals = std::min(share(reserved, limit, cells), cells);
    // Whatever is there shows: rounding may not take the last cell of another.
    const std::size_t filled_max = taken < limit ? cells - 1 : cells;
    if (hashes + equals > filled_max) {
      std::size_t& larger = hashes >= equals ? hashes : equals;
      larger -= hashes + equals - filled_max;
    }
    const auto percent = static_cast<int>(taken * 100 / limit);
    return fmt::format("[{}{}{}] {:>3}%", std::string(hashes, '#'), std::string(equals, '='),
                       std::string(cells - hashes - equals, '.'), percent);
  }
  const std::size_t held = limit <= 0 ? 0 : std::min(share(limit, taken, cells), cells - 2);
  const std::size_t hashes = std::min(share(used, taken, cells), held);
  const std::string inside = std::string(hashes, '#') + std::string(held - hashes, '=') + '|' +
                             std::string(cells - held - 1, '!');
  if (limit <= 0) return fmt::format("[{}] over", inside);
  return fmt::format("[{}] {:>3}%", inside, divide_up(taken * 100, limit));
}

}  // namespace headroom
