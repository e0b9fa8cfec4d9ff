// Outputs in the buffers of inputs: a cache of rows, of which a run replaces one.
#include "runtime/core/entry/BoundEntry.h"
#include "test/unit/runtime/core/ScheduleTesting.h"

#include <gtest/gtest.h>
#include <iterator>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr int cachedRows = 2048, newRow = 3;
constexpr size_t cacheCount = size_t(cachedRows) * columns;
constexpr uint64_t cacheBytes = cacheCount * sizeof(float);

/// When the entry reads the row of the past that it replaces in the present.
enum class Reads { before, behind };

/// Nodes over the inputs past f32[2048, 16] and row f32[16], which give present and old f32[16]:
///   copy past -> present
///   row + row -> present[3]
///   past[3] + row -> old, before the copy or at the end
Bytes cacheOf(Reads reads, bool returnsPast = false) {
  auto past = sliceAt(GRADC_SPACE_INPUT, 0, cacheBytes), row = sliceAt(GRADC_SPACE_INPUT, 1);
  auto present = sliceAt(GRADC_SPACE_OUTPUT, 0, cacheBytes), old = sliceAt(GRADC_SPACE_OUTPUT, 1);
  auto pastRow = sliceAt(GRADC_SPACE_INPUT, 0), presentRow = sliceAt(GRADC_SPACE_OUTPUT, 0);
  pastRow.offset = presentRow.offset = newRow * rowBytes;
  ScheduleNodes all;
  auto addOld = [&](uint32_t end) {
    all.add(GRADC_NODE_LAUNCH, end, {pastRow, row, old}, 2).as.launch.kernel = addNumbers;
  };
  if (reads == Reads::before)
    addOld(1);
  auto first = uint32_t(all.nodes.size());
  all.add(GRADC_NODE_COPY, first + 1, {past, present}, 1);
  all.add(GRADC_NODE_LAUNCH, first + 2, {row, row, presentRow}, 2).as.launch.kernel = addNumbers;
  if (reads == Reads::behind)
    addOld(3);
  ScheduleWriter writer;
  std::vector<gradc_artifact_port> outputs = {writer.output("present", {cachedRows, columns}, 0),
                                              writer.output("old", {columns}, 1)};
  if (returnsPast) {
    outputs.push_back(writer.output("same", {cachedRows, columns}, 2));
    outputs.back().slice = past;
  }
  return writer.write(std::move(all),
                      {writer.input("past", GRADC_F32, {cachedRows, columns}),
                       writer.input("row", GRADC_F32, {columns})},
                      outputs);
}

enum class Copies { behindWrites, inLoop, aHalf };

/// row + row -> old, and a present that does not begin as a copy of all of the past.
Bytes otherCacheOf(Copies copies) {
  uint64_t bytes = copies == Copies::aHalf ? cacheBytes / 2 : cacheBytes;
  auto past = sliceAt(GRADC_SPACE_INPUT, 0, bytes), row = sliceAt(GRADC_SPACE_INPUT, 1);
  auto present = sliceAt(GRADC_SPACE_OUTPUT, 0, bytes), presentRow = sliceAt(GRADC_SPACE_OUTPUT, 0);
  ScheduleNodes all;
  all.add(GRADC_NODE_LAUNCH, 1, {row, row, sliceAt(GRADC_SPACE_OUTPUT, 1)}, 2).as.launch.kernel =
      addNumbers;
  if (copies == Copies::behindWrites)
    all.add(GRADC_NODE_LAUNCH, 2, {row, row, presentRow}, 2).as.launch.kernel = addNumbers;
  if (copies == Copies::inLoop)
    all.add(GRADC_NODE_LOOP, 3, {}, 0).as.loop.trips = 2;
  auto last = uint32_t(all.nodes.size());
  all.add(GRADC_NODE_COPY, last + 1, {past, present}, 1);
  ScheduleWriter writer;
  return writer.write(
      std::move(all),
      {writer.input("past", GRADC_F32, {cachedRows, columns}),
       writer.input("row", GRADC_F32, {columns})},
      {writer.output("present", {cachedRows, columns}, 0), writer.output("old", {columns}, 1)});
}

/// Memory for two caches, of which the second may overlap the first.
struct Caches {
  alignas(64) float memory[2 * cacheCount + columns];
  alignas(64) float row[columns];
  float old[columns] = {};

  Caches() {
    for (size_t i = 0; i < std::size(memory); ++i)
      memory[i] = float(i % 1000);
    for (int c = 0; c < columns; ++c)
      row[c] = float(c) + 0.5f;
  }
};

/// The entry, bound to memory but not to be run.
struct BoundCache {
  explicit BoundCache(const LoadedSchedule &loaded)
      : device(std::move(*createHostDevice(1))),
        bound(loaded.session->artifact(), loaded.session->level(), loaded.entry(),
              {arena, {}, kernels}, *device) {}

