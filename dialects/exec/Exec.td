// The exec dialect: the static schedule. It fixes everything that the runtime will do.
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
    I32EnumAttrCase<"values", 0>, I32EnumAttrCase<"pairs", 1>, I32EnumAttrCase<"winograd2x2", 2>,
    I32EnumAttrCase<"winograd4x4", 3>, I32EnumAttrCase<"quads", 4>, I32EnumAttrCase<"nibbles", 5>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_AlgorithmEnum : I32EnumAttr<"Algorithm", "how a kernel is computed", [
    I32EnumAttrCase<"direct", 0>, I32EnumAttrCase<"winograd2x2", 1>, I32EnumAttrCase<"winograd4x4", 2>,
    I32EnumAttrCase<"attention", 3>, I32EnumAttrCase<"lane_sums", 4>, I32EnumAttrCase<"scatter", 5>,
    I32EnumAttrCase<"sort", 6>, I32EnumAttrCase<"suppression", 7>, I32EnumAttrCase<"cumulative", 8>,
    I32EnumAttrCase<"positions", 9>, I32EnumAttrCase<"fourier", 10>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_Panel : Exec_Attr<"Panel", "panel"> {
  let summary = "a tensor cut into panels along one dim";
  let description = [{
    Physical order: [ceil(size(dim) / width)] x the other dims in order x [width], padded with zeros.
    B operands of contractions use this layout: vector lanes run along `dim`, and each panel is contiguous. Kinds `pairs` and `quads`
    interleave 2 or 4 neighbours along another dim, `interleaved`: [ceil(size(dim) / width)] x the other dims, with
    `interleaved` divided by 2 or 4 and padded with zeros, x [width] x [2 or 4]. Dot products of 16-bit floats and of 8-bit
    integers read B in this form: 32 bits at a time. Kind `nibbles` stores 8-bit integers from -8 to 7 in 4 bits each: 8 neighbours along
    `interleaved`, whose size is a multiple of 8, are 32 bits, the first one in the lowest 4. A tensor without a layout is row-major.

    Kinds `winograd2x2` and `winograd4x4` store a tensor [3, 3, .., ..] of 3x3 filters g transformed for Winograd's
    F(2x2, 3x3) and F(4x4, 3x3): the 16 or 36 numbers G g G^T, in f32 whatever the tensor's type, as
    [size(dim) / width] x [16 or 36] x the other channel dim x [width]. The rows of G evaluate a polynomial of three coefficients at 0, at p and -p for each point p of 1, or of 3/4
    and 3/2, each divided by the product of its differences to the other points (at 0: by its magnitude); the last row, at
    infinity, is [0, 0, 1].
    Examples: `#exec.panel<dim = 1, width = 16>`, `#exec.panel<dim = 1, width = 32, pairs = 0>`, `#exec.panel<dim = 1, width = 32, quads = 0>`,
    `#exec.panel<dim = 1, width = 32, nibbles = 0>`, `#exec.panel<dim = 3, width = 16, winograd4x4>`
  }];
  let parameters = (ins "int64_t":$dim, "int64_t":$width, EnumParameter<Exec_PanelKindEnum>:$kind, "int64_t":$interleaved);
  let assemblyFormat = "`<` `dim` `=` $dim `,` `width` `=` $width `` custom<PanelKind>($kind, $interleaved) `>`";
  let builders = [AttrBuilder<(ins "int64_t":$dim, "int64_t":$width, CArg<"PanelKind", "PanelKind::values">:$kind),
                              "return $_get($_ctxt, dim, width, kind, -1);">,
                  AttrBuilder<(ins "int64_t":$dim, "int64_t":$width, "PanelKind":$kind, "int64_t":$interleaved),
                              "return $_get($_ctxt, dim, width, kind, interleaved);">];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    bool isOfPairs() const { return getKind() == PanelKind::pairs; }
    /// The number of neighbours that are interleaved; 1 for other kinds.
    int64_t getTogether() const { return isOfPairs() ? 2 : getKind() == PanelKind::quads ? 4 : isOfNibbles() ? 8 : 1; }
    bool isOfNibbles() const { return getKind() == PanelKind::nibbles; }
    bool isInterleaved() const { return getTogether() > 1; }
    bool isWinograd() const { return getWinogradOutputs() > 0; }
    /// m of Winograd's F(m x m, 3x3); 0 for other kinds.
    int64_t getWinogradOutputs() const {
      return getKind() == PanelKind::winograd2x2 ? 2 : getKind() == PanelKind::winograd4x4 ? 4 : 0;
    }
  }];
}

