// SmallPages: while one exists, memory that the process touches for the first time comes in small
// pages, also where it was asked for in huge ones (HugePages).
//
// For work beside others that must not wait: a huge page takes the system 0.3 ms to clear, and 4 to
// 12 ms where a virtual machine's host has to find it first; a small one 3 us. What came so the
// system puts together in its own time once no SmallPages exists: khugepaged, as it is set up,
// looks at 16 MiB in 10 s. A system that refuses goes on with huge ones. Thread safety: any thread;
// the setting is the whole process's. Cost: three system calls.
#pragma once

namespace headroom {

class SmallPages {
 public:
  SmallPages();
  SmallPages(const SmallPages&) = delete;
  SmallPages& operator=(const SmallPages&) = delete;
  ~SmallPages();
};

}  // namespace headroom
