// Opening artifacts: each of the forms, and damage to files, headers and bytes.
#include "test/unit/runtime/core/artifact/ArtifactTesting.h"

#include <gtest/gtest.h>
#include <random>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

std::string temporary(const char *name) {
  return testing::TempDir() + name + "." + std::to_string(getpid());
}

TEST(Artifact, OpensFromMemory) {
  Bytes blob = makeTestModel();
  auto artifact = openBytes(blob);
  ASSERT_TRUE(artifact) << artifact.status().message();
  ASSERT_EQ((*artifact)->states().size(), 3u);
  EXPECT_EQ((*artifact)->string((*artifact)->states()[1].tensor.name), "weight");
  ASSERT_EQ((*artifact)->levels().size(), 1u);
  EXPECT_EQ((*artifact)->header().model_hash, 42u);
}

TEST(Artifact, EveryNodeHasATitle) {
  auto artifact = openBytes(makeTestModel());
  ASSERT_TRUE(artifact) << artifact.status().message();
  std::set<std::string_view> titles;
  auto addTitle = [&](gradc_node_kind kind, uint32_t collective = 0) {
    gradc_artifact_node node = {};
    node.kind = kind;
    if (kind == GRADC_NODE_COLLECTIVE)
      node.as.collective.kind = collective;
    titles.insert(nodeTitle(**artifact, node, /*kernels=*/{}));
  };
  for (gradc_node_kind kind : {GRADC_NODE_COPY, GRADC_NODE_IF, GRADC_NODE_LOOP})
    addTitle(kind);
  for (uint32_t kind = GRADC_COLLECTIVE_SUM; kind <= GRADC_COLLECTIVE_SUM_SHARDS; ++kind)
    addTitle(GRADC_NODE_COLLECTIVE, kind);
  EXPECT_EQ(titles.size(), 9u);
  EXPECT_FALSE(titles.contains(""));
  EXPECT_TRUE(titles.contains("sum over the ranks of a replica"));
}

TEST(Artifact, OpensBareAndAppendedFiles) {
  std::string path = temporary("artifact");
  Bytes blob = makeTestModel();
  for (const Bytes &file : {blob, withArtifact(readFile(GRADC_TEST_KERNELS), blob)}) {
    writeFile(path, file);
    auto artifact = Artifact::open(path);
    ASSERT_TRUE(artifact) << artifact.status().message();
    EXPECT_EQ((*artifact)->header().total_bytes, blob.size());
  }
  unlink(path.c_str());
}

TEST(Artifact, SaysWhatIsWrongWithAFile) {
  std::string path = temporary("broken");
  auto missing = Artifact::open(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().code(), Code::error);
  EXPECT_EQ(missing.status().message(), path + ": cannot open: No such file or directory");
  EXPECT_EQ(Artifact::open("/dev").status().message(), "/dev: not a regular file");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); // nobody writes to it
  EXPECT_EQ(Artifact::open(path).status().message(), path + ": not a regular file");
  unlink(path.c_str());

  auto errorOfFile = [&](const Bytes &file) {
    writeFile(path, file);
    Status status = Artifact::open(path).status();
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_EQ(status.message().rfind(path + ": ", 0), 0u);
    return status.message().substr(path.size() + 2);
  };
  EXPECT_EQ(errorOfFile({}), "not a gradc artifact: the file is empty");
  EXPECT_EQ(errorOfFile(readFile(GRADC_TEST_KERNELS)),
            "not a gradc artifact, nor a program that carries one");
  Bytes blob = makeTestModel();
  Bytes carrier = withArtifact({}, blob);
  Bytes tail(carrier.end() - 1000, carrier.end());
  EXPECT_EQ(errorOfFile(tail), "truncated artifact: expected " + std::to_string(blob.size()) +
                                   " bytes before the trailer, found " +
                                   std::to_string(1000 - sizeof(gradc_artifact_trailer)));
  unlink(path.c_str());
}

