// Schedules that sum over ranks; each rank is a session in a thread.
#include "runtime/core/Session.h"
#include "runtime/include/gradc/artifact.h"
#include "test/unit/runtime/ArtifactBuilder.h"
#include "test/unit/runtime/ThreadRanks.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr int columns = 16;
constexpr uint64_t bytes = columns * sizeof(float);

/// The entry "sum" of inputs x and beside, f32[16], and the rows of this rank; a batch has 4 rows:
///   0  a = x + x
///   1  b = x + beside
///   2  sum a and b over ranks
///   3  c = beside + beside
///   4  y = a + b
///   5  sum c over ranks
///   6  copy c -> z
class Writer : public ArtifactBuilder {
public:
  using Nodes = std::vector<gradc_artifact_node>;
  using Slices = std::vector<std::vector<gradc_artifact_slice>>; ///< of each node

  Bytes write(const std::function<void(Nodes &, Slices &)> &change = {}) {
    auto x = at(GRADC_SPACE_INPUT, 0), beside = at(GRADC_SPACE_INPUT, 1);
    auto a = at(GRADC_SPACE_ARENA, 0, 0), b = at(GRADC_SPACE_ARENA, 0, 64),
         c = at(GRADC_SPACE_ARENA, 0, 128);
    auto y = at(GRADC_SPACE_OUTPUT, 0), z = at(GRADC_SPACE_OUTPUT, 1);
    Slices slices = {{x, x, a}, {x, beside, b}, {a, b, a, b}, {beside, beside, c},
                     {a, b, y}, {c, c},         {c, z}};
    Nodes nodes(slices.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].kind = GRADC_NODE_LAUNCH;
      nodes[i].operands = 2;
      nodes[i].end = uint32_t(i + 1);
    }
    nodes[2].kind = nodes[5].kind = GRADC_NODE_COLLECTIVE;
    nodes[5].operands = nodes[6].operands = 1;
    nodes[6].kind = GRADC_NODE_COPY;
    if (change)
      change(nodes, slices);
    for (size_t i = 0; i < nodes.size(); ++i)
      nodes[i].slices = put(slices[i]);
    gradc_artifact_entry entry = {};
    entry.name = text("sum");
    entry.batch = 4;
    entry.any_rows = 1;
    entry.inputs = put(std::vector<gradc_artifact_port>{
        port("x", {columns}, GRADC_ROLE_DATA), port("beside", {columns}, GRADC_ROLE_DATA),
        port("rank_rows", {}, GRADC_ROLE_RANK_ROWS)});
    auto given = port("given", {}, GRADC_ROLE_OUTPUT);
    given.slice = {GRADC_SPACE_INPUT, 2, 0, 4, GRADC_F32, 0, {}};
    entry.outputs = put(std::vector<gradc_artifact_port>{result("y", 0), result("z", 1), given});
    entry.nodes = put(nodes);
    entry.arena = 192;
    return finishWith(entry);
  }

  gradc_artifact_cut first = {columns, 3}; ///< of the level's two cuts
  /// One of the cuts per operand.
  gradc_range cuts(size_t operands, uint32_t cut = 0) {
    return put(std::vector<uint32_t>(operands, cut));
  }
  gradc_range zerosIn(uint32_t operand) { return put(std::vector<uint32_t>{operand}); }

