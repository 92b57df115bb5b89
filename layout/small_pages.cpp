#include "layout/small_pages.h"

#include <sys/prctl.h>

#include <mutex>

namespace headroom {
namespace {

struct Setting {
  std::mutex mutex;
  int wanted = 0;  // how many SmallPages exist
  int before = 0;  // the process's setting, before the first of them
};

Setting& setting() {
  static Setting setting;
  return setting;
}

// 1: no huge pages; the bits above it are flags, as PR_GET_THP_DISABLE has them together.
void set(int value) {
  ::prctl(PR_SET_THP_DISABLE, static_cast<unsigned long>(value & 1),
          static_cast<unsigned long>(value & ~1), 0UL, 0UL);
}

}  // namespace

SmallPages::SmallPages() {
  Setting& now = setting();
  const std::lock_guard lock(now.mutex);
  if (now.wanted++ > 0) return;
  now.before = ::prctl(PR_GET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL);
  if (now.before >= 0) set(1);
}

SmallPages::~SmallPages() {
  Setting& now = setting();
  const std::lock_guard lock(now.mutex);
  if (--now.wanted == 0 && now.before >= 0) set(now.before);
}

}  // namespace headroom