def Exec_Turned : Exec_Attr<"Turned", "turned"> {
  let summary = "an operand whose panels or rows a kernel turns";
  let description = [{
    The operand is stored in panels, or in rows, along another dim than `dim`, which runs along the last dim of the kernel's root. Before the tiles of
    `tiles` columns, a thread copies what they read of it to scratch memory, in panels along `dim` as wide as the tile. Of a batch of matrices in
    rows, it copies what a tile reads of one, before the tile's rows.
  }];
  let parameters = (ins "int64_t":$operand, "int64_t":$dim, "int64_t":$tiles);
  let assemblyFormat = "`<` `operand` `=` $operand `,` `dim` `=` $dim `,` `tiles` `=` $tiles `>`";
}

def Exec_Schedule : Exec_Attr<"Schedule", "schedule"> {
  let summary = "how one kernel runs on one level";
  let description = [{
    `tile`: the register tile, one extent per dim of the kernel's root space (the dims of its largest result).
    Vectors of `lanes` elements run along the last dim whose extent is a multiple of them: the innermost one, or
    the rows if there are fewer columns. `order`: the root dims, outermost loop first. Iterations of the outermost loop are
    the units that threads share; a unit's bits do not depend on which thread computes it. `grain`: splitting
    fewer units than this does not pay. `block`, for a kernel that is one contraction: on a CPU, extents of its first
    reduced dims, which are blocked outside the tiles with the result as accumulator in memory. Operands
    that a tile would otherwise stream whole are then read in pieces that stay in cache. On a GPU, one extent: the
    reduction steps whose operands a thread block stages in shared memory together. `panels`, for a product of two
    matrices: the number of panels of each factor, as wide as the tile, that a thread copies to scratch memory together, with the steps
    of a block or of the whole sum; 0: that factor is read in place. That of the inner loop's dim is 0 or 1. `turned`: an operand that
    is copied; columns are the outermost loop then or, if it is a batch of matrices, rows are the innermost ones. `algorithm`: `winograd2x2` and `winograd4x4` compute a 3x3
    convolution, or the gradient of its filter, by F(2x2, 3x3) or F(4x4, 3x3); `tile`, or `block`, then is the extent transformed together,
    and a convolution's units are the tiles of both picture dims.
    `attention` computes one attention, or its gradient, in blocks of queries and keys; its units are the tiles of
    all dims, the last dim in `order` fastest. `lane_sums` computes a product whose factors have the sum along their rows: each
    result of a tile has vectors of partial sums, whose lanes are added up at the end. `scatter` adds the updates of a scatter, in order of
    their positions, to its targets in scratch memory, for `block` units at a time, then computes their tiles. `sort` computes an argsort, `suppression` a suppression of boxes,
    `cumulative` a cumulative sum or product, `positions` the coordinates of true elements, in one tile; their units are the tiles of rows along the last dim in `order`, the one before it fastest. `fourier` computes a Fourier transform,
    with a vector of rows as a unit. `spacing`: how far apart the
    elements of a tile are along each dim; empty: next to each other. A convolution whose picture is dilated has tiles of
    positions that see the same taps. The outermost dim and dims of rows of a run have none.
  }];
  let parameters = (ins "int64_t":$lanes, ArrayRefParameter<"int64_t">:$tile,
                        ArrayRefParameter<"int64_t">:$order, "int64_t":$grain,
                        OptionalArrayRefParameter<"int64_t">:$block,
                        OptionalArrayRefParameter<"int64_t">:$panels, OptionalParameter<"TurnedAttr">:$turned,
                        EnumParameter<Exec_AlgorithmEnum>:$algorithm, OptionalArrayRefParameter<"int64_t">:$spacing);
  let assemblyFormat = [{
    `<` `lanes` `=` $lanes `,` `tile` `=` custom<Dims>($tile) `,` `order` `=` custom<Dims>($order) `,`
    `grain` `=` $grain `` custom<Walk>($block, $panels, $turned, $algorithm, $spacing) `>`
  }];
  // Without a turned operand or spacing.
  let builders = [AttrBuilder<(ins "int64_t":$lanes, "::llvm::ArrayRef<int64_t>":$tile, "::llvm::ArrayRef<int64_t>":$order,
                                   "int64_t":$grain, "::llvm::ArrayRef<int64_t>":$block,
                                   "::llvm::ArrayRef<int64_t>":$panels, "Algorithm":$algorithm),
                              "return $_get($_ctxt, lanes, tile, order, grain, block, panels, TurnedAttr(), algorithm, ::llvm::ArrayRef<int64_t>());">];
  let extraClassDeclaration = [{
    bool isWinograd() const { return getWinogradOutputs() > 0; }
    /// m of Winograd's F(m x m, 3x3); 0 for other algorithms.
    int64_t getWinogradOutputs() const {
      return getAlgorithm() == Algorithm::winograd2x2 ? 2 : getAlgorithm() == Algorithm::winograd4x4 ? 4 : 0;
    }
    /// Whether the kernel is one op with the trait `OwnKernel`. Its units are the tiles of all dims.
    bool isOfOneOp() const {
      switch (getAlgorithm()) {
      case Algorithm::direct:
      case Algorithm::winograd2x2:
      case Algorithm::winograd4x4:
      case Algorithm::lane_sums:
      case Algorithm::scatter:
        return false;
      default:
        return true;
      }
    }
    /// The number of outermost loops whose iterations are units.
    int64_t getUnitDims() const {
      return isOfOneOp() ? getOrder().size() : isWinograd() && getBlock().empty() ? 2 : 1;
    }
    int64_t spacingOf(int64_t dim) const { return getSpacing().empty() ? 1 : getSpacing()[dim]; }
    bool hasLaneSums() const { return getAlgorithm() == Algorithm::lane_sums; }
    /// The number of units whose updates a scatter adds up together; 0 for other algorithms.
    int64_t getScatterUnits() const { return getAlgorithm() == Algorithm::scatter ? getBlock().front() : 0; }
  }];
}

