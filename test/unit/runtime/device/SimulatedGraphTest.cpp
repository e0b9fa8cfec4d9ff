// The rules of conditional nodes that the simulated driver checks: a graph that breaks one is
// refused, as a real driver refuses it.
#include "runtime/device/cuda/Driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace gradc::runtime::cuda;

namespace {

class SimulatedGraph : public testing::Test {
protected:
  void SetUp() override {
    setenv("GRADC_LIBCUDA", GRADC_TEST_LIBCUDA, 1);
    setenv("GRADC_SIMULATED", "", 1);
    auto opened = Driver::open();
    ASSERT_TRUE(opened) << opened.status().message();
    driver = *opened;
    ASSERT_TRUE(driver->hasConditionalNodes());
    ASSERT_EQ(driver->primaryCtxRetain(&context, 0), 0);
    ASSERT_EQ(driver->ctxPushCurrent(context), 0);
    ASSERT_EQ(driver->streamCreate(&stream, 1), 0);
    ASSERT_EQ(driver->graphCreate(&graph, 0), 0);
  }
  void TearDown() override {
    if (executable)
      driver->graphExecDestroy(executable);
    driver->graphDestroy(graph);
    driver->streamDestroy(stream);
    driver->ctxPopCurrent(&context);
  }

  unsigned long long handleFor(Handle of, unsigned initial = 0, unsigned flags = 1) {
    unsigned long long handle = 0;
    EXPECT_EQ(driver->graphConditionalHandleCreate(&handle, of, nullptr, initial, flags), 0);
    return handle;
  }
  /// The body of a new conditional node.
  Handle add(Handle to, unsigned long long handle, ConditionalKind kind = ConditionalKind::once) {
    ConditionalNode node;
    node.handle = handle;
    node.kind = kind;
    Handle added = nullptr;
    EXPECT_EQ(driver->graphAddNode(&added, to, nullptr, nullptr, 0, &node), 0);
    return node.bodies ? node.bodies[0] : nullptr;
  }
  template <typename Enqueue> void capture(Handle to, Enqueue &&enqueue) {
    Handle ended = nullptr;
    ASSERT_EQ(driver->streamBeginCaptureToGraph(stream, to, nullptr, nullptr, 0, captureRelaxed),
              0);
    enqueue();
    ASSERT_EQ(driver->streamEndCapture(stream, &ended), 0);
    EXPECT_EQ(ended, to);
  }
  int instantiate() { return driver->graphInstantiate(&executable, graph, 0); }
  int launch() {
    EXPECT_EQ(driver->graphLaunch(executable, stream), 0);
    return driver->streamSynchronize(stream);
  }

  static constexpr int invalidValue = 1, launchFailed = 719;
  std::shared_ptr<const Driver> driver;
  Handle context = nullptr, stream = nullptr, graph = nullptr, executable = nullptr;
};

TEST_F(SimulatedGraph, AHandleBelongsToTheGraphItWasMadeFor) {
  add(graph, handleFor(graph));
  EXPECT_EQ(instantiate(), 0);
  Handle body = add(graph, handleFor(graph));
  add(body, handleFor(graph));
  EXPECT_EQ(instantiate(), invalidValue);
}

TEST_F(SimulatedGraph, AHandleHasOneNode) {
  unsigned long long handle = handleFor(graph);
  EXPECT_EQ(instantiate(), invalidValue); // none
  add(graph, handle);
  EXPECT_EQ(instantiate(), 0);
  add(graph, handle);
  EXPECT_EQ(instantiate(), invalidValue);
}

TEST_F(SimulatedGraph, ABodyHoldsNoEventAndNoCopyOfPageableMemory) {
  Handle body = add(graph, handleFor(graph)), event = nullptr;
  ASSERT_EQ(driver->eventCreate(&event, 0), 0);
  capture(graph, [&] { driver->eventRecord(event, stream); });
  EXPECT_EQ(instantiate(), 0);
  capture(body, [&] { driver->eventRecord(event, stream); });
  EXPECT_EQ(instantiate(), invalidValue);
  driver->eventDestroy(event);
}

TEST_F(SimulatedGraph, ABodyCopiesPinnedMemoryOnly) {
  Handle body = add(graph, handleFor(graph));
  Address memory = 0;
  void *pinned = nullptr;
  int pageable = 0;
  ASSERT_EQ(driver->memAlloc(&memory, 64), 0);
  ASSERT_EQ(driver->memAllocHost(&pinned, 64), 0);
  capture(body, [&] { driver->copyOut(static_cast<char *>(pinned) + 32, memory, 4, stream); });
  EXPECT_EQ(instantiate(), 0);
  capture(body, [&] { driver->copyOut(&pageable, memory, 4, stream); });
  EXPECT_EQ(instantiate(), invalidValue);
  driver->memFreeHost(pinned);
  driver->memFree(memory);
}

TEST_F(SimulatedGraph, ALaunchBeginsWithTheDefault) {
  Address memory = 0;
  void *pinned = nullptr;
  ASSERT_EQ(driver->memAlloc(&memory, 64), 0);
  ASSERT_EQ(driver->memAllocHost(&pinned, 64), 0);
  auto *result = static_cast<unsigned char *>(pinned);
  for (unsigned initial : {0, 1}) {
    Handle body = add(graph, handleFor(graph, initial));
    capture(body, [&] {
      driver->memset(memory, 7, 1, stream);
      driver->copyOut(result, memory, 1, stream);
    });
    *result = 0;
    ASSERT_EQ(instantiate(), 0);
    EXPECT_EQ(launch(), 0);
    EXPECT_EQ(*result, initial ? 7 : 0);
    driver->graphExecDestroy(executable);
  }
  add(graph, handleFor(graph, 1, /*no default at launch*/ 0));
  ASSERT_EQ(instantiate(), 0);
  EXPECT_EQ(launch(), launchFailed); // nobody has set it
  driver->memFreeHost(pinned);
  driver->memFree(memory);
}

TEST_F(SimulatedGraph, ALoopThatNobodyEndsFails) {
  add(graph, handleFor(graph, 1), ConditionalKind::again);
  ASSERT_EQ(instantiate(), 0);
  EXPECT_EQ(launch(), launchFailed);
}

} // namespace
