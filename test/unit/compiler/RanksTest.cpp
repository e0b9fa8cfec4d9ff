// Steps of several ranks against the same step of one process: losses, states and what is logged.
// Ranks are sessions in threads.
#include "dialects/Pch.h"

#include "compiler/Compiler.h"
#include "runtime/core/Session.h"
#include "test/unit/runtime/ThreadRanks.h"

#include "mlir/IR/Diagnostics.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <regex>
#include <sstream>

using namespace gradc;
using namespace gradc::runtime;
using gradc::runtime::test::ThreadRanks;

namespace {

/// Of each training; a variable asks for more.
const int steps = std::getenv("GRADC_TEST_STEPS") ? std::atoi(std::getenv("GRADC_TEST_STEPS")) : 3;

/// An example's spec with other losses and the like: `drop` is a pattern of what goes.
struct Case {
  std::string example, drop, add;
  std::pair<std::string, std::string> edit = {}; ///< a pattern and what stands in its place
  bool isF64 = false;
  int servers = 0; ///< of the ranks, the last ones
};

std::string specOf(const Case &wanted) {
  std::string folder = GRADC_EXAMPLES "/" + wanted.example;
  std::ifstream file(folder + "/train.textproto");
  std::stringstream text;
  text << file.rdbuf();
  std::string spec = std::regex_replace(text.str(), std::regex("(path|model): \"([^/])"),
                                        "$1: \"" + folder + "/$2");
  if (!wanted.drop.empty())
    spec = std::regex_replace(spec, std::regex(wanted.drop), "");
  if (!wanted.edit.first.empty())
    spec = std::regex_replace(spec, std::regex(wanted.edit.first), wanted.edit.second);
  return spec + wanted.add + "\n";
}

/// The artifact of a spec; what the compiler says of it otherwise.
struct Compiled {
  std::string bytes, said;

  explicit Compiled(const std::string &spec, bool isF64 = false) {
    auto context = createContext();
    mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        said += diagnostic.str() + "\n";
      return mlir::success();
    });
    std::string path = GRADC_TEST_SPECS "/ranks.textproto";
    std::ofstream(path) << spec;
    CompileOptions options;
    options.retypeF64 = isF64;
    auto imported = importFile(*context, path, options);
    if (failed(imported))
      return;
    if (isF64)
      imported->ranges.clear(); // the model, which stays f32, has no place for such states
    auto program = planProgram(std::move(*imported), options);
    if (failed(program))
      return;
    auto artifact = compileProgram(*program, GRADC_TEST_SPECS, options);
    if (succeeded(artifact))
      bytes = std::move(*artifact);
  }
};

using Bytes = std::vector<char>;

/// What a step takes and gives, of one rank: buffers, one for each port.
class Rank {
public:
  Rank(std::shared_ptr<const Artifact> from, int threads) : artifact(std::move(from)) {
    auto made = Session::create(artifact, {threads, ""});
    if (!made)
      throw std::runtime_error(made.status().message());
    session = std::move(*made);
    entry = session->findEntry("train");
    for (const auto &port : ports(entry->inputs))
      inputs.emplace_back(port.tensor.bytes);
    for (const auto &port : ports(entry->outputs))
      if (port.role != GRADC_ROLE_INDICES)
        outputs.emplace_back(port.tensor.bytes);
  }

  int64_t batch() const { return entry->batch; }
  int64_t wrongIndex = -1; ///< in place of all integers, unless it is negative

