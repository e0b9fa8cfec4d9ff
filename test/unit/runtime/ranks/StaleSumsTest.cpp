// Workers that run steps independently: what they exchange with their server, how far they diverge,
// and how they end.
#include "runtime/ranks/StaleSums.h"
#include "test/unit/runtime/ranks/RunRanks.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

using namespace gradc::runtime;
using Kind = Communicator::Kind;
using Wire = Communicator::Wire;

namespace {

constexpr int64_t values = 1000;

/// A rank of a training whose parameters are the sum of all gradients so far.
struct Trainee {
  Trainee(Messages &messages, int64_t staleness)
      : sums(messages, staleness), rank(messages.rank()),
        isServer(messages.rank() == messages.size() - 1), begins(size_t(messages.size()), 0) {
    begins.push_back(values);
  }

  void exchange(Kind kind, float *data, int64_t count, Wire wire = Wire::full) {
    Communicator::Piece piece = {data, count, /*leavesZeros=*/true};
    bool isSum = kind == Kind::sum;
    auto started = sums.start(
        {&piece, 1}, {kind, GRADC_F32, wire,
                      isSum ? std::span<const int64_t>() : std::span<const int64_t>(begins)});
    ASSERT_TRUE(started) << started.status().message();
    ASSERT_TRUE(sums.progress().ok());
    ASSERT_TRUE(sums.waitFor(*started).ok());
  }

  /// Runs a step. All elements of a worker's gradient are `own`; the step proceeds if it is finite.
  void run(int64_t steps, float own, bool asksToStop = false) {
    Status begun = sums.begin(steps, asksToStop);
    ASSERT_TRUE(begun.ok()) << begun.message();
    EXPECT_TRUE(sums.isRunning());
    rows = isServer ? 0 : own;
    exchange(Kind::sum, &rows, 1);
    std::vector<float> gradient(values, isServer ? 0 : own);
    exchange(Kind::scatter, gradient.data(), values);
    norm = isServer ? gradient[0] * gradient[0] : 0;
    exchange(Kind::sum, &norm, 1);
    bool proceeds = std::isfinite(norm);
    if (isServer && proceeds)
      for (int64_t i = 0; i < values; ++i)
        parameters[size_t(i)] += gradient[size_t(i)];
    exchange(Kind::gather, parameters.data(), values);
    Status ended = sums.end(proceeds);
    ASSERT_TRUE(ended.ok()) << ended.message();
    EXPECT_FALSE(sums.isRunning());
  }

