// Several kinds of steps: their entries, and the parameters that each entry trains.
#include "test/unit/compiler/import/TrainingTesting.h"

#include "dialects/grad/Grad.h"
#include "passes/training/TrainedStates.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
namespace {

class TrainEntriesTest : public TrainingTesting {
protected:
  /// The parameters that an entry trains: "fc1.bias fc1.weight".
  std::string trainedBy(const Imported &imported, StringRef entry) {
    std::vector<std::string> names;
    for (auto symbol : function(imported, entry)
                           ->getAttrOfType<ArrayAttr>(trainsName)
                           .getAsRange<FlatSymbolRefAttr>())
      names.push_back(symbol.getValue().str());
    llvm::sort(names);
    return llvm::join(names, " ");
  }
  std::string counterOf(const Imported &imported, StringRef state) {
    auto counter = ModuleOp(*imported.module)
                       .lookupSymbol<StateOp>(state)
                       ->getAttrOfType<FlatSymbolRefAttr>(stepsName);
    return counter ? counter.getValue().str() : "";
  }
};

TEST_F(TrainEntriesTest, EachBlockAndPhaseIsAnEntry) {
  Parts parts;
  parts.rest = "train { name: \"head\" steps: 2 trains: \"fc2.*\" clip { norm: 1 } }\n"
               "train { name: \"all\" optimizer { adam { learning_rate: 0.1 } } }\n"
               "group { pattern: \"fc1.weight\" frozen_until_step: 5 }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(functions(*imported),
            (std::vector<std::string>{"train.head", "train.head.tail", "train.all.until.5",
                                      "train.all.until.5.tail", "train.all", "train.all.tail",
                                      "forward"}));
  EXPECT_EQ(trainedBy(*imported, "train.head"), "fc2.bias fc2.weight");
  EXPECT_EQ(trainedBy(*imported, "train.all.until.5"), "fc1.bias fc2.bias fc2.weight");
  EXPECT_EQ(trainedBy(*imported, "train.all.tail"), "fc1.bias fc1.weight fc2.bias fc2.weight");
  EXPECT_TRUE(function(*imported, "train.head")->hasAttr("grad.clip"));
  EXPECT_FALSE(function(*imported, "train.all")->hasAttr("grad.clip"));
  EXPECT_EQ(counterOf(*imported, "fc1.bias"), "gradc.steps/all");
  EXPECT_EQ(counterOf(*imported, "fc1.weight"), "gradc.steps/all/5");
  EXPECT_EQ(counterOf(*imported, "fc2.bias"), "gradc.steps/head+all");
  EXPECT_EQ(imported->verdicts[0].reason,
            "a parameter of \"fc1\", trained by \"all\", from step 6 on");
}

TEST_F(TrainEntriesTest, WithoutBlocksOptimizersCountTheRunsSteps) {
  auto imported = training(Parts());
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_FALSE(function(*imported, "train")->hasAttr(trainsName));
  EXPECT_EQ(counterOf(*imported, "fc1.weight"), "");
}

/// The counter of a parameter says when its mask is final.
TEST_F(TrainEntriesTest, PruningEndsByTheCountersOfItsParameters) {
  using Ends = std::map<std::string, int64_t>;
  Parts parts;
  parts.rest = "prune { pattern: \"fc1.*\" pattern: \"fc1.bias\" sparsity: 0.5 end_step: 6 }\n"
               "prune { pattern: \"fc2.weight\" sparsity: 0.5 end_step: 4 }";
  auto plain = training(parts);
  ASSERT_TRUE(succeeded(plain)) << everything();
  EXPECT_EQ(plain->pruningEnds, (Ends{{"", 6}}));
  parts.rest += "train { name: \"head\" steps: 2 trains: \"fc2.*\" } train { name: \"all\" }\n"
                "group { pattern: \"fc1.weight\" frozen_until_step: 5 }";
  auto inTurns = training(parts);
  ASSERT_TRUE(succeeded(inTurns)) << everything();
  EXPECT_EQ(inTurns->pruningEnds,
            (Ends{{"gradc.steps/all", 6}, {"gradc.steps/all/5", 6}, {"gradc.steps/head+all", 4}}));
}

TEST_F(TrainEntriesTest, WhatNoBlockNamesStays) {
  Parts parts;
  parts.rest = "train { name: \"head\" trains: \"fc2.*\" }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"fc2.weight", "fc2.bias"}));
  EXPECT_EQ(imported->verdicts[0].reason, "no train block names it");
}

/// Later, entries of sets whose batches "evaluate" takes are dropped.
TEST_F(TrainEntriesTest, EachSetOfAnEvaluationHasEntries) {
  Parts parts;
  parts.rest =
      "evaluation { data { source { npz { path: \"data.npz\" rows { begin: 1 } } } stage { "
      "batch { size: 7 } } } set { name: \"all\" data { source { npz { path: \"data.npz\" "
      "} } stage { batch { size: 5 } } } } set { name: \"some\" data { source { npz { "
      "path: \"data.npz\" rows { begin: 2 } } } stage { batch { size: 3 } } } } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_TRUE(said.empty()) << everything();
  // Ten rows: 5 + 5, and eight: 3 + 3 + 2.
  EXPECT_EQ(
      functions(*imported),
      (std::vector<std::string>{"train", "train.tail", "evaluate", "evaluate.tail", "evaluate.all",
                                "evaluate.some", "evaluate.some.tail", "forward"}));
  EXPECT_EQ(signature(function(*imported, "evaluate.all")),
            "x f32 [5, 4] data x; labels i64 [5] data labels");
  EXPECT_EQ(signature(function(*imported, "evaluate.some.tail")),
            "x f32 [2, 4] data x; labels i64 [2] data labels");
  std::vector<int64_t> rows;
  for (const DataSummary &data : imported->data)
    rows.push_back(data.rows);
  EXPECT_EQ(rows, (std::vector<int64_t>{10, 9, 10, 8}));
}

/// Its data are at fault, not those of the evaluation.
TEST_F(TrainEntriesTest, SaysWhatIsWrongInASet) {
  Parts parts;
  parts.rest =
      "evaluation { data { source { npz { path: \"data.npz\" } } stage { batch { size: 5 } } }\n"
      "set { name: \"wrong\" data { source { npz { path: \"narrow.npz\" } } stage { batch { "
      "size: 5 } } } } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"of \"narrow.npz\" to be f32 [5, 4]"});
}

} // namespace
} // namespace gradc
