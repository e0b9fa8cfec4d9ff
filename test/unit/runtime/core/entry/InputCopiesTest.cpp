// Copies of inputs on a device: a copy made ahead serves the one run that is told about it.
#include "runtime/core/entry/InputCopies.h"

#include <array>
#include <cstring>
#include <gtest/gtest.h>

using namespace gradc::runtime;

namespace {

/// Device memory separate from the host's; counts what is copied to it.
class CopyingDevice final : public Device {
public:
  bool executes(std::string_view) const override { return false; }
  std::string describe() const override { return "memory alone"; }
  bool sharesHostMemory() const override { return false; }
  void *allocate(uint64_t bytes) override { return host.allocate(bytes); }
  void release(void *memory, uint64_t) override { host.release(memory); }
  std::shared_ptr<std::byte> allocateShared(uint64_t) override { return nullptr; }
  Status copyIn(void *device, const void *host, uint64_t bytes) override {
    ++copies;
    copiedBytes += bytes;
    std::memcpy(device, host, bytes);
    return {};
  }
  Status copyInBeside(void *device, const void *host, uint64_t bytes) override {
    ++copiesAhead;
    std::memcpy(device, host, bytes);
    return {};
  }
  Status copyOut(void *, const void *, uint64_t) override { return Status::error("unused"); }
  Result<std::unique_ptr<Image>> load(std::span<const std::byte>) override {
    return Status::error("unused");
  }
  Status launch(const Schedule &, Profile *) override { return Status::error("unused"); }
  Status synchronize() override { return {}; }

  int copies = 0, copiesAhead = 0;
  uint64_t copiedBytes = 0;

private:
  PageableMemory host;
};

class InputCopiesTest : public testing::Test {
protected:
  /// The value read by a run that is told about `prefetched`, with `value` in the caller's buffer.
  int read(int value, PrefetchedInputs prefetched) {
    buffer[0] = value;
    auto copy = copies.copy(0, buffer, sizeof buffer, prefetched);
    EXPECT_TRUE(copy) << copy.status().message();
    int found = 0;
    std::memcpy(&found, *copy, sizeof found);
    return found;
  }
  void copyAhead(int value, PrefetchedInputs prefetched) {
    buffer[0] = value;
    EXPECT_TRUE(copies.copyAhead(0, buffer, sizeof buffer, prefetched).ok());
  }

  static std::array<gradc_artifact_port, 3> makePorts() {
    std::array<gradc_artifact_port, 3> ports = {};
    ports[0].tensor.bytes = 400;
    ports[1].tensor.bytes = sizeof(float);
    ports[2].tensor.bytes = sizeof(int64_t);
    return ports;
  }

  const std::array<gradc_artifact_port, 3> ports = makePorts(); ///< a large one, two scalars
  CopyingDevice device;
  InputCopies copies{device, ports};
  int buffer[100] = {}; ///< the one of all runs
};

TEST_F(InputCopiesTest, TakesWhatWasCopiedAhead) {
  copyAhead(1, {1});
  // The value is changed against the contract, to show that nothing is copied again.
  EXPECT_EQ(read(2, {1}), 1);
  EXPECT_EQ(device.copies, 0);
  EXPECT_EQ(device.copiesAhead, 1);
}

TEST_F(InputCopiesTest, CopiesWhatItIsNotToldOf) {
  copyAhead(1, {1});
  EXPECT_EQ(read(2, {}), 2);
  EXPECT_EQ(device.copies, 1);
}

TEST_F(InputCopiesTest, WhatWasCopiedAheadServesOneRun) {
  copyAhead(1, {1});
  EXPECT_EQ(read(1, {1}), 1);
  EXPECT_EQ(read(2, {1}), 2);
}

TEST_F(InputCopiesTest, ARunThatIsNotToldLetsItGo) {
  copyAhead(1, {1});
  EXPECT_EQ(read(2, {}), 2);
  EXPECT_EQ(read(3, {1}), 3);
}

TEST_F(InputCopiesTest, TheLastOneCopiedAheadCounts) {
  copyAhead(1, {1});
  copyAhead(2, {2});
  EXPECT_EQ(read(3, {1}), 3);
  copyAhead(4, {3});
  copyAhead(5, {4});
  EXPECT_EQ(read(6, {4}), 5);
}

TEST_F(InputCopiesTest, ARunReadsOnWhileTheNextIsCopied) {
  copyAhead(1, {1});
  auto reading = copies.copy(0, buffer, sizeof buffer, {1});
  ASSERT_TRUE(reading);
  copyAhead(2, {2});
  int found = 0;
  std::memcpy(&found, *reading, sizeof found);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(read(2, {2}), 2);
}

TEST_F(InputCopiesTest, SmallOnesComeInOneCopy) {
  float rate = 0.5f;
  int64_t step = 7;
  for (int run = 1; run <= 2; ++run) {
    // Also copied ahead, which has no effect: these inputs come with their run.
    EXPECT_TRUE(copies.copyAhead(2, &step, sizeof step, {1}).ok());
    ++step;
    auto rateCopy = copies.copy(1, &rate, sizeof rate, {1}),
         stepCopy = copies.copy(2, &step, sizeof step, {1});
    ASSERT_TRUE(rateCopy && stepCopy);
    ASSERT_TRUE(copies.copySmall().ok());
    EXPECT_EQ(std::memcmp(*rateCopy, &rate, sizeof rate), 0);
    EXPECT_EQ(std::memcmp(*stepCopy, &step, sizeof step), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*stepCopy) % 64, 0u);
    EXPECT_EQ(device.copies, run);
    EXPECT_EQ(device.copiedBytes, uint64_t(run) * 2 * 64); // none of it is the large one's
    EXPECT_EQ(device.copiesAhead, 0);
  }
}

} // namespace
