// A pod's uid, kept as the bytes of a UUID or as any other text: equal where the texts are.
#include "engine/kept/pod_uid.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headroom {

namespace {

const std::vector<std::string> kTexts = {
    "",
    "a",
    "default/web-1",
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "0f8fad5b-d9cb-469f-a165-70867728950f",
    "0F8FAD5B-D9CB-469F-A165-70867728950E",
    "0f8fad5b-d9cb-469f-a165-70867728950",
    "0f8fad5b-d9cb-469f-a165-70867728950e0",
    "0f8fad5bd9cb469fa16570867728950e",
    "0f8fad5b-d9cb-469f-a165_70867728950e",
    "0f8fad5b-d9cb-469f-a165-7086772895-e",
    "0f8fad5bd-9cb-469f-a165-70867728950e",
    "0f8fad5b-d9cb-469f-a165-70867728950g",
    "00000000-0000-0000-0000-000000000000",
    "00000000-0000-0000-0000-000000000001",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    std::string(36, '\0'),
    std::string(36, '-'),
    std::string(36, '0'),
    std::string("0f8fad5b-d9cb-469f-a165-70867728950\0", 36),
};

TEST(PodUid, IsItsText) {
  for (const std::string& text : kTexts) {
    EXPECT_EQ(PodUid(text).text(), text);
  }
  EXPECT_EQ(PodUid().text(), "");
}

TEST(PodUid, EqualWhereTheTextsAre) {
  for (const std::string& a : kTexts) {
    for (const std::string& b : kTexts) {
      EXPECT_EQ(PodUid(a) == b, a == b) << a << " and " << b;
    }
  }
}

TEST(PodUid, AUuidNeedsNothingBesideItsBytes) { EXPECT_LE(sizeof(PodUid), 24u); }

TEST(PodUid, TakesAnothersPlace) {
  for (const std::string& a : kTexts) {
    for (const std::string& b : kTexts) {
      PodUid uid(a);
      const PodUid copy(uid);
      uid = PodUid(b);
      EXPECT_EQ(uid.text(), b);
      EXPECT_EQ(copy.text(), a);
      const PodUid moved(std::move(uid));
      EXPECT_EQ(moved.text(), b);
    }
  }
}

}  // namespace

}  // namespace headroom
