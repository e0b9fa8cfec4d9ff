// The ways in which ranks divide a model's states.
#ifndef RUNTIME_CORE_STATE_STATEDIVISION_H
#define RUNTIME_CORE_STATE_STATEDIVISION_H

#include "runtime/core/state/Division.h"
#include "runtime/core/state/StateStore.h"
#include "runtime/ranks/Communicator.h"

namespace gradc::runtime {

/// A division of some states among ranks: which slice of them this rank holds, and how whole values
/// are gathered from slices and scattered to them.
class StateDivision {
public:
  virtual ~StateDivision() = default;

  /// Whether this rank now holds only its slice of the state.
  virtual bool divides(uint32_t state) const = 0;
  /// Gathers the row-major value of a divided state from all ranks; `out` may be null on ranks that
  /// do not need it. Collective.
  virtual Status gather(uint32_t state, void *out) = 0;
  /// Stores this rank's slice of the row-major value of a divided state.
  virtual Status scatter(uint32_t state, const void *value) = 0;
  /// Releases the memory of the other ranks' slices of a divided state.
  virtual void release(uint32_t state) = 0;
  /// With `whole`, every rank holds all states but optimizer slots until the next call without.
  /// Only the stages of a pipeline can. Collective.
  virtual Status holdWhole(bool whole) { return {}; }
};

/// The number of pipeline stages that the entries of a level are for; 0: the level has no stages.
int countStages(const Artifact &artifact, const gradc_artifact_level &level);

/// The divisions of an artifact's states among ranks: shards, stages and cuts, as far as the level
/// has any. At most one of them divides a state. All arguments must outlive the result.
std::vector<std::unique_ptr<StateDivision>> divideStates(const Artifact &artifact,
                                                         const gradc_artifact_level &level,
                                                         StateStore &store, Communicator &ranks,
                                                         const Division &cuts);

} // namespace gradc::runtime

#endif
