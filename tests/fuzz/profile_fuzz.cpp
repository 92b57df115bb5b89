// Profiles and plugin arguments on any bytes: they are read or refused with a word, the same each
// time, and an engine can be made of what was read, or says why not. The first byte chooses: a
// whole configuration, or, behind a line with its name, the arguments of one plugin in one mode.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "engine/profile/profile_reader.h"
#include "tests/fuzz/check.h"

namespace headroom {
namespace {

void use(const Profile& profile) {
  Result<Engine> engine = Engine::create(profile, {.shape_cache_bytes_max = 1 << 20, .threads = 1});
  if (!engine) {
    HEADROOM_FUZZ_CHECK(!engine.error().message.empty());
    return;
  }
  Node node;
  node.name = "n1";
  node.labels = {{"topology.kubernetes.io/zone", "z1"}, {"disk", "ssd"}};
  node.allocatable = {{"cpu", Quantity::from_milli(4000)},
                      {"memory", Quantity::from_value(std::int64_t{8} << 30)},
                      {"pods", Quantity::from_value(10)}};
  HEADROOM_FUZZ_CHECK(engine->upsert(node));
  // By which default constraints select the pod.
  HEADROOM_FUZZ_CHECK(engine->upsert(ReferredObject(Service{"d", "s", StringMap{{"app", "web"}}})));
  Pod pod;
  pod.namespace_name = "d";
  pod.name = pod.uid = "p";
  pod.labels = {{"app", "web"}};
  pod.containers.resize(1);
  pod.containers[0].requests = {{"cpu", Quantity::from_milli(100)}};
  Decision decision;
  HEADROOM_FUZZ_CHECK(engine->evaluate(pod, {}, decision));
  HEADROOM_FUZZ_CHECK(engine->validate());
}

void check(std::uint8_t choice, std::string_view text) {
  if (choice % 4 == 0) {
    const Result<Profile> profile = read_profile(text, "fuzz");
    const Result<Profile> again = read_profile(text, "fuzz");
    HEADROOM_FUZZ_CHECK(profile.has_value() == again.has_value());
    if (profile) return use(*profile);
    HEADROOM_FUZZ_CHECK(profile.error().message.starts_with("fuzz:"));
    HEADROOM_FUZZ_CHECK(profile.error().message == again.error().message);
    return;
  }
  Profile profile = Profile::standard();
  profile.mode = choice % 4 == 1 ? Mode::kUpstream : Mode::kProposal;
  const std::size_t end = std::min(text.find('\n'), text.size());
  const Plugin* plugin = find_plugin(text.substr(0, end));
  if (plugin == nullptr) return;
  text.remove_prefix(std::min(end + 1, text.size()));
  if (const Result<void> read = read_plugin_args(plugin->id, text, profile); !read) {
    HEADROOM_FUZZ_CHECK(!read.error().message.empty());
  }
  use(profile);
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size != 0) headroom::check(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
