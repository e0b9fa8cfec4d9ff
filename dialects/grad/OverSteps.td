// How ops that have dims of their own compute all steps of a loop at once.
#ifndef GRAD_OVER_STEPS
#define GRAD_OVER_STEPS

include "mlir/IR/OpBase.td"

def OverStepsOpInterface : OpInterface<"OverStepsOpInterface"> {
  let description = [{
    The op with one more dim in front, which runs over the steps of a loop. Pointwise ops and contractions need not
    implement it: their traits and letters say enough. An op without an answer stays in its loop.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [InterfaceMethod<[{
        Builds the op over `steps` steps. Every operand has a dim of that size in front, and so has every result.
      }],
                                 "::llvm::SmallVector<::mlir::Value>", "buildOverSteps",
                                 (ins "::mlir::OpBuilder &":$builder,
                                     "::mlir::ValueRange":$operands, "int64_t":$steps)>,
  ];
}

#endif
