// States whose initial values an artifact stores as codes, with fewer bits or in the model's form.
#ifndef RUNTIME_CORE_ARTIFACT_STATECODES_H
#define RUNTIME_CORE_ARTIFACT_STATECODES_H

#include "runtime/include/gradc/artifact.h"

namespace gradc::runtime {

inline uint64_t codesPerByte(const gradc_artifact_codes &codes) { return 8 / codes.bits; }

/// The bytes of a state's codes, one code for each of its elements.
inline uint64_t bytesOfCodes(const gradc_artifact_state &state) {
  uint64_t elements = state.tensor.bytes, perByte = codesPerByte(state.codes);
  return elements / perByte + (elements % perByte != 0);
}

/// The codes of a state, and where they are.
struct StateCodes {
  const gradc_artifact_codes &form;
  const uint8_t *packed, *zeros;

  /// Computes elements [begin, end), of which `begin` is the first one of a byte, at their places
  /// in `elements`.
  void unpack(uint64_t begin, uint64_t end, uint8_t *elements) const;
};

} // namespace gradc::runtime

#endif
