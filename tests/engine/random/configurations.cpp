#include "tests/engine/random/configurations.h"

#include <cstdlib>

#include "kernels/kernels.h"

namespace headroom {

Result<Engine> make_engine(const Profile& profile, const Configuration& configuration,
                           const std::string& path) {
  setenv("HEADROOM_KERNELS", configuration.kernels.c_str(), 1);
  Result<Engine> engine = path.empty() ? Engine::create(profile, configuration.options)
                                       : Engine::load(profile, path, configuration.options);
  unsetenv("HEADROOM_KERNELS");
  return engine;
}

std::vector<Configuration> configurations() {
  std::vector<Configuration> all;
  std::int32_t threads = 1;
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->supported()) continue;
    all.push_back({kernels->name, {.threads = threads}});
    all.push_back({kernels->name, {.shape_cache = false, .threads = 3 - threads}});
    all.push_back({kernels->name, {.threads = 3 - threads, .seed = 7}});
    threads = 3 - threads;
  }
  all.push_back({all.front().kernels, {.shape_cache_bytes_max = 1, .threads = 2}});
  all.push_back({all.front().kernels, {.shape_cache = false, .threads = 1, .seed = 7}});
  for (std::size_t c = 0; c < all.size(); c += 2) all[c].bulk = true;
  return all;
}

}  // namespace headroom
