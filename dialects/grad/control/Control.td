// Control flow: ops whose regions are computations of their own.
#ifndef GRAD_CONTROL
#define GRAD_CONTROL

include "dialects/grad/GradDialect.td"

/// An op with isolated regions: their arguments are operands of the op, and they see no other values. Passes can thus treat
/// it like any other op.
class Grad_ControlOp<string mnemonic, list<Trait> traits = []>
    : Op<Grad_Dialect, mnemonic, !listconcat(traits, [IsolatedFromAbove, SingleBlock,
        RecursiveMemoryEffects, RecursivelySpeculatable, DeclareOpInterfaceMethods<EvaluateOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>, PrecisionOpInterface,
        DeclareOpInterfaceMethods<OperandRoleOpInterface, ["getOperandRole"]>])>;

def Grad_YieldOp : Op<Grad_Dialect, "yield", [Pure, Terminator, ParentOneOf<["IfOp", "ScanOp"]>]> {
  let summary = "the values that a region hands to its op";
  let arguments = (ins Variadic<Grad_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Grad_IfOp : Grad_ControlOp<"if", [DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "runs one of two regions, depending on a bool";
  let description = [{
    C1: both regions take the inputs as arguments. C2: both yield the results.

    Example:
    ```
    %y = grad.if %c with (%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = grad.exp %a : tensor<4xf32>
      grad.yield %0 : tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>):
      grad.yield %a : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Grad_BoolScalar:$condition, Variadic<Grad_Tensor>:$inputs);
  let results = (outs Variadic<Grad_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$otherwise);
  let assemblyFormat = [{
    $condition `with` `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body `else` $otherwise
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Grad_ScanOp : Grad_ControlOp<"scan", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<GradientOpInterface, ["prepareGradient", "whyNoGradient"]>]> {
  let summary = "a loop over the steps of stacked tensors, with carried values";
  let description = [{
    Step i of `trips` runs the region on the carried values (initially `initial`), step i of every stack (index i of
    dim 0), and the invariants. The region yields the next carried values, then step i of every result stack. The results are
    the last carried values, then the result stacks. With `reverse`, steps run from the last to the first. With `while k`, the loop ends
    before the first step at whose beginning carried value k is false.

    The last `saved` results are stacks of intermediate values that the gradient reads. C1: the region's arguments are the
    carried values, a step of each stack, and the invariants. C2: it yields the carried values, with the same types, and a step of each
    result stack. C3: stacks have `trips` steps. C4: 0 <= saved <= number of result stacks. C5: k numbers a carried bool, and there are no
    stacks, since only a run knows how many steps they would have; nor is there a gradient, which reads every step.

    Example, of a running sum:
    ```
    %last, %sums = grad.scan 10 from (%zero) over (%xs) with () : (tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>) {
    ^bb0(%sum: tensor<4xf32>, %x: tensor<4xf32>):
      %0 = grad.add %sum, %x : tensor<4xf32>
      grad.yield %0, %0 : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$trips, Variadic<Grad_Tensor>:$initial, Variadic<Grad_Tensor>:$stacks,
                       Variadic<Grad_Tensor>:$invariants, UnitAttr:$reverse, DefaultValuedAttr<I64Attr, "0">:$saved,
                       DefaultValuedAttr<I64Attr, "-1">:$condition);
  let results = (outs Variadic<Grad_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trips (`reverse` $reverse^)? (`while` $condition^)? `from` `(` $initial `)` `over` `(` $stacks `)` `with` `(` $invariants `)`
    (`saved` $saved^)? attr-dict `:` functional-type(operands, $results) $body
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getCarriedCount() { return unsigned(getInitial().size()); }
    /// Whether a carried bool, number `getCondition()`, may end the loop before its last step.
    bool mayEndEarly() { return int64_t(getCondition()) >= 0; }
    /// The region's arguments and yielded values, and the results, by kind.
    ::mlir::Block::BlockArgListType getCarried() { return getBlock().getArguments().take_front(getCarriedCount()); }
    ::mlir::Block::BlockArgListType getSteps() {
      return getBlock().getArguments().slice(getCarriedCount(), getStacks().size());
    }
    ::mlir::Block::BlockArgListType getInvariantArguments() { return getBlock().getArguments().take_back(getInvariants().size()); }
    ::mlir::OperandRange getYielded() { return getBlock().getTerminator()->getOperands(); }
    ::mlir::OperandRange getNextCarried() { return getYielded().take_front(getCarriedCount()); }
    ::mlir::OperandRange getYieldedSteps() { return getYielded().drop_front(getCarriedCount()); }
    ::mlir::ResultRange getLastCarried() { return getResults().take_front(getCarriedCount()); }
    ::mlir::ResultRange getStackResults() { return getResults().drop_front(getCarriedCount()); }
  }];
}

#endif
