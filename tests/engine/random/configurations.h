// Configurations of an engine that must not change an answer, for property tests.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace headroom {

struct Configuration {
  std::string kernels;
  EngineOptions options;
  bool bulk = false;  // rows are derived with the next look

  std::string text() const {
    return kernels + (bulk ? " bulk" : "") + (options.shape_cache ? " cache" : " no-cache") +
           " threads " + std::to_string(options.threads) + " seed " + std::to_string(options.seed);
  }
};

// Every instruction set that this machine has, with the cache, without it and with one too small to
// hold two shapes; ties by row and by a seed.
std::vector<Configuration> configurations();

// A new engine, or the one that is saved at `path`.
Result<Engine> make_engine(const Profile& profile, const Configuration& configuration,
                           const std::string& path = "");

}  // namespace headroom
