// The interfaces through which passes query ops. A pass that must name an op gives the reason.
#ifndef GRAD_INTERFACES
#define GRAD_INTERFACES

include "mlir/IR/OpBase.td"

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let description = [{
    The gradients of the op's operands. There are three possible answers: a formula, zero, and
    missing (failure; the differentiate pass then reports the op).
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        Builds, at `builder`, the gradient of every operand from the gradients of the results.
        `resultGradients` has one entry per result, null if no gradient reaches it (never all null).
        `operandGradients` initially has one null entry per operand; an entry left null means zero.
        Fails without creating ops if the gradient is missing.
      }],
      "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>,
    InterfaceMethod<[{
        Called before the gradient is built: makes the op return the internal values that its gradient will read, and
        returns the op that replaces it. The gradient of an op without this call recomputes these values.
      }],
      "::mlir::Operation *", "prepareGradient", (ins "::mlir::OpBuilder &":$builder), "", [{ return $_op; }]>,
    InterfaceMethod<[{
        If the gradient is missing: why, as the end of a sentence about it; empty if there is no more to say.
      }],
      "::std::string", "whyNoGradient", (ins), "", [{ return ""; }]>,
  ];
}

def EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let description = [{
    The op's semantics as a plain, slow, obviously correct loop nest. Constant folding, the reference
    interpreter and all checks use it. It shares no code with code generation.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        Computes `results` (allocated by the caller, with the types of the op's results) from `operands`.
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
        Whether recomputing a result costs no more than reading it: one instruction per element.
      }],
      "bool", "isCheapToRepeat", (ins), "", [{ return false; }]>,
    InterfaceMethod<"About how many vector instructions a CPU executes for a vector of the result.",
      "int64_t", "getInstructions", (ins), "", [{ return 1; }]>,
    InterfaceMethod<"Whether the values of indices decide how long it takes.",
      "bool", "costDependsOnIndices", (ins), "", [{ return false; }]>,
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
    The op as linalg.generic on tensors. Kernel forming and code generation see only its indexing
    maps, iterator types and scalar body.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        Builds the op over `operands` (its operands, already lowered; unsigned integers are
        signless) and returns one value per result. Reduced results are initialized by
        `linalg.fill`, the others by `tensor.empty`. Maps are affine: d, d + c, s * d + c.
      }],
      "::llvm::SmallVector<::mlir::Value>", "lowerToLoops",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<"How kernels form around the op.",
      "::mlir::grad::LoopKind", "getLoopKind", (ins)>,
  ];
}

