// Two values that should be equal, as text where they are not.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace headroom {

template <typename Value>
std::string difference(const std::string& what, const Value& expected, const Value& came) {
  if (expected == came) return "";
  return what + "\n expected " + testing::PrintToString(expected) + "\n came     " +
         testing::PrintToString(came) + "\n";
}

}  // namespace headroom
