// The exec dialect: the static schedule. What the runtime will do, with nothing left to decide.
#ifndef EXEC_DIALECT
#define EXEC_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::mlir::exec";
  let summary = "kernels, and the entries that dispatch them over one planned arena";
  let description = [{
    Two forms. *Value form* (form kernels, choose layouts, schedule): functions whose ops are
    `exec.launch` of outlined `exec.kernel`s over SSA tensors. *Planned form* (after plan-memory):
    `exec.entry`, a list of `exec.dispatch` over slices of the arena, of state buffers and of the
    entry's inputs and outputs.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;
class Exec_Attr<string name, string mnemonic_> : AttrDef<Exec_Dialect, name> { let mnemonic = mnemonic_; }

// Attributes --------------------------------------------------------------------------------------

def Exec_PanelKindEnum : I32EnumAttr<"PanelKind", "what panels hold", [
    I32EnumAttrCase<"values", 0>, I32EnumAttrCase<"pairs", 1>, I32EnumAttrCase<"winograd", 2>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_AlgorithmEnum : I32EnumAttr<"Algorithm", "how a kernel is computed", [
    I32EnumAttrCase<"direct", 0>, I32EnumAttrCase<"winograd", 1>, I32EnumAttrCase<"attention", 2>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_Panel : Exec_Attr<"Panel", "panel"> {
  let summary = "a tensor cut into panels along one dim";
  let description = [{
    Physical order: [ceil(size(dim) / width)] x the other dims in order x [width], padded with zeros.
    B operands of contractions are kept so: lanes along `dim`, a panel contiguous. Of kind `pairs`, two
    neighbours along another dim, `paired`, lie together: [ceil(size(dim) / width)] x the other dims, that
    of `paired` halved and padded with zeros, x [width] x [2]. Levels that add up products of bf16 pairs
    in one instruction read B so. A tensor without a layout is row-major.

    Of kind `winograd`, what is kept of a tensor [3, 3, .., ..] of 3x3 filters is not their values g but the 16 numbers
    G g G^T, G = [[1, 0, 0], [.5, .5, .5], [.5, -.5, .5], [0, 0, 1]], that Winograd's F(2x2, 3x3) multiplies with:
    [size(dim) / width] x [16] x the other channel dim x [width].
    Examples: `#exec.panel<dim = 1, width = 16>`, `#exec.panel<dim = 1, width = 32, pairs = 0>`,
    `#exec.panel<dim = 3, width = 16, winograd>`
  }];
  let parameters = (ins "int64_t":$dim, "int64_t":$width, EnumParameter<Exec_PanelKindEnum>:$kind, "int64_t":$paired);
  let assemblyFormat = "`<` `dim` `=` $dim `,` `width` `=` $width `` custom<PanelKind>($kind, $paired) `>`";
  let builders = [AttrBuilder<(ins "int64_t":$dim, "int64_t":$width, CArg<"PanelKind", "PanelKind::values">:$kind),
                              "return $_get($_ctxt, dim, width, kind, -1);">,
                  AttrBuilder<(ins "int64_t":$dim, "int64_t":$width, "PanelKind":$kind, "int64_t":$paired),
                              "return $_get($_ctxt, dim, width, kind, paired);">];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    bool isOfPairs() const { return getKind() == PanelKind::pairs; }
    bool isWinograd() const { return getKind() == PanelKind::winograd; }
  }];
}

def Exec_Schedule : Exec_Attr<"Schedule", "schedule"> {
  let summary = "how one kernel runs on one level";
  let description = [{
    `tile`: elements of the kernel's root space (the dims of its largest result) that are computed at
    once in registers, one a dim; the innermost dim's is a multiple of `lanes` (vector width in
    elements). `order`: the root dims, outermost loop first. The outermost loop's iterations are
    the units that threads share: a unit's bits do not depend on who computes it. `grain`: units
    below which splitting does not pay. `block`, of a kernel that is one contraction: extents of its first reduced dims
    that are walked outside the tiles, a block at a time, with the result as accumulator in memory. So operands
    that a tile would stream whole are read in pieces that stay in cache. On a GPU, one extent: steps of the sum whose
    operands a block's threads bring into shared memory together. `algorithm`: with `winograd`, a 3x3 convolution, or the
    gradient of its filter, goes by F(2x2, 3x3); `tile`, or `block`, then is what goes through its steps together. With
    `attention` the kernel is one attention, or its gradient, in blocks of queries and keys; its units are the tiles of
    all dims, the last in `order` fastest.
  }];
  let parameters = (ins "int64_t":$lanes, ArrayRefParameter<"int64_t">:$tile,
                        ArrayRefParameter<"int64_t">:$order, "int64_t":$grain,
                        OptionalArrayRefParameter<"int64_t">:$block,
                        EnumParameter<Exec_AlgorithmEnum>:$algorithm);
  let assemblyFormat = [{
    `<` `lanes` `=` $lanes `,` `tile` `=` custom<Dims>($tile) `,` `order` `=` custom<Dims>($order) `,`
    `grain` `=` $grain `` custom<Walk>($block, $algorithm) `>`
  }];
  let extraClassDeclaration = [{
    bool isWinograd() const { return getAlgorithm() == Algorithm::winograd; }
    bool isAttention() const { return getAlgorithm() == Algorithm::attention; }
  }];
}

def Exec_Blocks : Exec_Attr<"Blocks", "blocks"> {
  let summary = "how a GPU's threads share one kernel";
  let description = [{
    Blocks of `threads` threads; `team` of them work on one unit. A unit is a tile of the first `rows` dims of the
    root space, last dim fastest; the team walks the dims after them together, and shares the work of every reduction that
    a unit needs as a whole. `adjacent`: a team's members are neighbouring threads (what they read side by side is a
    row); otherwise neighbouring threads are neighbouring units (they read columns side by side).
  }];
  let parameters = (ins "int64_t":$threads, "int64_t":$team, "bool":$adjacent, "int64_t":$rows);
  let assemblyFormat = "`<` `threads` `=` $threads `,` `team` `=` $team `,` `adjacent` `=` $adjacent `,` `rows` `=` $rows `>`";
  let extraClassDeclaration = [{
    /// Units of one block.
    int64_t getUnits() const { return getThreads() / getTeam(); }
  }];
}

