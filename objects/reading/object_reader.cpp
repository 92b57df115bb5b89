// From text to objects: documents, lists, files.
#include "objects/reading/object_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

#include "objects/limits.h"
#include "objects/reading/input_bytes.h"
#include "objects/reading/json_instructions.h"
#include "objects/reading/json_text.h"
#include "objects/reading/object_json.h"
#include "objects/yaml/yaml_to_json.h"

namespace headroom {

namespace {

constexpr std::string_view kNodeMetricApi = "slo.koordinator.sh/v1alpha1";
constexpr std::string_view kElasticQuotaApi = "scheduling.x-k8s.io/v1alpha1";
constexpr std::string_view kCapacityQuotaApis[] = {"autoscaling.x-k8s.io/v1beta1",
                                                   "autoscaling.x-k8s.io/v1alpha1"};
constexpr std::string_view kListSuffix = "List";

struct TypeMeta {
  std::string api_version, kind;
};

// "Pod d/web-1", or empty for an object without a name.
std::string object_name(const ObjectParts& parts) {
  std::string_view name, namespace_name;
  if (!parts.metadata || (*parts.metadata)["name"].get(name) != simdjson::SUCCESS || name.empty() ||
      parts.kind.empty()) {
    return {};
  }
  if (name.size() > kNameBytesMax) return {};
  const std::optional<ReferredKind> referred = parse_referred_kind(parts.kind);
  const bool namespaced = parts.kind == "Pod" || parts.kind == "ElasticQuota" ||
                          parts.kind == "PodDisruptionBudget" ||
                          (referred && has_namespace(*referred));
  if ((*parts.metadata)["namespace"].get(namespace_name) != simdjson::SUCCESS && namespaced) {
    namespace_name = "default";
  }
  std::string result = std::string(parts.kind) + " ";
  if (!namespace_name.empty()) result += std::string(namespace_name) + "/";
  return result + std::string(name);
}

// Parses one value at a time, in memory that is kept.
class ValueParser {
 public:
  // `readable` bytes may be read from the value's start on; with enough of them behind the value
  // it is not copied.
  Result<JsonValue> parse(std::string_view value, std::size_t readable) {
    if (value.size() > kObjectTextBytesMax) {
      return fail(ErrorCode::kLimitExceeded, std::to_string(value.size()) +
                                                 " bytes in one object; the limit is " +
                                                 std::to_string(kObjectTextBytesMax));
    }
    if (value.size() > parser_.capacity()) {
      const std::size_t capacity = std::max(value.size(), 2 * parser_.capacity());
      if (parser_.allocate(std::min(capacity, kObjectTextBytesMax), kNestingMax) !=
          simdjson::SUCCESS) {
        throw std::bad_alloc();
      }
    }
    const bool padded = readable >= value.size() + simdjson::SIMDJSON_PADDING;
    const auto result = parser_.parse(value.data(), value.size(), !padded);
    if (result.error() == simdjson::SUCCESS) return result.value_unsafe();
    if (result.error() == simdjson::MEMALLOC) throw std::bad_alloc();
    if (result.error() == simdjson::DEPTH_ERROR) {
      return fail(ErrorCode::kLimitExceeded,
                  "nested more than " + std::to_string(kNestingMax) + " deep");
    }
    return fail(ErrorCode::kInvalid,
                std::string("malformed JSON: ") + simdjson::error_message(result.error()));
  }

 private:
  simdjson::dom::parser parser_{kObjectTextBytesMax};
};

// Lets the system back large memory that is not touched yet with huge pages: fewer page faults.
void prefer_huge_pages(void* memory, std::size_t size) {
  constexpr std::size_t kSizeMin = std::size_t{32} << 20;  // malloc keeps these apart.
  constexpr std::size_t kPage = std::size_t{2} << 20;
  if (size <= kSizeMin) return;
  const std::size_t before = kPage - reinterpret_cast<std::uintptr_t>(memory) % kPage;
  // A system that refuses is slower, no more.
  ::madvise(static_cast<char*>(memory) + before, size - kPage, MADV_HUGEPAGE);
}

class SourceReader {
 public:
  using Take = std::function<bool(ObjectFile&)>;

