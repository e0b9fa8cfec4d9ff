// Metrics from sums and samples, at edge cases. test/e2e/objectives/objectives.test checks their
// numbers.
#include "runtime/train/entry/MetricRule.h"
#include "runtime/train/report/Log.h"
#include "test/unit/runtime/JobText.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

// ThreadSanitizer has its own operators, which a program must not replace.
#if defined(__SANITIZE_THREAD__)
#define GRADC_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#define GRADC_COUNTS_ALLOCATIONS !__has_feature(thread_sanitizer)
#else
#define GRADC_COUNTS_ALLOCATIONS 1
#endif

#if GRADC_COUNTS_ALLOCATIONS
static size_t allocations = 0;
void *operator new(size_t size) {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace {

Metric combine(const std::string &kind, MetricParts parts, size_t classes = 1) {
  JobText job("metric { " + kind + " { logits: \"y\" } name: \"mine\" }");
  Metric metric{"mine"};
  MetricRule(job.root(), "mine", classes).combine(parts, metric);
  return metric;
}
double value(const std::string &kind, MetricParts parts, size_t classes = 1) {
  return combine(kind, parts, classes).value;
}

TEST(MetricRuleTest, TiesCountHalfInTheAreaUnderTheCurve) {
  EXPECT_EQ(value("auc", {{1, 2, 3, 4}, {0, 0, 1, 1}}), 1);
  EXPECT_EQ(value("auc", {{4, 3, 2, 1}, {0, 0, 1, 1}}), 0);
  EXPECT_EQ(value("auc", {{1, 1, 1, 1}, {0, 1, 1, 0}}), 0.5);
  EXPECT_EQ(value("auc", {{1, 2, 2, 3}, {0, 1, 0, 1}}), 0.875);
  EXPECT_TRUE(std::isnan(value("auc", {{1, 2}, {1, 1}}))) << "there is no other to compare with";
  EXPECT_TRUE(std::isnan(value("auc", {{1, NAN}, {1, 0}})));
}

TEST(MetricRuleTest, TheAreaUnderTheCurveIsTheMeanOverClasses) {
  // Of the first class 1, of the second 0.875.
  EXPECT_EQ(value("auc", {{1, 1, 2, 2, 3, 2, 4, 3}, {0, 0, 0, 1, 1, 0, 1, 1}}, 2), 0.9375);
  // A label of -1 does not count, whatever its score.
  EXPECT_EQ(value("auc", {{1, NAN, 2, 2, 3, 1}, {0, -1, 1, 0, -1, 1}}, 2), 0.5);
  // As in scikit-learn, a class without positives or without negatives leaves no mean.
  EXPECT_TRUE(std::isnan(value("auc", {{1, 1, 2, 2}, {0, 1, 1, 1}}, 2)));
}

#if GRADC_COUNTS_ALLOCATIONS
TEST(MetricRuleTest, TheAreaUnderTheCurveOfAStepAllocatesNothing) {
  JobText job("metric { auc { logits: \"y\" } name: \"mine\" }");
  MetricRule rule(job.root(), "mine");
  Metric metric{"mine"};
  MetricParts parts = {{1, 2, 2, 3}, {0, 1, 0, 1}}, fewer = {{1, 2, 3}, {0, 1, 0}};
  size_t atFirst = allocations;
  rule.combine(parts, metric);
  EXPECT_GT(allocations, atFirst) << "nothing is counted";
  size_t before = allocations;
  rule.combine(parts, metric);
  rule.combine(fewer, metric);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(metric.value, 0.5);
}
#endif

TEST(MetricRuleTest, NothingOverNothingIsZero) {
  for (const char *kind : {"precision", "recall", "f1", "iou"})
    EXPECT_EQ(value(kind, {{0}, {0}, {0}}), 0) << kind;
  EXPECT_TRUE(std::isnan(value("root_mean_squared_error", {{0}, {0}})));
}

TEST(MetricRuleTest, MeansOverClasses) {
  MetricParts parts = {{2, 0, 1}, {4, 0, 1}, {2, 0, 2}}; // right, taken, wanted
  EXPECT_DOUBLE_EQ(value("precision", parts), (0.5 + 0 + 1) / 3);
  EXPECT_DOUBLE_EQ(value("recall", parts), (1 + 0 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(value("f1", parts), (4.0 / 6 + 0 + 2.0 / 3) / 3);
  // A class that does not occur has no union.
  EXPECT_DOUBLE_EQ(value("iou", parts), (0.5 + 0.5) / 2);
}

TEST(MetricRuleTest, R2OfTargetsFarFromZero) {
  // Targets 1e6, 1e6 + 1, 1e6 + 2, each off by 0.5.
  double sum = 3e6 + 3, squares = 1e12 + (1e6 + 1) * (1e6 + 1) + (1e6 + 2) * (1e6 + 2);
  EXPECT_NEAR(value("r2", {{0.75}, {sum}, {squares}, {3}}), 1 - 0.75 / 2, 1e-3);
}

TEST(MetricRuleTest, LossesAddTheirQuotients) {
  Metric metric{"loss"};
  MetricRule({}, "loss").combine({{6}, {3}, {1}, {4}, {0}, {0}}, metric);
  EXPECT_EQ(metric.value, 2.25);
}

TEST(MetricRuleTest, ATableIsLoggedAsRows) {
  Metric metric = combine("confusion_matrix", {{5, 1, 0, 4}});
  std::string out;
  LogLine(out, "eval").metric(metric);
  EXPECT_EQ(out, "{\"event\":\"eval\",\"mine\":[[5,1],[0,4]]}\n");
}

TEST(MetricRuleTest, ReportsHaveRoomForLargeNumbers) {
  auto said = [](double value) { return metricsText({{{"perplexity", value}}}); };
  EXPECT_EQ(said(123456.75), "perplexity 123456.7500");
  EXPECT_EQ(said(-999999999999999), "perplexity -999999999999999.0000");
  EXPECT_EQ(said(1e15), "perplexity 1e+15");
  EXPECT_EQ(said(-2.5e60), "perplexity -2.5e+60");
  EXPECT_EQ(said(INFINITY), "perplexity inf");
  EXPECT_EQ(said(std::nan("")), "perplexity nan");
}

TEST(MetricRuleTest, AnArtifactThatLacksPartsGivesNoNumber) {
  EXPECT_TRUE(std::isnan(value("r2", {})));
  EXPECT_TRUE(std::isnan(value("auc", {{1}})));
  EXPECT_EQ(value("f1", {{1}}), 0);
}

} // namespace
