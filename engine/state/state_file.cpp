#include "engine/state/state_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "engine/kept/value_bytes.h"
#include "objects/behind_links.h"
#include "objects/hash.h"

namespace headroom {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "HDRMSTAT";
constexpr std::size_t kHeadBytes = 8 + 4 + 8 + 8;
constexpr std::size_t kTailBytes = 8 + 8;

template <typename Number>
void append_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

// By the system.
tl::unexpected<Error> refused(const std::string& path, int error) {
  return fail(ErrorCode::kIo, path + ": " + std::generic_category().message(error));
}

// All of the bytes are on the disk.
bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return ::fsync(descriptor) == 0;
}

}  // namespace

std::uint64_t profile_hash(const Profile& profile) {
  ValueWriter writer;
  writer(profile);
  return hash_bytes(writer.bytes());
}

std::string state_file_bytes(const StateFile& file) {
  std::string bytes;
  bytes.reserve(kHeadBytes + file.facts.size() + kTailBytes);
  bytes += kMagic;
  append_number(bytes, kStateVersion);
  append_number(bytes, std::uint64_t{kHeadBytes + file.facts.size() + kTailBytes});
  append_number(bytes, file.profile_hash);
  bytes += file.facts;
  append_number(bytes, file.digest);
  append_number(bytes, hash_bytes(bytes));
  return bytes;
}

Result<StateFile> read_state_file(std::string_view bytes) {
  // What is cut off within its first bytes is one all the same.
  if (bytes.empty() || bytes.substr(0, kMagic.size()) != kMagic.substr(0, bytes.size())) {
    return fail(ErrorCode::kInvalid, "it is no state file");
  }
  if (bytes.size() < kHeadBytes) {
    return fail(ErrorCode::kInvalid, fmt::format("it is cut off after {} bytes", bytes.size()));
  }
  if (const auto version = number_at<std::uint32_t>(bytes, 8); version != kStateVersion) {
    return fail(ErrorCode::kInvalid, fmt::format("it is of version {}, and this reads version {}",
                                                 version, kStateVersion));
  }
  const auto size = number_at<std::uint64_t>(bytes, 12);
  if (size != bytes.size() || size < kHeadBytes + kTailBytes) {
    return fail(ErrorCode::kInvalid,
                fmt::format("it has {} bytes, and its length is given as {}: cut off or damaged",
                            bytes.size(), size));
  }
  const std::size_t tail = bytes.size() - kTailBytes;
  if (hash_bytes(bytes.substr(0, tail + 8)) != number_at<std::uint64_t>(bytes, tail + 8)) {
    return fail(ErrorCode::kInvalid, "its checksum is wrong: it is damaged");
  }
  return StateFile{number_at<std::uint64_t>(bytes, 20), number_at<std::uint64_t>(bytes, tail),
                   bytes.substr(kHeadBytes, tail - kHeadBytes)};
}

Result<void> read_whole_file(const std::string& path, InputBytes& bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool read = descriptor >= 0 && bytes.load(descriptor, SIZE_MAX);
  const int error = errno;
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  return read ? Result<void>() : refused(path, error);
}

Result<void> write_whole_file(const std::string& path, std::string_view bytes) {
  // Renaming would put a file in a device's place.
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return fail(ErrorCode::kIo, path + ": it is there and no regular file");
  }
  const std::string target = behind_links(path);
  std::string beside = target + "." + std::string(6, 'X');
  const int descriptor = ::mkstemp(beside.data());
  if (descriptor < 0) {
    return refused(path, errno);
  }
  bool done = write_all(descriptor, bytes);
  int error = errno;
  if (::close(descriptor) != 0 && done) {
    done = false;
    error = errno;
  }
  if (done && std::rename(beside.c_str(), target.c_str()) != 0) {
    done = false;
    error = errno;
  }
  if (!done) {
    ::unlink(beside.c_str());
    return refused(path, error);
  }
  return {};
}

}  // namespace headroom