private:
  static gradc_artifact_slice at(gradc_space space, uint32_t index, uint64_t offset = 0) {
    return {uint32_t(space), index, offset, bytes, GRADC_F32, 0, {}};
  }
  gradc_artifact_port port(const char *name, std::vector<int64_t> shape, gradc_role role) {
    gradc_artifact_port p = {};
    p.tensor = tensor(name, GRADC_F32, std::move(shape));
    p.role = role;
    p.field = text(name);
    return p;
  }
  gradc_artifact_port result(const char *name, uint32_t index) {
    gradc_artifact_port p = port(name, {columns}, GRADC_ROLE_OUTPUT);
    p.slice = at(GRADC_SPACE_OUTPUT, index);
    return p;
  }
  Bytes finishWith(const gradc_artifact_entry &entry) {
    gradc_artifact_kernel add = {};
    add.symbol = add.title = text("add_numbers");
    add.units = columns;
    add.grain = 1;
    gradc_artifact_level level = {};
    level.name = text("x86-64-v3");
    level.image = put(readFile(GRADC_TEST_KERNELS));
    level.kernels = put(std::vector<gradc_artifact_kernel>{add});
    level.cuts = put(std::vector<gradc_artifact_cut>{first, {columns - 1, 1}});
    level.entries = put(std::vector<gradc_artifact_entry>{entry});
    header.levels = put(std::vector<gradc_artifact_level>{level});
    return finish();
  }
};

/// The call of one rank.
struct Call {
  alignas(64) float x[columns], beside[columns];
  float y[columns] = {}, z[columns] = {}, given = -1;

  explicit Call(int rank) {
    for (int c = 0; c < columns; ++c) {
      x[c] = float(rank + 1) * 0.1f + float(c);
      beside[c] = float(rank) + 0.3f * float(c);
    }
  }
  Status run(Session &session, int64_t rows) {
    const void *inputs[] = {x, beside, nullptr};
    void *outputs[] = {y, z, &given};
    return session.run(*session.findEntry("sum"), inputs, outputs, rows);
  }
};

std::unique_ptr<Session> open(const Bytes &blob, int threads) {
  auto artifact = Artifact::fromMemory(blob);
  EXPECT_TRUE(artifact) << artifact.status().message();
  auto session = Session::create(*artifact, {threads, ""});
  EXPECT_TRUE(session) << session.status().message();
  return std::move(*session);
}

TEST(RankSums, AreTheSameOnAllRanksForAnyNumberOfThreads) {
  const Bytes blob = Writer().write();
  for (int threads : {1, 3})
    for (int size : {2, 3}) {
      ThreadRanks world(size);
      std::vector<Call> calls;
      for (int rank = 0; rank < size; ++rank)
        calls.emplace_back(rank);
      world.run([&](int rank) {
        auto session = open(blob, threads);
        EXPECT_TRUE(session->setRanks(world.communicator(rank)).ok());
        for (int repeat = 0; repeat < 3; ++repeat) // slices are bound once
          EXPECT_TRUE(calls[size_t(rank)].run(*session, rank).ok());
      });
      for (int c = 0; c < columns; ++c) {
        float a = 0, b = 0, z = 0;
        for (int rank = 0; rank < size; ++rank) {
          const Call &call = calls[size_t(rank)];
          a += call.x[c] + call.x[c];
          b += call.x[c] + call.beside[c];
          z += call.beside[c] + call.beside[c];
        }
        for (int rank = 0; rank < size; ++rank) {
          EXPECT_EQ(calls[size_t(rank)].y[c], a + b);
          EXPECT_EQ(calls[size_t(rank)].z[c], z);
        }
      }
      for (int rank = 0; rank < size; ++rank) // also 0
        EXPECT_EQ(calls[size_t(rank)].given, float(rank));
    }
}

TEST(RankSums, GoOnBesideLaunchesThatDoNotTouchThem) {
  const Bytes blob = Writer().write();
  ThreadRanks world(2);
  world.run([&](int rank) {
    auto session = open(blob, 1);
    EXPECT_TRUE(session->setRanks(world.communicator(rank)).ok());
    EXPECT_TRUE(Call(rank).run(*session, 1).ok());
  });
  // Launch 3 runs concurrently with the first sum; 4 and 6 wait.
  EXPECT_EQ(world.calls(0), "start 32 progress progress wait start 16 progress wait ");
}