def Exec_Blocks : Exec_Attr<"Blocks", "blocks"> {
  let summary = "how a GPU's threads share one kernel";
  let description = [{
    A block has `threads` threads, and teams of `team` threads each work on one unit. A unit is a tile of the first `rows` dims of the
    root space, last dim fastest; the team walks the remaining dims together, and shares the work of every reduction that
    a unit needs as a whole. `adjacent`: a team's members are neighbouring threads, so accesses along a row
    coalesce; otherwise neighbouring threads are neighbouring units, so accesses along columns coalesce.
  }];
  let parameters = (ins "int64_t":$threads, "int64_t":$team, "bool":$adjacent, "int64_t":$rows);
  let assemblyFormat = "`<` `threads` `=` $threads `,` `team` `=` $team `,` `adjacent` `=` $adjacent `,` `rows` `=` $rows `>`";
  let extraClassDeclaration = [{
    /// Units of one block.
    int64_t getUnits() const { return getThreads() / getTeam(); }
  }];
}

def Exec_Part : Exec_Attr<"Part", "part"> {
  let summary = "one of the independent computations that a GPU kernel runs in parallel";
  let description = [{
    A part reads the kernel's next `operands` operands and computes its next `results` results. It
    has its own range of thread blocks, after those of the parts before it, and its own root space, the dims of its
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
  let summary = "the library call that can replace a kernel";
  let description = [{
    cuBLASLt computes matrix products; cuDNN computes convolutions and their gradients. `operands`: the kernel operands passed
    to the call: its two factors (data and filter or, for a filter gradient, data and the gradient of the
    result), then the bias or, for `gelu_grad`, the input of GELU (always in its tanh form). `kept`: which of the
    kernel's two results is the input of GELU; a kernel without it has one result. The kernel is still generated as the fallback
    where the library is not installed.
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

def Exec_Patch : Exec_Attr<"Patch", "patch"> {
  let summary = "the operands of a kernel that writes some rows of a table in place";
  let description = [{
    The kernel's result is the memory of operand `table`. Row i of operand `values` replaces the table's row at element i of
    operand `rows`, or none if that is out of range.
  }];
  let parameters = (ins "int64_t":$table, "int64_t":$rows, "int64_t":$values);
  let assemblyFormat = "`<` `table` `=` $table `,` `rows` `=` $rows `,` `values` `=` $values `>`";
}

def Exec_SpaceEnum : I32EnumAttr<"Space", "where a slice lives", [
    I32EnumAttrCase<"arena", 0>, I32EnumAttrCase<"buffer", 1>, I32EnumAttrCase<"input", 2>,
    I32EnumAttrCase<"output", 3>]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_Slice : Exec_Attr<"Slice", "slice"> {
  let summary = "bytes [offset, offset + size) of the arena, of a state's buffer, or of an entry input or output";
  let description = [{
    `index` is the number of the input or output, 0 in other spaces; `buffer` is the symbol of an exec.buffer
    if the space is `buffer`; `type` is the logical tensor in the slice. `strides`: bytes by which the slice advances per
    iteration of each loop around its node, outermost first; loops beyond the end of the list do not move it.
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
    Operands are passed before results. `layouts` has one Panel or unit (row-major) attribute per
    operand, then one per result. `inplace` lists operands of which no element is read after a result's element at the
    same index has been written: a result of the same type and layout may reuse the memory of any one of them.
    `blocks` and `library`, the call that may replace the kernel, accompany a GPU schedule. A kernel that does several things
    at once has `parts` instead of `schedule` and `blocks`. A kernel with a `patch` writes only some rows of its result, which must have the
    memory of the table; its root space is that of the new rows. `nodes` names the source nodes; `flops` and `bytes` are the work of one launch.

    Operands are static tensors. Types are those of the largest batch. A kernel whose tensors depend on the number of rows n takes n as an argument. It has `extents`,
    a list per operand, and `rows`, the list of the root space. An entry k > 0 means that a run of n rows uses the first
    k * n elements of the dim; 0 means all of it; -1, for operands only, a dim along which the operand repeats.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<ArrayAttr>:$layouts,
      OptionalAttr<Exec_Schedule>:$schedule, OptionalAttr<Exec_Blocks>:$blocks,
      OptionalAttr<Exec_Library>:$library, OptionalAttr<TypedArrayAttrBase<Exec_Part, "parts">>:$parts,
      OptionalAttr<DenseI64ArrayAttr>:$inplace, OptionalAttr<Exec_Patch>:$patch,
      OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr, "extents">>:$extents,
      OptionalAttr<DenseI64ArrayAttr>:$rows,
      OptionalAttr<ArrayAttr>:$nodes, OptionalAttr<I64Attr>:$flops, OptionalAttr<I64Attr>:$bytes);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  // After the body's own verification: it looks at the operands of the terminator.
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::ValueRange getYielded() { return getBlock().getTerminator()->getOperands(); }
    /// The layout of operand or result `i` (results follow operands); null: row-major.
    ::mlir::exec::PanelAttr getLayout(unsigned i);
    void setLayout(unsigned i, ::mlir::exec::PanelAttr layout);
    /// Whether an operand is stored in pairs.
    bool readsPairs();
    /// Whether a result may be written over an operand.
    bool mayOverwrite(unsigned operand, unsigned result);
    /// The kernel's root space: the type of its largest result, or of the new rows of a patch.
    ::mlir::RankedTensorType getRoot();
    /// The operand's list in `extents`; zeros without `extents`.
    ::llvm::SmallVector<int64_t> getExtentsOf(unsigned operand);
    /// The entry of `rows` for a dim of the root; 0 without `rows`.
    int64_t getRowsOf(int64_t dim) { return getRows() ? (*getRows())[dim] : 0; }
    /// Threads per block on a GPU; 0 on CPUs.
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

def Exec_BufferOp : Exec_Op<"buffer", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the storage of a state at this level: its primary copy, or a mirror in another layout";
  let description = [{
    A dispatch refreshes a mirror from the primary after every write of the state. With `cut`, each rank holds only its own pieces.
    Example: `exec.buffer primary @fc1.weight.primary of @fc1.weight layout #exec.panel<dim = 1, width = 16> : 32768`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$state,
      OptionalAttr<Exec_Panel>:$layout, DefaultValuedAttr<Exec_BufferKindEnum, "BufferKind::primary">:$kind, I64Attr:$bytes,
      OptionalAttr<FlatSymbolRefAttr>:$cut);
  let assemblyFormat = [{
    $kind $sym_name `of` $state (`layout` $layout^)? `:` $bytes (`cut` $cut^)? attr-dict
  }];
}

def Exec_CutOp : Exec_Op<"cut", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "how ranks divide the elements of a parameter-sized tensor";
  let description = [{
    The elements form pieces of `unit` elements, of which the last may be smaller. Each piece belongs to one rank, and the pieces of a
    rank are consecutive. With a single piece, one rank owns the whole tensor. The number of ranks is known only at run time.
    Example: `exec.cut @fc1.weight.cut of @fc1.weight : 8192 by 32`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$state, I64Attr:$elements, I64Attr:$unit);
  let assemblyFormat = "$sym_name `of` $state `:` $elements `by` $unit attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getPieces() { return ::llvm::divideCeil(getElements(), getUnit()); }
  }];
}

def Exec_LoadOp : Exec_Op<"load", [MemoryEffects<[MemRead]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "value form: the tensor in a buffer, as it was at the start of the entry";
  let arguments = (ins FlatSymbolRefAttr:$buffer);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($result)";
}

def Exec_StoreOp : Exec_Op<"store", [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
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
    An output's `slice` holds its value after the last node. Every slice lies within its space in every iteration.
    An entry `each_row @other` has no nodes: it runs the other one, whose batch is 1, for each of its rows.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena, ArrayAttr:$inputs,
      ArrayAttr:$outputs, OptionalAttr<FlatSymbolRefAttr>:$each_row);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `arena` $arena (`each_row` $each_row^)? `inputs` $inputs `outputs` $outputs attr-dict-with-keyword $body
  }];
}

class Exec_Node<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits # [ParentOneOf<["EntryOp", "IfOp", "LoopOp"]>]>;

def Exec_DispatchOp : Exec_Node<"dispatch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "planned form: run a kernel over slices, operands first, then results";
  let description = [{
    With `cut`, a rank runs only the units of its own pieces, `per` units per piece.
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
  let summary = "planned form: an in-place collective over all ranks";
  let description = [{
    `sum` replaces slices by their sums over all ranks (all-reduce). `scatter` does so only on the rank that owns a piece (reduce-scatter); elsewhere it leaves
    0 in the slices numbered in `zeros`, and unspecified values in others. `gather` copies each piece from the rank that owns it to all ranks (all-gather).
    A collective is asynchronous: it starts in node order and runs alongside the nodes after it. Nodes that touch one of its slices wait for it,
    as does the end of the enclosing body. C1: all slices have one element type: f32, f64, i32 or i64. C2: `bf16` on the wire
    requires f32 values and is not allowed on a gather. C3: unless it is a sum, it has one cut per slice, with the slice's number of elements. C4: only a
    scatter has `zeros`; they number its slices.

    Examples: `exec.collective sum [#exec.slice<arena 0 at 0 : tensor<64x10xf32>>] bf16`,
    `exec.collective gather [#exec.slice<buffer 0 at 0 of @w.primary : tensor<640xf32>>] cuts [@w.cut]`
  }];
  let arguments = (ins DefaultValuedAttr<Exec_CollectiveKindEnum, "CollectiveKind::sum">:$kind, ArrayAttr:$slices, UnitAttr:$bf16,
      OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "cuts">>:$cuts, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$zeros, OptionalAttr<ArrayAttr>:$nodes);
  let assemblyFormat = "$kind $slices (`bf16` $bf16^)? (`cuts` $cuts^)? (`zeros` $zeros^)? attr-dict";
  let hasVerifier = 1;
}

def Exec_TransferOp : Exec_Node<"transfer"> {
  let summary = "planned form: one half of a transfer between two ranks";
  let description = [{
    With `send`, gives a slice to rank `peer`; otherwise the slice becomes what that rank sends. Both halves have the same number, which no
    other transfer of the entry has. A transfer is asynchronous, as a collective is, but what is sent may be overwritten at once. With `rows`, the
    slice's rows are outermost, and those of the run are transferred alone.
    C1: peer and number are not negative.

    Example: `exec.transfer #exec.slice<arena 0 at 0 : tensor<64x10xf16>> peer 1 number 4 send`
  }];
  let arguments = (ins Exec_Slice:$slice, ConfinedAttr<I64Attr, [IntNonNegative]>:$peer,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$number, UnitAttr:$send, UnitAttr:$rows, OptionalAttr<ArrayAttr>:$nodes);
  let assemblyFormat = "$slice `peer` $peer `number` $number (`send` $send^)? (`rows` $rows^)? attr-dict";
}

def Exec_IfOp : Exec_Node<"if", [NoTerminator, SingleBlock]> {
  let summary = "planned form: run one of two bodies, depending on a bool in memory";
  let description = [{
    Example: `exec.if <arena 0 at 64 : tensor<i1>> { exec.dispatch ... } else { exec.copy ... }`
  }];
  let arguments = (ins Exec_Slice:$condition, OptionalAttr<ArrayAttr>:$nodes);
  let regions = (region SizedRegion<1>:$body, MaxSizedRegion<1>:$otherwise);
  let assemblyFormat = "$condition attr-dict-with-keyword $body (`else` $otherwise^)?";
  let hasVerifier = 1;
}

def Exec_LoopOp : Exec_Node<"loop", [NoTerminator, SingleBlock]> {
  let summary = "planned form: run a body repeatedly";
  let description = [{
    Runs `trips` iterations or, with `count`, the number that an i32 or i64 in memory holds when the loop begins. A negative
    count means 0; a count above `trips` is a run-time error. With `while`, a bool in memory ends the loop before the first iteration at
    whose beginning it is false; slices do not move with the iterations of such a loop.
    Examples: `exec.loop 4 { ... }`, `exec.loop 16 count <input 1 at 0 : tensor<i32>> { ... }`,
    `exec.loop 1000 while <arena 0 at 64 : tensor<i1>> { ... }`
  }];
  let arguments = (ins I64Attr:$trips, OptionalAttr<Exec_Slice>:$count, OptionalAttr<Exec_Slice>:$condition,
      OptionalAttr<ArrayAttr>:$nodes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$trips (`count` $count^)? (`while` $condition^)? attr-dict-with-keyword $body";
}

#endif
