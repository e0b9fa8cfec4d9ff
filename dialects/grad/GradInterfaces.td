// The questions that passes ask ops. A pass that has to know an op by name says why.
#ifndef GRAD_INTERFACES
#define GRAD_INTERFACES

include "mlir/IR/OpBase.td"

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let description = [{
    How the op's operands change its results. There are three honest answers: a formula, zero, and
    missing (failure: the differentiate pass then reports the op).
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        Builds, at `builder`, the gradient of every operand from the gradients of the results.
        `resultGradients` has one entry a result, null where no gradient reaches it (never all null).
        `operandGradients` comes with one null entry an operand: null stays for "zero".
        Emits nothing and fails where the gradient is missing.
      }],
      "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>,
  ];
}

def EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let description = [{
    The op's meaning as a plain, slow, obviously right loop nest: constant folding, the reference
    interpreter and the oracle of every check. Shares no code with code generation.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        Computes `results` (allocated by the caller, typed as the op's results) from `operands`.
        Floating-point arithmetic is done in f64 and rounded once to the element type.
      }],
      "void", "evaluate",
      (ins "::llvm::ArrayRef<::mlir::grad::HostTensor>":$operands,
           "::llvm::MutableArrayRef<::mlir::grad::HostTensor>":$results)>,
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"Floating-point operations of one execution; a multiply-add counts two.",
      "int64_t", "getFlops", (ins), "", [{
        int64_t n = 0;
        for (::mlir::Type t : $_op->getResultTypes())
          n += ::llvm::cast<::mlir::ShapedType>(t).getNumElements();
        return n;
      }]>,
  ];
}

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"What mixed precision may do with the op.",
      "::mlir::grad::Precision", "getPrecision", (ins), "",
      [{ return ::mlir::grad::Precision::follow; }]>,
  ];
}

def LoopsOpInterface : OpInterface<"LoopsOpInterface"> {
  let description = [{
    The op as linalg.generic on tensors: indexing maps, iterator types and a scalar body, which is
    all that kernel forming and code generation know of it.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        Builds the op over `operands` (its operands, already lowered; unsigned integers come as
        signless ones) and returns one value a result. Results that are reduced start from a
        `linalg.fill`, the others from a `tensor.empty`. Maps are affine: d, d + c, s * d + c.
      }],
      "::llvm::SmallVector<::mlir::Value>", "lowerToLoops",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<"How kernels form around the op.",
      "::mlir::grad::LoopKind", "getLoopKind", (ins)>,
  ];
}

def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let description = [{
    A composite op as primitives: its second derivative, its code where no kernel takes it whole,
    and a contract test (composite = decomposition).
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"Builds the primitives at `builder` and returns one value a result.",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def OperandRoleOpInterface : OpInterface<"OperandRoleOpInterface"> {
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        What an initializer in this position is to the model: a parameter trains; a statistic is
        updated by the model; a constant (a limit, an axis, a mask) stays.
      }],
      "::mlir::grad::OperandRole", "getOperandRole", (ins "unsigned":$operand), "",
      [{ return ::mlir::grad::OperandRole::parameter; }]>,
  ];
}

#endif
