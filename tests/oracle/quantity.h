// Kubernetes quantities as exact whole billionths, parsed and printed as apimachinery v0.35 does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oracle {

__extension__ typedef __int128 Int128;

enum class Format { kDecimalSi, kDecimalExponent, kBinarySi };

struct Quantity {
  Int128 nano = 0;
  Format format = Format::kDecimalSi;
  std::string text;  // the input where Go keeps it for printing, else ""
};

// nullopt for what Kubernetes rejects, and for what exceeds int64 in whole units.
std::optional<Quantity> parse_quantity(std::string_view text);

// Rounded away from zero to whole units or thousandths; throws std::range_error beyond int64.
std::int64_t value_of(Int128 nano);
std::int64_t milli_value_of(Int128 nano);

// The canonical text, and the text that String() gives (the input, if Go kept it).
std::string canonical(const Quantity& quantity);
std::string print(const Quantity& quantity);

}  // namespace oracle
