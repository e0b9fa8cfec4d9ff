// The artifact's kind of a collective.
#ifndef COMPILER_ARTIFACT_COLLECTIVEKIND_H
#define COMPILER_ARTIFACT_COLLECTIVEKIND_H

#include "dialects/exec/Exec.h"
#include "runtime/include/gradc/artifact.h"

namespace gradc {

inline gradc_collective_kind collectiveKind(mlir::exec::CollectiveOp op) {
  using Kind = mlir::exec::CollectiveKind;
  switch (op.getKind()) {
  case Kind::sum:
    return op->hasAttr(mlir::exec::ofShardsName) ? GRADC_COLLECTIVE_SUM_SHARDS
                                                 : GRADC_COLLECTIVE_SUM;
  case Kind::scatter:
    return GRADC_COLLECTIVE_SCATTER;
  case Kind::gather:
    return GRADC_COLLECTIVE_GATHER;
  }
  llvm_unreachable("all kinds are above");
}

} // namespace gradc

#endif
