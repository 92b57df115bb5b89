#include "c/objects.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "c/handle.h"
#include "engine/engine.h"
#include "objects/limits.h"
#include "objects/reading/object_reader.h"
#include "objects/text/utf8_prefix.h"

namespace headroom {

namespace {

// What is kept between calls; a call for more frees the rest with the next one.
constexpr std::size_t kPodsKeptMax = 4096;

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string entry(const char* list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

Result<void> check_length(std::string_view text, std::size_t bytes_max, const std::string& field) {
  if (text.size() <= bytes_max) return {};
  return fail(ErrorCode::kLimitExceeded, field + ": " + shortened(text) + " has " +
                                             std::to_string(text.size()) + " bytes; the limit is " +
                                             std::to_string(bytes_max));
}

Result<void> read_name(const char* from, const char* field, std::string& name) {
  const std::string_view text = text_of(from);
  if (text.size() > kNameBytesMax) return check_length(text, kNameBytesMax, field);
  name.assign(text);
  return {};
}

Result<void> check_list(const void* list, std::size_t count, std::size_t count_max,
                        const char* field) {
  if (list == nullptr && count > 0) {
    return fail(ErrorCode::kInvalid,
                std::string(field) + ": NULL with " + std::to_string(count) + " entries");
  }
  if (count > count_max) {
    return fail(ErrorCode::kLimitExceeded, std::string(field) + ": has " + std::to_string(count) +
                                               " entries; the limit is " +
                                               std::to_string(count_max));
  }
  return {};
}

Result<void> check_key(std::string_view key, const char* list, std::size_t index,
                       const char* field) {
  if (!key.empty() && key.size() <= kKeyBytesMax) return {};
  const std::string name = entry(list, index) + "." + field;
  if (key.empty()) return fail(ErrorCode::kInvalid, name + " is empty");
  return check_length(key, kKeyBytesMax, name);
}

// By name, which must be each another.
template <typename List>
Result<void> sort_once(List& list, const char* field) {
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(list.begin(), list.end(), before)) {
    std::sort(list.begin(), list.end(), before);
  }
  const auto twice = std::adjacent_find(
      list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == list.end()) return {};
  return fail(ErrorCode::kInvalid,
              std::string(field) + ": " + in_quotes(twice->first) + " is there twice");
}

Result<void> read_pairs(const headroom_pair* from, std::size_t count, const char* field,
                        StringMap& pairs) {
  if (auto ok = check_list(from, count, kListMax, field); !ok) return ok;
  pairs.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view key = text_of(from[i].key), value = text_of(from[i].value);
    if (auto ok = check_key(key, field, i, "key"); !ok) return ok;
    if (value.size() > kStringBytesMax) {
      return check_length(value, kStringBytesMax, entry(field, i) + ".value");
    }
    pairs[i].first.assign(key);
    pairs[i].second.assign(value);
  }
  return sort_once(pairs, field);
}

Result<void> read_amounts(const headroom_amount* from, std::size_t count, const char* field,
                          ResourceList& amounts) {
  if (auto ok = check_list(from, count, kResourceListNamesMax, field); !ok) return ok;
  amounts.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view resource = text_of(from[i].resource);
    if (auto ok = check_key(resource, field, i, "resource"); !ok) return ok;
    if (from[i].value < 0) {
      return fail(ErrorCode::kInvalid, entry(field, i) + ".value: " + from[i].resource + " " +
                                           std::to_string(from[i].value) + " is below 0");
    }
    amounts[i].first.assign(resource);
    amounts[i].second = quantity_of(resource, from[i].value);
  }
  return sort_once(amounts, field);
}

