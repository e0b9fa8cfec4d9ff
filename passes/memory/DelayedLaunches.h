// Moves launches behind the node at which an entry needs most memory.
#ifndef PASSES_MEMORY_DELAYEDLAUNCHES_H
#define PASSES_MEMORY_DELAYEDLAUNCHES_H

#include "passes/entry/NodeOrder.h"

namespace gradc {

/// Delays launches whose results are only read later, where that lowers the peak of memory: the
/// gradient of an output layer's weights does not take memory while that of its input is computed,
/// as the gradient of the logits, which both read, is kept for the latter anyway. `order`: nodes of
/// one block, which is changed.
void delayLaunches(std::vector<mlir::Operation *> &order, const NodesBefore &before,
                   const mlir::SymbolTable &symbols);

} // namespace gradc

#endif
