// CSV tables: all forms of numbers and cells, and the position of each error.
#include "runtime/data/source/Categories.h"
#include "runtime/data/source/CsvNumber.h"
#include "runtime/data/source/CsvReader.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

Bytes bytesOfText(std::string_view text) {
  return bytesOf(std::vector<char>(text.begin(), text.end()));
}

Result<std::vector<SourceArray>> read(std::string_view text, std::span<const CsvField> fields,
                                      const CsvOptions &options = {}) {
  // A copy that ends with the text, so that a sanitizer detects accesses past the end.
  Bytes bytes = bytesOfText(text);
  return readCsv(bytes, "t.csv", fields, options);
}

template <typename T> std::vector<T> valuesOf(const SourceArray &array) {
  std::vector<T> values(size_t(array.rows) * array.field.elements());
  if (!values.empty())
    std::memcpy(values.data(), array.data, values.size() * sizeof(T));
  return values;
}

/// The values of column "a" as floats.
std::vector<float> columnA(std::string_view text, const CsvOptions &options = {}) {
  CsvField field{"a", {"a"}, GRADC_F32, {}, {}};
  auto arrays = read(text, {&field, 1}, options);
  EXPECT_TRUE(arrays.ok()) << arrays.status().message();
  return arrays ? valuesOf<float>(arrays->front()) : std::vector<float>();
}

std::string errorOf(std::string_view text, gradc_dtype dtype = GRADC_F32,
                    const CsvOptions &options = {}) {
  CsvField field{"a", {"a"}, dtype, {}, {}};
  auto arrays = read(text, {&field, 1}, options);
  return arrays ? "read" : arrays.status().message();
}

using Floats = std::vector<float>;

TEST(Csv, NumbersOfCategoriesMayBeFloats) {
  CsvField field{"a", {"a"}, GRADC_F32, {}, {}};
  field.categories = std::make_shared<Categories>();
  for (const char *text : {"no", "yes"})
    field.categories->add(text);
  field.missing = {1};
  auto arrays = read("a\nyes\nno\nNA\nno\n", {&field, 1});
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(valuesOf<float>(arrays->front()), (Floats{1, 0, 1, 0}));
  field.missing = {NAN}; // the mark of a cell without a value, while categories are found
  arrays = read("a\nyes\nNA\n", {&field, 1});
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_TRUE(std::isnan(valuesOf<float>(arrays->front())[1]));
}

TEST(Csv, BadRowsAreCollected) {
  BadRows bad;
  CsvOptions options{.bad = &bad};
  // More rows than there would be if each had all cells.
  std::string text = "a,b,c\n1,x,\nz,2,\"\"\n\"4\n\",5,6\n";
  for (int i = 0; i < 20; ++i)
    text += "3\n";
  std::vector<float> values = columnA(text + "7,8,9\n", options);
  ASSERT_EQ(values.size(), 24u);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[23], 7);
  ASSERT_EQ(bad.size(), 22u);
  EXPECT_EQ(bad[1], "t.csv:3:1: expected a number of type f32 in column 'a', found 'z'");
  EXPECT_EQ(bad[2], "t.csv:4:1: expected a number of type f32 in column 'a', found '4\n'");
  EXPECT_EQ(bad[22], "t.csv:25:2: expected 3 cells as in the header, found 1");
  // A row with text behind a closing quote ends with its line.
  bad.clear();
  values = columnA("a,b,c\n1,\"2\"x,\"3\n4,\"5\n\",6\n\"7\"8\n9,10,11\n", options);
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values[1], 4);
  EXPECT_EQ(values[3], 9);
  ASSERT_EQ(bad.size(), 2u);
  EXPECT_EQ(bad[0], "t.csv:2:6: expected a delimiter or the line's end behind a closing quote, "
                    "found 'x'");
  EXPECT_EQ(bad[2], "t.csv:5:4: expected a delimiter or the line's end behind a closing quote, "
                    "found '8'");
  // Where a row ends is not known.
  EXPECT_EQ(errorOf("a\n1\n\"2\n", GRADC_F32, options),
            "t.csv:3:1: the quote that begins here has no end");
}