TEST(RankSums, AreTheValuesThemselvesOfOneRank) {
  const Bytes blob = Writer().write();
  auto session = open(blob, 2);
  Call alone(0), first(0);
  EXPECT_TRUE(alone.run(*session, 3).ok());
  ThreadRanks world(1);
  EXPECT_TRUE(session->setRanks(world.communicator(0)).ok());
  EXPECT_TRUE(first.run(*session, 3).ok());
  EXPECT_EQ(world.calls(0), "");
  for (const Call *call : {&alone, &first})
    for (int c = 0; c < columns; ++c)
      EXPECT_EQ(call->y[c], (call->x[c] + call->x[c]) + (call->x[c] + call->beside[c]));
}

/// A communicator that loses a rank in its second sum.
struct Lossy final : Communicator {
  int sums = 0, waits = 0;
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const override {
    return divideCuts(cuts, size());
  }
  Result<uint64_t> start(std::span<const Piece>, const Exchange &) override {
    if (++sums == 2)
      return Status::error("rank 1 is lost");
    return uint64_t(sums);
  }
  Status progress() override { return {}; }
  Status waitFor(uint64_t) override {
    ++waits;
    return {};
  }
  Result<std::vector<std::string>> share(const std::string &mine) override {
    return std::vector{mine, mine};
  }
  Status agree(const Status &mine, std::span<const Fact>) override { return mine; }
  uint64_t sentBytes() const override { return 0; }
};

TEST(RankSums, ALostRankEndsTheRun) {
  const Bytes blob = Writer().write();
  for (int threads : {1, 3}) {
    auto session = open(blob, threads);
    Lossy ranks;
    EXPECT_TRUE(session->setRanks(&ranks).ok());
    EXPECT_EQ(Call(0).run(*session, 1).message(), "rank 1 is lost");
    EXPECT_EQ(ranks.waits, 1); // nothing is asked of the others any more
  }
}

/// A schedule in which each rank sums its own pieces: y = a + b, gathered, and then z.
Bytes dividedSums(const std::function<void(Writer &, Writer::Nodes &)> &change = {}) {
  Writer writer;
  return writer.write([&](Writer::Nodes &nodes, Writer::Slices &slices) {
    nodes[2].as.collective = {GRADC_WIRE_FULL, GRADC_COLLECTIVE_SCATTER, 0, writer.cuts(2), {}};
    nodes[4].as.launch = {0, 1, 3};
    slices[5] = {slices[4][2], slices[4][2]};
    nodes[5].as.collective = {GRADC_WIRE_FULL, GRADC_COLLECTIVE_GATHER, 0, writer.cuts(1), {}};
    slices[6][0] = slices[4][2];
    if (change)
      change(writer, nodes);
  });
}

TEST(RankSums, LaunchesRunTheUnitsOfTheirRank) {
  const Bytes blob = dividedSums();
  for (int threads : {1, 3})
    for (int size : {1, 2, 3, 7}) { // also more of them than pieces
      ThreadRanks world(size);
      std::vector<Call> calls;
      for (int rank = 0; rank < size; ++rank)
        calls.emplace_back(rank);
      world.run([&](int rank) {
        auto session = open(blob, threads);
        EXPECT_TRUE(calls[size_t(rank)].run(*session, 1).ok()); // bound as one rank at first
        EXPECT_TRUE(session->setRanks(world.communicator(rank)).ok());
        for (int repeat = 0; repeat < 2; ++repeat)
          EXPECT_TRUE(calls[size_t(rank)].run(*session, 1).ok());
      });
      for (int c = 0; c < columns; ++c) {
        float a = 0, b = 0;
        for (const Call &call : calls) {
          a += call.x[c] + call.x[c];
          b += call.x[c] + call.beside[c];
        }
        for (const Call &call : calls) {
          EXPECT_EQ(call.y[c], a + b) << c << " of " << size;
          EXPECT_EQ(call.z[c], a + b);
        }
      }
    }
}