// Into a pod that only this function wrote to.
Result<void> read_plain(const headroom_pod& from, Pod& pod) {
  const char* space = namespace_of(from.namespace_name);
  if (auto ok = read_name(space, "namespace_name", pod.namespace_name); !ok) return ok;
  if (auto ok = read_name(from.name, "name", pod.name); !ok) return ok;
  if (text_of(from.uid).empty()) {
    write_pod_key(pod.namespace_name, pod.name, pod.uid);
  } else if (auto ok = read_name(from.uid, "uid", pod.uid); !ok) {
    return ok;
  }
  if (auto ok = read_name(from.node_name, "node_name", pod.node_name); !ok) return ok;
  pod.priority = from.priority;
  pod.containers.resize(1);
  Container& container = pod.containers.front();
  Result<void> done =
      read_amounts(from.requests, from.request_count, "requests", container.requests);
  if (done) done = read_amounts(from.limits, from.limit_count, "limits", container.limits);
  if (!done) return done;
  return read_pairs(from.node_selector, from.node_selector_count, "node_selector",
                    pod.node_selector);
}

template <typename T>
Result<T> read_json(const char* json, std::size_t size, const char* kind) {
  Result<Object> object = read_object({json, size}, "json");
  if (!object) return tl::unexpected(std::move(object.error()));
  if (T* found = std::get_if<T>(&*object)) return std::move(*found);
  return fail(ErrorCode::kInvalid, std::string("json: is not a ") + kind);
}

tl::unexpected<Error> fail_in(const std::string& object, Error&& error) {
  return fail(error.code, object + ": " + error.message);
}

}  // namespace

Result<Node> node_of(const headroom_node& from) {
  if (from.json != nullptr) return read_json<Node>(from.json, from.json_size, "Node");
  const std::string object = "Node " + std::string(utf8_prefix(text_of(from.name), kNameBytesMax));
  Node node;
  Result<void> done = read_name(from.name, "name", node.name);
  if (done) {
    done = read_amounts(from.allocatable, from.allocatable_count, "allocatable", node.allocatable);
  }
  if (done) done = read_pairs(from.labels, from.label_count, "labels", node.labels);
  if (!done) return fail_in(object, std::move(done.error()));
  const Result<bool> unschedulable = flag_of(from.unschedulable, "unschedulable");
  if (!unschedulable) return fail_in(object, Error(unschedulable.error()));
  node.unschedulable = *unschedulable;
  node.capacity = node.allocatable;
  return node;
}

Result<void> PodRoom::read(const headroom_pod& from, Pod& pod) {
  if (from.json != nullptr) {
    plain_ = false;
    Result<Pod> read = read_json<Pod>(from.json, from.json_size, "Pod");
    if (!read) return tl::unexpected(std::move(read.error()));
    pod = std::move(*read);
    return {};
  }
  Result<void> done = read_plain(from, pod);
  if (done) return {};
  return fail_in("Pod " + pod_key(utf8_prefix(namespace_of(from.namespace_name), kNameBytesMax),
                                  utf8_prefix(text_of(from.name), kNameBytesMax)),
                 std::move(done.error()));
}

Result<const Pod*> PodRoom::read(const headroom_pod* pod) {
  if (pod == nullptr) return fail_null("pod");
  return read(pod, 1).map([](std::span<const Pod> pods) { return pods.data(); });
}

Result<std::span<const Pod>> PodRoom::read(const headroom_pod* pods, std::size_t count) {
  if (auto ok = check_list(pods, count, kPodsMax, "pods"); !ok) return tl::unexpected(ok.error());
  if (!plain_ || (pods_.size() > kPodsKeptMax && pods_.size() > count)) {
    pods_ = {};
    plain_ = true;
  }
  if (pods_.size() < count) pods_.resize(count);
  for (std::size_t p = 0; p < count; ++p) {
    if (auto ok = read(pods[p], pods_[p]); !ok) {
      if (count == 1) return tl::unexpected(std::move(ok.error()));
      return fail_in(entry("pods", p), std::move(ok.error()));
    }
  }
  return std::span<const Pod>(pods_.data(), count);
}

}  // namespace headroom
