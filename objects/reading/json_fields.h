// Reading typed fields out of a parsed JSON object, with errors that name the field's path in
// Kubernetes' words (spec.containers[0].resources.requests.cpu) and its value.
//
// Every read_* returns false after it has put the first error into the FieldErrors. null is an
// absent field, as in Kubernetes. Of equal keys the last wins. Internal to objects/.
// Thread safety: plain functions on their arguments.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

using JsonValue = simdjson::dom::element;

// One step of the path to a field; lives on the stack of the function that reads the field, and
// becomes text only in an error.
struct FieldPath {
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);

  const FieldPath* parent = nullptr;
  std::string_view name;          // A field, or a key of a map.
  std::size_t index = kNoIndex;   // Of an element, instead of a name.
  std::string to_string() const;  // "spec.containers[0]", "metadata.labels[example.com/x]"
};

// The first error of one object.
struct FieldErrors {
  std::optional<Error> first;

  // All return false, to be returned in turn. wrong_type: "<path>: <value> is not <expected>".
  bool add(ErrorCode code, const FieldPath& path, std::string_view message);
  bool wrong_type(const FieldPath& path, JsonValue value, std::string_view expected);
  bool missing(const FieldPath& path);

  // No errors: fields that nobody reads and whose names are nearly those of fields that are read,
  // the first kNearFieldsNamedMax of the object, "spec.containers[0].reqests (requests?)".
  std::uint64_t near_count = 0;
  std::vector<std::string> near_fields;
  void note_unless_known(const FieldPath& path, std::string_view name,
                         std::span<const std::string_view> known);
};

// The value as JSON text, shortened for an error.
std::string shown(JsonValue value);

// The text lives as long as the value.
bool read_text(const FieldPath& path, JsonValue value, FieldErrors& errors, std::size_t bytes_max,
               std::string_view& out);
bool read_string(const FieldPath& path, JsonValue value, FieldErrors& errors, std::size_t bytes_max,
                 std::string& out);
bool read_bool(const FieldPath& path, JsonValue value, FieldErrors& errors, bool& out);
bool read_int64(const FieldPath& path, JsonValue value, FieldErrors& errors, std::int64_t& out);
bool read_int32(const FieldPath& path, JsonValue value, FieldErrors& errors, std::int32_t& out);
// nullopt for null and for the zero time of Go, "0001-01-01T00:00:00Z".
bool read_time(const FieldPath& path, JsonValue value, FieldErrors& errors,
               std::optional<std::int64_t>& out);
bool read_string_map(const FieldPath& path, JsonValue value, FieldErrors& errors, StringMap& out);
// Only the keys of `kept`.
bool read_annotations(const FieldPath& path, JsonValue value, FieldErrors& errors,
                      std::span<const std::string_view> kept, StringMap& out);

// Sorts name-value pairs by name, of equal names the last. Printers of objects sort by key; other
// writers may not, and may repeat a key.
template <typename List>
void sort_last_wins(List& list) {
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto not_before = [](const auto& a, const auto& b) { return !(a.first < b.first); };
  if (std::adjacent_find(list.begin(), list.end(), not_before) == list.end()) return;
  std::stable_sort(list.begin(), list.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i + 1 < list.size() && list[i].first == list[i + 1].first) continue;
    if (kept != i) list[kept] = std::move(list[i]);
    ++kept;
  }
  list.resize(kept);
}

enum class Sign : std::uint8_t { kNotNegative, kAny };
// One quantity, a string or a number.
bool read_quantity(const FieldPath& path, JsonValue value, FieldErrors& errors, Sign sign,
                   Quantity& out);
// Resource names to quantities, each a string or a number, each within int64 in its unit (cpu in
// thousandths, others whole).
bool read_resources(const FieldPath& path, JsonValue value, FieldErrors& errors, Sign sign,
                    ResourceList& out);

// A field's name as it was read: what it is compared with has a length that the compiler knows, so
// that no function is called for what most fields are not.
struct FieldName : std::string_view {
  template <std::size_t kSize>
  friend bool operator==(FieldName name, const char (&field)[kSize]) {
    return name.size() == kSize - 1 && std::memcmp(name.data(), field, kSize - 1) == 0;
  }
};

// Calls `field(name, value)`, which returns false to stop, for each field that is not null.
template <typename Field>
bool for_each_field(const FieldPath& path, JsonValue value, FieldErrors& errors,
                    const Field& field) {
  if (value.is_null()) return true;
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return errors.wrong_type(path, value, "an object");
  for (auto it = object.begin(); it != object.end(); ++it) {
    const JsonValue inner = it.value();
    if (!inner.is_null() && !field(FieldName{it.key()}, inner)) return false;
  }
  return true;
}

// The same where `known` are all fields that are read there: a name that is nearly one of them is
// noted.
template <typename Field>
bool for_each_field(const FieldPath& path, JsonValue value, FieldErrors& errors,
                    std::span<const std::string_view> known, const Field& field) {
  return for_each_field(path, value, errors, [&](FieldName name, JsonValue inner) {
    errors.note_unless_known(path, name, known);
    return field(name, inner);
  });
}

// Calls `element(path, value)` for each element of a list of at most `size_max`.
template <typename Element>
bool for_each_element(const FieldPath& path, JsonValue value, FieldErrors& errors,
                      std::size_t size_max, const Element& element) {
  if (value.is_null()) return true;
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return errors.wrong_type(path, value, "a list");
  std::size_t index = 0;
  for (const JsonValue inner : array) {
    if (index >= size_max) {
      return errors.add(ErrorCode::kLimitExceeded, path,
                        "has more than " + std::to_string(size_max) + " entries");
    }
    if (!element(FieldPath{&path, {}, index}, inner)) return false;
    ++index;
  }
  return true;
}

// Fills `out` with a list of at most `size_max`: `read(path, value, errors, entry)` for each.
template <typename T, typename Read>
bool read_list(const FieldPath& path, JsonValue value, FieldErrors& errors, std::size_t size_max,
               std::vector<T>& out, const Read& read) {
  out.clear();
  simdjson::dom::array array;
  if (value.get(array) == simdjson::SUCCESS) out.reserve(std::min(array.size(), size_max));
  return for_each_element(path, value, errors, size_max,
                          [&](const FieldPath& element, JsonValue inner) {
                            return read(element, inner, errors, out.emplace_back());
                          });
}

// A list of at most kListMax strings.
bool read_string_list(const FieldPath& path, JsonValue value, FieldErrors& errors,
                      std::size_t bytes_max, std::vector<std::string>& out);

}  // namespace headroom
