// Names of the attributes of functions that are entries, and of their ports.
#ifndef DIALECTS_GRAD_ENTRYATTRIBUTES_H
#define DIALECTS_GRAD_ENTRYATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::grad {

/// On a function: the rows of its largest batch.
inline constexpr llvm::StringLiteral batchName = "grad.batch";
/// On a function that takes any number of rows up to those of its batch.
inline constexpr llvm::StringLiteral rowsName = "grad.rows";
/// On a training function, and on a parameter with one of its own: the rule of updates.
inline constexpr llvm::StringLiteral updateRuleName = "grad.optimizer";

/// On an argument or a result: its name, and its role, as in roles.h.
inline constexpr llvm::StringLiteral portName = "grad.name", roleName = "grad.role";
/// On an argument or a result: the field of the data, or what else the port's role says.
inline constexpr llvm::StringLiteral fieldName = "grad.field";
/// On an argument or a result whose first dim is the rows of the batch.
inline constexpr llvm::StringLiteral batchedName = "grad.batched";

} // namespace mlir::grad

#endif