// ThreadRanks makes all other values NaN that a rank does not own.
TEST(RankSums, AScatterLeavesZerosInTheOperandsThatAreReadWhole) {
  for (uint32_t operand : {0u, 1u}) {
    Writer writer;
    const Bytes blob = writer.write([&](Writer::Nodes &nodes, Writer::Slices &slices) {
      nodes[2].as.collective = {GRADC_WIRE_FULL, GRADC_COLLECTIVE_SCATTER, 0, writer.cuts(2),
                                writer.zerosIn(operand)};
      nodes[5].kind = GRADC_NODE_COPY;
      slices[5] = {slices[2][0], slices[4][2]};
      slices[6][0] = slices[2][1];
    });
    ThreadRanks world(2);
    std::vector<Call> calls = {Call(0), Call(1)};
    world.run([&](int rank) {
      auto session = open(blob, 1);
      EXPECT_TRUE(session->setRanks(world.communicator(rank)).ok());
      EXPECT_TRUE(calls[size_t(rank)].run(*session, 1).ok());
    });
    constexpr int middle = 9; // after three of six pieces
    for (int c = 0; c < columns; ++c) {
      const Call &other = calls[c < middle ? 1 : 0]; // than the owner
      const float *zeros = operand == 0 ? other.y : other.z;
      const float *unspecified = operand == 0 ? other.z : other.y;
      EXPECT_EQ(zeros[c], 0) << c;
      EXPECT_TRUE(std::isnan(unspecified[c])) << c;
    }
  }
}

