// Optimizers' rules: what a step makes of a parameter and its gradient; `proceed` false leaves everything as it was.
#ifndef GRAD_OPTIMIZER
#define GRAD_OPTIMIZER

include "dialects/grad/GradDialect.td"

/// Gradients of updates are missing on purpose. Hyperparameters are attributes, named as the fields of the training spec's
/// message: f64 for a number, unit for a flag.
class Grad_UpdateOp<string mnemonic, list<Trait> traits = []>
    : Grad_CompositeOp<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<UpdateOpInterface>])> {
  code noGradient = [{
    LogicalResult $cppClass::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
      return failure();
    }
  }];
  let extraClassDefinition = noGradient;
}

/// One with the same slots, each as large as the parameter, whatever its hyperparameters.
class Grad_FixedUpdateOp<string mnemonic, list<string> slots, list<string> scalars, dag hyperparameters,
                         list<Trait> traits = []>
    : Grad_UpdateOp<mnemonic, !listconcat(traits, [
        AllTypesMatch<!listconcat(["parameter", "gradient", "new_parameter"], slots,
                                  !foreach(s, slots, "new_" # s))>,
        AllTypesMatch<scalars>])> {
  let arguments = !con((ins Grad_FloatTensor:$parameter, Grad_FloatTensor:$gradient),
      !dag(ins, !foreach(s, slots, Grad_FloatTensor), slots),
      !dag(ins, !foreach(s, scalars, Grad_FloatScalar), scalars),
      (ins Grad_BoolScalar:$proceed), hyperparameters);
  let results = !con((outs Grad_FloatTensor:$new_parameter),
      !dag(outs, !foreach(s, slots, Grad_FloatTensor), !foreach(s, slots, "new_" # s)));
  let assemblyFormat = !interleave(!foreach(o, !listconcat(["parameter", "gradient"], slots, scalars, ["proceed"]),
                                            "$" # o), " `,` ")
      # " attr-dict `:` type($parameter) `,` type($learning_rate)";
  let extraClassDefinition = noGradient # [{
    SmallVector<UpdateSlot> $cppClass::getUpdateSlots(RankedTensorType parameter, DictionaryAttr) {
      return {}] # !interleave(!foreach(s, slots, "UpdateSlot{\"" # s # "\", parameter}"), ", ") # "}" # [{;
    }
    SmallVector<StringRef> $cppClass::getUpdateScalars() {
      return {}] # !interleave(!foreach(s, scalars, "\"" # s # "\""), ", ") # "}" # [{;
    }
  }];
}

def Grad_SgdOp : Grad_FixedUpdateOp<"sgd", [], ["learning_rate"], (ins DefaultValuedAttr<F64Attr, "0.0">:$l2)> {
  let summary = "g += l2 p; p -= lr g";
}

def Grad_MomentumOp : Grad_FixedUpdateOp<"momentum", ["velocity"], ["learning_rate"],
    (ins F64Attr:$momentum, DefaultValuedAttr<F64Attr, "0.0">:$l2, UnitAttr:$nesterov)> {
  let summary = "g += l2 p; v = mu v + g; p -= lr v (nesterov: p -= lr (g + mu v)); as PyTorch";
}

def Grad_AdamOp : Grad_FixedUpdateOp<"adam", ["first", "second"], ["learning_rate", "step"],
    (ins F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, DefaultValuedAttr<F64Attr, "0.0">:$weight_decay,
         DefaultValuedAttr<F64Attr, "0.0">:$l2)> {
  let summary = "Adam with bias correction; AdamW with `weight_decay`; as PyTorch";
  let description = [{
    With t the 1-based step: g += l2 p; p *= 1 - lr weight_decay; m = b1 m + (1-b1) g;
    v = b2 v + (1-b2) g^2; p -= lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + epsilon).
    1 - b^t is computed as -expm1(t ln b), which keeps its digits at small t.
  }];
}

def Grad_RmspropOp : Grad_UpdateOp<"rmsprop"> {
  let summary = "the gradient over its root mean square; as PyTorch";
  let description = [{
    g += l2 p; v = alpha v + (1 - alpha) g^2; u = g / (sqrt(v) + epsilon). With `centered`, also
    a = alpha a + (1 - alpha) g, and v - a^2 (0 where rounding makes it negative) in place of v in u.
    p -= lr u; with `momentum` > 0: b = momentum b + u; p -= lr b. Slots: v ("square"), a ("average")
    if `centered`, b ("velocity") if `momentum` > 0.

    Example: `%p1, %v1 = grad.rmsprop %p, %g, %v, %lr, %go {alpha = 0.99 : f64, epsilon = 1.0e-08 : f64} :
    (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>)`
  }];
  let arguments = (ins Grad_FloatTensor:$parameter, Grad_FloatTensor:$gradient, Variadic<Grad_FloatTensor>:$slots,
      Grad_FloatScalar:$learning_rate, Grad_BoolScalar:$proceed, F64Attr:$alpha, F64Attr:$epsilon,
      DefaultValuedAttr<F64Attr, "0.0">:$momentum, DefaultValuedAttr<F64Attr, "0.0">:$l2, UnitAttr:$centered);
  let results = (outs Grad_FloatTensor:$new_parameter, Variadic<Grad_FloatTensor>:$new_slots);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif
