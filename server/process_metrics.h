// What Prometheus' client libraries tell of their process (process_*), which prometheus-cpp does
// not.
//
// Thread safety: any thread. Cost: some files of /proc, at a scrape.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace headroom {

// CPU time, memory, open files and the start. What /proc does not tell is left out.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace headroom