TEST(Artifact, RefusesOtherVersionsAndDamagedBytes) {
  Bytes blob = makeTestModel();
  Bytes newer = blob;
  newer[offsetof(gradc_artifact_header, version)] = std::byte{GRADC_ARTIFACT_VERSION + 1};
  EXPECT_EQ(
      errorOf(newer),
      "expected an artifact of version 25, found 26: compile it again, gradc compile SPEC -o FILE");
  Bytes damaged = blob;
  damaged[damaged.size() / 2] ^= std::byte{1};
  EXPECT_EQ(errorOf(damaged), "corrupt artifact: its bytes do not match the hash in its header");
  Bytes longer = blob;
  longer.push_back({});
  EXPECT_EQ(errorOf(longer), "corrupt artifact: expected a size of " + std::to_string(blob.size()) +
                                 ", found " + std::to_string(longer.size()));
}

TEST(Artifact, SurvivesEveryTruncation) {
  Bytes blob = makeTestModel();
  for (size_t size = 0; size < blob.size(); size += size < 512 ? 1 : 97)
    EXPECT_FALSE(openBytes(Bytes(blob.begin(), blob.begin() + ptrdiff_t(size)))) << size;
}

/// Reads everything that a session or the training loop reads without checks.
uint64_t touchEverything(const Artifact &artifact) {
  uint64_t sum = 0;
  auto touchText = [&](gradc_string text) { sum += artifact.string(text).size(); };
  auto touchBytes = [&](gradc_range range) {
    for (std::byte b : artifact.bytes(range))
      sum += uint64_t(b);
  };
  auto touchTensor = [&](const gradc_artifact_tensor &tensor) {
    touchText(tensor.name);
    for (int64_t dim : artifact.elements<int64_t>(tensor.shape))
      sum += uint64_t(dim);
  };
  for (const gradc_artifact_state &state : artifact.states()) {
    touchTensor(state.tensor);
    touchText(state.rule);
    touchBytes(state.initial);
  }
  for (const auto &value : artifact.elements<gradc_artifact_value>(artifact.header().job)) {
    touchText(value.name);
    if (value.kind == GRADC_VALUE_STRING)
      touchText(gradc_string(value.as.string));
  }
  for (const gradc_artifact_level &level : artifact.levels()) {
    touchText(level.name);
    touchBytes(level.image);
    for (const auto &kernel : artifact.elements<gradc_artifact_kernel>(level.kernels)) {
      touchText(kernel.symbol);
      for (gradc_string node : artifact.elements<gradc_string>(kernel.nodes))
        touchText(node);
    }
    for (const auto &entry : artifact.elements<gradc_artifact_entry>(level.entries)) {
      touchText(entry.name);
      for (gradc_range range : {entry.inputs, entry.outputs})
        for (const auto &port : artifact.elements<gradc_artifact_port>(range))
          touchTensor(port.tensor);
      for (const auto &launch : artifact.elements<gradc_artifact_node>(entry.nodes)) {
        touchText(launch.node);
        for (const auto &slice : artifact.elements<gradc_artifact_slice>(launch.slices))
          sum += slice.bytes;
      }
    }
  }
  return sum;
}

// The hash does not cover the header: an artifact that opens must be readable to the last byte.
TEST(Artifact, SurvivesEveryFlippedByteOfTheHeader) {
  Bytes blob = makeTestModel();
  uint64_t sum = 0;
  for (size_t at = 0; at < sizeof(gradc_artifact_header); ++at)
    for (unsigned flip : {0x01u, 0x10u, 0x80u, 0xffu}) {
      Bytes damaged = blob;
      damaged[at] ^= std::byte(flip);
      if (auto artifact = openBytes(damaged))
        sum += touchEverything(**artifact);
      else
        EXPECT_EQ(artifact.status().code(), Code::invalid) << at;
    }
  EXPECT_GT(sum, 0u);
}

// An attacker can write a matching hash, so every record is checked individually.
TEST(Artifact, SurvivesRandomDamageUnderAValidHash) {
  Bytes blob = makeTestModel();
  std::mt19937 random(1);
  uint64_t sum = 0;
  int opened = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes damaged = blob;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
      damaged[sizeof(gradc_artifact_header) +
              random() % (damaged.size() - sizeof(gradc_artifact_header))] = std::byte(random());
    sealHash(damaged);
    if (auto artifact = openBytes(damaged)) {
      ++opened;
      sum += touchEverything(**artifact);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0);
  EXPECT_GT(sum, 0u);
}

} // namespace
