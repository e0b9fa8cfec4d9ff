// States in the model, where an average has the type of its weight.
#ifndef RUNTIME_CORE_ARTIFACT_MODELPLACES_H
#define RUNTIME_CORE_ARTIFACT_MODELPLACES_H

#include "runtime/base/DataType.h"
#include "runtime/base/ShortFloats.h"

namespace gradc::runtime {

/// The type of the initializer at a place of the state.
inline gradc_dtype typeAt(const gradc_artifact_place &place, const gradc_artifact_state &state) {
  return gradc_dtype(place.dtype ? place.dtype : state.tensor.dtype);
}

/// Whether that is a type to which the state's values can be rounded.
inline bool hasTypeAt(const gradc_artifact_place &place, const gradc_artifact_state &state) {
  return !place.dtype || (state.tensor.dtype == GRADC_F32 && isShortFloat(place.dtype));
}

/// The bytes of that initializer.
inline uint64_t bytesAt(const gradc_artifact_place &place, const gradc_artifact_state &state) {
  return state.tensor.bytes / findDataType(state.tensor.dtype)->bytes *
         findDataType(typeAt(place, state))->bytes;
}

} // namespace gradc::runtime

#endif
