// How ops with dim attributes compute all steps of a loop at once.
#ifndef GRAD_OVER_STEPS
#define GRAD_OVER_STEPS

include "mlir/IR/OpBase.td"

def OverStepsOpInterface : OpInterface<"OverStepsOpInterface"> {
  let description = [{
    The op with an additional leading dim, which runs over the steps of a loop. Pointwise ops and contractions need not
    implement it: their traits and letters suffice. Any other op that does not implement it stays in its loop.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [InterfaceMethod<[{
        Builds the op over `steps` steps. Every operand and every result has a leading dim of that size.
      }],
                                 "::llvm::SmallVector<::mlir::Value>", "buildOverSteps",
                                 (ins "::mlir::OpBuilder &":$builder,
                                     "::mlir::ValueRange":$operands, "int64_t":$steps)>,
  ];
}

#endif
