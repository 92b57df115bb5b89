#include "layout/small_pages.h"

#include <sys/prctl.h>

#include <mutex>

namespace headroom {
namespace {

struct Setting {
  std::mutex mutex;
  int wanted = 0;          // how many SmallPages exist
  bool was_small = false;  // before the first of them
};

Setting& setting() {
  static Setting setting;
  return setting;
}

void set_small(bool small) { ::prctl(PR_SET_THP_DISABLE, small ? 1 : 0, 0, 0, 0); }

}  // namespace

SmallPages::SmallPages() {
  Setting& now = setting();
  const std::lock_guard lock(now.mutex);
  if (now.wanted++ > 0) return;
  now.was_small = ::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) > 0;
  set_small(true);
}

SmallPages::~SmallPages() {
  Setting& now = setting();
  const std::lock_guard lock(now.mutex);
  if (--now.wanted == 0) set_small(now.was_small);
}

}  // namespace headroom
