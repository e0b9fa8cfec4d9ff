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
    InterfaceMethod<[{
        Asks the op, before its gradient is built, to return what that will read of its inside. Returns the op that
        stands in its place then. An op that was not asked computes it again.
      }],
      "::mlir::Operation *", "prepareGradient", (ins "::mlir::OpBuilder &":$builder), "", [{ return $_op; }]>,
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
    InterfaceMethod<[{
        Whether computing a result again costs no more than reading it: an instruction an element.
      }],
      "bool", "isCheapToRepeat", (ins), "", [{ return false; }]>,
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

def ContractionOpInterface : OpInterface<"ContractionOpInterface"> {
  let description = [{
    A sum of products of two operands, in Einstein's notation: which dim of which tensor is batch,
    row, column, summed, or one that a window slides over.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"The letters of lhs, rhs and result, and the window.",
      "::mlir::grad::ContractionLetters", "getLetters", (ins)>,
    InterfaceMethod<[{
        Renumbers the dims of operand `operand` (0 or 1), which is to be replaced by `x` where it is
        `grad.transpose x permutation`. False, with nothing changed, where the op has no words for it.
      }],
      "bool", "readTransposed", (ins "unsigned":$operand, "::llvm::ArrayRef<int64_t>":$permutation)>,
    InterfaceMethod<[{
        Which part of an ordinary convolution's training the op is. None: it has no window, or one
        that no such part has.
      }],
      "::std::optional<::mlir::grad::ConvolutionPart>", "getConvolutionPart", (ins), "",
      [{ return ::std::nullopt; }]>,
  ];
}

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let description = [{
    Two products around a softmax, or the gradient of that: a target may compute it whole, in blocks of queries and keys,
    so that no tensor has all pairs of them.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"What is multiplied with what, and who sees whom.",
      "::mlir::grad::AttentionForm", "getAttention", (ins)>,
  ];
}

def ReductionOpInterface : OpInterface<"ReductionOpInterface"> {
  let description = [{
    Dims of the first operand are folded into one element. Windows say so by WindowOpInterface; a scatter has neither,
    since each element of its result looks at all updates.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"Those dims, ascending. Results of a lower rank than the operand's lack them.",
      "::llvm::SmallVector<int64_t>", "getReducedDims", (ins)>,
    InterfaceMethod<[{
        Whether threads may each fold a share of the elements and then fold their results by the same
        rule. Not where a result is more than the fold's value: a position.
      }],
      "bool", "isSharable", (ins), "", [{ return true; }]>,
  ];
}

def WindowOpInterface : OpInterface<"WindowOpInterface"> {
  let description = [{
    Every result element is made of the taps of a window over the leading dims of the operands:
    neighbouring result elements may read the same element.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"The number of leading dims over which the window slides.",
      "int64_t", "getWindowRank", (ins)>,
    InterfaceMethod<"Whether no element of that operand is read for more than one result element.",
      "bool", "readsOnce", (ins "unsigned":$operand)>,
  ];
}

def MovementOpInterface : OpInterface<"MovementOpInterface"> {
  let description = "Elements of one operand at other places.";
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"The dim of the result that each dim of the operand runs along; negative: an index chooses.",
      "::llvm::SmallVector<int64_t>", "getResultDims", (ins)>,
  ];
}

def PermuteOpInterface : OpInterface<"PermuteOpInterface"> {
  let description = [{
    What a transposition of its operands does to an op: an op with dims of its own renumbers them.
    Pointwise ops (the trait) have none and need not say so. An op that says nothing stops transposes.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        Whether the op may work on operands, all of one rank or scalars, that are transposed by `permutation`.
      }],
      "bool", "canPermute", (ins "::llvm::ArrayRef<int64_t>":$permutation), "", [{ return true; }]>,
    InterfaceMethod<[{
        Builds the op over `operands`, each its own transposed by `permutation`, scalars as they are. A result of the
        operands' rank comes transposed by it, too; one of a lower rank (see ReductionOpInterface)
        has the dims that are left in their new order.
      }],
      "::mlir::Operation *", "buildPermuted",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::llvm::ArrayRef<int64_t>":$permutation)>,
  ];
}

def UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let description = [{
    An optimizer's rule. `grad.NAME` is what a training spec's `optimizer { NAME { ... } }` runs, its
    attributes are the hyperparameters. Operands are, in this order, the parameter, its gradient, the
    slots, the scalars and `proceed`; results are the new parameter and the new slots. Where `proceed`
    is false, they are the old ones. An update decomposes into primitives: elementwise ones join the
    kernel that makes the gradient, and a norm or a product of the whole tensor (LAMB, LARS, Muon)
    becomes kernels of its own.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    StaticInterfaceMethod<"What the rule remembers of a parameter of that type from step to step.",
      "::llvm::SmallVector<::mlir::grad::UpdateSlot>", "getUpdateSlots",
      (ins "::mlir::RankedTensorType":$parameter, "::mlir::DictionaryAttr":$hyperparameters)>,
    StaticInterfaceMethod<"The roles of its scalars among a step's inputs.",
      "::llvm::SmallVector<::llvm::StringRef>", "getUpdateScalars",
      (ins "::mlir::DictionaryAttr":$hyperparameters)>,
    StaticInterfaceMethod<[{
        Whether every element follows from the same element of the operands, so that a parameter may
        be updated in parts. Otherwise it takes the whole tensor.
      }],
      "bool", "isElementwise", (ins), "", [{ return true; }]>,
    StaticInterfaceMethod<"Parameters of a lower rank take another rule.",
      "int64_t", "getLeastRank", (ins), "", [{ return 0; }]>,
    StaticInterfaceMethod<[{
        Whether the rule reads the dims' order: it then takes the parameter with its dims as the model has them, and
        otherwise as they are stored.
      }],
      "bool", "dependsOnDimOrder", (ins), "", [{ return false; }]>,
  ];
  let verify = [{ return ::mlir::grad::verifyUpdate($_op); }];
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

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = [{
    An op that all ranks compute together, in place: each result takes the memory of its operand. The op is a node of the
    schedule; it has neither loops nor kernels.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"What ranks do with each other's values.",
      "::mlir::grad::CollectiveKind", "getCollectiveKind">,
    InterfaceMethod<"Whether f32 values travel as bf16.", "bool", "travelsNarrow", (ins), "", [{ return false; }]>,
    InterfaceMethod<"The states that operands are cut like, one an operand; none where ranks have all of each operand.",
      "::llvm::SmallVector<::mlir::FlatSymbolRefAttr>", "getCutStates", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"Creates one op that does what these do, all of them like this one. Its results are theirs in order.",
      "::mlir::Operation *", "join",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$location, "::llvm::ArrayRef<::mlir::Operation *>":$all)>,
  ];
}

def OperandRoleOpInterface : OpInterface<"OperandRoleOpInterface"> {
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        What an initializer in this position is to the model: a parameter trains; a constant (a
        limit, an axis, a mask) stays.
      }],
      "::mlir::grad::OperandRole", "getOperandRole", (ins "unsigned":$operand), "",
      [{ return ::mlir::grad::OperandRole::parameter; }]>,
  ];
}

#endif
