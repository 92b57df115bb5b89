#include "python/src/objects.h"

#include <nanobind/stl/string.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "engine/profile/profile_reader.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace headroom::python {

namespace {

bool is_path(nb::handle value) { return nb::hasattr(value, "__fspath__"); }

// nullopt: no text, but an object.
std::optional<std::string_view> text_of(nb::handle value) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(value.ptr())) {
    const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) throw nb::python_error();
    return std::string_view(text, static_cast<std::size_t>(size));
  }
  if (PyBytes_Check(value.ptr())) {
    char* text = nullptr;
    if (PyBytes_AsStringAndSize(value.ptr(), &text, &size) != 0) throw nb::python_error();
    return std::string_view(text, static_cast<std::size_t>(size));
  }
  return std::nullopt;
}

}  // namespace

std::string path_of(nb::handle value) {
  // A path may be bytes, and its name no UTF-8.
  const nb::object bytes = nb::module_::import_("os").attr("fsencode")(value);
  std::string path(*text_of(bytes));
  if (path.find('\0') != std::string::npos) throw nb::value_error("embedded null byte");
  return path;
}

namespace {

template <typename Read>
auto without_gil(Read read) {
  const nb::gil_scoped_release released;
  return read();
}

std::size_t size_of(const ObjectFile& file) {
  std::size_t size = 0;
  each_list(file, [&size](const auto& list) { size += list.size(); });
  for (const auto& [kind, count] : file.other_kinds) size += count;
  return size;
}

// A text that cannot be read may be meant as a path.
Error perhaps_a_path(Error error, std::string_view text) {
  constexpr std::size_t kPathBytesMax = 4096;
  if (text.size() > kPathBytesMax || text.find_first_of("\n{[") != std::string_view::npos) {
    return error;
  }
  std::error_code ignored;
  const bool file = text.ends_with(".json") || text.ends_with(".yaml") || text.ends_with(".yml") ||
                    std::filesystem::exists(std::filesystem::path(text), ignored);
  if (file) {
    error.message += "; \"" + std::string(text) +
                     "\" is the name of a file: give pathlib.Path(...) to have it read";
  }
  return error;
}

template <typename T>
T value_of_text(Result<T> result, std::string_view text) {
  if (!result) raise(perhaps_a_path(result.error(), text));
  return std::move(*result);
}

template <typename T>
std::vector<T> only(ObjectFile file, std::vector<T> ObjectLists::*list, const char* what,
                    const char* kind) {
  if (size_of(file) != (file.*list).size()) {
    raise({ErrorCode::kInvalid, std::string(what) + ": not only " + kind + " objects"});
  }
  return std::move(file.*list);
}

}  // namespace

ObjectFile objects_of(nb::handle objects, const char* what, const char* kind) {
  if (is_path(objects)) {
    return value_of(without_gil([path = path_of(objects)] { return read_object_file(path); }));
  }
  if (const std::optional<std::string_view> text = text_of(objects)) {
    return value_of_text(without_gil([&] { return read_objects(*text, what); }), *text);
  }
  const nb::object to_json = nb::module_::import_("headroom._objects").attr("to_json");
  const nb::object json = to_json(objects, kind);  // nullptr is None
  const std::string_view text = *text_of(json);
  return value_of(without_gil([&] { return read_objects(text, what); }));
}

std::vector<Pod> pods_of(nb::handle pods, const char* what) {
  return only(objects_of(pods, what, "Pod"), &ObjectFile::pods, what, "Pod");
}

Pod pod_of(nb::handle pod, const char* what) {
  std::vector<Pod> pods = pods_of(pod, what);
  if (pods.size() != 1) {
    raise({ErrorCode::kInvalid,
           std::string(what) + ": " + std::to_string(pods.size()) + " pods: give one"});
  }
  return std::move(pods.front());
}

std::vector<Node> nodes_of(nb::handle nodes, const char* what) {
  return only(objects_of(nodes, what, "Node"), &ObjectFile::nodes, what, "Node");
}

Profile profile_of(nb::handle profile) {
  if (profile.is_none()) return Profile::standard();
  if (is_path(profile)) return value_of(read_profile_file(path_of(profile)));
  if (const std::optional<std::string_view> text = text_of(profile)) {
    return value_of_text(read_profile(*text, "profile"), *text);
  }
  // JSON is YAML; several objects are documents.
  const nb::object to_json = nb::module_::import_("headroom._objects").attr("to_json");
  nb::object documents = to_json(profile, nb::none());
  documents = documents.attr("replace")("\n", "\n---\n");
  return value_of(read_profile(*text_of(documents), "profile"));
}

}  // namespace headroom::python