  // `take`: what is read is handed over in parts; empty: it is not.
  SourceReader(std::string_view text, std::string_view source, Take take = {})
      : text_(text), source_(source), take_(std::move(take)), cursor_(text) {}

  // The last part, or all.
  Result<ObjectFile> read() {
    while (cursor_.peek() != '\0' || cursor_.offset() < text_.size()) {
      if (!document()) return tl::unexpected<Error>(std::move(*error_));
    }
    return std::move(file_);
  }

 private:
  // All return false once error_ is set.

  bool error(ErrorCode code, const std::string& message) {
    error_ = Error{code, std::string(source_) + ": " + message};
    return false;
  }
  bool malformed(const char* expected) {
    return error(ErrorCode::kInvalid, "byte " + std::to_string(cursor_.offset()) +
                                          ": malformed JSON: expected " + expected);
  }
  std::size_t readable(std::string_view value) const {
    return static_cast<std::size_t>(text_.data() + text_.size() - value.data());
  }
  std::string item() const { return "item " + std::to_string(count_); }
  std::string at(std::string_view value) const {
    return "byte " + std::to_string(value.data() - text_.data());
  }

  // One document: its members are found first, so that a list is read item by item, whatever
  // comes before or after its items.
  bool document() {
    if (cursor_.peek() != '{') return malformed("an object");
    const std::size_t start = cursor_.offset();
    cursor_.take('{');
    std::string_view kind, items;
    std::vector<std::string_view> members;
    item_texts_.clear();
    bool first = true;
    while (!cursor_.take('}')) {
      if (!first && !cursor_.take(',')) return malformed("',' or '}'");
      first = false;
      std::string_view key, value;
      if (cursor_.peek() != '"' || !cursor_.value(key)) return malformed("a key");
      if (!cursor_.take(':')) return malformed("':'");
      if (key == "\"items\"" && cursor_.peek() == '[') {
        const std::size_t items_start = cursor_.offset();
        if (!list()) return false;
        items = text_.substr(items_start, cursor_.offset() - items_start);
        continue;
      }
      if (!cursor_.value(value)) return malformed("a value");
      if (key == "\"kind\"") kind = value;
      if (key == "\"items\"") items = value;
      members.push_back(key);
      members.push_back(value);
    }
    const bool is_list = kind.size() > kListSuffix.size() + 2 || kind == "\"List\""
                             ? kind.substr(0, kind.size() - 1).ends_with(kListSuffix)
                             : false;
    if (!is_list) return object(text_.substr(start, cursor_.offset() - start), {});
    return envelope(members) && list_items(items);
  }

  // Collects the items' texts of a list; the cursor is on its '['.
  bool list() {
    item_texts_.clear();
    cursor_.take('[');
    if (cursor_.take(']')) return true;
    do {
      std::string_view item;
      if (!cursor_.value(item)) return malformed("a value");
      item_texts_.push_back(item);
    } while (cursor_.take(','));
    return cursor_.take(']') || malformed("',' or ']'");
  }

  // Checks what stands beside the items, and keeps the list's type for items without their own.
  bool envelope(const std::vector<std::string_view>& members) {
    item_defaults_ = {};
    for (std::size_t i = 0; i < members.size(); i += 2) {
      for (const std::string_view part : {members[i], members[i + 1]}) {
        const Result<JsonValue> value = parser_.parse(part, readable(part));
        if (!value) return error(value.error().code, at(part) + ": " + value.error().message);
        std::string* target = members[i] == "\"kind\""         ? &item_defaults_.kind
                              : members[i] == "\"apiVersion\"" ? &item_defaults_.api_version
                                                               : nullptr;
        std::string_view text;
        if (target == nullptr || part.data() == members[i].data()) continue;
        if (value->get(text) != simdjson::SUCCESS) {
          return error(ErrorCode::kInvalid,
                       std::string(members[i].substr(1, members[i].size() - 2)) + ": " +
                           shown(*value) + " is not a string");
        }
        target->assign(text);
      }
    }
    std::string& kind = item_defaults_.kind;
    kind.resize(kind.size() - std::min(kind.size(), kListSuffix.size()));
    if (kind.empty()) item_defaults_ = {};
    return true;
  }

