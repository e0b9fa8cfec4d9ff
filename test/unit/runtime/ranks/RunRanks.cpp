// Messages through mailboxes in memory; sums are the product's own.
#include "test/unit/runtime/ranks/RunRanks.h"

#include "runtime/ranks/MessageSums.h"
#include "runtime/ranks/SharedSums.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>

namespace gradc::runtime::test {

namespace {

using Letter = std::vector<std::byte>;

/// The mailboxes of all ranks.
struct Mailboxes {
  std::mutex mutex;
  /// By group, sender, receiver and tag.
  std::map<std::tuple<int, int, int, int>, std::deque<Letter>> letters;
};

class ThreadMessages final : public Messages {
public:
  ThreadMessages(Mailboxes &boxes, int rank, int size, int group = 0)
      : boxes(boxes), ownRank(rank), ranks(size), group(group) {}
  int rank() const override { return ownRank; }
  int size() const override { return ranks; }

  Status send(std::span<const std::byte> bytes, int to, int tag, Requests &requests) override {
    std::lock_guard lock(boxes.mutex);
    boxes.letters[{group, ownRank, to, tag}].emplace_back(bytes.begin(), bytes.end());
    requests.push_back(nullptr);
    return {};
  }
  Status receive(std::span<std::byte> bytes, int from, int tag, Requests &requests) override {
    std::lock_guard lock(boxes.mutex);
    auto receipt = std::make_unique<Receipt>(Receipt{bytes, from, tag});
    requests.push_back(receipt.get());
    open[requests.back()] = std::move(receipt);
    return {};
  }
  Result<bool> haveEnded(std::span<Request> requests) override {
    std::lock_guard lock(boxes.mutex);
    bool all = true;
    for (Request &request : requests) {
      auto *receipt = static_cast<Receipt *>(request);
      if (!receipt)
        continue;
      auto &box = boxes.letters[{group, receipt->from, ownRank, receipt->tag}];
      if (box.empty()) {
        all = false;
        continue;
      }
      EXPECT_EQ(box.front().size(), receipt->bytes.size());
      std::memcpy(receipt->bytes.data(), box.front().data(), receipt->bytes.size());
      box.pop_front();
      open.erase(request);
      request = nullptr;
    }
    return all;
  }
  Status pause() override {
    std::this_thread::yield();
    return {};
  }
  Result<std::unique_ptr<Messages>> split(int color) override {
    auto colors = MessageSums(*this).share(std::to_string(color));
    if (!colors)
      return colors.status();
    int number =
        int(std::count(colors->begin(), colors->begin() + ownRank, (*colors)[size_t(ownRank)]));
    int members = int(std::count(colors->begin(), colors->end(), (*colors)[size_t(ownRank)]));
    // Groups of earlier splits have other names.
    int name = ++splits * ranks + color + 1;
    return std::unique_ptr<Messages>(
        std::make_unique<ThreadMessages>(boxes, number, members, name));
  }

private:
  struct Receipt {
    std::span<std::byte> bytes;
    int from, tag;
  };
  Mailboxes &boxes;
  int ownRank, ranks, group, splits = 0;
  std::map<Request, std::unique_ptr<Receipt>> open; ///< nothing has come for them yet
};

} // namespace

void runRanks(int count, const std::function<void(Messages &)> &body) {
  Mailboxes boxes;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      ThreadMessages messages(boxes, rank, count);
      body(messages);
    });
  for (std::thread &thread : threads)
    thread.join();
}

void runRanks(int count, const std::function<void(Communicator &)> &body) {
  runRanks(count, [&](Messages &messages) {
    MessageSums sums(messages);
    body(sums);
  });
}

static void runRanks(int count, bool lend, size_t ringBytes,
                     const std::function<void(Communicator &)> &body) {
  runRanks(count, [&](Messages &messages) {
    auto pages = lend ? RankPages::create() : nullptr;
    auto sums = SharedSums::create(messages, pages.get(), ringBytes);
    ASSERT_TRUE(sums) << sums.status().message();
    ASSERT_TRUE(*sums);
    body(**sums);
  });
}

void runSharingRanks(int count, size_t ringBytes, const std::function<void(Communicator &)> &body) {
  runRanks(count, /*lend=*/false, ringBytes, body);
}

void runLendingRanks(int count, size_t ringBytes, const std::function<void(Communicator &)> &body) {
  runRanks(count, /*lend=*/true, ringBytes, body);
}

} // namespace gradc::runtime::test
