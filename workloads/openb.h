// The openb trace (data/README.md), as its rows and as Kubernetes objects.
//
// What the trace does not have is drawn from a seed. Pods of one shape come from one template, so
// they share what is drawn for it:
//
//   qos         cpu limit / request       memory limit / request    priority
//   LS          1 to 6, by quarters       1 to 2, by quarters       9500 (koord-prod)
//   Burstable   1 to 3, by quarters       1 to 2, by quarters       9500
//   Guaranteed  1                         1                         9500
//   BE          no limit                  no limit                  5500 (koord-batch)
//
// GPUs are whole devices: num_gpu of nvidia.com/gpu, with the limit that Kubernetes demands to
// equal the request; gpu_milli is not used. Thread safety: everything here is const after the first
// call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/error.h"
#include "objects/objects.h"
#include "objects/text/time_text.h"

namespace headroom {

inline constexpr const char* kGpuResource = "nvidia.com/gpu";
inline constexpr const char* kGpuModelLabel = "nvidia.com/gpu.product";
inline constexpr const char* kQosLabel = "koordinator.sh/qosClass";
inline constexpr std::int64_t kNodePods = 110;

// Second 0 of the trace: 2026-01-01T00:00:00Z.
inline constexpr std::int64_t kTraceStartUs = 1'767'225'600 * kMicrosPerSecond;

struct OpenbNode {
  std::int64_t cpu_milli = 0, memory_mib = 0, gpu = 0;
  std::string model;
};

struct OpenbShape {
  std::int64_t cpu_milli = 0, memory_mib = 0, num_gpu = 0, gpu_milli = 0;
  std::string gpu_spec, qos;
};

struct OpenbPod {
  std::uint32_t shape = 0;
  std::string phase;
  // Seconds since the trace's start.
  std::int64_t creation = 0, deletion = 0;
  std::optional<std::int64_t> scheduled;
};

struct OpenbTrace {
  std::vector<OpenbNode> nodes;
  std::vector<OpenbShape> shapes;
  std::vector<OpenbPod> pods;  // in order of creation
};

// Rows of one table, and nodes; and of one number: 10^5 such sum up within int64.
inline constexpr std::size_t kOpenbRowsMax = 100'000;
inline constexpr std::int64_t kOpenbNumberMax = 1'000'000'000'000;

// Of three tables with the columns of data/. kInvalid and kLimitExceeded name the table and its
// line.
Result<OpenbTrace> read_openb_trace(std::string_view nodes, std::string_view shapes,
                                    std::string_view pods);
// The tables of data/, which the program carries.
const OpenbTrace& openb_trace();

// Written "16Gi", as people write memory.
Quantity memory_quantity(std::int64_t mib);

// "openb-node-0007".
std::string openb_node_name(std::size_t index);
std::string openb_pod_name(std::size_t index);

// Limits of a shape in thousandths of its requests, drawn as in the table above; 0: no limit.
struct LimitRatios {
  std::int64_t cpu_permille = 0, memory_permille = 0;
};
LimitRatios openb_limit_ratios(std::uint32_t shape, std::uint64_t seed);
std::int32_t openb_priority(const OpenbShape& shape);
// What a pod of that shape runs: requests, and limits by those ratios.
Container openb_container(const OpenbShape& shape, LimitRatios ratios);

Node openb_node(std::size_t index);
// Pending, created at creation, with activeDeadlineSeconds where it has a lifetime above 0.
Pod openb_pod(std::size_t index, std::uint64_t seed);

}  // namespace headroom
