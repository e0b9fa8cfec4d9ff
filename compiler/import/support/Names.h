// Names and numbers that a file or an option has wrong, in messages.
#ifndef COMPILER_IMPORT_NAMES_H
#define COMPILER_IMPORT_NAMES_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace gradc {

/// The closest of `candidates` to `name`, or "" if none is close.
std::string nearest(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

/// The elements of `names` that a glob pattern ("fc1.*") or a plain name matches.
std::vector<std::string> matching(llvm::StringRef pattern, llvm::ArrayRef<std::string> names);

/// A name that the model does not have, with the one that was probably meant.
mlir::InFlightDiagnostic unknownName(mlir::Location where, llvm::StringRef what,
                                     llvm::StringRef name, llvm::ArrayRef<std::string> known);

/// "0.001", "-1", "inf": as short as nine digits allow.
std::string numberText(double number);

} // namespace gradc

#endif
