// Messages, and the view of the job.
#include "runtime/base/Text.h"
#include "test/unit/runtime/JobText.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

TEST(TextTest, JoinsStringsAndNumbers) {
  EXPECT_EQ(text("a", 'b', std::string("c"), 1, -2, 0.5, 1e-9f, uint64_t(1) << 63),
            "abc1-20.51e-099223372036854775808");
  const char *literal = "d";
  std::string_view view("ef", 1);
  EXPECT_EQ(text(literal, view, uint8_t(7), int16_t(-3), true, ""), "de7-31");
  EXPECT_EQ(text(RowCount{0}, ", ", RowCount{1}, ", ", RowCount{2}), "0 rows, 1 row, 2 rows");
  std::string longer = "a";
  appendText(longer, 'b', 2.5, std::string("c"));
  EXPECT_EQ(longer, "ab2.5c");
  EXPECT_EQ(shapeText(std::vector<int64_t>{8, 8}), "[8, 8]");
  EXPECT_EQ(shapeText({}), "[]");
}

/// Numbers are printed as std::to_chars prints them.
template <typename T, typename Bits> void expectShortest() {
  std::mt19937_64 random(1);
  auto expect = [](T value) {
    char digits[512];
    std::string shortest(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    std::string found = text(value);
    if (std::isnan(value)) {
      EXPECT_EQ(found, shortest);
      return;
    }
    T back = T(sizeof(T) == sizeof(float) ? double(std::strtof(found.c_str(), nullptr))
                                          : std::strtod(found.c_str(), nullptr));
    EXPECT_EQ(back, value) << found << ", expected " << shortest;
    EXPECT_LE(found.size(), shortest.size() + 1) << found << ", expected " << shortest;
  };
  for (int i = 0; i < 20000; ++i) {
    auto bits = Bits(random());
    T value;
    std::memcpy(&value, &bits, sizeof value);
    expect(value);
    expect(T(int64_t(random() % 2000000) - 1000000) / 1000);
    expect(T(random() % 100000000000000000));
  }
  for (T value : {T(0), T(-0.0), T(1), T(100000), T(1e-5), T(0.0001), T(1e15), T(1e16), T(1e22),
                  T(123456.5), std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min(),
                  std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()}) {
    char digits[512];
    EXPECT_EQ(text(value),
              std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr));
  }
}

TEST(TextTest, PrintsFloats) { expectShortest<float, uint32_t>(); }
TEST(TextTest, PrintsDoubles) { expectShortest<double, uint64_t>(); }

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
  // Dashes are no letters that two names share.
  names = {"--log", "--level", "run", "check", "x"};
  EXPECT_EQ(nearest("--foo", names), "");
  EXPECT_EQ(nearest("--lgo", names), "--log");
  EXPECT_EQ(nearest("rnu", names), "run");
  EXPECT_EQ(nearest("chek", names), "check");
  EXPECT_EQ(nearest("y", names), "x");
}

TEST(TextTest, ReplacesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[2J\tb\x7f\n\xc3\xa9"), "a?[2J?b?\n\xc3\xa9");
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
