// Builds the tree from yaml-cpp's events.
#include "objects/yaml/yaml_value.h"

#include <map>
#include <utility>

#include "objects/assert.h"
#include "objects/yaml/yaml_parser.h"

namespace headroom {

namespace {

// How many values a tree is.
std::size_t size_of(const YamlValue& value) {
  std::size_t size = 1;
  for (const YamlValue& item : value.items) size += size_of(item);
  return size;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::size_t values_max) : values_max_(values_max) {}

  std::vector<YamlValue> documents;

  void OnDocumentStart(const YAML::Mark&) override { anchors_.clear(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, {.kind = YamlValue::Kind::kNull, .line = mark.line + 1});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) {
      throw yaml_error(mark, ErrorCode::kInvalid, "an alias inside its own anchor");
    }
    count_copy(mark, it->second);
    add(mark, YAML::NullAnchor, it->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add(mark, anchor,
        {.kind = YamlValue::Kind::kScalar,
         .plain = tag == "?",
         .line = mark.line + 1,
         .scalar = value});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({mark, anchor, {.kind = YamlValue::Kind::kList, .line = mark.line + 1}});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({mark, anchor, {.kind = YamlValue::Kind::kMap, .line = mark.line + 1}});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YAML::Mark mark;
    YAML::anchor_t anchor;
    YamlValue value;
  };

  void close() {
    HEADROOM_ASSERT(!open_.empty());
    Open last = std::move(open_.back());
    open_.pop_back();
    add(last.mark, last.anchor, std::move(last.value));
  }
  void add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlValue value) {
    if (anchor != YAML::NullAnchor) {
      count_copy(mark, value);
      anchors_[anchor] = value;
    }
    (open_.empty() ? documents : open_.back().value.items).push_back(std::move(value));
  }
  void count_copy(const YAML::Mark& mark, const YamlValue& value) {
    copied_ += size_of(value);
    if (copied_ > values_max_) {
      throw yaml_error(mark, ErrorCode::kLimitExceeded,
                       "aliases expand to more than " + std::to_string(values_max_) + " values");
    }
  }

  const std::size_t values_max_;
  std::size_t copied_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlValue> anchors_;  // Of this document.
};

}  // namespace

std::string YamlError::text() const {
  if (line == 0) return problem;
  return "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + problem;
}

tl::expected<std::vector<YamlValue>, YamlError> read_yaml(std::string_view text,
                                                          const YamlLimits& limits) {
  TreeBuilder builder(limits.values);
  if (const auto read = parse_yaml(text, limits, builder); !read) {
    return tl::unexpected<YamlError>(read.error());
  }
  return std::move(builder.documents);
}

}  // namespace headroom
