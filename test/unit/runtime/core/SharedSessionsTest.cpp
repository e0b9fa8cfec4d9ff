// Sessions of one artifact: what they share, and that none sees another train.
#include "runtime/core/Session.h"
#include "runtime/core/entry/Program.h"
#include "test/unit/runtime/TestModel.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// Several sessions of one artifact.
class SharedSessions : public testing::Test {
protected:
  void SetUp() override {
    auto opened = Artifact::fromMemory(blob);
    ASSERT_TRUE(opened) << opened.status().message();
    artifact = *opened;
  }
  std::unique_ptr<Session> create() {
    auto created = Session::create(artifact, {1, ""});
    EXPECT_TRUE(created) << created.status().message();
    return std::move(*created);
  }
  /// The address of a session's packed weight.
  static const std::byte *weightOf(Session &session) {
    const gradc_artifact_entry &weigh = *session.findEntry("weigh");
    EXPECT_TRUE(session.begin(weigh, {}).ok());
    const Artifact &artifact = session.artifact();
    auto &node = artifact.elements<gradc_artifact_node>(weigh.nodes).front();
    return session.slice(artifact.elements<gradc_artifact_slice>(node.slices).front()).data();
  }
  static float weigh(Session &session) {
    float sum = 0;
    void *outputs[] = {&sum};
    EXPECT_TRUE(session.run(*session.findEntry("weigh"), {}, outputs).ok());
    return sum;
  }
  static void train(Session &session) {
    std::vector<float> x(64 * 16, 1);
    const void *inputs[] = {x.data()};
    void *outputs[] = {nullptr, nullptr};
    EXPECT_TRUE(session.run(*session.findEntry("train"), inputs, outputs).ok());
  }
  static float firstTotal(Session &session) {
    std::vector<float> total(64 * 16);
    EXPECT_TRUE(session.readState(0, total.data()).ok());
    return total[1];
  }

  Bytes blob = makeTestModel();
  std::shared_ptr<Artifact> artifact;
};

TEST_F(SharedSessions, ShareWhatTheyOnlyRead) {
  auto a = create(), b = create(), c = create();
  EXPECT_EQ(weightOf(*a), weightOf(*b));
  EXPECT_EQ(weightOf(*b), weightOf(*c));
  float sum = weigh(*a);
  EXPECT_NE(sum, 0);
  a.reset(); // the memory is not the first one's
  EXPECT_EQ(weigh(*b), sum);
  EXPECT_EQ(weigh(*c), sum);
}

TEST_F(SharedSessions, AreNotSeenToTrain) {
  auto a = create(), b = create();
  float sum = weigh(*a);
  train(*a);
  EXPECT_NE(weightOf(*a), weightOf(*b));
  EXPECT_NE(firstTotal(*a), 0);
  EXPECT_EQ(firstTotal(*b), 0);
  EXPECT_EQ(weigh(*a), sum); // bound to where its states are now
  auto c = create();
  EXPECT_EQ(weightOf(*c), weightOf(*b));
  EXPECT_EQ(firstTotal(*c), 0);
}

TEST_F(SharedSessions, TheLastOneTrainsInPlace) {
  auto a = create();
  const std::byte *before = weightOf(*a);
  train(*a);
  EXPECT_EQ(weightOf(*a), before);
  auto b = create();
  EXPECT_NE(weightOf(*b), before);
  EXPECT_EQ(firstTotal(*b), 0);
}

TEST_F(SharedSessions, AreNotSeenToWriteAState) {
  auto a = create(), b = create();
  float sum = weigh(*a);
  std::vector<float> zeros(6 * 4);
  ASSERT_TRUE(a->writeState(1, zeros.data()).ok());
  EXPECT_EQ(weigh(*a), 0);
  EXPECT_EQ(weigh(*b), sum);
  ASSERT_TRUE(a->resetStates().ok());
  EXPECT_EQ(weigh(*a), sum);
  train(*b);
  ASSERT_TRUE(b->resetStates().ok());
  EXPECT_EQ(firstTotal(*b), 0);
}

TEST_F(SharedSessions, BindBesideToMemoryThatStays) {
  auto a = create(), b = create();
  const gradc_artifact_entry &entry = *a->findEntry("weigh");
  void *arena = std::aligned_alloc(64, a->arenaBeside(entry) + 64);
  auto program = a->bindBeside(entry, static_cast<std::byte *>(arena));
  ASSERT_TRUE(program);
  float sum = weigh(*b);
  train(*a); // moves away from what it shared
  b.reset();
  ASSERT_TRUE(launchHere(program->schedule()).ok());
  float result;
  auto port = artifact->elements<gradc_artifact_port>(entry.outputs).front();
  std::memcpy(&result, program->resolve(port.slice), sizeof result);
  EXPECT_EQ(result, sum);
  program.reset();
  std::free(arena);
}

TEST_F(SharedSessions, AreMadeByManyThreadsAtOnce) {
  std::vector<std::unique_ptr<Session>> sessions(4);
  std::vector<std::thread> threads;
  for (auto &session : sessions)
    threads.emplace_back([&] {
      session = create();
      weigh(*session);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &session : sessions)
    EXPECT_EQ(weightOf(*session), weightOf(*sessions.front()));
}

} // namespace
