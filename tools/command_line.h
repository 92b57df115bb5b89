// Pieces that the commands share in how they read their options.
#pragma once

#include <CLI/CLI.hpp>

namespace headroom {

// A number in [first, last]. Its error says so; --help, which the bounds would crowd, does not.
template <typename T>
CLI::Validator between(T first, T last) {
  return CLI::Range(first, last).description("");
}

}  // namespace headroom
