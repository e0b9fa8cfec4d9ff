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

  /// Something that must be the same on all ranks.
  struct Fact {
    std::string name, value;
  };

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Starts to replace the pieces, together one array, with their sums over all ranks, which are
  /// added in the order of ranks: the same bits on every rank, run after run. `type`: f32, f64, i32
  /// or i64. The pieces stay until `waitFor` has returned; any number of sums may be under way.
  /// Returns the sum's number.
  virtual Result<uint64_t> startSum(std::span<const Piece> pieces, gradc_dtype type, Wire wire) = 0;
  /// Moves sums on without waiting; called between launches.
  virtual Status progress() = 0;
  /// Returns when that sum has ended, or a rank is known to be lost.
  virtual Status waitFor(uint64_t sum) = 0;

  /// The texts of all ranks, by rank; for agreements outside of steps.
  virtual Result<std::vector<std::string>> share(const std::string &mine) = 0;
  /// Fails on all ranks where one of them has failed, or where their facts differ. The messages of
  /// ranks that leave it to another to say why are empty.
  virtual Status agree(const Status &mine, std::span<const Fact> facts) = 0;
  /// For messages about this rank, should it be lost.
  virtual void atStep(int64_t step) {}
  /// For whoever starts the ranks again: the checkpoint that this rank has just written.
  virtual void atCheckpoint(const std::string &file) {}
  /// Bytes that sums have sent from this rank so far.
  virtual uint64_t sentBytes() const = 0;
};

} // namespace gradc::runtime

#endif
