// ONNX's own cases on compiled code: models that the importer accepts must compute ONNX's results.
#include "test/unit/compiler/OnnxCase.h"
#include "test/unit/compiler/Workers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace gradc::test;
using llvm::StringRef;

namespace {

std::string encode(const CaseResult &result) {
  return llvm::formatv("{0} {1} {2} {3} {4} {5}", int(result.outcome), result.bound, result.folded,
                       result.nodes, result.launches, result.message);
}

CaseResult decode(StringRef text) {
  CaseResult result;
  unsigned outcome = 0;
  for (unsigned *field :
       {&outcome, &result.bound, &result.folded, &result.nodes, &result.launches}) {
    auto [number, rest] = text.split(' ');
    number.getAsInteger(10, *field);
    text = rest;
  }
  result.outcome = Outcome(outcome);
  result.message = text.str();
  return result;
}

TEST(Workers, ATaskThatCrashesIsOneThatIsLost) {
  auto results = runInProcesses(9, 2, [](size_t i) {
    if (i % 4 == 1)
      _exit(int(i)); // 1 and 5
    return std::to_string(i);
  });
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].value_or("lost"), i % 4 == 1 ? "lost" : std::to_string(i));
}

template <typename... Values> void print(const char *format, const Values &...values) {
  std::fputs(llvm::formatv(format, values...).str().c_str(), stdout);
}

constexpr const char *names[] = {"passed", "unsupported", "wrong", "not compared"};

TEST(OnnxCases, ComputeWhatOnnxSays) {
  std::vector<std::string> folders = caseFolders(otherCases());
  if (folders.empty())
    GTEST_SKIP() << "libonnx-testdata is not installed";
  unsigned processes = std::clamp(std::thread::hardware_concurrency(), 1u, 8u); // 0 if unknown
  auto results = runInProcesses(folders.size(), processes,
                                [&](size_t i) { return encode(runCase(folders[i])); });
  unsigned count[4] = {}, bound = 0, withBound = 0, folded = 0, nodes = 0, launches = 0, known = 0;
  bool all = getenv("GRADC_CASES");
  for (size_t i = 0; i < folders.size(); ++i) {
    std::string name = llvm::sys::path::filename(folders[i]).str();
    CaseResult result = results[i] ? decode(*results[i])
                                   : CaseResult{Outcome::wrong, "crashed or ended the process"};
    ++count[int(result.outcome)];
    EXPECT_TRUE(result.outcome != Outcome::wrong) << name << ": " << result.message;
    if (result.outcome == Outcome::notCompared || (all && result.outcome == Outcome::unsupported))
      print("{0}: {1}: {2}\n", name, names[int(result.outcome)], result.message);
    if (result.outcome != Outcome::passed)
      continue;
    bound += result.bound;
    withBound += result.bound > 0;
    folded += result.folded;
    nodes += result.nodes;
    launches += result.launches;
    known += result.launches == 0;
    if (all)
      print("{0}: passed: {1} bound, {2} of {3} nodes folded, {4} launches\n", name, result.bound,
            result.folded, result.nodes, result.launches);
  }
  print("in what passed: {0} inputs bound in {1} cases, {2} of {3} nodes folded, {4} launches, {5} "
        "cases that launch nothing\n",
        bound, withBound, folded, nodes, launches, known);
  print("{0} passed, {1} unsupported, {2} not compared, {3} wrong\n", count[int(Outcome::passed)],
        count[int(Outcome::unsupported)], count[int(Outcome::notCompared)],
        count[int(Outcome::wrong)]);
  // Cases that worked must still work.
  if (!otherCases())
    EXPECT_GE(count[int(Outcome::passed)], 1041u);
}

} // namespace
