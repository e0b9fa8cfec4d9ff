// Measured schedules, by kernel: what a tuning file holds.
#ifndef PASSES_SCHEDULE_TUNING_H
#define PASSES_SCHEDULE_TUNING_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace gradc {

/// Identifies a kernel's code on a level by its text without the kernel's name, nodes and schedule.
/// Kernels of other models with the same key compute the same, but for the values of large
/// constants.
std::string tuningKey(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

/// A file of lines `KEY #exec.schedule<...>` behind the line `gradc-tuning 2`. Lines that begin
/// with // are comments.
class Tuning {
public:
  struct Choice {
    mlir::exec::ScheduleAttr schedule;
    std::string comment; ///< the lines before the choice, each with its line feed
    unsigned line = 0;
  };

  /// Reads a file. Emits errors with its name and line.
  static mlir::FailureOr<Tuning> read(mlir::MLIRContext *context, llvm::StringRef path);
  /// The file's text.
  std::string text() const;

  const Choice *find(llvm::StringRef key) const;
  /// The schedule of the file for a kernel; null without one. Emits an error if the kernel, which
  /// has its default schedule, cannot have it.
  mlir::FailureOr<mlir::exec::ScheduleAttr> scheduleOf(mlir::exec::KernelOp kernel,
                                                       const mlir::exec::Level &level) const;
  /// Removes the choice for a kernel if the kernel cannot have it; returns whether it did.
  bool dropMisfit(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);
  /// The file has no choice for the key yet.
  void insert(llvm::StringRef key, Choice choice);

  /// XXH64 of the bytes read.
  uint64_t hash() const { return theHash; }
  /// Where a choice stands in the file.
  mlir::Location locationOf(const Choice &choice, mlir::MLIRContext *context) const;

private:
  std::string path;
  uint64_t theHash = 0;
  std::vector<std::pair<std::string, Choice>> choices; ///< in the file's order
  llvm::StringMap<size_t> indices;                     ///< by key
  std::string end;                                     ///< comments behind the last choice
};

/// The attribute of a level's module with the hash of the tuning file that it has schedules of.
inline constexpr llvm::StringLiteral tuningAttribute = "exec.tuning";

} // namespace gradc

#endif