TEST(Csv, LinesAndCells) {
  EXPECT_EQ(columnA("a,b\n1,2\n3,4\n"), (Floats{1, 3}));
  EXPECT_EQ(columnA("a,b\r\n1,2\r\n3,4\r\n"), (Floats{1, 3}));
  EXPECT_EQ(columnA("b,a\n1,2\n3,4"), (Floats{2, 4}));
  EXPECT_EQ(columnA("b,a\r\n1,2\r\n3,4\r"), (Floats{2, 4}));
  EXPECT_EQ(columnA("\xEF\xBB\xBF"
                    "a,b\n1,2\n"),
            Floats{1});
  EXPECT_EQ(columnA("\n\na\n\n1\n\r\n2\n\n"), (Floats{1, 2}));
  EXPECT_EQ(columnA("a\n"), Floats{});
  EXPECT_EQ(columnA(" a ,b\n 1 ,x\n\t2,y\n"), (Floats{1, 2}));
  EXPECT_EQ(columnA("b;a\n1,5;2\n", {.delimiter = ';'}), Floats{2});
  EXPECT_EQ(columnA("b\ta\n1\t2\n", {.delimiter = '\t'}), Floats{2});
}

TEST(Csv, Quotes) {
  EXPECT_EQ(columnA("\"b\",\"a\"\n\"x,\"\"y\"\"\nz\",\"2\"\n\"\",\" 3 \"\n"), (Floats{2, 3}));
  CsvField field{"q", {"say \"a\""}, GRADC_F32, {}, {}};
  auto arrays = read("x,\"say \"\"a\"\"\"\n1,2\n", {&field, 1});
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(valuesOf<float>(arrays->front()), Floats{2});
}

