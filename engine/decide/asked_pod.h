// AskedPod: a pod that a decision is about, in the parts that decide: its shape, what it asks of
// other pods, the node that it names.
//
// For the time of one question. Thread safety: look.code() from any number of threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/applications/look.h"
#include "engine/table/pod_shape.h"

namespace headroom {

struct AskedPod {
  PodShape& shape;
  std::vector<std::string> named;  // spec.nodeName where the profile filters by it, else nothing
  Application* application = nullptr;   // nullptr: no plugin of the profile is about one
  std::optional<ApplicationLook> look;  // of the application, once it is prepared

  // Else what the application says stands for every node.
  bool passes_pre_filter() const { return !look || look->pre_filter().empty(); }
};

}  // namespace headroom