def ContractionOpInterface : OpInterface<"ContractionOpInterface"> {
  let description = [{
    A sum of products of two operands, in Einstein notation: letters tell which dim of which tensor
    is batch, row, column, summed, or covered by a sliding window.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"The letters of lhs, rhs and result, and the window.",
      "::mlir::grad::ContractionLetters", "getLetters", (ins)>,
    InterfaceMethod<[{
        Renumbers the dims of operand `operand` (0 or 1) so that the op can read `x` instead of
        `grad.transpose x permutation`. False, with nothing changed, if the op cannot express it.
      }],
      "bool", "readTransposed", (ins "unsigned":$operand, "::llvm::ArrayRef<int64_t>":$permutation)>,
    InterfaceMethod<[{
        Which part of training an ordinary convolution the op computes. None: it has no window, or its
        window fits none of these parts.
      }],
      "::std::optional<::mlir::grad::ConvolutionPart>", "getConvolutionPart", (ins), "",
      [{ return ::std::nullopt; }]>,
  ];
}

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let description = [{
    Attention, or its gradient. A target may compute it in one kernel, in blocks of queries and keys, so that the tensor of
    all query-key pairs is never stored.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"The operands' roles, and which keys each query attends to.",
      "::mlir::grad::AttentionForm", "getAttention", (ins)>,
  ];
}

def ReductionOpInterface : OpInterface<"ReductionOpInterface"> {
  let description = [{
    Folds dims of the first operand into one element. Window ops implement WindowOpInterface instead. A scatter implements
    neither, since each element of its result depends on all updates.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"The reduced dims, ascending. Results of lower rank than the operand lack them.",
      "::llvm::SmallVector<int64_t>", "getReducedDims", (ins)>,
    InterfaceMethod<[{
        Whether threads may each fold a share of the elements and then combine their results by the
        same rule. False if a result is more than the folded value, such as a position.
      }],
      "bool", "isSharable", (ins), "", [{ return true; }]>,
  ];
}

def WindowOpInterface : OpInterface<"WindowOpInterface"> {
  let description = [{
    Every result element is computed from the taps of a window over the leading dims of the
    operands. Windows may overlap, so neighbouring result elements may read the same element.
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
  let description = "The result's elements are elements of one operand at other positions.";
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"The dim of the result that each dim of the operand runs along; negative: an index chooses.",
      "::llvm::SmallVector<int64_t>", "getResultDims", (ins)>,
  ];
}

def RowsOpInterface : OpInterface<"RowsOpInterface"> {
  let description = [{
    The op reads or writes whole rows of its first operand, the table: everything at one index of the table's first dim. An
    update of the parameters in a table then needs only these rows, and a target may write them in place.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        The indices that choose the rows. The dims of what is read or written are those of the indices, then the table's
        remaining dims. Null: the op addresses elements in another way.
      }],
      "::mlir::Value", "getRows", (ins)>,
    InterfaceMethod<"The values that the op writes to the rows, the others being the table's; null: it reads the rows.",
      "::mlir::Value", "getNewRows", (ins), "", [{ return {}; }]>,
  ];
}

def PermuteOpInterface : OpInterface<"PermuteOpInterface"> {
  let description = [{
    The op over transposed operands: an op with dim attributes renumbers them. Pointwise ops (the
    trait) have none and need not implement it. Transposes do not move across any other op without it.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        Whether the op may work on operands, all of one rank or scalars, that are transposed by `permutation`.
      }],
      "bool", "canPermute", (ins "::llvm::ArrayRef<int64_t>":$permutation), "", [{ return true; }]>,
    InterfaceMethod<[{
        Builds the op over `operands`, which are the op's own operands transposed by `permutation`; scalars are
        unchanged. A result of the operands' rank is transposed likewise; a result of lower rank (see
        ReductionOpInterface) has the remaining dims in their new order.
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
    StaticInterfaceMethod<"The optimizer state that the rule keeps for a parameter of that type.",
      "::llvm::SmallVector<::mlir::grad::UpdateSlot>", "getUpdateSlots",
      (ins "::mlir::RankedTensorType":$parameter, "::mlir::DictionaryAttr":$hyperparameters)>,
    StaticInterfaceMethod<"The roles of its scalars among a step's inputs.",
      "::llvm::SmallVector<::llvm::StringRef>", "getUpdateScalars",
      (ins "::mlir::DictionaryAttr":$hyperparameters)>,
    StaticInterfaceMethod<[{
        Whether every result element depends only on the same element of the operands, so that a
        parameter may be updated in parts. Otherwise the rule needs the whole tensor.
      }],
      "bool", "isElementwise", (ins), "", [{ return true; }]>,
    StaticInterfaceMethod<[{
        Whether the rule changes neither the parameter nor the slots where the gradient is 0. Rows of a table that no
        gradient reaches may then be skipped.
      }],
      "bool", "keepsWithoutGradient", (ins "::mlir::DictionaryAttr":$hyperparameters), "", [{ return false; }]>,
    StaticInterfaceMethod<"The min rank of a parameter for this rule; lower ranks need another rule.",
      "int64_t", "getLeastRank", (ins), "", [{ return 0; }]>,
    StaticInterfaceMethod<[{
        Whether the result depends on the order of dims. The rule then gets the parameter with its dims in the model's
        order, otherwise in the stored order.
      }],
      "bool", "dependsOnDimOrder", (ins), "", [{ return false; }]>,
  ];
  let verify = [{ return ::mlir::grad::verifyUpdate($_op); }];
}

def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let description = [{
    A composite op as primitives. The decomposition gives its second derivative, its code where no
    kernel computes it whole, and a contract test (composite = decomposition).
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"Builds the primitives at `builder` and returns one value a result.",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = [{
    An op that all ranks compute together, in place: each result reuses the memory of its operand. The op becomes a node of the
    schedule; it has neither loops nor a kernel.
  }];
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<"The kind of collective operation.",
      "::mlir::grad::CollectiveKind", "getCollectiveKind">,
    InterfaceMethod<"Whether f32 values travel as bf16.", "bool", "travelsNarrow", (ins), "", [{ return false; }]>,
    InterfaceMethod<"The states that are divided like the operands, one per operand; empty if every rank has whole operands.",
      "::llvm::SmallVector<::mlir::FlatSymbolRefAttr>", "getCutStates", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"Whether all ranks compute the same rows of the batch, so that operands may hold rows.",
      "bool", "holdsRows", (ins), "", [{ return false; }]>,
    InterfaceMethod<"Creates one op that replaces `all`, which are ops like this one. Its results are their results in order.",
      "::mlir::Operation *", "join",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$location, "::llvm::ArrayRef<::mlir::Operation *>":$all)>,
  ];
}

def OperandRoleOpInterface : OpInterface<"OperandRoleOpInterface"> {
  let cppNamespace = "::mlir::grad";
  let methods = [
    InterfaceMethod<[{
        The role of an initializer in this operand position: a parameter trains; a constant (a
        limit, an axis, a mask) does not.
      }],
      "::mlir::grad::OperandRole", "getOperandRole", (ins "unsigned":$operand), "",
      [{ return ::mlir::grad::OperandRole::parameter; }]>,
  ];
}

#endif
