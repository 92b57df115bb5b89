// Reasons: the texts by which shapes and taints reject nodes, each kept once.
//
// Answers point into them: a text that nobody gives any more stays until kUnusedReasonsMax others
// went after it. Thread safety: one thread at a time. Cost: O(log reasons).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>

namespace headroom {

inline constexpr std::size_t kUnusedReasonsMax = 65'536;

class Reasons {
 public:
  // Makes `reason` the text that stays. Returns the bytes of the heap that it takes if nobody gave
  // it so far, else 0.
  std::size_t hold(std::string_view& reason);
  void release(std::string_view reason);

 private:
  struct Users {
    std::uint32_t count = 0;
    std::list<std::string_view>::iterator unused;  // where there are none
  };

  std::map<std::string, Users, std::less<>> users_;
  std::list<std::string_view> unused_;  // as they became so
};

}  // namespace headroom
