// Kubernetes objects from Python: a dict, a list of dicts, a model of Kubernetes' Python client,
// JSON or YAML text (str or bytes), or a path (os.PathLike), whose file is read.
//
// `what` names the object in errors ("pod: Pod default/a: ..."). Everything here is called with the
// GIL, which is free while text is read. Raises TypeError for what is none of these.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "engine/profile/profile.h"
#include "objects/reading/object_reader.h"

namespace headroom::python {

// A str or os.PathLike.
std::string path_of(nanobind::handle path);
ObjectFile objects_of(nanobind::handle objects, const char* what, const char* kind = nullptr);
// Exactly one pod, and pods only. Without apiVersion and kind it is a v1 Pod.
Pod pod_of(nanobind::handle pod, const char* what = "pod");
std::vector<Pod> pods_of(nanobind::handle pods, const char* what = "pods");
std::vector<Node> nodes_of(nanobind::handle nodes, const char* what);
// None is Profile::standard().
Profile profile_of(nanobind::handle profile);

}  // namespace headroom::python
