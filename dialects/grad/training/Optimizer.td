// Optimizer rules: the new parameter and slots of a step. With `proceed` false all results are the old values.
#ifndef GRAD_OPTIMIZER
#define GRAD_OPTIMIZER

include "dialects/grad/GradDialect.td"

/// Gradients of updates are missing on purpose. Hyperparameters are attributes, named as the fields of the training spec's
/// message: f64 for a number, i64 for a count, unit for a flag. Every rule has
///   `l2`            added, times the parameter, to the gradient before anything else looks at it
///   `weight_decay`  decoupled: the parameter shrinks by the factor 1 - lr weight_decay (p' below) before the rest is
///                   subtracted from it
/// with two exceptions that say so. `answers` are the methods of the interface that the op overrides.
class Grad_UpdateOp<string mnemonic, list<string> answers = [], list<Trait> traits = []>
    : Grad_CompositeOp<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<UpdateOpInterface, answers>])> {
  code noGradient = [{
    LogicalResult $cppClass::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
      return failure();
    }
  }];
  dag decays = (ins DefaultValuedAttr<F64Attr, "0.0">:$l2, DefaultValuedAttr<F64Attr, "0.0">:$weight_decay);
  let extraClassDefinition = noGradient;
}

/// A rule with fixed slots of the parameter's type, independent of its hyperparameters.
class Grad_FixedUpdateOp<string mnemonic, list<string> slots, list<string> scalars, dag hyperparameters,
                         list<string> answers = []>
    : Grad_UpdateOp<mnemonic, answers, [
        AllTypesMatch<!listconcat(["parameter", "gradient", "new_parameter"], slots,
                                  !foreach(s, slots, "new_" # s))>,
        AllTypesMatch<scalars>]> {
  let arguments = !con((ins Grad_FloatTensor:$parameter, Grad_FloatTensor:$gradient),
      !dag(ins, !foreach(s, slots, Grad_FloatTensor), slots),
      !dag(ins, !foreach(s, scalars, Grad_FloatScalar), scalars),
      (ins Grad_BoolScalar:$proceed), hyperparameters, decays);
  let results = !con((outs Grad_FloatTensor:$new_parameter),
      !dag(outs, !foreach(s, slots, Grad_FloatTensor), !foreach(s, slots, "new_" # s)));
  let assemblyFormat = !interleave(!foreach(o, !listconcat(["parameter", "gradient"], slots, scalars, ["proceed"]),
                                            "$" # o), " `,` ")
      # " attr-dict `:` type($parameter) `,` type($learning_rate)";
  let extraClassDefinition = noGradient # [{
    SmallVector<UpdateSlot> $cppClass::getUpdateSlots(RankedTensorType parameter, DictionaryAttr) {
      return {}] # !interleave(!foreach(s, slots, "UpdateSlot{\"" # s # "\", parameter}"), ", ") # "}" # [{;
    }
    SmallVector<StringRef> $cppClass::getUpdateScalars(DictionaryAttr) {
      return {}] # !interleave(!foreach(s, scalars, "\"" # s # "\""), ", ") # "}" # [{;
    }
  }];
}

/// A rule whose slots (number, types or initial values) or scalars depend on its hyperparameters. If a rule has `cycled` and
/// sets it, the last scalar is the step's `momentum`, which replaces the hyperparameter.
class Grad_VariableUpdateOp<string mnemonic, list<string> scalars, dag hyperparameters, list<string> answers = []>
    : Grad_UpdateOp<mnemonic, answers> {
  let arguments = !con((ins Grad_FloatTensor:$parameter, Grad_FloatTensor:$gradient,
                            Variadic<Grad_FloatTensor>:$slots_and_scalars, Grad_BoolScalar:$proceed),
      hyperparameters, decays);
  let results = (outs Grad_FloatTensor:$new_parameter, Variadic<Grad_FloatTensor>:$new_slots);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = noGradient # [{
    SmallVector<StringRef> $cppClass::getUpdateScalars(DictionaryAttr hyperparameters) {
      SmallVector<StringRef> scalars = {}] # !interleave(!foreach(s, scalars, "\"" # s # "\""), ", ") # "}" # [{;
      if (hyperparameters.contains("cycled"))
        scalars.push_back("momentum");
      return scalars;
    }
  }];
}