  bool list_items(std::string_view items) {
    if (items.empty() || items == "null") return true;
    if (items.front() != '[') {
      return error(ErrorCode::kInvalid,
                   "items: " + std::string(items.substr(0, 64)) + " is not a list");
    }
    // The vector is reused by the next document only.
    const TypeMeta defaults = item_defaults_;
    return std::all_of(item_texts_.begin(), item_texts_.end(),
                       [&](std::string_view item) { return object(item, defaults); });
  }

  bool object(std::string_view text, const TypeMeta& defaults) {
    if (!read_object(text, defaults)) return false;
    if (take_ == nullptr || count_ % kObjectsInPart != 0) return true;
    return take_(file_) || error(ErrorCode::kConflict, "no more of it is wanted");
  }

  bool read_object(std::string_view text, const TypeMeta& defaults) {
    ++count_;
    if (count_ > kObjectsMax) {
      return error(ErrorCode::kLimitExceeded,
                   "more than " + std::to_string(kObjectsMax) + " objects");
    }
    const Result<JsonValue> value = parser_.parse(text, readable(text));
    if (!value) {
      return error(value.error().code, item() + " (" + at(text) + "): " + value.error().message);
    }
    read_to_ = static_cast<std::size_t>(text.data() + text.size() - text_.data());
    FieldErrors errors;
    ObjectParts parts;
    parts.api_version = defaults.api_version;
    parts.kind = defaults.kind;
    const bool read = read_parts(*value, errors, parts) && typed(*value, parts, errors);
    if (read && errors.near_count == 0) return true;
    const std::string name = object_name(parts);
    if (read) {
      note_near_fields(errors, name.empty() ? item() : name);
      return true;
    }
    return error(errors.first->code, (name.empty() ? item() : name) + ": " + errors.first->message);
  }

  void note_near_fields(const FieldErrors& errors, const std::string& object) {
    file_.near_count += errors.near_count;
    for (const std::string& field : errors.near_fields) {
      if (file_.near_fields.size() == kNearFieldsNamedMax) return;
      file_.near_fields.push_back(object + ": " + field);
    }
  }

  // Another entry of `list`. A list that is full takes as much room as the rest of the text at
  // once, so that it seldom moves; room that is not touched costs nothing.
  template <typename T>
  T& add(std::vector<T>& list) {
    if (take_ != nullptr) {
      list.reserve(kObjectsInPart);
    } else if (list.size() == list.capacity()) {
      constexpr std::size_t kRoomMax = std::size_t{1} << 30;
      constexpr std::size_t kObjectTextMin = 500;  // most have more
      const std::size_t room = std::min(text_.size() - read_to_, kRoomMax);
      list.reserve(2 * list.size() + room / std::min(sizeof(T), kObjectTextMin));
      prefer_huge_pages(list.data(), list.capacity() * sizeof(T));
    }
    return list.emplace_back();
  }

  bool typed(JsonValue value, const ObjectParts& parts, FieldErrors& errors) {
    if (parts.api_version == "v1" && parts.kind == "Pod") {
      return read_pod(parts, errors, add(file_.pods));
    }
    if (parts.api_version == "v1" && parts.kind == "Node") {
      return read_node(parts, errors, add(file_.nodes));
    }
    if (parts.api_version == kNodeMetricApi && parts.kind == "NodeMetric") {
      return read_node_metric(parts, errors, add(file_.node_metrics));
    }
    if (parts.api_version == kElasticQuotaApi && parts.kind == "ElasticQuota") {
      return read_elastic_quota(parts, errors, add(file_.elastic_quotas));
    }
    if (parts.kind == "CapacityQuota" && (parts.api_version == kCapacityQuotaApis[0] ||
                                          parts.api_version == kCapacityQuotaApis[1])) {
      return read_capacity_quota(parts, errors, add(file_.capacity_quotas));
    }
    if (parts.api_version == "policy/v1" && parts.kind == "PodDisruptionBudget") {
      return read_pod_disruption_budget(parts, errors, add(file_.pod_disruption_budgets));
    }
    if (parts.api_version == "scheduling.k8s.io/v1" && parts.kind == "PriorityClass") {
      return read_priority_class(parts, errors, add(file_.priority_classes));
    }
    const std::optional<ReferredKind> referred = parse_referred_kind(parts.kind);
    if (referred && parts.api_version == api_version_of(*referred)) {
      return read_referred_object(*referred, parts, errors, add(file_.referred_objects));
    }
    errors.near_count = 0;  // of a kind whose fields nobody reads
    errors.near_fields.clear();
    const std::string kind(parts.kind);
    if (kind.ends_with(kListSuffix) && value["items"].error() == simdjson::SUCCESS) {
      return errors.add(ErrorCode::kUnsupported, FieldPath{},
                        "a " + kind + " within a list; its items may stand there directly");
    }
    ++file_.other_kinds[std::string(parts.api_version) + "/" + kind];
    return true;
  }

