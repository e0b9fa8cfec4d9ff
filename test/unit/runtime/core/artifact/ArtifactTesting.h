// Opening artifacts from memory, for tests of their forms and of their checks.
#ifndef TEST_UNIT_RUNTIME_CORE_ARTIFACT_ARTIFACTTESTING_H
#define TEST_UNIT_RUNTIME_CORE_ARTIFACT_ARTIFACTTESTING_H

#include "runtime/core/artifact/Artifact.h"
#include "test/unit/runtime/TestModel.h"

namespace gradc::runtime::test {

inline Result<std::shared_ptr<Artifact>> openBytes(const Bytes &bytes) {
  return Artifact::fromMemory(bytes);
}

inline std::string errorOf(const Bytes &bytes) { return openBytes(bytes).status().message(); }

} // namespace gradc::runtime::test

#endif