def Grad_SgdOp : Grad_FixedUpdateOp<"sgd", [], ["learning_rate"], (ins), ["keepsWithoutGradient"]> {
  let summary = "p = p' - lr g";
}

def Grad_MomentumOp : Grad_VariableUpdateOp<"momentum", ["learning_rate", "step"],
    (ins F64Attr:$momentum, DefaultValuedAttr<F64Attr, "0.0">:$dampening, UnitAttr:$nesterov, UnitAttr:$keras,
         UnitAttr:$cycled)> {
  let summary = "a running sum of gradients; as PyTorch";
  let description = [{
    v = mu v + (1 - dampening) g, in step 1 without the dampening; p = p' - lr v (nesterov: p = p' - lr (g + mu v)).
    With `keras` the rate is in the sum: v = mu v + lr (1 - dampening) g; p = p' - v (nesterov: p = p' - (lr g + mu v)).
    Slot: v ("velocity"). With `cycled` mu is the last scalar.
  }];
}

def Grad_AdamOp : Grad_VariableUpdateOp<"adam", ["learning_rate", "step"],
    (ins F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, UnitAttr:$amsgrad, UnitAttr:$keras, UnitAttr:$cycled)> {
  let summary = "Adam with bias correction; AdamW with `weight_decay`; as PyTorch";
  let description = [{
    With t the 1-based step: m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; with `amsgrad` w = max(w, v), else w = v;
    p = p' - lr / (1 - b1^t) m / (sqrt(w / (1 - b2^t)) + epsilon). Keras adds epsilon to sqrt(w), before its correction.
    1 - b^t is computed as -expm1(t ln b), which keeps its digits at small t.
    Slots: m ("first"), v ("second"), w ("largest") with `amsgrad`. With `cycled` b1 is the last scalar, also in 1 - b1^t.

    Example: `%p1, %m1, %v1 = grad.adam %p, %g, %m, %v, %lr, %t, %go {beta1 = 0.9 : f64, beta2 = 0.999 : f64,
    epsilon = 1.0e-08 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>,
    tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)`
  }];
}

def Grad_NadamOp : Grad_VariableUpdateOp<"nadam", ["learning_rate", "step"],
    (ins F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$momentum_decay)> {
  let summary = "Adam with Nesterov's momentum; as PyTorch, and as Keras with `momentum_decay` 1";
  let description = [{
    u(t) = b1 (1 - 0.96^(t momentum_decay) / 2); q = q u(t); m and v as Adam's;
    p = p' - lr ((1 - u(t)) / (1 - q) g + u(t+1) / (1 - q u(t+1)) m) / (sqrt(v / (1 - b2^t)) + epsilon).
    Slots: m ("first"), v ("second"), q ("product"), a scalar that begins at 1.
  }];
}

def Grad_RmspropOp : Grad_VariableUpdateOp<"rmsprop", ["learning_rate"],
    (ins F64Attr:$alpha, F64Attr:$epsilon, DefaultValuedAttr<F64Attr, "0.0">:$momentum, UnitAttr:$centered,
         UnitAttr:$keras)> {
  let summary = "the gradient over its root mean square; as PyTorch";
  let description = [{
    v = alpha v + (1 - alpha) g^2; u = g / (sqrt(v) + epsilon). With `centered`, also
    a = alpha a + (1 - alpha) g, and v - a^2 (0 where rounding makes it negative) in place of v in u.
    p = p' - lr u; with `momentum` > 0: b = momentum b + u; p = p' - lr b. With `keras` epsilon is under the root,
    u = g / sqrt(v + epsilon), and the rate in the sum, b = momentum b + lr u; p = p' - b. Slots: v ("square"),
    a ("average") if `centered`, b ("velocity") if `momentum` > 0.

    Example: `%p1, %v1 = grad.rmsprop %p, %g, %v, %lr, %go {alpha = 0.99 : f64, epsilon = 1.0e-08 : f64} :
    (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>)`
  }];
}

