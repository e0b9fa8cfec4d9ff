// Names and numbers that a file or an option has wrong, in messages.
#ifndef COMPILER_IMPORT_NAMES_H
#define COMPILER_IMPORT_NAMES_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace gradc {

/// The closest of `candidates` to `name`, or "" if none is close.
std::string nearest(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

/// Whether a glob pattern ("fc1.*") or a plain name matches `name`.
bool matches(llvm::StringRef pattern, llvm::StringRef name);

/// Names that the patterns of a field may match.
struct PatternScope {
  llvm::StringRef field; ///< of the spec: "freeze"
  llvm::StringRef kind;  ///< of the names: "initializer"
  std::vector<std::string> names;
};

/// The names that a glob pattern ("fc1.*") or a plain name matches; an error at `where` if there
/// are none.
mlir::FailureOr<std::vector<std::string>> matching(llvm::StringRef pattern,
                                                   const PatternScope &scope, mlir::Location where);

/// Adds the names that any of `patterns` matches to `matches`. Every pattern without one is an
/// error, at `where` of its index.
mlir::LogicalResult collectMatching(llvm::ArrayRef<std::string> patterns, const PatternScope &scope,
                                    llvm::function_ref<mlir::Location(int)> where,
                                    llvm::StringSet<> &matches);

/// A name that the model does not have, with the one that was probably meant.
mlir::InFlightDiagnostic unknownName(mlir::Location where, llvm::StringRef what,
                                     llvm::StringRef name, llvm::ArrayRef<std::string> known);

/// "0.001", "-1", "inf": as short as nine digits allow.
std::string numberText(double number);

} // namespace gradc

#endif
