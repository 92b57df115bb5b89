// Writes JSON while yaml-cpp reads YAML: events in, text out, no tree between.
#include "objects/yaml/yaml_to_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "objects/limits.h"
#include "objects/text/digit.h"
#include "objects/text/json_string.h"
#include "objects/yaml/yaml_parser.h"

namespace headroom {

namespace {

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 5> kNulls = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> kTrues = {"true", "True", "TRUE", "y",  "Y", "yes",
                                                     "Yes",  "YES",  "on",   "On", "ON"};
constexpr std::array<std::string_view, 11> kFalses = {"false", "False", "FALSE", "n",   "N",  "no",
                                                      "No",    "NO",    "off",   "Off", "OFF"};
constexpr std::array<std::string_view, 12> kNotFinite = {".inf",  ".Inf",  ".INF",  "+.inf",
                                                         "+.Inf", "+.INF", "-.inf", "-.Inf",
                                                         "-.INF", ".nan",  ".NaN",  ".NAN"};

// 0x1F, 0b11, 0o17 and 017 in decimal.
std::optional<std::string> based_integer(std::string_view text) {
  unsigned base = 8;
  std::size_t start = 1;
  if (text.size() > 1 && (text[1] == 'x' || text[1] == 'o' || text[1] == 'b')) {
    base = text[1] == 'x' ? 16 : text[1] == 'b' ? 2 : 8;
    start = 2;
  }
  if (start >= text.size() || text[0] != '0') return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text.substr(start)) {
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const unsigned digit = is_digit(lower)                ? static_cast<unsigned>(lower - '0')
                           : lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a' + 10)
                                                          : base;
    if (digit >= base || value > (UINT64_MAX - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return std::to_string(value);
}

// A plain scalar that is a number, as JSON writes it; nullopt for other text.
std::optional<std::string> number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string sign = negative ? "-" : "";
  if (const std::optional<std::string> integer = based_integer(text)) return sign + *integer;
  std::size_t pos = 0;
  const auto digits = [&] {
    const std::size_t start = pos;
    while (pos < text.size() && is_digit(text[pos])) ++pos;
    return text.substr(start, pos - start);
  };
  std::string_view whole = digits();
  const bool point = pos < text.size() && text[pos] == '.';
  std::string_view fraction;
  if (point) {
    ++pos;
    fraction = digits();
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  std::string exponent;
  if (pos < text.size() && (text[pos] == 'e' || text[pos] == 'E')) {
    ++pos;
    exponent = "e";
    if (pos < text.size() && (text[pos] == '-' || text[pos] == '+')) exponent += text[pos++];
    const std::string_view power = digits();
    if (power.empty()) return std::nullopt;
    exponent += power;
  }
  if (pos != text.size()) return std::nullopt;
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  std::string result = sign + (whole.empty() ? "0" : std::string(whole));
  if (!fraction.empty()) result += "." + std::string(fraction);
  return result + exponent;
}

class YamlToJson : public YAML::EventHandler {
 public:
  std::string& json() { return json_; }

  void OnDocumentStart(const YAML::Mark&) override {
    document_start_ = json_.size();
    anchors_.clear();
  }
  void OnDocumentEnd() override {
    if (std::string_view(json_).substr(document_start_) == "null") json_.resize(document_start_);
    json_ += '\n';
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin_value();
    const std::size_t start = json_.size();
    if (is_key()) {
      throw yaml_error(mark, ErrorCode::kUnsupported, "a key that is null; keys must be strings");
    }
    json_ += "null";
    end_value(anchor, start);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin_value();
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) {
      throw yaml_error(mark, ErrorCode::kInvalid, "an alias inside its own anchor");
    }
    const auto [start, size] = it->second;
    if (is_key() && json_[start] != '"') {
      throw yaml_error(mark, ErrorCode::kUnsupported, "a key that is not a string");
    }
    alias_bytes_ += size;
    if (alias_bytes_ > kYamlAliasBytesMax) {
      throw yaml_error(
          mark, ErrorCode::kLimitExceeded,
          "aliases expand to more than " + std::to_string(kYamlAliasBytesMax) + " bytes");
    }
    json_.append(json_, start, size);
    end_value(YAML::NullAnchor, start);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    begin_value();
    const std::size_t start = json_.size();
    const bool plain = tag == "?";
    if (is_key()) {
      if (plain && value == "<<") {
        throw yaml_error(mark, ErrorCode::kUnsupported,
                         "a merge key (<<); write the merged fields out in place");
      }
      append_json_string(json_, value);
    } else if (plain) {
      append_plain(mark, value);
    } else {
      append_json_string(json_, value);
    }
    end_value(anchor, start);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, '[');
  }
  void OnSequenceEnd() override { close(']'); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, '{');
  }
  void OnMapEnd() override { close('}'); }

 private:
  struct Level {
    bool map = false;
    std::size_t values = 0;  // Written so far; in a map keys count too.
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::size_t start = 0;
  };

  bool is_key() const {
    return !levels_.empty() && levels_.back().map && levels_.back().values % 2 == 0;
  }
  void begin_value() {
    if (levels_.empty() || levels_.back().values == 0) return;
    json_ += levels_.back().map && levels_.back().values % 2 == 1 ? ':' : ',';
  }
  void end_value(YAML::anchor_t anchor, std::size_t start) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {start, json_.size() - start};
    if (!levels_.empty()) ++levels_.back().values;
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor, char bracket) {
    begin_value();
    if (is_key()) throw yaml_error(mark, ErrorCode::kUnsupported, "a key that is a list or a map");
    levels_.push_back({bracket == '{', 0, anchor, json_.size()});
    json_ += bracket;
  }
  void close(char bracket) {
    json_ += bracket;
    const Level level = levels_.back();
    levels_.pop_back();
    end_value(level.anchor, level.start);
  }
  void append_plain(const YAML::Mark& mark, const std::string& value) {
    if (is_one_of(value, kNulls)) {
      json_ += "null";
    } else if (is_one_of(value, kTrues)) {
      json_ += "true";
    } else if (is_one_of(value, kFalses)) {
      json_ += "false";
    } else if (is_one_of(value, kNotFinite)) {
      throw yaml_error(mark, ErrorCode::kUnsupported, value + ", which JSON lacks");
    } else if (const std::optional<std::string> text = number(value)) {
      json_ += *text;
    } else {
      append_json_string(json_, value);
    }
  }

  std::string json_;
  std::size_t document_start_ = 0;  // In the JSON text.
  std::size_t alias_bytes_ = 0;
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, std::pair<std::size_t, std::size_t>> anchors_;  // Start and size.
};

}  // namespace

Result<std::string> yaml_to_json(std::string_view text) {
  YamlToJson writer;
  const YamlLimits limits{
      .bytes = kYamlBytesMax, .pending = kYamlPendingBytesMax, .values = kYamlBytesMax};
  if (const auto read = parse_yaml(text, limits, writer); !read) {
    const bool whole = read.error().line == 0;
    return fail(read.error().code, read.error().text() + (whole ? "; JSON may have more" : ""));
  }
  return std::move(writer.json());
}

}  // namespace headroom