def Exec_Part : Exec_Attr<"Part", "part"> {
  let summary = "one of the computations that a GPU's kernel does side by side";
  let description = [{
    The kernel's next `operands` operands are what this part reads, its next `results` results what it computes. A part
    has blocks of its own, those behind the blocks of the parts before it, and a root space of its own: the dims of its
    largest result.
  }];
  let parameters = (ins "int64_t":$operands, "int64_t":$results, "ScheduleAttr":$schedule, "BlocksAttr":$blocks);
  let assemblyFormat = [{
    `<` `operands` `=` $operands `,` `results` `=` $results `,` `schedule` `=` $schedule `,` `blocks` `=` $blocks `>`
  }];
}

def Exec_LibraryRoleEnum : I32EnumAttr<"LibraryRole", "what a library computes", [
    I32EnumAttrCase<"matmul", 0>, I32EnumAttrCase<"convolution", 1>, I32EnumAttrCase<"data_gradient", 2>,
    I32EnumAttrCase<"filter_gradient", 3>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_EpilogueEnum : I32EnumAttr<"Epilogue", "what a library does with each element that it has summed", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"bias", 1>, I32EnumAttrCase<"relu", 2>,
    I32EnumAttrCase<"bias_relu", 3>, I32EnumAttrCase<"gelu", 4>, I32EnumAttrCase<"bias_gelu", 5>,
    I32EnumAttrCase<"gelu_grad", 8>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_Library : Exec_Attr<"Library", "library"> {
  let summary = "the one library call that computes what a kernel does";
  let description = [{
    A matrix product is cuBLASLt's, a convolution and its gradients are cuDNN's. `operands`: the kernel's operands that
    are the call's, its two factors (the data and the filter or, of a filter gradient, the data and the gradient of the
    result), then the bias or, of `gelu_grad`, what GELU (always its tanh form) was applied to. `kept`: which of the
    kernel's two results is what GELU is applied to; without it the kernel has one. The kernel is generated nevertheless: it runs where
    there is no library.
  }];
  let parameters = (ins EnumParameter<Exec_LibraryRoleEnum>:$role, EnumParameter<Exec_EpilogueEnum>:$epilogue,
                        ArrayRefParameter<"int64_t">:$operands, DefaultValuedParameter<"int64_t", "-1">:$kept);
  let assemblyFormat = [{
    `<` $role `epilogue` `=` $epilogue `,` `operands` `=` custom<Dims>($operands) (`,` `kept` `=` $kept^)? `>`
  }];
  let extraClassDeclaration = [{
    bool hasBias() { return uint32_t(getEpilogue()) & uint32_t(Epilogue::bias); }
    bool hasGelu() { return uint32_t(getEpilogue()) & uint32_t(Epilogue::gelu); }
    bool isGeluGrad() { return getEpilogue() == Epilogue::gelu_grad; }
    bool keeps() { return getKept() >= 0; }
  }];
}