TEST(Csv, FieldsAreColumnsTypedAndShaped) {
  CsvField fields[] = {{"x", {"p*"}, GRADC_F32, {{2, 2}}, {}},
                       {"y", {"label"}, GRADC_I64, {}, {}},
                       {"z", {"w", "v"}, GRADC_F64, {}, {}},
                       {"one", {"n"}, GRADC_I32, {{1}}, {-1.0}}};
  auto arrays = read("p0,label,p1,skipped,v,p2,w,n,p3\n"
                     "1,-7,2,text,0.5,3,0.25,NA,4\n"
                     "5,9007199254740993,6,,1.5,7,1.25,3.0,8\n",
                     fields);
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(valuesOf<float>((*arrays)[0]), (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ((*arrays)[0].field.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(valuesOf<int64_t>((*arrays)[1]), (std::vector<int64_t>{-7, 9007199254740993}));
  EXPECT_TRUE((*arrays)[1].field.shape.empty());
  EXPECT_EQ(valuesOf<double>((*arrays)[2]), (std::vector<double>{0.25, 0.5, 1.25, 1.5}));
  EXPECT_EQ(valuesOf<int32_t>((*arrays)[3]), (std::vector<int32_t>{-1, 3}));
  EXPECT_EQ((*arrays)[3].field.shape, std::vector<int64_t>{1});
}

TEST(Csv, ColumnsWithNumbersInBracketsAreLists) {
  CsvField fields[] = {{"x", {"v"}, GRADC_F32, {}, {}}, {"y", {"w"}, GRADC_F32, {}, {}}};
  auto arrays = read("v[0],w[0],w,v[1],v[10],v[a],v[]\n1,2,3,4,5,6,7\n", fields);
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(valuesOf<float>((*arrays)[0]), (Floats{1, 4, 5}));
  EXPECT_EQ((*arrays)[0].field.shape, std::vector<int64_t>{3});
  // A column of the name itself comes first.
  EXPECT_EQ(valuesOf<float>((*arrays)[1]), Floats{3});
  CsvField some{"x", {"v[*]", "w[0]"}, GRADC_F32, {}, {}};
  arrays = read("v[0],w[0],v[1]\n1,2,3\n", {&some, 1});
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(valuesOf<float>((*arrays)[0]), (Floats{1, 3, 2}));
  // A list of one value is a vector, its value is a number.
  CsvField one[] = {{"x", {"v"}, GRADC_F32, {}, {}}, {"y", {"w[0]"}, GRADC_F32, {}, {}}};
  arrays = read("v[0],w[0]\n1,2\n", one);
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ((*arrays)[0].field.shape, std::vector<int64_t>{1});
  EXPECT_EQ((*arrays)[1].field.shape, std::vector<int64_t>());
  CsvField none{"x", {"v"}, GRADC_F32, {}, {}};
  EXPECT_EQ(read("v[a],w\n1,2\n", {&none, 1}).status().message(),
            "t.csv:1:1: no column 'v' for field 'x' among 2");
}

TEST(Csv, MissingValues) {
  CsvField field{"a", {"a"}, GRADC_F32, {}, {0.5}};
  auto arrays = read("a,b\n,1\nNA,1\nnan,1\nNULL,1\n\"\",1\n2,1\n", {&field, 1});
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(valuesOf<float>(arrays->front()), (Floats{.5, .5, .5, .5, .5, 2}));
  std::string ending = ": no value in column 'a'; to read it as 0, write missing: 0 in field 'a'";
  EXPECT_EQ(errorOf("b,a\n1,2\n3,\n"), "t.csv:3:3" + ending);
  EXPECT_EQ(errorOf("b,a\n1,2\n3,NaN\n", GRADC_I64), "t.csv:3:3" + ending);
}

// As pandas writes them.
TEST(Csv, BooleansAreNumbers) {
  EXPECT_EQ(columnA("a\nTrue\nfalse\n\" TRUE \"\nFALSE"), (Floats{1, 0, 1, 0}));
  CsvField fields[] = {{"a", {"a"}, GRADC_I64, {}, {}}, {"b", {"b", "c"}, GRADC_F32, {}, {}}};
  auto arrays = read("a,b,c\nTrue,2.5,False\n0,true,3\n", fields);
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(valuesOf<int64_t>((*arrays)[0]), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(valuesOf<float>((*arrays)[1]), (Floats{2.5f, 0, 1, 3}));
  for (std::string word : {"Tru", "truer", "falsely", "T"})
    EXPECT_EQ(errorOf("a\n" + word + "\n"),
              "t.csv:2:1: expected a number of type f32 in column 'a', found '" + word + "'");
}

TEST(Csv, ARowWithoutACellIsNotBlamedForTheTypeOfTheNext) {
  EXPECT_EQ(errorOf("b,a,c\n1,2,x\n3,y\n"),
            "t.csv:3:3: expected 3 cells as in the header, found 2");
  EXPECT_EQ(errorOf("b,a,c\n1,x,2,3\n"), "t.csv:2:3: expected 3 cells as in the header, found 4");
  EXPECT_EQ(errorOf("b,a,c\n1,x,\"2\n3\"\n"),
            "t.csv:2:3: expected a number of type f32 in column 'a', found 'x'");
}

/// Compares each number with the C library's result.
template <typename T> void expectLikeStrtod(const std::vector<std::string> &texts) {
  std::string table = "a\n";
  for (const std::string &text : texts)
    table += text + "\n";
  CsvField field{"a", {"a"}, sizeof(T) == 4 ? GRADC_F32 : GRADC_F64, {}, {}};
  auto arrays = read(table, {&field, 1});
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  auto found = valuesOf<T>(arrays->front());
  ASSERT_EQ(found.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const char *text = texts[i].c_str();
    T expected = sizeof(T) == 4 ? T(std::strtof(text, nullptr)) : T(std::strtod(text, nullptr));
    EXPECT_EQ(std::memcmp(&found[i], &expected, sizeof(T)), 0)
        << text << ": expected " << expected << ", found " << found[i];
  }
}

TEST(Csv, NumbersHaveTheNearestBits) {
  std::vector<std::string> texts = {"0",
                                    "-0",
                                    "-0.0",
                                    "1.",
                                    ".5",
                                    "-.5",
                                    "+3",
                                    "+.25",
                                    "1e5",
                                    "1E-5",
                                    "1e+22",
                                    "1e23",
                                    "1e-22",
                                    "123456789012345",
                                    "1234567890123456",
                                    "0.1",
                                    "0.000001",
                                    "16777217",
                                    "16777219",
                                    "33554434.5",
                                    "1e-45",
                                    "1e-46",
                                    "1e-400",
                                    "inf",
                                    "-inf",
                                    "3.4028235e38",
                                    "2.2250738585072014e-308",
                                    "5e-324",
                                    "0.1000000014901161193847656",
                                    "8388608.5",
                                    "8388609.5",
                                    "1.00000005960464477539",
                                    "1.000000059604645",
                                    "00000000000000000000000000000001"};
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    char text[64];
    double value = std::ldexp(double(int64_t(random())), int(random() % 120) - 120);
    const char *format[] = {"%.4f", "%.6g", "%.9g", "%.17g", "%.8e", "%.0f"};
    std::snprintf(text, sizeof text, format[random() % 6], value);
    texts.push_back(text);
  }
  expectLikeStrtod<float>(texts);
  expectLikeStrtod<double>(texts);
}

TEST(Csv, Integers) {
  auto integer = [](const std::string &text, gradc_dtype dtype) -> std::string {
    CsvField field{"a", {"a"}, dtype, {}, {}};
    auto arrays = read("a\n" + text + "\n", {&field, 1});
    if (!arrays)
      return arrays.status().message().substr(11);
    return std::to_string(dtype == GRADC_I32 ? valuesOf<int32_t>(arrays->front())[0]
                                             : valuesOf<int64_t>(arrays->front())[0]);
  };
  EXPECT_EQ(integer("2147483647", GRADC_I32), "2147483647");
  EXPECT_EQ(integer("-2147483648", GRADC_I32), "-2147483648");
  EXPECT_EQ(integer("2147483648", GRADC_I32),
            "expected a number that fits i32 in column 'a', found '2147483648'");
  EXPECT_EQ(integer("9223372036854775807", GRADC_I64), "9223372036854775807");
  EXPECT_EQ(integer("-9223372036854775808", GRADC_I64), "-9223372036854775808");
  EXPECT_EQ(integer("9223372036854775808", GRADC_I64),
            "expected a number that fits i64 in column 'a', found '9223372036854775808'");
  EXPECT_EQ(integer("+7", GRADC_I64), "7");
  EXPECT_EQ(integer("3e2", GRADC_I64), "300");
  EXPECT_EQ(integer("3.5", GRADC_I64),
            "expected an integer of type i64 in column 'a', found '3.5'");
}

TEST(Csv, ErrorsNameLineAndColumn) {
  EXPECT_EQ(errorOf("a,b\n1,2\nx1,2\n"),
            "t.csv:3:1: expected a number of type f32 in column 'a', found 'x1'");
  EXPECT_EQ(errorOf("b,a\n\"q\n\",1\n1,12 3\n"),
            "t.csv:4:3: expected a number of type f32 in column 'a', found '12 3'");
  EXPECT_EQ(errorOf("a\n1e39\n"),
            "t.csv:2:1: expected a number that fits f32 in column 'a', found '1e39'");
  EXPECT_EQ(errorOf("a\n-nan\n"),
            "t.csv:2:1: expected a number of type f32 in column 'a', found '-nan'");
  EXPECT_EQ(errorOf("a\n+-1\n"),
            "t.csv:2:1: expected a number of type f32 in column 'a', found '+-1'");
  EXPECT_EQ(errorOf("a,b\n1,2\n1\n"), "t.csv:3:2: expected 2 cells as in the header, found 1");
  EXPECT_EQ(errorOf("a,b\n1,2,3,4\n"), "t.csv:2:4: expected 2 cells as in the header, found 4");
  EXPECT_EQ(errorOf("b,a\n1,2,\n"), "t.csv:2:4: expected 2 cells as in the header, found 3");
  EXPECT_EQ(errorOf("b,a\n\"1,2\n"), "t.csv:2:1: the quote that begins here has no end");
  EXPECT_EQ(errorOf("b,a\n\"1\"2,3\n"),
            "t.csv:2:4: expected a delimiter or the line's end behind a closing quote, found '2'");
  EXPECT_EQ(errorOf(""), "t.csv:1:1: the file is empty, expected a line that names the columns");
  EXPECT_EQ(errorOf("\xFF\xFE"
                    "a"),
            "t.csv:1:1: the file is UTF-16, expected UTF-8");
  EXPECT_EQ(errorOf("a,b\r1,2\r3,4\r"),
            "t.csv:1:4: a line ends with a carriage return alone, expected a line feed, or both");
  EXPECT_EQ(errorOf("a,\"b\rc\"\n1,2\n"), "read");
  EXPECT_EQ(errorOf("age,A\n1,2\n"), "t.csv:1:1: no column 'a' for field 'a', did you mean 'A'?");
  EXPECT_EQ(errorOf("height,weight\n1,2\n"), "t.csv:1:1: no column 'a' for field 'a' among 2");
  EXPECT_EQ(errorOf("a,a\n1,2\n"), "t.csv:1:1: two columns have the name 'a'");
  EXPECT_EQ(errorOf("a\n1\n2\n", GRADC_F64, {.maxBytes = 23}),
            "t.csv:1:1: its fields take 24 bytes of memory, expected at most 23; npy files are "
            "mapped and may be larger");

  CsvField fields[] = {{"x", {"*"}, GRADC_F32, {}, {}}, {"y", {"b"}, GRADC_F32, {}, {}}};
  EXPECT_EQ(read("a,b\n1,2\n", fields).status().message(),
            "t.csv:1:1: column 'b' is in field 'x' and again in 'y', expected one");
  fields[0].shape = {3};
  EXPECT_EQ(read("a,b\n1,2\n", {fields, 1}).status().message(),
            "t.csv:1:1: field 'x' has 2 columns, but shape [3] asks for 3");
}

/// For any bytes, the result is a table or an error with its position.
TEST(Csv, AnyBytesAreATableOrAnError) {
  std::string good = "a,\"b\",c\r\n1,\"x\"\"y\",3\r\n-2.5e1,,4\n\"7\",z,\n";
  CsvField fields[] = {{"x", {"a", "c"}, GRADC_F32, {}, {0.0}},
                       {"y", {"b*"}, GRADC_I64, {}, {1.0}}};
  std::mt19937 random(5);
  constexpr std::string_view interesting = "\",\n\r\0a1.e+-\xEF\xFF ";
  auto check = [&](const std::string &text) {
    for (size_t count : {1, 2}) {
      auto arrays = read(text, {fields, count});
      if (!arrays) {
        EXPECT_EQ(arrays.status().message().find("t.csv:"), 0u) << text;
        continue;
      }
      for (const SourceArray &array : *arrays)
        EXPECT_LE(array.rows, 1 + int64_t(text.size()));
    }
  };
  for (size_t size = 0; size <= good.size(); ++size)
    check(good.substr(0, size));
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    for (int change = int(random() % 4); change >= 0; --change) {
      size_t at = random() % text.size();
      char byte = random() % 4 ? interesting[random() % interesting.size()] : char(random());
      if (random() % 3 == 0)
        text.insert(at, 1, byte);
      else
        text[at] = byte;
    }
    check(text);
  }
}

class CsvSourceTest : public testing::Test {
protected:
  CsvSourceTest() {
    context.folders = {folder.path};
    context.demands = {{"x", "in", GRADC_F32, {2}, 0}, {"label", "y", GRADC_I64, {}, 3}};
    writeFile(folder / "t.csv", bytesOfText("p0;p1;label\n1;2;0\n3;4;1\n5;6;2\n7;8;0\n9;10;1\n"));
  }
  static std::string block(std::string_view more) {
    return "source { csv { path: \"t.csv\" delimiter: \";\" " + std::string(more) +
           " } } batch { size: 2 }";
  }
  TemporaryFolder folder;
  DataContext context;
};

constexpr std::string_view goodFields =
    R"(field { name: "x" column: "p*" } field { column: "label" dtype: I64 } )";

TEST_F(CsvSourceTest, GivesBatchesOfTheRowsThatAreAskedFor) {
  auto dataset =
      build(block(std::string(goodFields) + "rows { every: 5 except: 1 begin: 1 }"), context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->rows(), 3);
  auto iterator = (*dataset)->iterate();
  Batch batch = (*dataset)->allocate();
  ASSERT_TRUE(iterator->next(batch).ok());
  auto *x = reinterpret_cast<const float *>(batch.field(0));
  EXPECT_EQ(Floats(x, x + 4), (Floats{5, 6, 7, 8}));
  auto *labels = reinterpret_cast<const int64_t *>(batch.field(1));
  EXPECT_EQ(std::vector<int64_t>(labels, labels + 2), (std::vector<int64_t>{2, 0}));
}

/// Reads a table that another program truncates. Ends the process, for which the file stays cut
/// off, with the message.
[[noreturn]] void readCutOff(const std::string &path, const std::string &block,
                             const DataContext &context) {
  auto file = MappedFile::open(path);
  EXPECT_TRUE(MappedFile::outliveFault((*file)->bytes().data()));
  std::fputs(buildError(block, context).c_str(), stderr);
  _exit(0);
}

// Rather than of a cell in the zeros that are read in its place.
TEST_F(CsvSourceTest, ATableThatIsTruncatedIsSaidToBe) {
  writeFile(folder / "t.csv", bytesOfText("p0;p1;label\n1;2;0\n3;4"));
  EXPECT_EXIT(readCutOff(folder / "t.csv", block(goodFields), context), testing::ExitedWithCode(0),
              "data file '.*/t.csv' became shorter while it was read");
}

TEST_F(CsvSourceTest, Errors) {
  auto error = [&](std::string_view fields) { return buildError(block(fields), context); };
  EXPECT_EQ(error(R"(field { name: "x" column: "p*" })"),
            "model input 'y' is fed from field 'label', but the csv source has 'x'");
  EXPECT_EQ(error(R"(field { name: "x" })"), "csv field 'x' names no column: add column: \"age\"");
  EXPECT_EQ(error(R"(field { column: "x" dtype: U8 })"),
            "csv field 'x' has dtype 'U8', expected F32, F64, I32 or I64");
  EXPECT_EQ(error(R"(field { column: "x" shape: 0 })"),
            "csv field 'x' has shape [0], expected dims of 1 or more");
  EXPECT_EQ(error(R"(field { column: "x" dtype: I32 missing: 0.5 })"),
            "csv field 'x' has missing 0.5, expected a 32-bit integer");
  EXPECT_EQ(error(R"(field { column: "x" dtype: F32 missing: 0.5 categories {} })"),
            "csv field 'x' has missing 0.5, expected a 32-bit integer");
  EXPECT_EQ(
      buildError(R"(source { csv { path: "t.csv" delimiter: "1" } } batch { size: 2 })", context),
      "csv { delimiter } is '1', expected one character that is no part of a number");
  EXPECT_EQ(buildError(R"(source { csv { path: "t.csv" )" + std::string(goodFields) +
                           "} } batch { size: 2 }",
                       context),
            folder /
                "t.csv:1:1: no column 'label' for field 'label' among 1: is ',' the delimiter?");
  writeFile(folder / "t.csv", bytesOfText("p0;p1;label\n"));
  EXPECT_EQ(error(goodFields), "the data set is empty: '" + (folder / "t.csv") + "' has no rows");
}

} // namespace