  const std::string_view text_;
  const std::string_view source_;
  const Take take_;
  JsonCursor cursor_;
  ValueParser parser_;
  std::vector<std::string_view> item_texts_;
  TypeMeta item_defaults_;
  std::size_t count_ = 0;
  std::size_t read_to_ = 0;  // Where the object being read ends.
  ObjectFile file_;
  std::optional<Error> error_;
};

}  // namespace

namespace {

tl::unexpected<Error> too_large(std::string_view source) {
  return fail(ErrorCode::kLimitExceeded,
              std::string(source) + ": more than " + std::to_string(kInputBytesMax) + " bytes");
}

Result<ObjectFile> read_objects_or_parts(std::string_view text, std::string_view source,
                                         const SourceReader::Take& take) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.size() > kInputBytesMax) {
    return too_large(source);
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return ObjectFile();
  if (text[first] == '{' || text[first] == '[') return SourceReader(text, source, take).read();
  const Result<std::string> json = yaml_to_json(text);
  if (!json) return fail(json.error().code, std::string(source) + ": " + json.error().message);
  return SourceReader(*json, source, take).read();
}

}  // namespace

Result<ObjectFile> read_objects(std::string_view text, std::string_view source) {
  return read_objects_or_parts(text, source, {});
}

Result<void> read_objects(std::string_view text, std::string_view source,
                          const std::function<bool(ObjectFile&)>& take) {
  Result<ObjectFile> last = read_objects_or_parts(text, source, take);
  if (!last) return tl::unexpected<Error>(last.error());
  (void)take(*last);
  return {};
}

Result<ObjectFile> read_object_file(const std::string& path) {
  const bool standard_input = path == "-";
  const std::string source = standard_input ? "standard input" : path;
  const int descriptor = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return fail(ErrorCode::kIo, source + ": " + std::generic_category().message(errno));
  }
  InputBytes bytes;
  const bool loaded = bytes.load(descriptor);
  const int load_error = errno;
  if (!standard_input) ::close(descriptor);
  if (!loaded && load_error == EFBIG) return too_large(source);
  if (!loaded)
    return fail(ErrorCode::kIo, source + ": " + std::generic_category().message(load_error));
  return read_objects(bytes.text(), source);
}

Result<Object> read_object(std::string_view json, std::string_view source) {
  Result<ObjectFile> file = SourceReader(json, source).read();
  if (!file) return tl::unexpected<Error>(file.error());
  std::optional<Object> only;
  std::size_t count = 0;
  each_list(*file, [&](auto& list) {
    count += list.size();
    if (!list.empty()) only = std::move(list.front());
  });
  if (count == 1 && file->other_kinds.empty()) return std::move(*only);
  const bool other = !file->other_kinds.empty();
  std::string message = std::string(source) + ": " +
                        (other ? file->other_kinds.begin()->first + " is not read"
                               : std::string("expected one object")) +
                        "; accepted are one v1/Node, v1/Pod, " + std::string(kNodeMetricApi) +
                        "/NodeMetric, " + std::string(kElasticQuotaApi) +
                        "/ElasticQuota, policy/v1/PodDisruptionBudget, "
                        "scheduling.k8s.io/v1/PriorityClass";
  for (std::uint32_t i = 0; i < kReferredKindCount; ++i) {
    const auto kind = static_cast<ReferredKind>(i);
    message += std::string(", ") + api_version_of(kind) + "/" + to_string(kind);
  }
  return fail(other ? ErrorCode::kUnsupported : ErrorCode::kInvalid,
              message + " or " + std::string(kCapacityQuotaApis[0]) + "/CapacityQuota");
}

}  // namespace headroom
