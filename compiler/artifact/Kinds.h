// The artifact's enumerators for those of the dialects. A new one of a dialect is a warning here.
#ifndef COMPILER_ARTIFACT_KINDS_H
#define COMPILER_ARTIFACT_KINDS_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/training/Pruning.h"
#include "runtime/include/gradc/artifact.h"

namespace gradc {

static_assert(std::string_view(pruneRule) == GRADC_PRUNE_RULE);

/// Of a tensor's elements; ports may have narrow ones.
gradc_dtype elementKind(mlir::Type element);
/// Of an argument with the attribute `grad.role`. Arguments without a role are data.
gradc_role roleOf(llvm::StringRef name);

inline gradc_state_kind stateKind(mlir::grad::StateKind kind) {
  using Kind = mlir::grad::StateKind;
  switch (kind) {
  case Kind::parameter:
    return GRADC_STATE_PARAMETER;
  case Kind::slot:
    return GRADC_STATE_SLOT;
  case Kind::statistic:
    return GRADC_STATE_STATISTIC;
  case Kind::constant:
    return GRADC_STATE_CONSTANT;
  case Kind::average:
    return GRADC_STATE_AVERAGE;
  case Kind::derived:
    return GRADC_STATE_DERIVED;
  }
  llvm_unreachable("all kinds are above");
}

inline gradc_space spaceOf(mlir::exec::Space space) {
  using mlir::exec::Space;
  switch (space) {
  case Space::arena:
    return GRADC_SPACE_ARENA;
  case Space::buffer:
    return GRADC_SPACE_BUFFER;
  case Space::input:
    return GRADC_SPACE_INPUT;
  case Space::output:
    return GRADC_SPACE_OUTPUT;
  }
  llvm_unreachable("all spaces are above");
}

inline gradc_library_role libraryRole(mlir::exec::LibraryRole role) {
  using Role = mlir::exec::LibraryRole;
  switch (role) {
  case Role::matmul:
    return GRADC_LIBRARY_MATMUL;
  case Role::convolution:
    return GRADC_LIBRARY_CONVOLUTION;
  case Role::data_gradient:
    return GRADC_LIBRARY_DATA_GRADIENT;
  case Role::filter_gradient:
    return GRADC_LIBRARY_FILTER_GRADIENT;
  }
  llvm_unreachable("all roles are above");
}

inline gradc_epilogue epilogueOf(mlir::exec::Epilogue epilogue) {
  using mlir::exec::Epilogue;
  switch (epilogue) {
  case Epilogue::none:
    return GRADC_EPILOGUE_NONE;
  case Epilogue::bias:
    return GRADC_EPILOGUE_BIAS;
  case Epilogue::relu:
    return GRADC_EPILOGUE_RELU;
  case Epilogue::bias_relu:
    return GRADC_EPILOGUE_BIAS_RELU;
  case Epilogue::gelu:
    return GRADC_EPILOGUE_GELU;
  case Epilogue::bias_gelu:
    return GRADC_EPILOGUE_BIAS_GELU;
  case Epilogue::gelu_grad:
    return GRADC_EPILOGUE_GELU_GRAD;
  }
  llvm_unreachable("all epilogues are above");
}

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