  /// Runs step `number` on rows [begin, end) of a batch that depends on the number alone.
  Status run(int number, int64_t begin, int64_t end, Communicator *ranks) {
    EXPECT_TRUE(session->setRanks(ranks).ok());
    std::mt19937 random{unsigned(number)};
    std::vector<const void *> in;
    std::vector<void *> out;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto &port = ports(entry->inputs)[i];
      fill(port, inputs[i], random, number);
      size_t row = port.batched ? inputs[i].size() / size_t(batch()) : 0;
      std::copy(inputs[i].begin() + long(row * size_t(begin)),
                inputs[i].begin() + long(row * size_t(end)), inputs[i].begin());
      in.push_back(gradc_role_counts_rows(port.role) ? nullptr : inputs[i].data());
    }
    for (Bytes &output : outputs)
      out.push_back(output.data());
    return session->run(*entry, in, out, end - begin);
  }

  /// All numbers that a step shows, unless they are less exact than states, then all states; how
  /// large those of one tensor are tells what an error means.
  std::vector<std::vector<double>> values() {
    std::vector<std::vector<double>> all;
    size_t i = 0;
    for (const auto &port : ports(entry->outputs))
      if (isShown(port))
        all.push_back(numbers(port.tensor.dtype, outputs[i++]));
    for (size_t s = 0; s < artifact->states().size(); ++s) {
      Bytes bytes(artifact->states()[s].tensor.bytes);
      EXPECT_TRUE(session->readState(uint32_t(s), bytes.data()).ok());
      all.push_back(numbers(artifact->states()[s].tensor.dtype, bytes));
    }
    return all;
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto &port : ports(entry->outputs))
      if (isShown(port))
        all.emplace_back(artifact->string(port.tensor.name));
    for (const auto &state : artifact->states())
      all.emplace_back(artifact->string(state.tensor.name));
    return all;
  }

private:
  bool isShown(const gradc_artifact_port &port) const {
    return port.role != GRADC_ROLE_INDICES &&
           artifact->states()[0].tensor.dtype != uint32_t(GRADC_F64);
  }

  std::span<const gradc_artifact_port> ports(gradc_range range) const {
    return artifact->elements<gradc_artifact_port>(range);
  }

  void fill(const gradc_artifact_port &port, Bytes &bytes, std::mt19937 &random, int step) {
    auto set = [&](auto value) {
      using T = decltype(value());
      for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
        T one = value();
        std::memcpy(&bytes[i], &one, sizeof one);
      }
    };
    auto setReal = [&](auto value) {
      if (port.tensor.dtype == GRADC_F64)
        set([&] { return double(value()); });
      else
        set([&] { return float(value()); });
    };
    if (port.role == GRADC_ROLE_LEARNING_RATE)
      setReal([] { return 0.125; });
    else if (port.role == GRADC_ROLE_STEP)
      setReal([&] { return step; });
    else if (port.role == GRADC_ROLE_COUNTER || port.role == GRADC_ROLE_SEED)
      set([&] { return int32_t(step); });
    else if (port.role == GRADC_ROLE_LOSS_SCALE)
      setReal([] { return 1024; });
    else if (port.tensor.dtype == GRADC_I64 && wrongIndex >= 0)
      set([&] { return int64_t(wrongIndex); });
    else if (port.tensor.dtype == GRADC_I64)
      set([&] { return int64_t(random() % uint64_t(port.classes ? port.classes : 10)); });
    else
      setReal([&] { return double(random() % 4096) / 1024 - 2; });
  }

  static std::vector<double> numbers(uint32_t dtype, const Bytes &bytes) {
    std::vector<double> all;
    auto read = [&](auto zero) {
      for (size_t i = 0; i + sizeof zero <= bytes.size(); i += sizeof zero) {
        std::memcpy(&zero, &bytes[i], sizeof zero);
        all.push_back(double(zero));
      }
    };
    switch (dtype) {
    case GRADC_F32:
      read(float());
      break;
    case GRADC_F64:
      read(double());
      break;
    case GRADC_BOOL:
      read(char());
      break;
    default:
      read(int64_t());
    }
    return all;
  }

  std::shared_ptr<const Artifact> artifact;
  std::unique_ptr<Session> session;
  const gradc_artifact_entry *entry;
  std::vector<Bytes> inputs, outputs;
};

std::shared_ptr<const Artifact> open(const Compiled &compiled) {
  auto artifact =
      Artifact::fromMemory(std::as_bytes(std::span(compiled.bytes.data(), compiled.bytes.size())));
  EXPECT_TRUE(artifact) << compiled.said << artifact.status().message();
  return artifact ? *artifact : nullptr;
}

