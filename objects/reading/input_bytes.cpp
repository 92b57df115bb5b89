// Maps or reads a file.
#include "objects/reading/input_bytes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "objects/limits.h"

namespace headroom {

bool InputBytes::load(int descriptor, std::size_t most) {
  struct stat info {};
  if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
      ::lseek(descriptor, 0, SEEK_CUR) == 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    if (size > most) {
      errno = EFBIG;
      return false;
    }
    void* const address =
        ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
    if (address != MAP_FAILED) {
      mapped_ = address;
      mapped_size_ = size;
      return true;
    }
  }
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  // One chunk beyond the limit is enough to see that it is passed.
  while (read_.size() <= kInputBytesMax) {
    const std::size_t size = read_.size();
    read_.resize(size + kChunkBytes);
    const ssize_t count = ::read(descriptor, read_.data() + size, kChunkBytes);
    read_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
  return true;
}

}  // namespace headroom
