// YAML: the one guarded reader (objects/yaml_parser), as a tree and as JSON. It ends on every text,
// within its limits. See also fuzz/yaml_fuzz.cpp.
#include <gtest/gtest.h>

#include <string>

#include "objects/reading/object_reader.h"
#include "objects/yaml/yaml_to_json.h"
#include "objects/yaml/yaml_value.h"

namespace headroom::yaml_test {
namespace {

using Kind = YamlValue::Kind;

constexpr YamlLimits kLimits{.bytes = 1 << 20, .pending = 1 << 16, .values = 1000};

std::vector<YamlValue> read(std::string_view text) {
  const auto documents = read_yaml(text, kLimits);
  EXPECT_TRUE(documents.has_value()) << text << ": " << documents.error().text();
  return documents.value_or(std::vector<YamlValue>());
}

std::string error(std::string_view text, const YamlLimits& limits = kLimits) {
  const auto documents = read_yaml(text, limits);
  EXPECT_FALSE(documents.has_value()) << text.substr(0, 100);
  return documents ? "" : documents.error().text();
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  while (count-- > 0) result += text;
  return result;
}

// Documents, lists and maps with what tells one scalar from another, one line each.
std::string shown(const YamlValue& value) {
  if (value.kind == Kind::kNull) return "null";
  if (value.kind == Kind::kScalar) return (value.plain ? "" : "'") + value.scalar;
  std::string text = value.kind == Kind::kList ? "[" : "{";
  for (const YamlValue& item : value.items) text += shown(item) + " ";
  return text + (value.kind == Kind::kList ? "]" : "}");
}

TEST(Yaml, ValuesKeepKindQuotesAndLines) {
  const std::vector<YamlValue> documents = read(
      "a: 1\nb: \"1\"\nc: [x, ~]\n---\n- {d: null}\n- !t e\n---\n# nothing\n---\n{\"f\": \"g\"}\n");
  ASSERT_EQ(documents.size(), 4u);
  EXPECT_EQ(shown(documents[0]), "{a 1 b '1 c [x null ] }");
  EXPECT_EQ(shown(documents[1]), "[{d null } 'e ]");
  EXPECT_EQ(shown(documents[2]), "null");
  EXPECT_EQ(shown(documents[3]), "{'f 'g }");
  EXPECT_EQ(documents[0].items[4].line, 3);
  EXPECT_EQ(documents[1].items[1].line, 6);
  EXPECT_TRUE(read("").empty());
  EXPECT_TRUE(read("# nothing\n").empty());
}

TEST(Yaml, AliasesAreCopies) {
  EXPECT_EQ(shown(read("a: &x {b: [1, 2]}\nc: *x\n")[0]), "{a {b [1 2 ] } c {b [1 2 ] } }");
  EXPECT_EQ(error("a: &x [*x]"), "line 1, column 8: an alias inside its own anchor");
  EXPECT_NE(error("a: *x").find("not YAML"), std::string::npos);
  // An anchor ends with its document.
  EXPECT_NE(error("a: &x 1\n---\nb: *x\n").find("not YAML"), std::string::npos);
}

// yaml-cpp alone reports empty documents for ever, and whoever keeps them fills the memory.
TEST(Yaml, EndsWhereNoValueCanStart) {
  for (const std::string text :
       {",", "]", "}", ",,", "\n,\n", "a\n---\n,", "[a], b", "{} }", "--- ]", "- a\n,", "? a\n]"}) {
    EXPECT_FALSE(read_yaml(text, kLimits)) << text;
    EXPECT_FALSE(yaml_to_json(text)) << text;
  }
  EXPECT_EQ(error(","), "line 1, column 1: no value starts here");
  EXPECT_EQ(read_objects(",", "f").error().message, "f: line 1, column 1: no value starts here");
}

TEST(Yaml, Limits) {
  EXPECT_EQ(error(std::string(kLimits.bytes + 1, '#')), "more than 1048576 bytes of YAML");
  EXPECT_NE(error(repeated("- a\n", kLimits.values)).find("more than 1000 values"),
            std::string::npos);
  EXPECT_NE(error(repeated("---\n", 2 * kLimits.values)).find("more than 1000 values"),
            std::string::npos);
  for (const std::string open : {"[", "{", "- ", "? ", "{? ", "{a: ", "- ? "}) {
    EXPECT_NE(error(repeated(open, 2000)).find("nested more than 128 deep"), std::string::npos)
        << open << error(repeated(open, 2000));
  }
  // 2^40 values if they were written out; and anchors alone, which are copies as well.
  std::string laughs = "- &a0 [x]\n", towers;
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "- &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  for (int i = 0; i < 120; ++i) towers += "[&b" + std::to_string(i) + " ";
  towers += "x" + std::string(120, ']');
  for (const std::string& text : {laughs, towers}) {
    EXPECT_NE(error(text).find("aliases expand to more than 1000 values"), std::string::npos)
        << error(text);
  }
}

// yaml-cpp keeps all tokens of an open bracket: those of a long text would fill the memory before
// the first event tells anybody.
TEST(Yaml, WhatIsReadAheadIsLimited) {
  for (const std::string text : {"[", "{", "[a,", "{a: b,", "\"x", "'x", "x ", "#"}) {
    const std::string said = error(repeated(text, 2 * kLimits.pending));
    EXPECT_NE(said.find("more than 65536 bytes in one text, or in one list or object in brackets"),
              std::string::npos)
        << text << said;
  }
  // As much in all, in pieces.
  const std::string piece = "- [" + std::string(kLimits.pending / 2, 'x') + "]\n";
  EXPECT_EQ(read(repeated(piece, 8))[0].items.size(), 8u);
}

}  // namespace
}  // namespace headroom::yaml_test