  StaleSums sums;
  int rank;
  bool isServer;
  std::vector<int64_t> begins;
  std::vector<float> parameters = std::vector<float>(values);
  float rows = 0, norm = 0;
};

TEST(StaleSums, TheServerTakesTheStepsOfEachWorker) {
  constexpr int64_t steps = 20;
  for (int workers : {1, 2, 3})
    for (int64_t staleness : {1, 3})
      test::runRanks(workers + 1, [&](Messages &messages) {
        Trainee one(messages, staleness);
        EXPECT_EQ(one.sums.runsPerStep(), one.isServer ? workers : 1);
        std::vector<int> served(size_t(workers), 0);
        for (int64_t step = 0; step < steps; ++step)
          for (int run = 0; run < one.sums.runsPerStep(); ++run) {
            float before = one.parameters[7];
            one.run(step, float(one.rank + 1));
            if (one.isServer) {
              ++served.at(size_t(one.rows) - 1);
              EXPECT_EQ(one.norm, one.rows * one.rows);
            } else { // its own rows, the server's norm, and all updates so far
              EXPECT_EQ(one.rows, float(one.rank + 1));
              EXPECT_EQ(one.norm, one.rows * one.rows);
              EXPECT_GE(one.parameters[7], before + one.rows);
            }
            EXPECT_EQ(one.parameters.front(), one.parameters.back());
          }
        if (one.isServer) {
          EXPECT_EQ(served, std::vector<int>(size_t(workers), int(steps)));
          EXPECT_EQ(one.parameters[7], float(steps * workers * (workers + 1) / 2));
        }
        EXPECT_EQ(one.sums.stopsAfter(), -1);
      });
}

TEST(StaleSums, AWorkerIsAheadOfTheSlowestByTheStalenessAtMost) {
  for (int64_t staleness : {1, 4}) {
    std::atomic<int64_t> fast = 0;
    test::runRanks(3, [&](Messages &messages) {
      Trainee one(messages, staleness);
      for (int64_t step = 0; step < 8; ++step) {
        if (one.rank == 1 && step == 2) {
          auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (fast < 2 + staleness && std::chrono::steady_clock::now() < until)
            std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          EXPECT_EQ(fast, 2 + staleness);
        }
        for (int run = 0; run < one.sums.runsPerStep(); ++run)
          one.run(step, 1);
        if (one.rank == 0)
          fast = step + 1;
      }
    });
  }
}

TEST(StaleSums, AllStopAfterTheSameStepOnceOneAsks) {
  constexpr int64_t staleness = 3, askedAt = 5;
  for (int asker : {0, 1, 2}) { // two workers and the server
    std::atomic<int64_t> stops[3] = {};
    test::runRanks(3, [&](Messages &messages) {
      Trainee one(messages, staleness);
      int64_t done = 0;
      while (done < 100 && one.sums.stopsAfter() != done) {
        for (int run = 0; run < one.sums.runsPerStep(); ++run)
          one.run(done, 1, one.rank == asker && done >= askedAt);
        ++done;
      }
      stops[one.rank] = done;
      if (one.isServer)
        EXPECT_EQ(one.parameters[0], float(2 * done));
    });
    EXPECT_EQ(stops[0], stops[1]);
    EXPECT_EQ(stops[0], stops[2]);
    EXPECT_GT(stops[0], askedAt);
    EXPECT_LE(stops[0], askedAt + staleness + 2);
  }
}

TEST(StaleSums, OneWorkerIsTheFirstToFail) {
  std::atomic<int> first = 0;
  test::runRanks(4, [&](Messages &messages) {
    Trainee one(messages, 2);
    for (int64_t step = 0; step < 3; ++step)
      for (int run = 0; run < one.sums.runsPerStep(); ++run) {
        one.run(step, step == 0 ? 1 : NAN);
        if (step == 0)
          EXPECT_FALSE(one.sums.isFirstToFail());
      }
    first += one.sums.isFirstToFail();
    if (one.isServer)
      EXPECT_EQ(one.parameters[0], 3);
  });
  EXPECT_EQ(first, 1);
}

TEST(StaleSums, GradientsAndParametersTravelAsBf16) {
  test::runRanks(2, [&](Messages &messages) {
    Trainee one(messages, 1);
    ASSERT_TRUE(one.sums.begin(0, false).ok());
    std::vector<float> gradient(values, one.isServer ? 0 : 1 + 0x1p-10f);
    one.exchange(Kind::scatter, gradient.data(), values, Wire::bf16);
    EXPECT_EQ(gradient[3], one.isServer ? 1 : 0); // a worker keeps nothing of what others own
    EXPECT_EQ(one.sums.sentBytes(), uint64_t(one.isServer ? 0 : 2 * values));
    ASSERT_TRUE(one.sums.end(true).ok());
  });
}

/// Messages to ranks that are lost.
class Lost final : public Messages {
public:
  Lost(int rank, int size) : ownRank(rank), ranks(size) {}
  int rank() const override { return ownRank; }
  int size() const override { return ranks; }
  Status send(std::span<const std::byte>, int, int, Requests &requests) override {
    requests.push_back(nullptr);
    return {};
  }
  Status receive(std::span<std::byte>, int, int, Requests &requests) override {
    requests.push_back(nullptr);
    return {};
  }
  Result<bool> haveEnded(std::span<Request> requests) override { return requests.empty(); }
  Status pause() override { return Status::error("rank 1 is lost"); }
  Result<std::unique_ptr<Messages>> split(int) override { return Status::error("rank 1 is lost"); }

private:
  int ownRank, ranks;
};

TEST(StaleSums, ALostRankEndsEachWait) {
  Lost toWorkers(2, 3);
  StaleSums server(toWorkers, 1);
  EXPECT_EQ(server.begin(0, false).message(), "rank 1 is lost");

  Lost toServer(0, 3);
  StaleSums worker(toServer, 1);
  ASSERT_TRUE(worker.begin(0, false).ok());
  float value = 1;
  Communicator::Piece piece = {&value, 1};
  auto gather = worker.start({&piece, 1}, {Kind::gather, GRADC_F32});
  ASSERT_TRUE(gather);
  EXPECT_EQ(worker.waitFor(*gather).message(), "rank 1 is lost");
  EXPECT_EQ(worker.end(true).message(), "rank 1 is lost");
}

} // namespace
