// Converts a kernel's library call to the artifact's struct.
#include "compiler/artifact/LibraryCall.h"

#include "compiler/artifact/Kinds.h"
#include "passes/kernel/LibraryForm.h"

using namespace mlir;
using namespace gradc;

static gradc_library_tensor writeTensor(const LibraryTensor &tensor, int64_t slice) {
  gradc_library_tensor t{};
  t.slice = slice;
  size_t missing = 4 - tensor.sizes.size();
  std::fill_n(t.sizes, missing, 1);
  llvm::copy(tensor.sizes, t.sizes + missing);
  llvm::copy(tensor.strides, t.strides + missing);
  return t;
}

gradc_artifact_call gradc::libraryCall(exec::KernelOp op) {
  exec::LibraryAttr library = op.getLibraryAttr();
  LibraryGeometry geometry = libraryGeometry(op);
  gradc_artifact_call call{};
  call.role = libraryRole(library.getRole());
  call.epilogue = epilogueOf(library.getEpilogue());
  unsigned results = op.getBlock().getNumArguments();
  call.bias = library.hasBias() ? uint32_t(library.getOperands()[2]) : GRADC_NONE;
  call.kept = library.isGeluGrad() ? uint32_t(library.getOperands()[2])
              : library.keeps()    ? uint32_t(results + library.getKept())
                                   : GRADC_NONE;
  call.lhs = writeTensor(geometry.lhs, library.getOperands()[0]);
  call.rhs = writeTensor(geometry.rhs, library.getOperands()[1]);
  call.result = writeTensor(geometry.result, results + (library.getKept() == 0));
  for (auto [summed, rows] : llvm::zip_equal(call.summed, geometry.summed))
    summed = {rows.row, rows.pieces};
  llvm::copy(geometry.low, call.low);
  llvm::copy(geometry.high, call.high);
  llvm::copy(geometry.stride, call.stride);
  llvm::copy(geometry.dilation, call.dilation);
  return call;
}
