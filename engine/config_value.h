// ConfigValue: a value at one place of a configuration (YAML, of which JSON is a part), read
// strictly.
//
// Every accessor says what it wants; a value that is something else is an error that names the
// source, the line, the path, what is there and what would be accepted. The first error of a
// document is kept in its ConfigErrors, and accessors after it return a default and visit nothing:
// a reader is written as if nothing could fail and asks once, at its end.
// Fields whose value is null count as absent, as in Kubernetes. Accessors may throw what yaml-cpp
// throws; whoever loads the document catches it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "objects/error.h"

namespace headroom {

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

  // `errors` outlives the value.
  ConfigValue(YAML::Node node, std::string path, ConfigErrors& errors)
      : node_(std::move(node)), path_(std::move(path)), errors_(&errors) {}

  // An object with these fields and no others, each at most once.
  void fields(std::initializer_list<Field> accepted) const;
  // An object with any keys, each once, in the document's order.
  void entries(const std::function<void(const std::string&, const ConfigValue&)>& read) const;
  // A list, in order.
  void items(const std::function<void(const ConfigValue&)>& read) const;

  std::string text() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const;
  bool is_null() const { return node_.IsNull(); }
  // Starts like a number and is not quoted: Kubernetes tells 125 from "125".
  bool is_number() const;

  // The scalar as written, or what else is there ("a list"), for messages.
  std::string shown() const;
  // Keeps the error if it is the first: "SOURCE:LINE: PATH: PROBLEM".
  void fail(ErrorCode code, std::string_view problem) const;
  bool failed() const { return errors_->first.has_value(); }

 private:
  ConfigValue at(YAML::Node node, std::string path) const {
    return {std::move(node), std::move(path), *errors_};
  }
  std::string path_of(std::string_view key) const;

  YAML::Node node_;
  std::string path_;
  ConfigErrors* errors_;
};

}  // namespace headroom
