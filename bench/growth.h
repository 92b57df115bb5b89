// What a piece of work adds to a process's resident memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace headroom {

// Resident bytes since it was made, or since it was last asked.
class Growth {
 public:
  Growth();
  std::int64_t grown();

 private:
  std::int64_t before_;
};

// What `measure` returns, `count` numbers, in a process of its own, where no freed memory hides
// growth.
std::vector<std::int64_t> measured_apart(std::size_t count,
                                         const std::function<std::vector<std::int64_t>()>& measure);

}  // namespace headroom
