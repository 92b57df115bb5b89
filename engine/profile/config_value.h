// ConfigValue: a value at one place of a configuration (YAML, of which JSON is a part), read
// strictly.
//
// Every accessor says what it wants; a value that is something else is an error that names the
// source, the line, the path, what is there and what would be accepted. The first error of a
// document is kept in its ConfigErrors, and accessors after it return a default and visit nothing:
// a reader is written as if nothing could fail and asks once, at its end.
// Fields whose value is null count as absent, as in Kubernetes.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/error.h"
#include "objects/yaml/yaml_value.h"

namespace headroom {

// Of one configuration: some 60 MB while it is read.
inline constexpr std::size_t kConfigBytesMax = 1 << 20;
inline constexpr YamlLimits kConfigLimits{
    .bytes = kConfigBytesMax, .pending = 256 << 10, .values = 100'000};

struct ConfigErrors {
  std::string source;  // "scheduler.yaml"
  bool lines = true;   // whether lines mean something to whoever reads the message
  std::optional<Error> first;
};

class ConfigValue {
 public:
  struct Field {
    std::string_view name;
    std::function<void(const ConfigValue&)> read;  // empty: accepted and ignored
  };

  // `value` and `errors` outlive this.
  ConfigValue(const YamlValue& value, std::string path, ConfigErrors& errors)
      : value_(&value), path_(std::move(path)), errors_(&errors) {}

  // An object with these fields and no others, each at most once.
  void fields(std::initializer_list<Field> accepted) const {
    fields(std::span(accepted.begin(), accepted.size()));
  }
  void fields(std::span<const Field> accepted) const;
  // An object with any keys, each once, in the document's order.
  void entries(const std::function<void(const std::string&, const ConfigValue&)>& read) const;
  // A list, in order.
  void items(const std::function<void(const ConfigValue&)>& read) const;

  std::string text() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const;
  bool is_null() const { return value_->kind == YamlValue::Kind::kNull; }
  // Starts like a number and is not quoted: Kubernetes tells 125 from "125".
  bool is_number() const;

  // The scalar as written, or what else is there ("a list"), for messages.
  std::string shown() const;
  // Keeps the error if it is the first: "SOURCE:LINE: PATH: PROBLEM".
  void fail(ErrorCode code, std::string_view problem) const;
  bool failed() const { return errors_->first.has_value(); }

 private:
  ConfigValue at(const YamlValue& value, std::string path) const {
    return {value, std::move(path), *errors_};
  }
  bool is(YamlValue::Kind kind) const { return value_->kind == kind; }
  bool is_plain() const { return is(YamlValue::Kind::kScalar) && value_->plain; }
  std::string path_of(std::string_view key) const;

  const YamlValue* value_;
  std::string path_;
  ConfigErrors* errors_;
};

// The documents of a configuration; what cannot be read is in `errors`, and there are none then.
std::vector<YamlValue> read_config(std::string_view text, ConfigErrors& errors);

}  // namespace headroom