/// The largest distance of two steps' numbers, by the largest number of each tensor.
double worstOf(const std::vector<std::vector<double>> &found,
               const std::vector<std::vector<double>> &expected,
               const std::vector<std::string> &names, std::string &where) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double scale = 1e-3, error = 0;
    for (double v : expected[i])
      scale = std::max(scale, std::abs(v));
    for (size_t k = 0; k < expected[i].size(); ++k) {
      double distance = std::abs(found[i][k] - expected[i][k]) / scale;
      error = std::isnan(distance) ? INFINITY : std::max(error, distance);
    }
    if (error > worst) {
      worst = error;
      where = names[i];
    }
  }
  return worst;
}

/// Trains as one process, by `alone`'s program, and as ranks with these rows of each batch.
void expectTheSame(const Case &alone, const Case &wanted,
                   const std::vector<std::vector<int64_t>> &splits, double tolerance) {
  Compiled compiled(specOf(wanted), wanted.isF64), single(specOf(alone), alone.isF64);
  auto artifact = open(compiled), one = open(single);
  ASSERT_TRUE(artifact);
  ASSERT_TRUE(one);
  for (const std::vector<int64_t> &rows : splits) {
    Rank whole(one, 1);
    std::vector<std::unique_ptr<Rank>> parts;
    for (size_t i = 0; i < rows.size(); ++i)
      parts.push_back(std::make_unique<Rank>(artifact, 1 + int(i) % 2));
    ThreadRanks world(int(rows.size()), wanted.servers);
    for (int step = 1; step <= steps; ++step) {
      ASSERT_EQ(whole.run(step, 0, whole.batch(), nullptr).message(), "");
      world.run([&](int rank) {
        int64_t begin = 0;
        for (int before = 0; before < rank; ++before)
          begin += rows[size_t(before)];
        EXPECT_EQ(parts[size_t(rank)]
                      ->run(step, begin, begin + rows[size_t(rank)], world.communicator(rank))
                      .message(),
                  "");
      });
      std::vector<std::vector<std::vector<double>>> found(rows.size());
      // All at once: they may have parts of states.
      world.run([&](int rank) { found[size_t(rank)] = parts[size_t(rank)]->values(); });
      std::string where;
      double worst = worstOf(found[0], whole.values(), whole.names(), where);
      EXPECT_LT(worst, tolerance) << where << " in step " << step;
      for (size_t i = 1; i < parts.size(); ++i)
        EXPECT_EQ(found[i], found[0]) << "rank " << i;
    }
  }
}

void expectTheSame(const Case &wanted, const std::vector<std::vector<int64_t>> &splits,
                   double tolerance) {
  expectTheSame(wanted, wanted, splits, tolerance);
}

/// Steps of plain SGD show gradients.
const std::string sgd = "optimizer { sgd { learning_rate: 1 } }\n";
const std::string dropped = "\\n(optimizer|micro_batches|ema|clip|group|schedule)[ :].*";

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

const std::string sharded = "distribution { strategy: SHARDED_OPTIMIZER }";

/// Ranks that update parts of parameters follow one process that updates all of them. What a rank
/// has of other parts is NaN after a scatter here.
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
  expectTheSame({"digits", dropped, sgd + "precision: FP16\nloss_scaling {}\n" + sharded},
                {{16, 16}, {4, 28}}, 2e-3);
  expectTheSame({"digits", dropped, sgd}, {"digits", dropped, sgd + "micro_batches: 4\n" + sharded},
                {{16, 16}, {8, 20, 4}}, 2e-6);
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
          .find("expected 1 server or more, found 0"),
      std::string::npos);
  // One process says the same in a remark, and takes such a batch whole.
  Case weighted{"digits", dropped, sgd + "distribution {}"};
  weighted.edit = {"(loss .*)labels: \"labels\"",
                   "$1labels: \"labels\" class_weight: 1 class_weight: 2 class_weight: 3 "
                   "class_weight: 4 class_weight: 5 class_weight: 6 class_weight: 7 "
                   "class_weight: 8 class_weight: 9 class_weight: 10"};
  EXPECT_NE(saidOf(weighted).find(
                "expected entry \"train\" to take any number of rows, since `distribution` gives "
                "each rank some of the batch; it takes 32 only: "),
            std::string::npos);
  Case single{"digits", dropped, sgd + "distribution {}"};
  single.edit = {"size: 32", "size: 1"};
  EXPECT_NE(saidOf(single).find("expected a batch.size of 2 or more for ranks to share, found 1"),
            std::string::npos);
}

} // namespace