def Exec_SpaceEnum : I32EnumAttr<"Space", "where a slice lives", [
    I32EnumAttrCase<"arena", 0>, I32EnumAttrCase<"buffer", 1>, I32EnumAttrCase<"input", 2>,
    I32EnumAttrCase<"output", 3>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_Slice : Exec_Attr<"Slice", "slice"> {
  let summary = "bytes [offset, offset + size) of the arena, of a state's buffer, or of an entry input or output";
  let description = [{
    `index` is the input's or output's number, 0 otherwise; `buffer` the symbol of an exec.buffer
    where space is `buffer`; `type` the logical tensor in it. `strides`: bytes that the slice moves per iteration of the
    loops around its node, outermost first; it stays where it is in loops that have none.
    Examples: `#exec.slice<arena 0 at 4096 : tensor<32x128xf32>>`, `#exec.slice<input 1 at 0 by [512] : tensor<128xf32>>`
  }];
  let parameters = (ins EnumParameter<Exec_SpaceEnum>:$space, "int64_t":$index, "int64_t":$offset,
      OptionalArrayRefParameter<"int64_t">:$strides, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$buffer,
      "::mlir::RankedTensorType":$type);
  let assemblyFormat = [{
    `<` $space $index `at` $offset (`by` custom<Dims>($strides)^)? (`of` $buffer^)? `:` $type `>`
  }];
}

// Ops ---------------------------------------------------------------------------------------------

def Exec_KernelOp : Exec_Op<"kernel", [IsolatedFromAbove, Symbol,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "one kernel: a region of grad ops from operand tensors to result tensors";
  let description = [{
    The region stays grad IR until code generation, so the evaluator can run every kernel.
    Operands are passed before results. `layouts` has one Panel or unit (row-major) attribute an
    operand, then a result. `inplace` lists the operands that are only read at the root's own index: a result of the
    same type and layout may take the memory of any one of them.
    `blocks` goes with the schedule of a GPU, and so does `library`, the call that may run in the kernel's place. `parts` stands in the place of both in a
    kernel that does several things at once. `nodes` names the source nodes, `flops` and `bytes` the work of one launch.

    Types are those of the largest batch. A kernel that rows of the batch reach has `extents`, a list an operand, and `rows`,
    the list of the root space: of a dim with k > 0 the first k * n elements are there in a run of n rows, 0 is all of
    the dim; -1, of operands, a dim along which they repeat. The kernel then takes n.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<ArrayAttr>:$layouts,
      OptionalAttr<Exec_Schedule>:$schedule, OptionalAttr<Exec_Blocks>:$blocks,
      OptionalAttr<Exec_Library>:$library, OptionalAttr<TypedArrayAttrBase<Exec_Part, "parts">>:$parts,
      OptionalAttr<DenseI64ArrayAttr>:$inplace,
      OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr, "extents">>:$extents,
      OptionalAttr<DenseI64ArrayAttr>:$rows,
      OptionalAttr<ArrayAttr>:$nodes, OptionalAttr<I64Attr>:$flops, OptionalAttr<I64Attr>:$bytes);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::ValueRange getYielded() { return getBlock().getTerminator()->getOperands(); }
    /// The layout of operand or result `i` (results follow operands); null: row-major.
    ::mlir::exec::PanelAttr getLayout(unsigned i);
    void setLayout(unsigned i, ::mlir::exec::PanelAttr layout);
    /// Whether a result may be written over an operand.
    bool mayOverwrite(unsigned operand, unsigned result);
    /// The kernel's root space: the type of its largest result.
    ::mlir::RankedTensorType getRoot();
    /// What `extents` has of an operand: zeros without it.
    ::llvm::SmallVector<int64_t> getExtentsOf(unsigned operand);
    /// What `rows` has of a dim of the root: 0 without it.
    int64_t getRowsOf(int64_t dim) { return getRows() ? (*getRows())[dim] : 0; }
    /// Threads of a block on a GPU; 0 on CPUs.
    int64_t getThreads();
  }];
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the kernel's results";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Exec_LaunchOp : Exec_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "value form: run a kernel over tensors";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$operands);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
}

