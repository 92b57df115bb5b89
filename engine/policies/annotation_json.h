// AnnotationJson: the text of an annotation as a JSON object, or null. What null means is for the
// caller to say.
//
// Thread safety: a value of one thread. Cost: reads the text once.
#pragma once

#include <simdjson.h>

#include <new>
#include <string_view>

#include "objects/reading/json_instructions.h"

namespace headroom {

class AnnotationJson {
 public:
  explicit AnnotationJson(std::string_view json) {
    simdjson::dom::element document;
    const auto error = parser_.parse(simdjson::padded_string(json)).get(document);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();  // it says nothing of the text
    if (error != simdjson::SUCCESS) return;
    is_null_ = document.is_null();
    simdjson::dom::object object;
    is_bad_ = !is_null_ && document.get(object) != simdjson::SUCCESS;
    if (is_null_ || is_bad_) return;
    begin_ = object.begin();
    end_ = object.end();
  }
  AnnotationJson(const AnnotationJson&) = delete;  // the entries point into it
  AnnotationJson& operator=(const AnnotationJson&) = delete;

  bool is_bad() const { return is_bad_; }  // no JSON, or of another kind
  bool is_null() const { return is_null_; }
  // Keys with values; null has none.
  simdjson::dom::object::iterator begin() const { return begin_; }
  simdjson::dom::object::iterator end() const { return end_; }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::object::iterator begin_, end_;
  bool is_bad_ = true;
  bool is_null_ = false;
};

}  // namespace headroom
