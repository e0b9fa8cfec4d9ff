// Agreements: either all ranks continue, or none, and one of them gives the reason.
#include "runtime/ranks/MessageSums.h"
#include "test/unit/runtime/ranks/RunRanks.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <span>

using namespace gradc::runtime;

namespace {

/// The result of an agreement on each of three ranks.
std::vector<Status> agree(const std::function<Status(int)> &statusOf,
                          const std::function<std::string(int)> &seedOf) {
  std::vector<Status> agreed(3);
  test::runRanks(3, [&](Communicator &ranks) {
    int rank = ranks.rank();
    std::vector<Communicator::Fact> facts = {{"the artifact", "1234"}, {"the seed", seedOf(rank)}};
    agreed[size_t(rank)] = ranks.agree(statusOf(rank), facts);
  });
  return agreed;
}

TEST(Agreement, AllGoOn) {
  for (const Status &status : agree([](int) { return Status(); }, [](int) { return "7"; }))
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Agreement, TheFirstRankNamesADifference) {
  auto agreed = agree([](int) { return Status(); }, [](int rank) { return rank == 2 ? "8" : "7"; });
  EXPECT_EQ(agreed[0].message(), "rank 2 differs from rank 0: the seed is 8, expected 7");
  for (const Status &status : agreed)
    EXPECT_EQ(status.code(), Code::error);
  EXPECT_EQ(agreed[1].message() + agreed[2].message(), "");
}

TEST(Agreement, OneOfThoseThatFailSaysWhy) {
  auto agreed = agree(
      [](int rank) {
        return rank ? Status::invalid("no data on " + std::to_string(rank)) : Status();
      },
      [](int) { return "7"; });
  EXPECT_EQ(agreed[1].message(), "no data on 1");
  EXPECT_EQ(agreed[0].message() + agreed[2].message(), "");
  for (const Status &status : agreed)
    EXPECT_EQ(status.code(), Code::invalid);
}

/// Messages of which none arrives before the other ranks are known to be lost.
class LateMessages final : public Messages {
public:
  int rank() const override { return 0; }
  int size() const override { return 64; }
  Status send(std::span<const std::byte>, int, int, Requests &) override { return {}; }
  Status receive(std::span<std::byte> bytes, int, int, Requests &) override {
    begin = begin ? std::min(begin, bytes.data()) : bytes.data();
    end = std::max(end, bytes.data() + bytes.size());
    return {};
  }
  Result<bool> haveEnded(std::span<Request>) override { return false; }
  Status pause() override { return Status::error("rank 1 has ended unexpectedly"); }
  Result<std::unique_ptr<Messages>> split(int) override { return Status::error("no groups"); }

  std::byte *begin = nullptr, *end = nullptr; ///< of what is received
};

TEST(Agreement, MessagesMayArriveAfterItFailed) {
  LateMessages messages;
  Status agreed = MessageSums(messages).agree({}, {});
  EXPECT_EQ(agreed.message(), "rank 1 has ended unexpectedly");
  ASSERT_GE(messages.end - messages.begin, 63 * 8);
  std::fill(messages.begin, messages.end, std::byte(0xff)); // a sanitizer knows freed memory
  // Freed memory would be the next of its size.
  std::vector<std::vector<uint64_t>> others;
  for (int i = 0; i < 8; ++i) {
    others.emplace_back(64);
    auto *bytes = reinterpret_cast<std::byte *>(others.back().data());
    EXPECT_FALSE(messages.begin < bytes + 64 * 8 && bytes < messages.end);
  }
}

} // namespace