def Exec_BufferKindEnum : I32EnumAttr<"BufferKind", "whether a buffer is the state, or follows it", [
    I32EnumAttrCase<"primary", 0>, I32EnumAttrCase<"mirror", 1>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_BufferOp : Exec_Op<"buffer", [Symbol]> {
  let summary = "the storage of a state at this level: its primary copy, or a mirror in another layout";
  let description = [{
    A mirror is refreshed from the primary by a dispatch after every write of the state. With `cut` each rank has its own pieces alone.
    Example: `exec.buffer primary @fc1.weight.primary of @fc1.weight layout #exec.panel<dim = 1, width = 16> : 32768`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$state,
      OptionalAttr<Exec_Panel>:$layout, DefaultValuedAttr<Exec_BufferKindEnum, "BufferKind::primary">:$kind, I64Attr:$bytes,
      OptionalAttr<FlatSymbolRefAttr>:$cut);
  let assemblyFormat = [{
    $kind $sym_name `of` $state (`layout` $layout^)? `:` $bytes (`cut` $cut^)? attr-dict
  }];
}

def Exec_CutOp : Exec_Op<"cut", [Symbol]> {
  let summary = "how ranks divide what is as large as a parameter";
  let description = [{
    Elements fall into pieces of `unit` each, the last one perhaps smaller; each piece belongs to one rank, and a rank's pieces follow
    each other. One piece: all of it belongs to one rank. How many ranks there are is known at run time.
    Example: `exec.cut @fc1.weight.cut of @fc1.weight : 8192 by 32`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$state, I64Attr:$elements, I64Attr:$unit);
  let assemblyFormat = "$sym_name `of` $state `:` $elements `by` $unit attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getPieces() { return ::llvm::divideCeil(getElements(), getUnit()); }
  }];
}

def Exec_LoadOp : Exec_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "value form: the tensor in a buffer, as it was at the start of the entry";
  let arguments = (ins FlatSymbolRefAttr:$buffer);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($result)";
}

def Exec_StoreOp : Exec_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "value form: what a buffer holds after the entry";
  let arguments = (ins FlatSymbolRefAttr:$buffer, AnyRankedTensor:$value);
  let assemblyFormat = "$buffer `,` $value attr-dict `:` type($value)";
}

// Planned form: a tree of nodes. Their numbers, in preorder, are those of the artifact's nodes.

def Exec_EntryOp : Exec_Op<"entry", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "planned form: what one call of the runtime does";
  let description = [{
    `inputs` and `outputs` are dictionaries with `name`, `type`, `role` and, for data, `field`.
    An output's `slice` holds it after the last node. Every slice lies within its space in every iteration.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena, ArrayAttr:$inputs,
      ArrayAttr:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `arena` $arena `inputs` $inputs `outputs` $outputs attr-dict-with-keyword $body
  }];
}