def Grad_AdagradOp : Grad_VariableUpdateOp<"adagrad", ["learning_rate", "step"],
    (ins DefaultValuedAttr<F64Attr, "0.0">:$learning_rate_decay, DefaultValuedAttr<F64Attr, "0.0">:$initial_accumulator,
         F64Attr:$epsilon, UnitAttr:$keras), ["keepsWithoutGradient"]> {
  let summary = "the gradient over the root of the sum of its squares; as PyTorch";
  let description = [{
    s = s + g^2, which begins at `initial_accumulator`; p = p' - lr / (1 + (t - 1) learning_rate_decay) g / (sqrt(s) + epsilon);
    with `keras` over sqrt(s + epsilon). Slot: s ("sum").
  }];
}

def Grad_AdadeltaOp : Grad_FixedUpdateOp<"adadelta", ["square", "delta"], ["learning_rate"],
    (ins F64Attr:$rho, F64Attr:$epsilon)> {
  let summary = "steps as large as the steps before, over the gradient's root mean square; as PyTorch and Keras";
  let description = [{
    v = rho v + (1 - rho) g^2; u = sqrt(d + epsilon) / sqrt(v + epsilon) g; d = rho d + (1 - rho) u^2; p = p' - lr u.
    Slots: v ("square"), d ("delta").
  }];
}

def Grad_LionOp : Grad_FixedUpdateOp<"lion", ["momentum"], ["learning_rate"], (ins F64Attr:$beta1, F64Attr:$beta2)> {
  let summary = "the sign of a momentum; as Chen et al. 2023, Keras and optax";
  let description = "u = sign(b1 m + (1 - b1) g); p = p' - lr u; m = b2 m + (1 - b2) g.";
}

// Rules with a norm or a product of the whole tensor -------------------------------------------------

def Grad_LambOp : Grad_FixedUpdateOp<"lamb", ["first", "second"], ["learning_rate", "step"],
    (ins F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon), ["isElementwise"]> {
  let summary = "Adam's direction as long as the parameter; as optax";
  let description = [{
    m and v as Adam's; u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon) + weight_decay p; p = p - lr |p| / |u| u,
    where a norm of 0 makes the ratio 1. `weight_decay` is a part of the direction, not decoupled.
  }];
}

def Grad_LarsOp : Grad_FixedUpdateOp<"lars", ["velocity"], ["learning_rate"],
    (ins F64Attr:$momentum, F64Attr:$trust_coefficient, DefaultValuedAttr<F64Attr, "0.0">:$epsilon,
         UnitAttr:$nesterov), ["isElementwise"]> {
  let summary = "momentum of gradients as long as the parameter; as optax";
  let description = [{
    r = trust_coefficient |p| / (|g| + epsilon), 1 where a norm is 0; v = mu v + lr r g; p = p' - v
    (nesterov: p = p' - (lr r g + mu v)).
  }];
}

def Grad_MuonOp : Grad_FixedUpdateOp<"muon", ["velocity"], ["learning_rate"],
    (ins F64Attr:$momentum, DefaultValuedAttr<DenseF64ArrayAttr, "{3.4445, -4.775, 2.0315}">:$coefficients,
         DefaultValuedAttr<F64Attr, "1.0e-7">:$epsilon, DefaultValuedAttr<I64Attr, "5">:$iterations,
         UnitAttr:$nesterov, UnitAttr:$match_adamw),
    ["isElementwise", "getLeastRank", "dependsOnDimOrder"]> {
  let summary = "momentum made orthogonal by Newton-Schulz iterations; as torch.optim.Muon, in the parameter's type";
  let description = [{
    m = mu m + (1 - mu) g; u = m (nesterov: (1 - mu) g + mu m), as the matrix of the first dim's rows over all other
    dims, and transposed where it has more rows than columns. X = u / max(|u|, epsilon); `iterations` times
    A = X X^T, X = a X + (b A + c A A) X, where a, b, c are `coefficients`. p = p' - lr s X, with
    s = sqrt(max(1, rows / columns)), or 0.2 sqrt(max(rows, columns)) with `match_adamw`.
    C1: the parameter has 2 dims or more. C2: there are three coefficients.
  }];
  let hasVerifier = 1;
}

#endif
