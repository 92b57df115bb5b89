// Profiles and arguments as texts, for the tests that read them: what a text gives, or the message
// of its error.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/profile/profile_reader.h"

namespace headroom::profile_test {

inline constexpr std::string_view kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n";

inline std::string with_head(std::string_view body) {
  return std::string(kHead) + std::string(body);
}

inline Profile read(std::string_view body) {
  const Result<Profile> profile = read_profile(with_head(body), "s.yaml");
  EXPECT_TRUE(profile.has_value()) << profile.error().message;
  return profile.value_or(Profile{});
}

// The message of the error that the body gives; its first line is the file's third.
inline std::string error_of(std::string_view body) {
  const Result<Profile> profile = read_profile(with_head(body), "s.yaml");
  EXPECT_FALSE(profile.has_value());
  return profile ? "" : profile.error().message;
}

inline Profile read_args_of(PluginId plugin, std::string_view json, Mode mode = Mode::kUpstream) {
  Profile profile;
  profile.mode = mode;
  const Result<void> result = read_plugin_args(plugin, json, profile);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return profile;
}

inline std::string args_error(PluginId plugin, std::string_view json, Mode mode = Mode::kUpstream) {
  Profile profile;
  profile.mode = mode;
  const Result<void> result = read_plugin_args(plugin, json, profile);
  EXPECT_FALSE(result.has_value()) << json;
  return result ? "" : result.error().message;
}

}  // namespace headroom::profile_test
