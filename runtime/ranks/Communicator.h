// The processes that train one model together, seen by one of them.
#ifndef RUNTIME_RANKS_COMMUNICATOR_H
#define RUNTIME_RANKS_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

/// Ranks 0 to size() - 1. Every rank makes the same calls in the same order; calls come from one
/// thread.
class Communicator {
public:
  /// Values of one tensor, in host memory.
  struct Piece {
    void *values;
    int64_t count;
  };
  enum class Wire : uint8_t {
    full, ///< values travel as they are
    bf16  ///< f32 values travel as bf16 and are summed in f32
  };

  /// What ranks do with each other's values, which each has in as many pieces of the same sizes.
  enum class Kind : uint8_t {
    sum,     ///< all get all sums
    scatter, ///< each gets the sums of the values that it owns
    gather   ///< all get the values of those who own them
  };
  struct Exchange {
    Kind kind = Kind::sum;
    gradc_dtype type = GRADC_F32; ///< f32, f64, i32 or i64
    Wire wire = Wire::full;
    bool leavesZeros = false; ///< of a scatter: where a rank owns nothing; else anything
    /// Values of each rank follow those of the rank before it: where they begin, and behind the
    /// last rank their end. Empty: equal parts.
    std::span<const int64_t> begins = {};
  };

  /// Something that must be the same on all ranks.
  struct Fact {
    std::string name, value;
  };

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Starts to change the pieces, together one array, in place. Sums are added in the order of
  /// ranks: the same bits on every rank, run after run. The pieces stay until `waitFor` has
  /// returned; any number of exchanges may be under way. Returns the exchange's number.
  virtual Result<uint64_t> start(std::span<const Piece> pieces, const Exchange &exchange) = 0;
  Result<uint64_t> startSum(std::span<const Piece> pieces, gradc_dtype type, Wire wire) {
    return start(pieces, {Kind::sum, type, wire});
  }
  /// Moves exchanges on without waiting; called between launches.
  virtual Status progress() = 0;
  /// Returns when that exchange has ended, or a rank is known to be lost.
  virtual Status waitFor(uint64_t exchange) = 0;
  /// Who owns what of each cut: the first element of each rank, and behind the last rank the end;
  /// size() + 1 numbers a cut.
  virtual std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const = 0;

  /// The texts of all ranks, by rank; for agreements outside of steps.
  virtual Result<std::vector<std::string>> share(const std::string &mine) = 0;
  /// Fails on all ranks where one of them has failed, or where their facts differ. The messages of
  /// ranks that leave it to another to say why are empty.
  virtual Status agree(const Status &mine, std::span<const Fact> facts) = 0;
  /// For messages about this rank, should it be lost.
  virtual void atStep(int64_t step) {}
  /// For whoever starts the ranks again: the checkpoint that this rank has just written.
  virtual void atCheckpoint(const std::string &file) {}
  /// Bytes that exchanges have sent from this rank so far.
  virtual uint64_t sentBytes() const = 0;
};

} // namespace gradc::runtime

#endif
