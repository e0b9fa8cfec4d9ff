// Strings as JSON.
#include "runtime/base/Json.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;

namespace {

std::string json(std::string_view value) {
  std::string out;
  appendJson(out, value);
  return out;
}

TEST(JsonTest, EscapesWhatAStringMustNotContain) {
  EXPECT_EQ(json("a \"b\" \\ c"), R"(a \"b\" \\ c)");
  EXPECT_EQ(json(std::string_view("\n\x1f\0.", 4)), R"(\u000a\u001f\u0000.)");
  EXPECT_EQ(json(""), "");
}

TEST(JsonTest, KeepsUtf8) {
  for (std::string_view text : {"\x7f", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x8c\x8a",
                                "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(json(text), text);
}

TEST(JsonTest, ReplacesOtherBytes) {
  const std::string no = "\xef\xbf\xbd";
  EXPECT_EQ(json("a\xff\xfe.txt"), "a" + no + no + ".txt");
  EXPECT_EQ(json("\xc3"), no);                       // the beginning of a character
  EXPECT_EQ(json("\xe2\x82."), no + no + ".");       // so, too
  EXPECT_EQ(json("\x80"), no);                       // the end of one
  EXPECT_EQ(json("\xc0\xaf"), no + no);              // two bytes for one
  EXPECT_EQ(json("\xe0\x9f\xbf"), no + no + no);     // three for two
  EXPECT_EQ(json("\xf0\x8f\xbf\xbf").size(), 4 * 3); // four for three
  EXPECT_EQ(json("\xed\xa0\x80"), no + no + no);     // half a pair of UTF-16
  EXPECT_EQ(json("\xf4\x90\x80\x80").size(), 4 * 3); // above U+10FFFF
  EXPECT_EQ(json("\xc3\""), no + "\\\"");
}

} // namespace
