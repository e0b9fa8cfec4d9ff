// The interface through which one process talks to all processes (ranks) that train a model.
#ifndef RUNTIME_RANKS_COMMUNICATOR_H
#define RUNTIME_RANKS_COMMUNICATOR_H

#include "runtime/base/Pages.h"
#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

/// Ranks are numbered 0 to size() - 1. Every rank makes the same calls in the same order, from one
/// thread.
class Communicator {
public:
  /// Values of one tensor, in host memory.
  struct Piece {
    void *values;
    int64_t count;
    bool leavesZeros = false; ///< scatter: values of other owners become 0; else unspecified
  };
  enum class Wire : uint8_t {
    full, ///< values travel as they are
    bf16  ///< f32 values travel as bf16 and are summed in f32
  };

  /// The collective operation. Every rank passes the same number of pieces of the same sizes.
  enum class Kind : uint8_t {
    sum,     ///< every rank gets all sums (all-reduce)
    scatter, ///< each rank gets the sums of the values that it owns (reduce-scatter)
    gather,  ///< every rank gets each value from its owner (all-gather)
    send,    ///< a transfer: `peer` gets the values, which may change once `start` returns
    receive  ///< the other half of a transfer
  };
  /// The ranks that an exchange involves. Where each rank has the whole model, `data` is all of
  /// them; where all ranks together have one, `model` is.
  enum class Group : uint8_t {
    all,
    model, ///< the ranks of one replica of the model
    data   ///< the ranks with the same part of the model, one in each replica
  };
  struct Exchange {
    Kind kind = Kind::sum;
    gradc_dtype type = GRADC_F32; ///< f32, f64, i32 or i64
    Wire wire = Wire::full;
    /// Offsets at which each rank's values begin, in rank order, then the end of the last rank's.
    /// Empty: equal parts.
    std::span<const int64_t> begins = {};
    int peer = 0;   ///< transfers: the other rank, by its number in the group
    int number = 0; ///< transfers: of the step, the same on both ranks
    Group group = Group::all;
    bool isTransfer() const { return kind == Kind::send || kind == Kind::receive; }
  };

  /// Something that must be the same on all ranks.
  struct Fact {
    std::string name, value;
  };

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The number of ranks that have one replica of the model: successive ranks, each of which has a
  /// part of it. 1: every rank has the whole model.
  virtual int modelRanks() const { return 1; }
  int replica() const { return rank() / modelRanks(); }
  int replicas() const { return size() / modelRanks(); }
  int partOfModel() const { return rank() % modelRanks(); }

  /// Starts an exchange in place over the pieces, which together form one array. Sums are added in
  /// rank order: the same bits on every rank, run after run. The pieces must stay valid until
  /// `waitFor` returns. A transfer involves two ranks; all other exchanges involve all of a group.
  /// Any number of exchanges may be in flight. Returns the exchange's number.
  virtual Result<uint64_t> start(std::span<const Piece> pieces, const Exchange &exchange) = 0;
  Result<uint64_t> startSum(std::span<const Piece> pieces, gradc_dtype type, Wire wire) {
    return start(pieces, {Kind::sum, type, wire});
  }
  /// Advances exchanges without waiting; called between launches.
  virtual Status progress() = 0;
  /// Returns when that exchange has ended, or a rank is known to be lost. A send may still be on
  /// its way.
  virtual Status waitFor(uint64_t exchange) = 0;
  /// Returns when all sends have arrived; called at the end of a run, outside of which nothing
  /// advances them.
  virtual Status settle() { return {}; }
  /// Pages in which exchanges find a rank's values in place; null: there are none.
  virtual Pages *pages() { return nullptr; }
  /// The division of each cut among ranks: each rank's first element, then the end of the last
  /// rank; size() + 1 numbers per cut.
  virtual std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const = 0;

  /// Whether workers run steps independently of each other. Between `beginRun` and `endRun`,
  /// exchanges are then those of one worker with the server, which runs a step once for each
  /// worker. All other calls still involve all ranks.
  virtual bool stepsApart() const { return false; }
  virtual int runsPerStep() const { return 1; }
  /// Begins a run of the step that follows `steps` others. `asksToStop`: this rank wants all ranks
  /// to end after a common step.
  virtual Status beginRun(int64_t steps, bool asksToStop) { return {}; }
  /// Ends it. `proceeded`: whether the step has updated parameters.
  virtual Status endRun(bool proceeded) { return {}; }
  /// The number of steps after which all ranks stop because one of them has asked; -1: none has.
  virtual int64_t stopsAfter() const { return -1; }
  /// Whether this worker's step was the first one that did not proceed.
  virtual bool isFirstToFail() const { return false; }

  /// Gathers one text from each rank, indexed by rank; used outside of steps.
  virtual Result<std::vector<std::string>> share(const std::string &mine) = 0;
  /// Fails on all ranks if one of them has failed or if their facts differ. The message is empty on
  /// ranks that leave the report to another rank.
  virtual Status agree(const Status &mine, std::span<const Fact> facts) = 0;
  /// Records the current step, for the others' messages if this rank is lost.
  virtual void atStep(int64_t step) {}
  /// Records the checkpoint that this rank has just written, from which a restart continues.
  virtual void atCheckpoint(const std::string &file) {}
  /// Bytes that exchanges have sent from this rank so far.
  virtual uint64_t sentBytes() const = 0;
};

} // namespace gradc::runtime

#endif
