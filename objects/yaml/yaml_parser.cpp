// A guard between yaml-cpp and the handler.
#include "objects/yaml/yaml_parser.h"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <utility>

#include "objects/limits.h"

namespace headroom {

namespace {

// The text as a stream, without a copy; knows how far it was read.
class ViewBuffer : public std::streambuf {
 public:
  ViewBuffer(std::string_view text, std::size_t pending_max) : pending_max_(pending_max) {
    char* const begin = const_cast<char*>(text.data());  // Only read from.
    setg(begin, begin, begin + text.size());
    pending_from_ = begin;
  }

  void value_at(const YAML::Mark& mark) {
    last_value_ = mark;
    pending_from_ = gptr();
  }

 protected:
  // How yaml-cpp reads all but the first bytes.
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    if (static_cast<std::size_t>(gptr() - pending_from_) > pending_max_) {
      throw yaml_error(last_value_, ErrorCode::kLimitExceeded,
                       "more than " + std::to_string(pending_max_) +
                           " bytes in one text, or in one list or object in brackets");
    }
    count = std::min<std::streamsize>(count, egptr() - gptr());
    std::copy_n(gptr(), count, to);
    setg(eback(), gptr() + count, egptr());
    return count;
  }

 private:
  const std::size_t pending_max_;
  YAML::Mark last_value_;
  const char* pending_from_;  // The end of what was read when the last value was known.
};

class Guard : public YAML::EventHandler {
 public:
  Guard(const YamlLimits& limits, ViewBuffer& buffer, YAML::EventHandler& handler)
      : limits_(limits), buffer_(buffer), handler_(handler) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == document_pos_) {
      throw yaml_error(mark, ErrorCode::kInvalid, "no value starts here");
    }
    document_pos_ = mark.pos;
    count(mark);
    handler_.OnDocumentStart(mark);
  }
  void OnDocumentEnd() override { handler_.OnDocumentEnd(); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    count(mark);
    handler_.OnNull(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    count(mark);
    handler_.OnAlias(mark, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    count(mark);
    handler_.OnScalar(mark, tag, anchor, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark);
    handler_.OnSequenceStart(mark, tag, anchor, style);
  }
  void OnSequenceEnd() override {
    --depth_;
    handler_.OnSequenceEnd();
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark);
    handler_.OnMapStart(mark, tag, anchor, style);
  }
  void OnMapEnd() override {
    --depth_;
    handler_.OnMapEnd();
  }

 private:
  void count(const YAML::Mark& mark) {
    buffer_.value_at(mark);
    if (++values_ > limits_.values) {
      throw yaml_error(mark, ErrorCode::kLimitExceeded,
                       "more than " + std::to_string(limits_.values) + " values");
    }
  }
  void open(const YAML::Mark& mark) {
    count(mark);
    if (++depth_ > kNestingMax) {
      throw yaml_error(mark, ErrorCode::kLimitExceeded,
                       "nested more than " + std::to_string(kNestingMax) + " deep");
    }
  }

  const YamlLimits limits_;
  ViewBuffer& buffer_;
  YAML::EventHandler& handler_;
  std::size_t values_ = 0;
  std::size_t depth_ = 0;
  int document_pos_ = -1;  // Where the document starts.
};

}  // namespace

YamlError yaml_error(const YAML::Mark& mark, ErrorCode code, std::string problem) {
  return {code, mark.line + 1, mark.column + 1, std::move(problem)};
}

tl::expected<void, YamlError> parse_yaml(std::string_view text, const YamlLimits& limits,
                                         YAML::EventHandler& handler) {
  if (text.size() > limits.bytes) {
    return tl::unexpected<YamlError>(
        YamlError{ErrorCode::kLimitExceeded, 0, 0,
                  "more than " + std::to_string(limits.bytes) + " bytes of YAML"});
  }
  try {
    ViewBuffer buffer(text, limits.pending);
    std::istream stream(&buffer);
    Guard guard(limits, buffer, handler);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(guard)) {
    }
  } catch (const YamlError& error) {
    return tl::unexpected<YamlError>(error);
  } catch (const YAML::Exception& error) {
    return tl::unexpected<YamlError>(
        yaml_error(error.mark, ErrorCode::kInvalid, "not YAML: " + error.msg));
  }
  return {};
}

}  // namespace headroom