  alignas(64) std::byte arena[128];
  void *kernels[2] = {};
  std::unique_ptr<Device> device;
  BoundEntry bound;
};

/// Whether kernels write the present to the caller's memory, `at` floats behind the past.
bool isDirect(const LoadedSchedule &loaded, size_t at) {
  auto caches = std::make_unique<Caches>();
  BoundCache cache(loaded);
  const void *inputs[] = {caches->memory, caches->row};
  std::vector<void *> outputs(loaded.entry().outputs.count);
  outputs[0] = caches->memory + at;
  outputs[1] = caches->old;
  Status status = cache.bound.bindInputs(inputs, 0, {}, /*inPlace=*/true, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  cache.bound.bindOutputs(inputs, outputs, 0);
  auto ports = loaded.session->artifact().elements<gradc_artifact_port>(loaded.entry().outputs);
  return cache.bound.program().resolve(ports[0].slice) == static_cast<void *>(outputs[0]);
}

/// Which launches wait, as a string of '.' and 'w'.
std::string waitsOf(Reads reads) {
  LoadedSchedule loaded(cacheOf(reads), 1);
  BoundCache cache(loaded);
  std::string waits;
  for (const Launch &launch : cache.bound.program().schedule().launches)
    waits += launch.waits ? 'w' : '.';
  return waits;
}

TEST(BoundEntry, AnOutputMayHaveTheMemoryOfTheInputThatItUpdates) {
  LoadedSchedule loaded(cacheOf(Reads::before), 1);
  EXPECT_TRUE(isDirect(loaded, 0));
  EXPECT_TRUE(isDirect(loaded, cacheCount));
  // A part of the input is overwritten before it is copied.
  EXPECT_FALSE(isDirect(loaded, columns));
  EXPECT_FALSE(isDirect(loaded, cacheCount - columns));
}

TEST(BoundEntry, AnInputThatIsReadLaterIsNotOverwritten) {
  LoadedSchedule behind(cacheOf(Reads::behind), 1);
  EXPECT_FALSE(isDirect(behind, 0));
  EXPECT_TRUE(isDirect(behind, cacheCount));
  LoadedSchedule returned(cacheOf(Reads::before, /*returnsPast=*/true), 1);
  EXPECT_FALSE(isDirect(returned, 0));
  EXPECT_TRUE(isDirect(returned, cacheCount));
}

TEST(BoundEntry, AnOutputThatIsNotFirstACopyHasMemoryOfItsOwn) {
  for (Copies copies : {Copies::behindWrites, Copies::inLoop, Copies::aHalf}) {
    LoadedSchedule loaded(otherCacheOf(copies), 1);
    EXPECT_FALSE(isDirect(loaded, 0)) << int(copies);
    EXPECT_TRUE(isDirect(loaded, cacheCount)) << int(copies);
  }
  LoadedSchedule loaded(otherCacheOf(Copies::behindWrites), 2);
  auto caches = std::make_unique<Caches>();
  std::vector<float> past(caches->memory, caches->memory + cacheCount);
  const void *inputs[] = {caches->memory, caches->row};
  void *outputs[] = {caches->memory, caches->old};
  ASSERT_TRUE(loaded.session->run(loaded.entry(), inputs, outputs).ok());
  EXPECT_EQ(std::vector<float>(caches->memory, caches->memory + cacheCount), past);
}

TEST(BoundEntry, WritesWaitForReadersOfTheInput) {
  EXPECT_EQ(waitsOf(Reads::before), ".ww");
  EXPECT_EQ(waitsOf(Reads::behind), ".w.");
}

TEST(BoundEntry, TheSameWhereverTheOutputIs) {
  for (Reads reads : {Reads::before, Reads::behind})
    for (int threads : {1, 2, 3}) {
      LoadedSchedule loaded(cacheOf(reads), threads);
      for (size_t at : {size_t(0), size_t(columns), cacheCount - columns, cacheCount}) {
        auto caches = std::make_unique<Caches>();
        std::vector<float> expected(caches->memory, caches->memory + cacheCount), old;
        for (int c = 0; c < columns; ++c) {
          float &value = expected[size_t(newRow * columns + c)];
          old.push_back(value + caches->row[c]);
          value = 2 * caches->row[c];
        }
        const void *inputs[] = {caches->memory, caches->row};
        void *outputs[] = {caches->memory + at, caches->old};
        ASSERT_TRUE(loaded.session->run(loaded.entry(), inputs, outputs).ok());
        EXPECT_EQ(std::vector<float>(caches->memory + at, caches->memory + at + cacheCount),
                  expected)
            << at << ' ' << threads;
        EXPECT_EQ(std::vector<float>(caches->old, caches->old + columns), old) << at;
      }
    }
}

} // namespace
