// The table of levels: what the schedule and the code generator know of a family of machines.
#ifndef DIALECTS_EXEC_LEVEL_H
#define DIALECTS_EXEC_LEVEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::exec {

struct Level {
  llvm::StringRef name;     // in the artifact; on the command line a CPU's has "cpu:" before it
  llvm::StringRef cpu;      // LLVM's -mcpu
  llvm::StringRef features; // LLVM's -mattr, beyond the cpu's own
  int64_t vectorBytes;      // of the widest register used
  int64_t tileRows;         // the contraction's register tile: rows x vectors
  int64_t tileVectors;
  // The fewest channels, in and out, with which F(2x2, 3x3) beats direct loops; 0: not measured.
  int64_t winogradChannels;
  bool bf16Dots;  // products of bf16 pairs add up in f32 in one instruction
  int64_t sm = 0; // compute capability of a GPU, 90 for 9.0; 0: a CPU

  bool isCuda() const { return sm != 0; }
};

/// All levels, CPUs first, each kind lowest first.
llvm::ArrayRef<Level> levels();
/// The level of that name, or null.
const Level *findLevel(llvm::StringRef name);
/// The highest level that this machine executes, or null.
const Level *nativeLevel();
/// Whether this machine executes a level of the table.
bool runsHere(const Level &level);

} // namespace mlir::exec

#endif
