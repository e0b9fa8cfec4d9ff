// The text of a trace.
#include "runtime/train/report/Trace.h"
#include "test/unit/runtime/train/TrainModel.h"

#include <clocale>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// The last event of a trace of one span, without its time.
std::string eventOf(const std::string &path, int64_t nanoseconds) {
  Trace trace;
  EXPECT_TRUE(trace.open(path).ok());
  int64_t begin = Trace::now();
  trace.span("step", "step", begin, begin + nanoseconds, 3);
  EXPECT_TRUE(trace.close().ok());
  std::string event = linesOf(path).at(3);
  size_t time = event.find(",\"ts\":"), length = event.find(",\"dur\":");
  EXPECT_NE(event.find('.', time), std::string::npos) << event;
  return event.substr(0, time) + event.substr(length);
}

constexpr std::string_view start =
    R"({"name":"step","cat":"step","ph":"X","pid":1,"tid":1,"args":{"step":3},"dur":)";

TEST(TraceTest, TimesAreMicroseconds) {
  TemporaryFolder folder;
  for (auto [nanoseconds, text] :
       {std::pair(0, "0.000}"), {7, "0.007}"}, {1'234'567, "1234.567}"}, {2'000, "2.000}"}})
    EXPECT_EQ(eventOf(folder / "trace.json", nanoseconds), std::string(start) + text);
}

// JSON is UTF-8, and names of nodes may have any bytes.
TEST(TraceTest, NamesAreUtf8) {
  TemporaryFolder folder;
  Trace trace;
  ASSERT_TRUE(trace.open(folder / "trace.json").ok());
  trace.span("fc\xff", "step", Trace::now(), Trace::now(), 1);
  ASSERT_TRUE(trace.close().ok());
  std::string event = linesOf(folder / "trace.json").at(3);
  EXPECT_TRUE(event.starts_with("{\"name\":\"fc\xef\xbf\xbd\",")) << event;
}

/// A program that trains through the C interface may have set a locale, whose point is a comma.
TEST(TraceTest, NumbersDependOnNoLocale) {
  TemporaryFolder folder;
  std::string make = "localedef --no-archive -i de_DE -f UTF-8 '" + (folder / "comma") + "' 2>&1";
  if (std::system(make.c_str()) != 0)
    GTEST_SKIP() << "there is no localedef, or no German locale";
  setenv("LOCPATH", folder.path.c_str(), 1);
  bool isSet = std::setlocale(LC_NUMERIC, "comma");
  EXPECT_TRUE(isSet && std::localeconv()->decimal_point == std::string(","));
  std::string event = eventOf(folder / "trace.json", 1'500);
  std::setlocale(LC_NUMERIC, "C");
  unsetenv("LOCPATH");
  EXPECT_EQ(event, std::string(start) + "1.500}");
}

} // namespace
