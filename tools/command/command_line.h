// Pieces that the commands share in how they read their options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

// A number in [first, last]. Its error says so; --help, which the bounds would crowd, does not.
template <typename T>
CLI::Validator between(T first, T last) {
  return CLI::Range(first, last).description("");
}

// What a --seed may be: CLI11 would take a negative one for one of the greatest.
inline constexpr std::uint64_t kSeedMax = INT64_MAX;
inline CLI::Validator seed_number() { return between(std::uint64_t{0}, kSeedMax); }

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
