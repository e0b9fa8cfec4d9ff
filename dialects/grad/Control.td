// Control flow: ops whose regions are computations of their own.
#ifndef GRAD_CONTROL
#define GRAD_CONTROL

include "dialects/grad/GradDialect.td"

/// A region takes operands of the op as its arguments, and sees nothing else: to everything around it the op is an
/// op like any other.
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
  let summary = "one of two computations";
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
    DeclareOpInterfaceMethods<GradientOpInterface, ["prepareGradient"]>]> {
  let summary = "a computation again and again, over the steps of stacks, with values that it carries along";
  let description = [{
    Step i of `trips` runs the region on the carried values (first those of `initial`), step i of every stack (its
    elements at i of dim 0), and the invariants. It yields the next carried values, then step i of every stack that results. Results are
    the last carried values, then those stacks. With `reverse`, the steps are taken from the last to the first.

    The last `saved` results are there for the gradient: stacks of values that a step computes. C1: the region takes the
    carried values, a step of each stack, and the invariants. C2: it yields the carried values, in their types, and a step of each
    stack that results. C3: stacks have `trips` steps. C4: 0 <= saved <= stacks that result.

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
                       Variadic<Grad_Tensor>:$invariants, UnitAttr:$reverse, DefaultValuedAttr<I64Attr, "0">:$saved);
  let results = (outs Variadic<Grad_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trips (`reverse` $reverse^)? `from` `(` $initial `)` `over` `(` $stacks `)` `with` `(` $invariants `)`
    (`saved` $saved^)? attr-dict `:` functional-type(operands, $results) $body
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getCarriedCount() { return unsigned(getInitial().size()); }
    /// The region's arguments and what it yields, by what they are.
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
