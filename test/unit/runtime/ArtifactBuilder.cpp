// Writes small artifacts by hand, for tests of the runtime.
#include "test/unit/runtime/ArtifactBuilder.h"
#include "runtime/base/DataType.h"
#include "runtime/include/gradc/hash.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

ArtifactBuilder::ArtifactBuilder() : blob(sizeof(gradc_artifact_header)), strings(1) {}

gradc_string ArtifactBuilder::text(std::string_view value) {
  auto offset = gradc_string(strings.size());
  strings.insert(strings.end(), value.begin(), value.end());
  strings.push_back(0);
  return offset;
}

gradc_range ArtifactBuilder::append(const void *data, size_t count, size_t elementBytes) {
  blob.resize((blob.size() + 63) / 64 * 64);
  gradc_range range = {blob.size(), count};
  blob.resize(blob.size() + count * elementBytes);
  if (count)
    std::memcpy(blob.data() + range.offset, data, count * elementBytes);
  return range;
}

gradc_artifact_tensor ArtifactBuilder::tensor(std::string_view name, gradc_dtype dtype,
                                              std::vector<int64_t> shape) {
  uint64_t bytes = findDataType(dtype)->bytes;
  for (int64_t dim : shape)
    bytes *= uint64_t(dim);
  return {text(name), uint32_t(dtype), put(shape), bytes};
}

Bytes ArtifactBuilder::finish() {
  header.strings = put(strings);
  std::memcpy(header.magic, GRADC_ARTIFACT_MAGIC, sizeof header.magic);
  header.version = GRADC_ARTIFACT_VERSION;
  header.header_bytes = sizeof header;
  header.total_bytes = blob.size();
  std::memcpy(blob.data(), &header, sizeof header);
  sealHash(blob);
  return blob;
}

void gradc::runtime::test::sealHash(Bytes &blob) {
  constexpr size_t headerBytes = sizeof(gradc_artifact_header);
  uint64_t hash = gradc_hash(blob.data() + headerBytes, blob.size() - headerBytes);
  std::memcpy(blob.data() + offsetof(gradc_artifact_header, hash), &hash, sizeof hash);
}

Bytes gradc::runtime::test::withArtifact(Bytes runner, const Bytes &artifact) {
  runner.resize((runner.size() + 63) / 64 * 64);
  runner.insert(runner.end(), artifact.begin(), artifact.end());
  gradc_artifact_trailer trailer = {artifact.size(), {}};
  std::memcpy(trailer.magic, GRADC_ARTIFACT_MAGIC, sizeof trailer.magic);
  auto raw = reinterpret_cast<const std::byte *>(&trailer);
  runner.insert(runner.end(), raw, raw + sizeof trailer);
  return runner;
}
