// Pieces that the commands share in how they read their options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace headroom {

// A number in [first, last]. Its error says so; --help, which the bounds would crowd, does not.
template <typename T>
CLI::Validator between(T first, T last) {
  return CLI::Range(first, last).description("");
}

// An option that takes a number in [first, last]; --help says what it is by default.
template <typename T>
CLI::Option* add_number(CLI::App& command, const char* name, T& value,
                        std::type_identity_t<T> first, std::type_identity_t<T> last,
                        const char* help) {
  return command.add_option(name, value, help)
      ->check(between(first, last))
      ->type_name("NUMBER")
      ->capture_default_str();
}
// One without a default.
template <typename T>
CLI::Option* add_number(CLI::App& command, const char* name, std::optional<T>& value,
                        std::type_identity_t<T> first, std::type_identity_t<T> last,
                        const char* help) {
  return command.add_option(name, value, help)->check(between(first, last))->type_name("NUMBER");
}

// What a --seed may be: CLI11 would take a negative one for one of the greatest.
inline constexpr std::uint64_t kSeedMax = INT64_MAX;

// As a shell reads it: in quotes where it has more than letters, digits and what file names have.
inline std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + '\'';
}

}  // namespace headroom
