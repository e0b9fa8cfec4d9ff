// Messages, and the view of the job.
#include "runtime/base/Text.h"
#include "test/unit/runtime/JobText.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

TEST(TextTest, JoinsStringsAndNumbers) {
  EXPECT_EQ(text("a", 'b', std::string("c"), 1, -2, 0.5, 1e-9f, uint64_t(1) << 63),
            "abc1-20.51e-099223372036854775808");
  EXPECT_EQ(shapeText(std::vector<int64_t>{8, 8}), "[8, 8]");
  EXPECT_EQ(shapeText({}), "[]");
}

TEST(TextTest, ListsNames) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(quotedList(Names{}), "");
  EXPECT_EQ(quotedList(Names{"a"}), "'a'");
  EXPECT_EQ(quotedList(Names{"a", "b"}), "'a' and 'b'");
  EXPECT_EQ(quotedList(Names{"a", "b", "c"}), "'a', 'b' and 'c'");
}

TEST(TextTest, FindsTheNearestName) {
  std::vector<std::string> names = {"--steps", "--seed", "--threads"};
  EXPECT_EQ(nearest("--step", names), "--steps");
  EXPECT_EQ(nearest("--thread", names), "--threads");
  EXPECT_EQ(nearest("--sede", names), "--seed");
  EXPECT_EQ(nearest("--nothing-like-it", names), "");
}

TEST(ConfigTest, ReadsValuesAndDefaults) {
  JobText job("a: 1 b { c: \"text\" d: true e: 0.5 f: NAME } m { x: 1 } m { x: 2 }");
  Config root = job.root();
  EXPECT_EQ(root.integer("a", 9), 1);
  EXPECT_EQ(root.integer("absent", 9), 9);
  EXPECT_EQ(root.real("a", 9), 1.0);
  EXPECT_EQ(root.child("b").string("c"), "text");
  EXPECT_TRUE(root.child("b").boolean("d", false));
  EXPECT_EQ(root.child("b").real("e", 0), 0.5);
  EXPECT_EQ(root.child("b").string("f"), "NAME");
  EXPECT_EQ(root.children().size(), 4u);
  auto repeated = root.children("m");
  ASSERT_EQ(repeated.size(), 2u);
  EXPECT_EQ(repeated[1].integer("x", 0), 2);
}

TEST(ConfigTest, AbsentValuesHaveNothing) {
  JobText job("a: 1");
  Config absent = job.root().child("b");
  EXPECT_FALSE(absent);
  EXPECT_FALSE(absent.child("c").child("d"));
  EXPECT_EQ(absent.integer("x", 3), 3);
  EXPECT_EQ(absent.name(), "");
  EXPECT_TRUE(absent.children().empty());
  // A value of another kind counts as absent.
  EXPECT_EQ(job.root().string("a", "none"), "none");
}
