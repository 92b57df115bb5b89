// HEADROOM_ASSERT(condition): what only a mistake of our own can break. Active in every build: it
// prints file, line and condition, and ends the process.
//
// It stands at the borders of modules, on conditions of constant time, outside of inner loops.
// Never on what a peer, a file or a user can bring about: that is an Error (error.h).
// Kernels include it as well: it is a macro and nothing else.
#pragma once

#include <cstdio>
#include <cstdlib>

#define HEADROOM_ASSERT(condition)                                                           \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      std::fprintf(stderr, "%s:%d: assertion broken: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
