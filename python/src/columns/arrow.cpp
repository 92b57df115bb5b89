#include "python/src/columns/arrow.h"

#include <cstring>
#include <string_view>

#include "python/src/columns/whole_number.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace headroom::python {
namespace {

// The interface's own structs; their names and order are the ABI.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

// Releases a struct that was filled for us; capsules release their own.
template <typename T>
struct Owned : T {
  Owned() : T{} {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (this->release != nullptr) this->release(this);
  }
};

template <typename T>
T* in_capsule(nb::handle capsule, const char* type) {
  auto* held = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), type));
  if (held == nullptr) throw nb::python_error();
  return held;
}

[[noreturn]] void refuse(const std::string& name, const char* format, const char* expected) {
  throw nb::type_error(
      (name + ": an Arrow array of format \"" + format + "\": give " + expected).c_str());
}

void check_no_nulls(const ArrowArray& array, const std::string& name, std::size_t before) {
  const auto* valid =
      static_cast<const std::uint8_t*>(array.n_buffers > 0 ? array.buffers[0] : nullptr);
  if (array.null_count == 0 || valid == nullptr) return;
  for (std::int64_t i = 0; i < array.length; ++i) {
    const std::int64_t bit = array.offset + i;
    if ((valid[bit / 8] >> (bit % 8) & 1) == 0) {
      raise({ErrorCode::kInvalid,
             name + "[" + std::to_string(before + static_cast<std::size_t>(i)) + "]: null"});
    }
  }
}

// Appends what one array holds.
struct ReadNumbers {
  std::vector<std::int64_t>& out;
  const std::string& name;

  template <typename T>
  void take(const ArrowArray& array) const {
    const T* values = static_cast<const T*>(array.buffers[1]) + array.offset;
    const std::size_t before = out.size();
    for (std::int64_t i = 0; i < array.length; ++i) {
      out.push_back(whole_number(values[i], name, before + static_cast<std::size_t>(i)));
    }
  }
  void operator()(const ArrowSchema& schema, const ArrowArray& array) const {
    const std::string_view format = schema.format;
    check_no_nulls(array, name, out.size());
    if (schema.dictionary != nullptr || format.size() != 1) {
      refuse(name, schema.format, "whole numbers");
    }
    switch (format.front()) {
      case 'c':
        return take<std::int8_t>(array);
      case 'C':
        return take<std::uint8_t>(array);
      case 's':
        return take<std::int16_t>(array);
      case 'S':
        return take<std::uint16_t>(array);
      case 'i':
        return take<std::int32_t>(array);
      case 'I':
        return take<std::uint32_t>(array);
      case 'l':
        return take<std::int64_t>(array);
      case 'L':
        return take<std::uint64_t>(array);
      case 'f':
        return take<float>(array);
      case 'g':
        return take<double>(array);
      default:
        refuse(name, schema.format, "whole numbers");
    }
  }
};

struct ReadTexts {
  std::vector<std::string>& out;
  const std::string& name;

  template <typename Offset>
  void take(const ArrowArray& array) const {
    const Offset* offsets = static_cast<const Offset*>(array.buffers[1]) + array.offset;
    const char* bytes = static_cast<const char*>(array.buffers[2]);
    for (std::int64_t i = 0; i < array.length; ++i) {
      out.emplace_back(bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
    }
  }
  // 16 bytes each: the length, then the text, or 4 bytes of it, buffer and offset.
  void take_views(const ArrowArray& array) const {
    constexpr std::size_t kView = 16, kInline = 12;
    const char* view =
        static_cast<const char*>(array.buffers[1]) + static_cast<std::size_t>(array.offset) * kView;
    for (std::int64_t i = 0; i < array.length; ++i, view += kView) {
      std::int32_t part[4];
      std::memcpy(part, view, kView);
      const auto length = static_cast<std::size_t>(part[0]);
      const char* text = length <= kInline
                             ? view + sizeof(std::int32_t)
                             : static_cast<const char*>(array.buffers[2 + part[2]]) + part[3];
      out.emplace_back(text, length);
    }
  }
  void operator()(const ArrowSchema& schema, const ArrowArray& array) const {
    check_no_nulls(array, name, out.size());
    if (schema.dictionary != nullptr) {
      std::vector<std::string> words;
      std::vector<std::int64_t> places;
      ArrowSchema index = schema;
      index.dictionary = nullptr;
      ReadTexts{words, name}(*schema.dictionary, *array.dictionary);
      ReadNumbers{places, name}(index, array);
      for (const std::int64_t place : places)
        out.push_back(words.at(static_cast<std::size_t>(place)));
      return;
    }
    const std::string_view format = schema.format;
    if (format == "u") return take<std::int32_t>(array);
    if (format == "U") return take<std::int64_t>(array);
    if (format == "vu") return take_views(array);
    refuse(name, schema.format, "strings");
  }
};

// False: no Arrow array.
template <typename Read>
bool read_arrow(nb::handle column, const std::string& name, Read read) {
  if (nb::hasattr(column, "__arrow_c_array__")) {
    const nb::tuple pair(column.attr("__arrow_c_array__")());
    read(*in_capsule<ArrowSchema>(pair[0], "arrow_schema"),
         *in_capsule<ArrowArray>(pair[1], "arrow_array"));
    return true;
  }
  if (!nb::hasattr(column, "__arrow_c_stream__")) return false;
  const nb::object capsule = column.attr("__arrow_c_stream__")();
  auto* stream = in_capsule<ArrowArrayStream>(capsule, "arrow_array_stream");
  const auto check = [&](int status) {
    if (status == 0) return;
    const char* text = stream->get_last_error(stream);
    raise(
        {ErrorCode::kInvalid, name + ": " + (text == nullptr ? "the Arrow stream failed" : text)});
  };
  Owned<ArrowSchema> schema;
  check(stream->get_schema(stream, &schema));
  while (true) {
    Owned<ArrowArray> array;
    check(stream->get_next(stream, &array));
    if (array.release == nullptr) return true;
    read(schema, array);
  }
}

}  // namespace

std::optional<std::vector<std::int64_t>> arrow_numbers(nb::handle column, const std::string& name) {
  std::vector<std::int64_t> numbers;
  if (!read_arrow(column, name, ReadNumbers{numbers, name})) return std::nullopt;
  return numbers;
}

std::optional<std::vector<std::string>> arrow_texts(nb::handle column, const std::string& name) {
  std::vector<std::string> texts;
  if (!read_arrow(column, name, ReadTexts{texts, name})) return std::nullopt;
  return texts;
}

}  // namespace headroom::python
