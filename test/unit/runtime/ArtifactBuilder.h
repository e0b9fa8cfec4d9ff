// Writes small artifacts by hand, for tests of the runtime.
#ifndef TEST_UNIT_RUNTIME_ARTIFACTBUILDER_H
#define TEST_UNIT_RUNTIME_ARTIFACTBUILDER_H

#include "runtime/include/gradc/artifact.h"
#include "test/unit/runtime/Files.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradc::runtime::test {

/// Sections are appended in the order of the calls; the caller sets `header` and its ranges.
class ArtifactBuilder {
public:
  ArtifactBuilder();

  gradc_string text(std::string_view value);
  /// Appends elements as a separate section.
  template <typename T> gradc_range put(const std::vector<T> &elements) {
    return append(elements.data(), elements.size(), sizeof(T));
  }
  gradc_artifact_tensor tensor(std::string_view name, gradc_dtype dtype,
                               std::vector<int64_t> shape);
  /// The blob, with sizes and hash filled in.
  Bytes finish();

  gradc_artifact_header header = {};

private:
  gradc_range append(const void *data, size_t count, size_t elementBytes);

  Bytes blob;
  std::vector<char> strings;
};

/// Recomputes the hash, for tests that corrupt bytes after the header.
void sealHash(Bytes &blob);

/// The bytes of a runner with an artifact appended.
Bytes withArtifact(Bytes runner, const Bytes &artifact);

} // namespace gradc::runtime::test

#endif
