// Holds TBB to one thread in builds with ThreadSanitizer: the packaged TBB is not instrumented, and
// a correct parallel_for would be reported.
#include <tbb/global_control.h>

namespace {

const tbb::global_control one_worker(tbb::global_control::max_allowed_parallelism, 1);

}  // namespace