TEST(RankSums, BrokenCutsAreRefused) {
  auto errorOf = [](const std::function<void(Writer &, Writer::Nodes &)> &change) {
    std::string message = Artifact::fromMemory(dividedSums(change)).status().message();
    const std::string prefix = "corrupt artifact: level x86-64-v3: entry sum: ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  };
  EXPECT_EQ(errorOf([](auto &, auto &nodes) { nodes[4].as.launch.cut = 3; }),
            "kernel add_numbers: a launch of cut 3 of 2");
  EXPECT_EQ(errorOf([](auto &, auto &nodes) { nodes[4].as.launch.per = 2; }),
            "kernel add_numbers: 16 units, expected 6 pieces of 2");
  EXPECT_EQ(errorOf([](auto &, auto &nodes) { nodes[4].as.launch.per = 0; }),
            "kernel add_numbers: 16 units, expected 6 pieces of 0");
  EXPECT_EQ(errorOf([](auto &, auto &nodes) { nodes[2].as.collective.kind = 6; }),
            "a collective of unknown kind 6");
  EXPECT_EQ(
      errorOf([](auto &writer, auto &nodes) { nodes[2].as.collective.cuts = writer.cuts(1); }),
      "expected cuts of a collective of 2, found 1");
  EXPECT_EQ(
      errorOf([](auto &writer, auto &nodes) { nodes[2].as.collective.cuts = writer.cuts(2, 1); }),
      "expected cut 1 of a collective to have as many elements as its operand");
  EXPECT_EQ(
      errorOf([](auto &writer, auto &nodes) { nodes[2].as.collective.cuts = writer.cuts(2, 2); }),
      "expected cut 2 of a collective to have as many elements as its operand");
  EXPECT_EQ(
      errorOf([](auto &writer, auto &nodes) { nodes[2].as.collective.zeros = writer.zerosIn(2); }),
      "zeros in operand 2 of a collective");
  EXPECT_EQ(
      errorOf([](auto &writer, auto &nodes) { nodes[5].as.collective.zeros = writer.zerosIn(0); }),
      "zeros in operand 0 of a collective");
  for (auto [elements, unit] : {std::pair(4, 5), {4, 0}, {0, 0}}) {
    std::string message = Artifact::fromMemory(dividedSums([&](Writer &writer, auto &) {
                            writer.first = {uint64_t(elements), uint64_t(unit)};
                          }))
                              .status()
                              .message();
    EXPECT_EQ(message, "corrupt artifact: level x86-64-v3: an impossible cut of " +
                           std::to_string(elements) + " elements by " + std::to_string(unit));
  }
}

TEST(RankSums, BrokenTransfersAreRefused) {
  auto errorOf = [](const std::function<void(Writer::Nodes &, Writer::Slices &)> &change) {
    Writer writer;
    auto broken = writer.write([&](Writer::Nodes &nodes, Writer::Slices &slices) {
      nodes[5].as.collective = {
          GRADC_WIRE_FULL, GRADC_TRANSFER_SEND, gradc_transfer(1, 7, 0), {}, {}};
      slices[5].pop_back();
      change(nodes, slices);
    });
    std::string message = Artifact::fromMemory(broken).status().message();
    const std::string prefix = "corrupt artifact: level x86-64-v3: entry sum: ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  };
  EXPECT_EQ(errorOf([](auto &, auto &) {}), "");
  EXPECT_EQ(errorOf([](auto &nodes, auto &) {
              nodes[5].operands = 0;
              nodes[5].as.collective.kind = GRADC_TRANSFER_RECEIVE;
            }),
            "");
  EXPECT_EQ(
      errorOf([](auto &nodes, auto &) { nodes[5].as.collective.kind = GRADC_TRANSFER_RECEIVE; }),
      "expected a transfer of one slice, found 1 and 0");
  EXPECT_EQ(errorOf([](auto &, auto &slices) { slices[5].push_back(slices[5][0]); }),
            "expected a transfer of one slice, found 1 and 1");
  EXPECT_EQ(errorOf([](auto &nodes, auto &) { nodes[5].as.collective.wire = GRADC_WIRE_BF16; }),
            "a transfer of cuts, with zeros or on wire 1");
  EXPECT_EQ(errorOf([](auto &nodes, auto &) {
              nodes[5].as.collective.transfer = gradc_transfer(4096, 7, 0);
            }),
            "transfer 7 with rank 4096");
  EXPECT_EQ(errorOf([](auto &nodes, auto &) {
              nodes[5].as.collective.transfer = gradc_transfer(1, GRADC_MAX_TRANSFERS, 0);
            }),
            "transfer 16383 with rank 1");
}

TEST(RankSums, BrokenCollectivesAreRefused) {
  auto errorOf = [](const std::function<void(Writer::Nodes &, Writer::Slices &)> &change) {
    Bytes blob = Writer().write(change);
    std::string message = Artifact::fromMemory(blob).status().message();
    const std::string prefix = "corrupt artifact: level x86-64-v3: entry sum: ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  };
  EXPECT_EQ(errorOf([](auto &nodes, auto &) { nodes[2].operands = 1; }),
            "expected a collective to read and write the same slices, found 1 and 3");
  EXPECT_EQ(errorOf([](auto &nodes, auto &) { nodes[2].operands = 0; }),
            "expected a collective to read and write the same slices, found 0 and 4");
  EXPECT_EQ(errorOf([](auto &, auto &slices) { slices[2][3].offset = 128; }),
            "expected a collective to read and write the same slices of one type");
  EXPECT_EQ(errorOf([](auto &, auto &slices) { slices[2][1].dtype = GRADC_I32; }),
            "expected a collective to read and write the same slices of one type");
  EXPECT_EQ(errorOf([](auto &, auto &slices) {
              for (auto &slice : slices[2])
                slice.dtype = GRADC_BF16;
            }),
            "a collective of element type 16");
  EXPECT_EQ(errorOf([](auto &nodes, auto &) { nodes[2].as.collective.wire = 2; }),
            "a collective of element type 1 on wire 2");
  EXPECT_EQ(errorOf([](auto &, auto &slices) {
              slices[5][0].space = slices[5][1].space = GRADC_SPACE_INPUT;
              slices[5][0].offset = slices[5][1].offset = 0;
            }),
            "a collective writes an input");
}

} // namespace
