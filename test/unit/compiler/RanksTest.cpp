// Steps of several ranks that each have all parameters, against the same step of one process:
// losses, states and what is logged.
#include "test/unit/compiler/Perceptron.h"
#include "test/unit/compiler/RanksTesting.h"

#include <filesystem>

using namespace gradc;
using namespace gradc::test;

namespace {

TEST(Ranks, APerceptronTrainsAsInOneProcess) {
  expectTheSame({"digits", dropped, sgd + "distribution {}"}, {{16, 16}, {32, 0}, {5, 20, 7}},
                2e-6);
}

TEST(Ranks, AConvolutionalNetTrainsAsInOneProcess) {
  expectTheSame({"lenet", dropped, sgd + "distribution {}"}, {{16, 16}, {31, 1}}, 2e-6);
}

TEST(Ranks, AMaskedLossCountsWhatAllRanksCount) {
  Case wanted{"gpt", dropped, sgd + "distribution {}"};
  wanted.edit = {"labels: \"target\"", "labels: \"target\"  ignore_index: 3"};
  expectTheSame(wanted, {{8, 8}, {3, 13}}, 2e-6);
}

TEST(Ranks, ClippingRegularizersAndAveragesSeeAllRanks) {
  expectTheSame({"digits", dropped,
                 sgd + "clip { global_norm: 0.05 }\nema { decay: 0.5 }\n"
                       "regularizer { l2: 0.01  l1: 0.001 }\ndistribution {}"},
                {{16, 16}, {0, 9, 23}}, 2e-6);
  expectTheSame({"digits", dropped, sgd + "swa { begin: 1 }\ndistribution {}"}, {{16, 16}}, 2e-6);
}

/// A row of the entry is a row of each micro-batch.
TEST(Ranks, MicroBatchesFollowOneProcessWithTheWholeBatch) {
  expectTheSame({"digits", dropped, sgd},
                {"digits", dropped, sgd + "micro_batches: 4\ndistribution {}"},
                {{32}, {16, 16}, {32, 0}, {8, 20, 4}}, 2e-6);
  Case alone{"gpt", dropped, sgd},
      shared{"gpt", dropped, sgd + "micro_batches: 2\ndistribution {}"};
  alone.edit = shared.edit = {"labels: \"target\"", "labels: \"target\"  ignore_index: 3"};
  expectTheSame(alone, shared, {{16}, {8, 8}, {2, 14}}, 4e-6);
}

/// Ten rows in a part: its labels take 80 bytes, which the loop over parts pads to whole cache
/// lines.
TEST(Ranks, MicroBatchesOfAnyNumberOfRows) {
  Case alone{"digits", dropped, sgd},
      shared{"digits", dropped, sgd + "micro_batches: 4\ndistribution {}"};
  alone.edit = shared.edit = {"size: 32", "size: 40"};
  expectTheSame(alone, shared, {{40}, {16, 24}, {4, 0, 36}}, 2e-6);
}

TEST(Ranks, MicroBatchesHaveAsManyRowsEach) {
  Compiled compiled(specOf({"digits", dropped, sgd + "micro_batches: 4\ndistribution {}"}));
  auto artifact = open(compiled);
  ASSERT_TRUE(artifact);
  EXPECT_EQ(Rank(artifact, 1).run(1, 0, 6, nullptr).message(),
            "entry 'train' takes 0 to 32 rows, as many for each micro-batch, found 6");
}

TEST(Ranks, MicroBatchesWithClippingRegularizersAndScales) {
  const std::string more = "clip { global_norm: 0.05 }\nregularizer { l2: 0.01 }\n";
  expectTheSame({"digits", dropped, sgd + more},
                {"digits", dropped, sgd + more + "micro_batches: 2\ndistribution {}"},
                {{16, 16}, {0, 8, 24}}, 2e-6);
  const std::string scaled = "precision: FP16\nloss_scaling {}\n";
  expectTheSame({"digits", dropped, sgd + scaled},
                {"digits", dropped, sgd + scaled + "micro_batches: 2\ndistribution {}"}, {{16, 16}},
                2e-3);
}

/// Ranks exchange before the first part and after the last.
TEST(Ranks, MicroBatchesAddNoTraffic) {
  auto startsOf = [](const std::string &more) {
    Compiled compiled(specOf({"digits", dropped, sgd + more}));
    auto artifact = open(compiled);
    ThreadRanks world(2);
    world.run([&](int rank) {
      Rank part(artifact, 1);
      EXPECT_EQ(part.run(1, 16 * rank, 16 * rank + 16, world.communicator(rank)).message(), "");
    });
    std::string calls = world.calls(0);
    int starts = 0;
    for (size_t at = 0; (at = calls.find("start ", at)) != calls.npos; ++at)
      ++starts;
    return starts;
  };
  int few = startsOf("micro_batches: 2\ndistribution {}");
  EXPECT_EQ(startsOf("micro_batches: 4\ndistribution {}"), few);
  EXPECT_LE(few, startsOf("distribution {}") + 1);
}

TEST(Ranks, GradientsAreUnscaledOnceSummed) {
  expectTheSame({"digits", dropped, sgd + "precision: FP16\nloss_scaling {}\ndistribution {}"},
                {{16, 16}, {4, 28}}, 2e-3);
}

TEST(Ranks, SynchronizedBatchNormalizationIsThatOfTheWholeBatch) {
  expectTheSame({"resnet18", dropped, sgd + "distribution { synchronize_batch_norm: true }"},
                {{16, 16}, {0, 5, 27}}, 2e-4);
}

/// In f32 roundings grow through the layers.
TEST(Ranks, InF64SynchronizedBatchNormalizationIsExact) {
  Case wanted{"resnet18", dropped, sgd + "distribution { synchronize_batch_norm: true }"};
  wanted.isF64 = true;
  expectTheSame(wanted, {{32}, {16, 16}, {11, 11, 10}, {8, 8, 8, 8}}, 1e-9);
}

/// Statistics of each rank's rows give other numbers than one process, but the same on all ranks.
TEST(Ranks, RunningStatisticsStayTheSameOnAllRanks) {
  expectTheSame({"resnet18", dropped, sgd + "distribution {}"}, {{12, 20}}, INFINITY);
}

TEST(Ranks, OnlyGradientsTravelNarrow) {
  Compiled compiled(specOf({"digits", dropped, sgd + "distribution { wire: BF16 }"}));
  auto artifact = open(compiled);
  ASSERT_TRUE(artifact);
  ThreadRanks world(2);
  world.run([&](int rank) {
    Rank part(artifact, 1);
    EXPECT_EQ(part.run(1, 16 * rank, 16 * rank + 16, world.communicator(rank)).message(), "");
  });
  EXPECT_NE(world.calls(0).find("start 17226 bf16 "), std::string::npos) << world.calls(0);
  EXPECT_NE(world.calls(0).find("start 2 progress"), std::string::npos) << world.calls(0);
}

/// An index out of range on one rank leaves the states of all ranks as they were.
TEST(Ranks, AWrongIndexStopsTheStepOnAllRanks) {
  Compiled compiled(specOf({"gpt", dropped, sgd + "distribution {}"}));
  auto artifact = open(compiled);
  ASSERT_TRUE(artifact);
  Rank first(artifact, 1), second(artifact, 1), untouched(artifact, 1);
  second.wrongIndex = 1 << 20;
  ThreadRanks world(2);
  world.run([&](int rank) {
    Rank &part = rank ? second : first;
    Status ran = part.run(1, 8 * rank, 8 * rank + 8, world.communicator(rank));
    EXPECT_EQ(ran.ok(), rank == 0) << ran.message();
  });
  size_t states = artifact->states().size();
  auto last = [&](Rank &rank) {
    auto all = rank.values();
    return std::vector(all.end() - long(states), all.end());
  };
  EXPECT_EQ(last(first), last(untouched));
  EXPECT_EQ(last(second), last(untouched));
}

/// Ranks share the denominator, the weights of all rows.
TEST(Ranks, WeightsOfClassesFollowOneProcess) {
  Case alone{"digits", dropped, sgd};
  alone.edit = {"(loss .*)labels: \"labels\"",
                "$1labels: \"labels\" class_weight: 1 class_weight: 2 class_weight: 3 "
                "class_weight: 4 class_weight: 5 class_weight: 6 class_weight: 7 "
                "class_weight: 8 class_weight: 9 class_weight: 10"};
  Case wanted = alone;
  wanted.add += "distribution {}";
  expectTheSame(alone, wanted, {{16, 16}, {20, 12}}, 2e-6);
}

TEST(Ranks, WhatCannotBeSharedIsRefused) {
  auto saidOf = [](const Case &wanted) { return Compiled(specOf(wanted)).said; };
  EXPECT_NE(saidOf({"digits", dropped, sgd + "micro_batches: 32\ndistribution {}"})
                .find("expected a batch.size of at least 2 rows for each of the 32 parts, which "
                      "ranks share, found 32"),
            std::string::npos);
  EXPECT_NE(
      saidOf({"digits", dropped,
              sgd + "micro_batches: 2\ndistribution { synchronize_batch_norm: true }"})
          .find("expected no synchronize_batch_norm: ranks exchange nothing before the last part"),
      std::string::npos);
  EXPECT_NE(saidOf({"digits", dropped, sgd + "distribution { stall_seconds: 0 }"})
                .find("expected a positive number of seconds, found 0"),
            std::string::npos);
  EXPECT_NE(saidOf({"digits", dropped, sgd + "distribution { servers: 2 }"})
                .find("expected strategy: PARAMETER_SERVER beside servers, found servers: 2"),
            std::string::npos);
  EXPECT_NE(
      saidOf({"digits", dropped, sgd + "distribution { strategy: PARAMETER_SERVER servers: 0 }"})
          .find("expected from 1 to 4096 servers, found 0"),
      std::string::npos);
  EXPECT_NE(saidOf({"digits", dropped,
                    sgd + "distribution { strategy: PARAMETER_SERVER servers: 4294967297 }"})
                .find("expected from 1 to 4096 servers, found 4294967297"),
            std::string::npos);
  // One process says the same in a remark, and takes such a batch whole.
  std::string folder = GRADC_TEST_SPECS "/fixed." + std::to_string(getpid());
  writePerceptron(folder, {8, 4}, 32, /*isFixed=*/true);
  EXPECT_NE(saidOf({folder, "", sgd + "distribution {}"})
                .find("expected entry \"train\" to take any number of rows, since `distribution` "
                      "gives each rank some of the batch; it takes 32 only: "),
            std::string::npos);
  std::filesystem::remove_all(folder);
  Case single{"digits", dropped, sgd + "distribution {}"};
  single.edit = {"size: 32", "size: 1"};
  EXPECT_NE(saidOf(single).find("expected a batch.size of 2 or more for ranks to share, found 1"),
            std::string::npos);
}

} // namespace
