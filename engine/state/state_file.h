// State files: a whole engine's facts in one file, by Engine::save() and Engine::load().
//
//   bytes       what
//   8           "HDRMSTAT"
//   4           kStateVersion
//   8           the length of the file in bytes
//   8           hash_bytes() of the profile, every member as value_bytes.h writes it
//   ...         the facts (cluster_state.h)
//   8           Engine::digest()
//   8           hash_bytes() of everything before
//
// Numbers of fixed size are little-endian. A file says the same on every machine. It is taken only
// with the version, length, profile and checksum that belong to it, and with the digest that comes
// of its facts; a reader of an older version is not kept: facts can be fed again.
// Thread safety: pure functions; two that write one path leave one file, whole. Cost: once over the
// bytes, which save() holds in memory and load() maps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/profile/profile.h"
#include "objects/error.h"
#include "objects/reading/input_bytes.h"

namespace headroom {

// Grows with every change of what is written, of the key of a shape and of the digest.
inline constexpr std::uint32_t kStateVersion = 7;

struct StateFile {
  std::uint64_t profile_hash = 0;
  std::uint64_t digest = 0;
  std::string_view facts;
};

std::uint64_t profile_hash(const Profile& profile);
std::string state_file_bytes(const StateFile& file);
// Views of `bytes`. kInvalid: they are no state file, of another version, cut off or damaged.
Result<StateFile> read_state_file(std::string_view bytes);

// Maps the file where that is possible. kIo with the system's words, as below.
Result<void> read_whole_file(const std::string& path, InputBytes& bytes);
// Replaces the file as a whole, or leaves it as it is: beside it first (with a random ending), then
// renamed. Its owner alone may read it.
Result<void> write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace headroom
