// Ranks that divide parameters, have servers, or step apart, against one process.
#include "test/unit/compiler/Perceptron.h"
#include "test/unit/compiler/RanksTesting.h"

#include <filesystem>

using namespace gradc;
using namespace gradc::test;

namespace {

const std::string adam = "optimizer { adam { learning_rate: 0.01  epsilon: 0.1 } }\n";
const std::string sharded = "distribution { strategy: SHARDED_OPTIMIZER }";

/// Ranks that update parts of parameters follow one process that updates all of them. In this test,
/// elements of other ranks' parts are NaN after a scatter.
TEST(Ranks, PartsOfParametersTrainAsInOneProcess) {
  for (const std::string optimizer :
       {"sgd { learning_rate: 1 }", "adam { learning_rate: 0.01  epsilon: 0.1 }",
        "nadam { learning_rate: 0.01  epsilon: 0.1 }"}) // with a slot of one number
    expectTheSame({"digits", dropped, "optimizer { " + optimizer + " }\n" + sharded},
                  {{32}, {16, 16}, {5, 20, 7}}, 4e-6);
  expectTheSame({"lenet", dropped, sgd + sharded}, {{16, 16}, {31, 1}}, 2e-6);
}

TEST(Ranks, RulesOfWholeTensorsDivideParametersWhole) {
  for (const std::string optimizer :
       {"lamb { learning_rate: 0.01  epsilon: 0.1 }", "lars { learning_rate: 0.1  momentum: 0.9 }",
        "muon { learning_rate: 0.01 } }\ngroup { pattern: \"*.bias\" optimizer { sgd { "
        "learning_rate: 1 } }"})
    expectTheSame({"digits", dropped, "optimizer { " + optimizer + " }\n" + sharded},
                  {{16, 16}, {4, 4, 12, 12}}, 2e-5);
}

TEST(Ranks, PartsOfParametersWithClippingAveragesAndScales) {
  const std::string more = "ema { decay: 0.5 }\nregularizer { l2: 0.01 }\n";
  for (const std::string clip : {"global_norm: 0.05", "norm: 0.05"})
    expectTheSame({"digits", dropped, sgd + more + "clip { " + clip + " }\n" + sharded},
                  {{16, 16}, {0, 9, 23}}, 2e-6);
  expectTheSame({"digits", dropped, sgd + "swa { begin: 1 }\n" + sharded}, {{16, 16}}, 2e-6);
  expectTheSame({"digits", dropped, sgd + "precision: FP16\nloss_scaling {}\n" + sharded},
                {{16, 16}, {4, 28}}, 2e-3);
  expectTheSame({"digits", dropped, sgd}, {"digits", dropped, sgd + "micro_batches: 4\n" + sharded},
                {{16, 16}, {8, 20, 4}}, 2e-6);
}

/// Ranks with shards differ from one process only in the order of sums.
TEST(Ranks, InF64ShardsFollowOneProcess) {
  for (int ranks : {2, 4}) {
    Case wanted{"digits", dropped,
                adam + "distribution { strategy: TENSOR  ranks: " + std::to_string(ranks) + " }"};
    Case alone{"digits", dropped, adam};
    wanted.isF64 = alone.isF64 = true;
    wanted.modelRanks = ranks;
    expectTheSame(alone, wanted, {{32}}, 1e-12);
  }
}

/// T2 of test/bench/peers, whose hidden size 3 does not divide. In f32 the order of a sum may put
/// the operand of a ReLU on the other side of 0, which changes later losses by 1e-5.
TEST(Ranks, InF64ShardsOfAPerceptronFollowOneProcess) {
  std::string folder = GRADC_TEST_SPECS "/perceptron." + std::to_string(getpid());
  for (int ranks : {2, 3, 4}) {
    writePerceptron(folder, {784, ranks == 3 ? 513 : 512, 512, 10}, 128);
    Case alone{folder, "", "optimizer { adam {} }\n"}, wanted = alone;
    wanted.add += "distribution { strategy: TENSOR  ranks: " + std::to_string(ranks) + " }\n";
    wanted.isF64 = alone.isF64 = true;
    wanted.modelRanks = ranks;
    wanted.learningRate = alone.learningRate = 1e-3;
    expectTheSame(alone, wanted, {{128}}, 1e-9);
  }
  std::filesystem::remove_all(folder);
}

/// Replicas share rows, and the ranks of each share products.
TEST(Ranks, ReplicasOfShardsFollowOneProcess) {
  const std::string more = adam + "clip { global_norm: 0.05 }\nema { decay: 0.5 }\n";
  Case wanted{"digits", dropped,
              more + "distribution { strategy: TENSOR  ranks: 2  data_parallel: true }"};
  wanted.modelRanks = 2;
  expectTheSame({"digits", dropped, more}, wanted, {{32}, {16, 16}, {5, 20, 7}, {32, 0}}, 4e-6);
}

TEST(Ranks, ServersUpdateWhatWorkersComputeGradientsOf) {
  Case wanted{
      "digits", dropped,
      "optimizer { adam { learning_rate: 0.01  epsilon: 0.1 } }\nclip { global_norm: 0.5 }\n"
      "distribution { strategy: PARAMETER_SERVER  servers: 2 }"};
  wanted.servers = 2;
  expectTheSame(wanted, {{32, 0, 0}, {16, 16, 0, 0}}, 4e-6);
}

TEST(Ranks, StaleWorkersTakeStepsOfOneKind) {
  const std::string server = "strategy: PARAMETER_SERVER ", stale = server + "staleness: 2";
  const struct {
    std::string distribution, more, expected;
  } refused[] = {
      {"staleness: 2", "",
       "expected strategy: PARAMETER_SERVER beside staleness, found strategy: MIRRORED"},
      {"strategy: SHARDED_OPTIMIZER staleness: 0", "",
       "expected strategy: PARAMETER_SERVER beside staleness, found strategy: SHARDED_OPTIMIZER"},
      {server + "staleness: -1", "", "expected 0 steps or more, found -1"},
      {stale + " servers: 2", "", "expected one server beside staleness, found servers: 2"},
      {stale + " synchronize_batch_norm: true", "",
       "expected no synchronize_batch_norm beside staleness: workers do not wait"},
      {stale, "precision: FP16\nloss_scaling {}\n",
       "expected no loss_scaling beside staleness: each worker would have a scale of its own"},
      {stale, "train { name: \"a\" }\ntrain { name: \"b\" }\n",
       "expected at most one train block beside staleness, found 2"},
      {stale, "group { pattern: \"*.bias\" frozen_until_step: 5 }\n",
       "expected no frozen_until_step beside staleness, found frozen_until_step: 5"},
      {stale, "train { name: \"a\" group { pattern: \"*.bias\" frozen_until_step: 7 } }\n",
       "expected no frozen_until_step beside staleness, found frozen_until_step: 7"}};
  for (const auto &one : refused) {
    Case wanted{"digits", dropped, sgd + one.more + "distribution { " + one.distribution + " }"};
    std::string said = Compiled(specOf(wanted)).said;
    EXPECT_NE(said.find(one.expected), std::string::npos) << one.expected << "\nfound: " << said;
  }
}

} // namespace
