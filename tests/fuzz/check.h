// A check that is there in every build: a fuzz target that finds it false stops with the input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define HEADROOM_FUZZ_CHECK(condition)                                              \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)
