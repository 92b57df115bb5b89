// ValueWriter and ValueReader: plain values as bytes and back, for state files (state_file.h) and
// keys.
//
//   writer(node.name, node.labels);  reader(node.name, node.labels);
//
// A whole number is a varint: seven bits a byte, the lowest first, all but the last byte with the
// highest bit set; a signed one is zigzag coded before. A bool or enum is a number. A text is its
// length and its bytes; a list its length and its elements, a map likewise by key; an optional a
// bool and, where it is true, the value; a variant its index and the value; a struct its members
// (object_fields.h). So bytes are the same on every machine.
//
// The reader trusts nothing: once something does not fit it has failed, and all that it reads from
// then on is empty. A list grows with what is read of it, never by the length that it states.
// Thread safety: plain values. Cost: some nanoseconds a number; the reader's texts may be views.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/kept/object_fields.h"

namespace headroom {

class ValueWriter {
 public:
  ValueWriter() = default;
  // Into memory that is used again.
  explicit ValueWriter(std::string&& memory) : bytes_(std::move(memory)) { bytes_.clear(); }
  template <typename... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }
  const std::string& bytes() const { return bytes_; }
  std::string take() && { return std::move(bytes_); }

 private:
  void put(std::unsigned_integral auto value) {
    std::uint64_t rest = value;
    for (; rest >= 0x80; rest >>= 7) {
      bytes_ += static_cast<char>(rest | 0x80);
    }
    bytes_ += static_cast<char>(rest);
  }
  void put(std::signed_integral auto value) {
    const std::int64_t number = value;
    put((static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void put(Enum value) { put(static_cast<std::underlying_type_t<Enum>>(value)); }
  void put(std::string_view text) {
    put(text.size());
    bytes_ += text;
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const Quantity& quantity) {
    put(static_cast<std::int64_t>(quantity.nanos() >> 64));
    put(static_cast<std::uint64_t>(quantity.nanos()));
    put(quantity.format());
  }
  template <typename A, typename B>
  void put(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) {
      put(*value);
    }
  }
  template <typename T>
  void put(const std::vector<T>& list) {
    put_list(list);
  }
  template <typename K, typename V, typename Less>
  void put(const std::map<K, V, Less>& map) {
    put_list(map);
  }
  template <typename... Ts>
  void put(const std::variant<Ts...>& value) {
    put(value.index());
    std::visit([this](const auto& its) { this->put(its); }, value);
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void put(const Struct& value) { fields(*this, value); }
  void put_list(const auto& list) {
    put(list.size());
    for (const auto& element : list) {
      put(element);
    }
  }

  std::string bytes_;
};

class ValueReader {
 public:
  explicit ValueReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  template <typename T>
  T read() {
    T value{};
    get(value);
    return value;
  }
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    bytes_ = {};
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  template <std::unsigned_integral T>
  void get(T& value) {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        value = static_cast<T>(number);
        if (value != number) {
          break;
        }
        return;
      }
    }
    value = 0;
    fail();
  }
  template <std::signed_integral T>
  void get(T& value) {
    const auto coded = read<std::uint64_t>();
    const auto number = static_cast<std::int64_t>((coded >> 1) ^ (~(coded & 1) + 1));
    value = static_cast<T>(number);
    if (value != number) {
      value = 0;
      fail();
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void get(Enum& value) {
    const auto number = read<std::underlying_type_t<Enum>>();
    value = static_cast<Enum>(number);
    if (value > last_of(value)) {
      value = {};
      fail();
    }
  }
  void get(std::string_view& text) {
    const auto size = read<std::uint64_t>();
    if (size > bytes_.size()) {
      fail();
    }
    text = bytes_.substr(0, failed_ ? 0 : size);
    bytes_.remove_prefix(text.size());
  }
  void get(std::string& text) { text = read<std::string_view>(); }
  void get(Quantity& quantity) {
    const auto high = read<std::int64_t>();
    const auto low = read<std::uint64_t>();
    const auto format = read<Quantity::Format>();
    // Shifted as unsigned: a negative number's bits are defined so.
    __extension__ typedef unsigned __int128 Bits;
    auto nanos = static_cast<Int128>(static_cast<Bits>(static_cast<Int128>(high)) << 64 | low);
    if (nanos > kQuantityNanosMax || nanos < -kQuantityNanosMax) {
      nanos = 0;
      fail();
    }
    quantity = Quantity::from_nanos(nanos, format);
  }
  template <typename A, typename B>
  void get(std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <typename T>
  void get(std::optional<T>& value) {
    value.reset();
    if (read<bool>()) {
      get(value.emplace());
    }
  }
  template <typename T>
  void get(std::vector<T>& list) {
    list.clear();
    for (auto left = read<std::uint64_t>(); left > 0 && !failed_; --left) {
      get(list.emplace_back());
    }
  }
  template <typename... Ts>
  void get(std::variant<Ts...>& value) {
    const auto index = read<std::size_t>();
    std::size_t i = 0;
    const bool known = ((i++ == index && (get(value.template emplace<Ts>()), true)) || ...);
    if (!known) {
      fail();
    }
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void get(Struct& value) { fields(*this, value); }

  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace headroom
