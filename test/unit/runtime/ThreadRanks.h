// Ranks as threads of one process.
#ifndef TEST_UNIT_RUNTIME_THREADRANKS_H
#define TEST_UNIT_RUNTIME_THREADRANKS_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/DivideCuts.h"

#include <condition_variable>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gradc::runtime::test {

/// A world of ranks, each a thread with its own communicator. A sum is written when a rank waits
/// for it, so values that are used or changed too early are wrong.
class ThreadRanks {
public:
  /// The last `servers` ranks, if any, own what ranks divide. Each `modelRanks` successive ranks
  /// have a replica of the model.
  explicit ThreadRanks(int size, int servers = 0, int modelRanks = 1)
      : firstOwner(servers ? size - servers : 0), ofModel(modelRanks), given(size_t(size)),
        ranks(size_t(size)) {
    for (int rank = 0; rank < size; ++rank)
      ranks[size_t(rank)] = std::make_unique<Rank>(*this, rank);
  }

  /// Runs `body(rank)` on a separate thread for each rank, until all have ended.
  void run(const std::function<void(int rank)> &body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < int(ranks.size()); ++rank)
      threads.emplace_back([&body, rank] { body(rank); });
    for (std::thread &thread : threads)
      thread.join();
  }
  Communicator *communicator(int rank) { return ranks[size_t(rank)].get(); }
  /// The calls of a rank, with the number of values of each sum: "start 64 progress wait".
  const std::string &calls(int rank) const { return ranks[size_t(rank)]->calls; }

private:
  struct Given {
    std::vector<Communicator::Piece> pieces;
    std::vector<char> bytes; ///< as they were when the sum began
    Communicator::Exchange exchange;
    std::vector<int64_t> begins; ///< of the exchange
  };

  class Rank final : public Communicator {
  public:
    Rank(ThreadRanks &all, int number) : all(all), number(number) {}
    int rank() const override { return number; }
    int size() const override { return int(all.ranks.size()); }
    int modelRanks() const override { return all.ofModel; }

    std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const override {
      return divideCuts(cuts, size(), all.firstOwner);
    }
    Result<uint64_t> start(std::span<const Piece> pieces, const Exchange &exchange) override {
      gradc_dtype type = exchange.type;
      if (type != GRADC_F32 && type != GRADC_F64)
        return Status::error("these ranks sum f32 and f64");
      width = type == GRADC_F32 ? sizeof(float) : sizeof(double);
      Given mine{{pieces.begin(), pieces.end()},
                 {},
                 exchange,
                 {exchange.begins.begin(), exchange.begins.end()}};
      int64_t count = 0;
      for (const Piece &piece : pieces) {
        auto *first = static_cast<const char *>(piece.values);
        mine.bytes.insert(mine.bytes.end(), first, first + size_t(piece.count) * width);
        count += piece.count;
      }
      constexpr const char *kinds[] = {"start ", "scatter ", "gather "};
      calls += kinds[size_t(exchange.kind)] + std::to_string(count) +
               (exchange.wire == Wire::bf16 ? " bf16 " : " ");
      widths.push_back(width);
      std::lock_guard lock(all.mutex);
      all.given[size_t(number)].push_back(std::move(mine));
      all.changed.notify_all();
      return all.given[size_t(number)].size() - 1;
    }
    Status progress() override {
      calls += "progress ";
      return {};
    }
    Status waitFor(uint64_t sum) override {
      calls += "wait ";
      std::unique_lock lock(all.mutex);
      all.changed.wait(lock, [&] {
        for (const auto &sums : all.given)
          if (sums.size() <= sum)
            return false;
        return true;
      });
      widths[sum] == sizeof(float) ? write<float>(sum) : write<double>(sum);
      return {};
    }

    Result<std::vector<std::string>> share(const std::string &) override {
      return Status::error("these ranks only sum");
    }
    Status agree(const Status &mine, std::span<const Fact>) override { return mine; }
    uint64_t sentBytes() const override { return 0; }

    std::string calls;

  private:
    /// After a scatter, values that a rank does not own become a number that no result survives.
    template <typename T> void write(uint64_t sum) {
      const Given &mine = all.given[size_t(number)][sum];
      int64_t at = 0;
      for (const Piece &piece : mine.pieces)
        for (int64_t i = 0; i < piece.count; ++i, ++at)
          static_cast<T *>(piece.values)[i] = valueAt<T>(sum, mine, piece, at);
    }
    template <typename T>
    T valueAt(uint64_t sum, const Given &mine, const Piece &piece, int64_t at) {
      auto from = [&](const std::vector<Given> &given) {
        T value;
        std::memcpy(&value, &given[sum].bytes[size_t(at) * sizeof(T)], sizeof value);
        return value;
      };
      size_t owner = 0;
      while (owner + 2 < mine.begins.size() && at >= mine.begins[owner + 1])
        ++owner;
      if (mine.exchange.kind == Kind::gather)
        return from(all.given[owner]);
      if (mine.exchange.kind == Kind::scatter && owner != size_t(number))
        return piece.leavesZeros ? T() : std::numeric_limits<T>::quiet_NaN();
      T total = 0;
      for (int other = 0; other < size(); ++other)
        if (isInGroup(mine.exchange.group, other))
          total += from(all.given[size_t(other)]);
      return total;
    }
    bool isInGroup(Group group, int other) const {
      return group == Group::all || (group == Group::model ? other / all.ofModel == replica()
                                                           : other % all.ofModel == partOfModel());
    }

    ThreadRanks &all;
    int number;
    size_t width = 0;
    std::vector<size_t> widths; ///< of each sum's elements
  };

  const int firstOwner, ofModel;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<Given>> given; ///< [rank][sum]
  std::vector<std::unique_ptr<Rank>> ranks;
};

} // namespace gradc::runtime::test

#endif
