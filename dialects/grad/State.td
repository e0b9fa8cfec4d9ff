// Constants, module state, and the request for a gradient.
#ifndef GRAD_STATE
#define GRAD_STATE

include "dialects/grad/GradDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Grad_ConstantOp : Op<Grad_Dialect, "constant", [Pure, ConstantLike, Grad_InferTypes,
    DeclareOpInterfaceMethods<EvaluateOpInterface>, DeclareOpInterfaceMethods<GradientOpInterface>,
    DeclareOpInterfaceMethods<LoopsOpInterface>, DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    PrecisionOpInterface, OperandRoleOpInterface]> {
  let summary = "a tensor known at compile time; above 1 KB a dense resource";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Grad_StateOp : Op<Grad_Dialect, "state", [Symbol]> {
  let summary = "a tensor that outlives a step: parameter, optimizer slot, statistic, large constant, average of a parameter, or what such states determine";
  let description = [{
    `initial` is an elements attribute (a splat for slots; a dense resource for weights). Entries see the state in
    `type`; the model, checkpoints and exports see it in its logical type. With `shape`, the logical type has that shape, and
    entries see a reshape of it. With `permutation`, they see its dims in another order: dim
    permutation[i] of the logical type, reshaped if there is a `shape`, is dim i of `type`. With `shard` [dim, runs, ranks], each of so many
    ranks has a shard of the state. Dim `dim` of the whole state is runs * ranks pieces of equal size, and piece i belongs to rank
    i mod ranks. `type` and the logical type are those of a shard; `initial`, checkpoints and exports are of the whole state.

    C1: `initial` has the logical type of the whole state. C2: `permutation` is a permutation of the dims. C3: `shard`
    is a dim of the logical type, a number of runs that divides it, and at least 2 ranks. C4: `shape` has as many
    elements as `type`, and there is no `shard`.

    Example: `grad.state parameter @fc1.weight : tensor<64x128xf32> = dense<0.0>`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Grad_StateKind:$kind, TypeAttrOf<Grad_Tensor>:$type,
                       ElementsAttr:$initial, OptionalAttr<DenseI64ArrayAttr>:$shape,
                       OptionalAttr<DenseI64ArrayAttr>:$permutation, OptionalAttr<DenseI64ArrayAttr>:$shard);
  let assemblyFormat = [{
    $kind $sym_name `:` $type (`shape` $shape^)? (`permutation` $permutation^)? (`shard` $shard^)? `=` $initial attr-dict
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "StateKind":$kind,
      "::mlir::Type":$type, "::mlir::ElementsAttr":$initial)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type outside entries, of one shard.
    ::mlir::RankedTensorType getLogicalType();
    /// The type that entries see, with its dims in the logical order.
    ::mlir::RankedTensorType getUnpermutedType();
    /// Whether entries see the elements in another order than the logical type, or another shape.
    bool isReordered() { return getPermutation() || getShape(); }
    /// A value of the logical type, from what entries see, and back.
    ::mlir::Value toLogical(::mlir::OpBuilder &builder, ::mlir::Value stored);
    ::mlir::Value fromLogical(::mlir::OpBuilder &builder, ::mlir::Value logical);
    /// The same of the whole state.
    ::mlir::RankedTensorType getWholeType();
    /// The contiguous pieces of a shard in the row-major whole state; 1: the state is not sharded.
    int64_t getShardRuns();
    /// The initial value in the form that entries see; of a sharded state, the first rank's.
    HostTensor getStoredInitial();
  }];
}

def Grad_ReadOp : Op<Grad_Dialect, "read", [MemoryEffects<[MemRead]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the state's value at the start of the entry";
  let description = "A read sees the value before the entry's write, whether it precedes or follows the write.";
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Grad_WriteOp : Op<Grad_Dialect, "write", [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the state's value after the entry; at most one write per entry and state";
  let arguments = (ins FlatSymbolRefAttr:$state, Grad_Tensor:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($value)";
}

def Grad_GradientOp : Op<Grad_Dialect, "gradient", [Pure, Grad_InferTypes]> {
  let summary = "d objective / d each of `targets`: a request that the differentiate pass replaces";
  let description = [{
    Targets are values of the same block which no rewrite replaces: arguments, reads and results of
    `grad.optimization_barrier`. All requests share the forward pass. Nested requests give higher
    derivatives. C1: the objective is a float scalar. C2: targets are float tensors.

    Example: `%g:2 = grad.gradient %loss wrt %w, %x : tensor<f32>, tensor<2x3xf32>, tensor<4x2xf32>`
  }];
  let arguments = (ins Grad_FloatScalar:$objective, Variadic<Grad_FloatTensor>:$targets);
  let results = (outs Variadic<Grad_FloatTensor>:$results);
  let assemblyFormat = "$objective `wrt` $targets attr-dict `:` type($objective) `,` type($targets)";
}

def Grad_OptimizationBarrierOp : Op<Grad_Dialect, "optimization_barrier", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<EvaluateOpInterface>, DeclareOpInterfaceMethods<GradientOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>, DeclareOpInterfaceMethods<PrecisionOpInterface, ["getPrecision"]>,
    DeclareOpInterfaceMethods<LoopsOpInterface>, OperandRoleOpInterface]> {
  let summary = "the operand, at which rewrites stop";
  let description = [{
    Between a computed target of a `grad.gradient` and all its readers: otherwise a rewrite could make
    the objective read an equal value instead, on which its derivative would then not depend. `name`
    is unique in a function, so that no two barriers are merged. Does not fold. The differentiate pass
    removes it.

    Example: `%t = grad.optimization_barrier "t" %0 : tensor<2x3xf32>`
  }];
  let arguments = (ins StrAttr:$name, Grad_FloatTensor:$operand);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$name $operand attr-dict `:` type($operand)";
}

#endif
