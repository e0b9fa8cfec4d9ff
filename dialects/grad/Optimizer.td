// Optimizer updates: elementwise in one parameter; if `proceed` is false, all values stay as they were.
#ifndef GRAD_OPTIMIZER
#define GRAD_OPTIMIZER

include "dialects/grad/GradDialect.td"

/// Each update decomposes into elementwise ops, so it may run in the epilogue of the contraction that computes its
/// gradient. Gradients of updates are missing on purpose.
class Grad_UpdateOp<string mnemonic, list<string> slots, list<Trait> traits = []>
    : Grad_CompositeOp<mnemonic, !listconcat(traits, [
        AllTypesMatch<!listconcat(["parameter", "gradient", "new_parameter"], slots,
                                  !foreach(s, slots, "new_" # s))>])>;

def Grad_SgdOp : Grad_UpdateOp<"sgd", []> {
  let summary = "g += l2 p; p -= lr g";
  let arguments = (ins Grad_FloatTensor:$parameter, Grad_FloatTensor:$gradient,
      Grad_FloatScalar:$learning_rate, Grad_BoolScalar:$proceed,
      DefaultValuedAttr<F64Attr, "0.0">:$l2);
  let results = (outs Grad_FloatTensor:$new_parameter);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $learning_rate `,` $proceed attr-dict `:` type($parameter) `,`
    type($learning_rate)
  }];
}

def Grad_MomentumOp : Grad_UpdateOp<"momentum", ["velocity"]> {
  let summary = "g += l2 p; v = mu v + g; p -= lr v (nesterov: p -= lr (g + mu v)); as PyTorch";
  let arguments = (ins Grad_FloatTensor:$parameter, Grad_FloatTensor:$gradient,
      Grad_FloatTensor:$velocity, Grad_FloatScalar:$learning_rate, Grad_BoolScalar:$proceed,
      F64Attr:$momentum, DefaultValuedAttr<F64Attr, "0.0">:$l2, UnitAttr:$nesterov);
  let results = (outs Grad_FloatTensor:$new_parameter, Grad_FloatTensor:$new_velocity);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $velocity `,` $learning_rate `,` $proceed attr-dict `:`
    type($parameter) `,` type($learning_rate)
  }];
}

def Grad_AdamOp : Grad_UpdateOp<"adam", ["first", "second"],
    [AllTypesMatch<["learning_rate", "step"]>]> {
  let summary = "Adam with bias correction; AdamW with `weight_decay`; as PyTorch";
  let description = [{
    With t the 1-based step: g += l2 p; p *= 1 - lr weight_decay; m = b1 m + (1-b1) g;
    v = b2 v + (1-b2) g^2; p -= lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + epsilon).
    1 - b^t is computed as -expm1(t ln b), which keeps its digits at small t.
  }];
  let arguments = (ins Grad_FloatTensor:$parameter, Grad_FloatTensor:$gradient,
      Grad_FloatTensor:$first, Grad_FloatTensor:$second,
      Grad_FloatScalar:$learning_rate, Grad_FloatScalar:$step, Grad_BoolScalar:$proceed,
      F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon,
      DefaultValuedAttr<F64Attr, "0.0">:$weight_decay, DefaultValuedAttr<F64Attr, "0.0">:$l2);
  let results = (outs Grad_FloatTensor:$new_parameter, Grad_FloatTensor:$new_first,
                      Grad_FloatTensor:$new_second);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $first `,` $second `,` $learning_rate `,` $step `,` $proceed attr-dict
    `:` type($parameter) `,` type($learning_rate)
  }];
}

#endif