class Exec_Node<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits # [ParentOneOf<["EntryOp", "IfOp", "LoopOp"]>]>;

def Exec_DispatchOp : Exec_Node<"dispatch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "planned form: run a kernel over slices, operands first, then results";
  let description = [{
    With `cut` a rank runs the units of its pieces alone, `per` of them a piece.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, ArrayAttr:$reads, ArrayAttr:$writes, OptionalAttr<FlatSymbolRefAttr>:$cut,
      OptionalAttr<I64Attr>:$per, OptionalAttr<ArrayAttr>:$nodes);
  let assemblyFormat = "$kernel $reads `->` $writes (`cut` $cut^ `by` $per)? attr-dict";
}

def Exec_CopyOp : Exec_Node<"copy"> {
  let summary = "planned form: copy a slice to another of the same type";
  let arguments = (ins Exec_Slice:$from, Exec_Slice:$to, OptionalAttr<ArrayAttr>:$nodes);
  let assemblyFormat = "$from `->` $to attr-dict";
  let hasVerifier = 1;
}

def Exec_CollectiveKindEnum : I32EnumAttr<"CollectiveKind", "what ranks do with each other's values", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"scatter", 1>, I32EnumAttrCase<"gather", 2>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_CollectiveOp : Exec_Node<"collective", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "planned form: what ranks do with each other's values, in place";
  let description = [{
    `sum` replaces slices by their sums over all ranks; `scatter` does so on the rank that owns a piece, and with `zeros` leaves 0 elsewhere,
    else anything; `gather` takes each piece from the rank that owns it.
    It begins when its turn comes and goes on beside the nodes behind it. A node that touches one of its slices waits for its end, and so
    does the end of the body around it. C1: slices are of one element type, f32, f64, i32 or i64. C2: with `bf16`, how values travel, it is f32,
    and it is no gather. C3: there is a cut for each slice, of as many elements, unless it is a sum.

    Examples: `exec.collective sum [#exec.slice<arena 0 at 0 : tensor<64x10xf32>>] bf16`,
    `exec.collective gather [#exec.slice<buffer 0 at 0 of @w.primary : tensor<640xf32>>] cuts [@w.cut]`
  }];
  let arguments = (ins DefaultValuedAttr<Exec_CollectiveKindEnum, "CollectiveKind::sum">:$kind, ArrayAttr:$slices, UnitAttr:$bf16,
      OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "cuts">>:$cuts, UnitAttr:$zeros, OptionalAttr<ArrayAttr>:$nodes);
  let assemblyFormat = "$kind $slices (`bf16` $bf16^)? (`cuts` $cuts^)? (`zeros` $zeros^)? attr-dict";
  let hasVerifier = 1;
}

def Exec_IfOp : Exec_Node<"if", [NoTerminator, SingleBlock]> {
  let summary = "planned form: run one of two bodies, by a bool in memory";
  let description = [{
    Example: `exec.if <arena 0 at 64 : tensor<i1>> { exec.dispatch ... } else { exec.copy ... }`
  }];
  let arguments = (ins Exec_Slice:$condition, OptionalAttr<ArrayAttr>:$nodes);
  let regions = (region SizedRegion<1>:$body, MaxSizedRegion<1>:$otherwise);
  let assemblyFormat = "$condition attr-dict-with-keyword $body (`else` $otherwise^)?";
  let hasVerifier = 1;
}

def Exec_LoopOp : Exec_Node<"loop", [NoTerminator, SingleBlock]> {
  let summary = "planned form: run a body again and again";
  let description = [{
    `trips` times or, with `count`, as often as an i32 or i64 in memory says when the loop begins: below 0 counts as 0,
    above `trips` is an error of the run.
    Examples: `exec.loop 4 { ... }`, `exec.loop 16 count <input 1 at 0 : tensor<i32>> { ... }`
  }];
  let arguments = (ins I64Attr:$trips, OptionalAttr<Exec_Slice>:$count, OptionalAttr<ArrayAttr>:$nodes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$trips (`count` $count^)? attr-dict-with-keyword $body";
}

#endif
