// The quantiles of latency histograms as a picture (SVG), one line each: the share of requests on a
// logarithmic axis of nines, the latency on another.
//
// A hundred lines of text are all that it takes; Debian packages no plotting library for C++.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/load/latency_histogram.h"

namespace headroom {

// Names and histograms; those without a latency are left out. Readable on light and dark.
std::string latency_plot(const std::string& title,
                         const std::vector<std::pair<std::string, const LatencyHistogram*>>& lines);

}  // namespace headroom
