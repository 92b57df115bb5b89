// Typed fields of JSON objects.
#include "objects/reading/json_fields.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "objects/limits.h"
#include "objects/text/time_text.h"
#include "objects/text/trimmed.h"
#include "objects/text/utf8_prefix.h"

namespace headroom {

namespace {

// Microseconds of 0001-01-01T00:00:00Z, Go's zero time.
constexpr std::int64_t kZeroTimeUs = -62'135'596'800'000'000;

bool check_key(const FieldPath& path, std::string_view key, FieldErrors& errors) {
  if (key.size() <= kKeyBytesMax) return true;
  return errors.add(ErrorCode::kLimitExceeded, path,
                    "has a key of " + std::to_string(key.size()) + " bytes; the limit is " +
                        std::to_string(kKeyBytesMax));
}

// A bit for each character of the text; some share theirs.
std::uint64_t characters_of(std::string_view text) {
  std::uint64_t bits = 0;
  for (const char c : text) bits |= std::uint64_t{1} << (static_cast<unsigned char>(c) & 63U);
  return bits;
}

}  // namespace

std::string FieldPath::to_string() const {
  std::string text = parent == nullptr ? std::string() : parent->to_string();
  if (index != kNoIndex) return text + "[" + std::to_string(index) + "]";
  if (name.empty() && parent == nullptr) return text;
  if (name.find_first_of("./[] ") != std::string_view::npos || name.empty()) {
    return text + "[" + std::string(utf8_prefix(name, kKeyBytesMax)) + "]";
  }
  if (!text.empty()) text += '.';
  return text + std::string(utf8_prefix(name, kKeyBytesMax));
}

bool FieldErrors::add(ErrorCode code, const FieldPath& path, std::string_view message) {
  if (!first) {
    const std::string where = path.to_string();
    first = Error{code, where.empty() ? std::string(message) : where + ": " + std::string(message)};
  }
  return false;
}

bool FieldErrors::wrong_type(const FieldPath& path, JsonValue value, std::string_view expected) {
  return add(ErrorCode::kInvalid, path, shown(value) + " is not " + std::string(expected));
}

bool FieldErrors::missing(const FieldPath& path) {
  return add(ErrorCode::kInvalid, path, "is missing");
}

// An edit or two away from the known name; of short names one.
static bool is_nearly(std::string_view name, std::string_view known) {
  const std::size_t most = known.size() <= 4 ? 1 : 2;
  const std::size_t longer = std::max(name.size(), known.size());
  const std::size_t shorter = std::min(name.size(), known.size());
  if (longer - shorter > most || longer > kKeyBytesMax || name == known) return false;
  // An edit brings one new character at most, and takes one away: most names differ in more.
  const std::uint64_t in_name = characters_of(name), in_known = characters_of(known);
  if (static_cast<std::size_t>(std::popcount(in_name & ~in_known)) > most ||
      static_cast<std::size_t>(std::popcount(in_known & ~in_name)) > most) {
    return false;
  }
  // Levenshtein's rows.
  std::vector<std::size_t> row(known.size() + 1);
  for (std::size_t k = 0; k <= known.size(); ++k) row[k] = k;
  for (std::size_t n = 1; n <= name.size(); ++n) {
    std::size_t diagonal = std::exchange(row[0], n);
    for (std::size_t k = 1; k <= known.size(); ++k) {
      const std::size_t replaced = diagonal + (name[n - 1] == known[k - 1] ? 0 : 1);
      diagonal = row[k];
      row[k] = std::min({replaced, row[k] + 1, row[k - 1] + 1});
    }
  }
  return row.back() <= most;
}

void FieldErrors::note_unless_known(const FieldPath& path, std::string_view name,
                                    std::span<const std::string_view> known) {
  const auto is_name = [&](std::string_view field) {
    return field.size() == name.size() && (name.empty() || field[0] == name[0]) && field == name;
  };
  if (std::any_of(known.begin(), known.end(), is_name)) return;
  const auto near = std::find_if(known.begin(), known.end(),
                                 [&](std::string_view field) { return is_nearly(name, field); });
  if (near == known.end()) return;
  ++near_count;
  if (near_fields.size() < kNearFieldsNamedMax) {
    near_fields.push_back(FieldPath{&path, name}.to_string() + " (" + std::string(*near) + "?)");
  }
}

std::string shown(JsonValue value) { return shortened(simdjson::minify(value), ""); }

bool read_text(const FieldPath& path, JsonValue value, FieldErrors& errors, std::size_t bytes_max,
               std::string_view& out) {
  if (!value.is_string()) return errors.wrong_type(path, value, "a string");
  const std::string_view text = value.get_string().value_unsafe();
  if (text.size() > bytes_max) {
    return errors.add(ErrorCode::kLimitExceeded, path,
                      shown(value) + " has " + std::to_string(text.size()) +
                          " bytes; the limit is " + std::to_string(bytes_max));
  }
  out = text;
  return true;
}

bool read_string(const FieldPath& path, JsonValue value, FieldErrors& errors, std::size_t bytes_max,
                 std::string& out) {
  std::string_view text;
  if (!read_text(path, value, errors, bytes_max, text)) return false;
  out.assign(text);
  return true;
}

bool read_bool(const FieldPath& path, JsonValue value, FieldErrors& errors, bool& out) {
  if (value.get(out) == simdjson::SUCCESS) return true;
  return errors.wrong_type(path, value, "true or false");
}

bool read_int64(const FieldPath& path, JsonValue value, FieldErrors& errors, std::int64_t& out) {
  if (value.type() == simdjson::dom::element_type::INT64) {
    out = value.get_int64().value_unsafe();
    return true;
  }
  return errors.wrong_type(path, value, "a 64-bit integer");
}

bool read_int32(const FieldPath& path, JsonValue value, FieldErrors& errors, std::int32_t& out) {
  std::int64_t wide = 0;
  if (!read_int64(path, value, errors, wide)) return false;
  out = static_cast<std::int32_t>(wide);
  return out == wide || errors.wrong_type(path, value, "a 32-bit integer");
}

bool read_time(const FieldPath& path, JsonValue value, FieldErrors& errors,
               std::optional<std::int64_t>& out) {
  out.reset();
  if (value.is_null()) return true;
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return errors.wrong_type(path, value, "a time");
  const Result<std::int64_t> time = parse_time_us(text);
  if (!time) return errors.add(time.error().code, path, time.error().message);
  if (*time != kZeroTimeUs) out = *time;
  return true;
}

bool read_string_map(const FieldPath& path, JsonValue value, FieldErrors& errors, StringMap& out) {
  out.clear();
  if (value.is_null()) return true;
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return errors.wrong_type(path, value, "an object");
  out.reserve(object.size());
  for (auto it = object.begin(); it != object.end(); ++it) {
    const std::string_view key = it.key();
    const JsonValue inner = it.value();
    if (!check_key(path, key, errors)) return false;
    // A null value is an empty string.
    std::string_view text;
    if (!inner.is_null() &&
        !read_text(FieldPath{&path, key}, inner, errors, kStringBytesMax, text)) {
      return false;
    }
    out.emplace_back(key, text);
  }
  sort_last_wins(out);
  return true;
}

bool read_annotations(const FieldPath& path, JsonValue value, FieldErrors& errors,
                      std::span<const std::string_view> kept, StringMap& out) {
  out.clear();
  const bool ok = for_each_field(path, value, errors, [&](std::string_view key, JsonValue inner) {
    if (std::find(kept.begin(), kept.end(), key) == kept.end()) {
      return inner.is_string() || errors.wrong_type(FieldPath{&path, key}, inner, "a string");
    }
    std::string_view text;
    if (!read_text(FieldPath{&path, key}, inner, errors, kAnnotationBytesMax, text)) return false;
    out.emplace_back(key, text);
    return true;
  });
  if (ok) sort_last_wins(out);
  return ok;
}

bool read_quantity(const FieldPath& path, JsonValue value, FieldErrors& errors, Sign sign,
                   Quantity& out) {
  std::string_view text;
  std::string number;
  if (value.is_string()) {
    text = value.get_string().value_unsafe();
  } else if (value.is_number()) {
    number = simdjson::minify(value);
    text = number;
  } else {
    return errors.wrong_type(path, value, "a quantity");
  }
  // Kubernetes trims white space around a quantity inside an object.
  Result<Quantity> quantity = Quantity::parse(text);
  if (!quantity) quantity = Quantity::parse(trimmed(text));
  if (!quantity) return errors.add(quantity.error().code, path, quantity.error().message);
  out = *quantity;
  if (sign == Sign::kNotNegative && out < Quantity()) {
    return errors.add(ErrorCode::kInvalid, path, shown(value) + " is negative");
  }
  constexpr Quantity kMilliMax = Quantity::from_milli(std::numeric_limits<std::int64_t>::max());
  constexpr Quantity kMilliMin = Quantity::from_milli(std::numeric_limits<std::int64_t>::min());
  if ((kMilliMax < out || out < kMilliMin) && path.name == "cpu") {
    return errors.add(ErrorCode::kLimitExceeded, path,
                      shown(value) + " does not fit a 64-bit integer in thousandths");
  }
  return true;
}

bool read_resources(const FieldPath& path, JsonValue value, FieldErrors& errors, Sign sign,
                    ResourceList& out) {
  out.clear();
  if (value.is_null()) return true;
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return errors.wrong_type(path, value, "an object");
  if (object.size() > kResourceListNamesMax) {
    return errors.add(ErrorCode::kLimitExceeded, path,
                      "has more than " + std::to_string(kResourceListNamesMax) + " entries");
  }
  out.reserve(object.size());
  for (auto it = object.begin(); it != object.end(); ++it) {
    const std::string_view key = it.key();
    const JsonValue inner = it.value();
    if (!check_key(path, key, errors)) return false;
    // A null quantity is 0.
    Quantity& quantity = out.emplace_back(key, Quantity()).second;
    if (!inner.is_null() && !read_quantity(FieldPath{&path, key}, inner, errors, sign, quantity)) {
      return false;
    }
  }
  sort_last_wins(out);
  return true;
}

bool read_string_list(const FieldPath& path, JsonValue value, FieldErrors& errors,
                      std::size_t bytes_max, std::vector<std::string>& out) {
  return read_list(path, value, errors, kListMax, out,
                   [bytes_max](const FieldPath& element, JsonValue inner, FieldErrors& first,
                               std::string& entry) {
                     return read_string(element, inner, first, bytes_max, entry);
                   });
}

}  // namespace headroom
