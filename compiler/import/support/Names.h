// Messages about wrong names and numbers in files and options.
#ifndef COMPILER_IMPORT_SUPPORT_NAMES_H
#define COMPILER_IMPORT_SUPPORT_NAMES_H

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

/// For example "\"a\", \"b\" and 7 more".
std::string listed(llvm::ArrayRef<std::string> names, size_t shown = 8);

/// The names that the patterns of a field may match.
struct PatternScope {
  llvm::StringRef field; ///< of the spec: "freeze"
  llvm::StringRef kind;  ///< of the names: "initializer"
  std::vector<std::string> names;
  bool areWeights = true; ///< which exporters may have renamed
};

/// The names that match a glob pattern ("fc1.*") or a plain name. If there are none, reports an
/// error at `where`.
mlir::FailureOr<std::vector<std::string>> matching(llvm::StringRef pattern,
                                                   const PatternScope &scope, mlir::Location where);

/// Adds the names that match any of `patterns` to `matches`. Each pattern without a match is an
/// error, reported at `where` of its index.
mlir::LogicalResult collectMatching(llvm::ArrayRef<std::string> patterns, const PatternScope &scope,
                                    llvm::function_ref<mlir::Location(int)> where,
                                    llvm::StringSet<> &matches);

/// Reports a name that the model lacks, and suggests the closest existing name.
mlir::InFlightDiagnostic unknownName(mlir::Location where, llvm::StringRef what,
                                     llvm::StringRef name, llvm::ArrayRef<std::string> known);

/// For example "0.001", "-1", "inf": the shortest text with up to nine digits.
std::string numberText(double number);

} // namespace gradc

#endif
