// Failures: why pods found no place, as the decisions about them say, counted by reason.
//
// Reasons that differ in an object's name alone are one, so that there are few of them. Thread
// safety: one thread at a time. Cost: a failure is O(its reasons).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/answers.h"

namespace headroom {

struct FailureReport {
  std::string reason;
  std::uint64_t pods_mainly = 0;  // failed pods to whom most nodes gave this reason
  std::uint64_t pods_also = 0;    // failed pods to whom some node gave it
};

// The reason that most nodes gave; of equal ones the first. Before any node was looked at: why.
std::string main_reason(const Decision& decision);

class Failures {
 public:
  void add(const Decision& decision);
  std::vector<FailureReport> sorted() const;  // most pods first

 private:
  std::map<std::string, FailureReport> reports_;
};

}  // namespace headroom
