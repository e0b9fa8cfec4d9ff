// Elementwise ops: one scalar formula over operands of one shape.
#ifndef GRAD_ELEMENTWISE
#define GRAD_ELEMENTWISE

include "dialects/grad/GradDialect.td"

/// Ops defined by one scalar formula in three forms: evaluated, as a loop body, and differentiated. `evaluateScalar` has an
/// overload for integers (as i64) if the op accepts them.
class Grad_UnaryOp<string mnemonic, Type type, string formula>
    : Grad_Op<mnemonic, [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = " # formula;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  bit integers = 0;
  bit cheap = 0; // to repeat
  int instructions = 1; // of AVX-512, counted in generated code
  bit high = 0;  // in mixed precision
  let extraClassDeclaration = [{
    static double evaluateScalar(double x);
    static Scalar lowerScalar(Scalar x);
    /// The operand's gradient from operand, result and the result's gradient; null is zero.
    static Value backward(Expr x, Expr y, Expr dy);
  }] # "int64_t getInstructions() { return " # instructions # "; }"
     # !if(integers, "static int64_t evaluateScalar(int64_t x, bool isUnsigned);", "")
     # !if(cheap, "bool isCheapToRepeat() { return true; }", "")
     # !if(high, "Precision getPrecision() { return Precision::high; }", "");
  let extraClassDefinition = [{
    void $cppClass::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
      evaluateUnary(operands, results, $cppClass::evaluateScalar}]
      # !if(integers, ", $cppClass::evaluateScalar", "") # [{);
    }
    SmallVector<Value> $cppClass::lowerToLoops(OpBuilder &builder, ValueRange operands) {
      return lowerUnary(builder, *this, operands, $cppClass::lowerScalar);
    }
    LogicalResult $cppClass::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                           SmallVectorImpl<Value> &operandGradients) {
      return unaryGradient(builder, *this, resultGradients, operandGradients, $cppClass::backward);
    }
    LoopKind $cppClass::getLoopKind() { return LoopKind::elementwise; }
  }];
}
class Grad_FloatUnaryOp<string mnemonic, string formula>
    : Grad_UnaryOp<mnemonic, Grad_FloatTensor, formula>;
class Grad_NumberUnaryOp<string mnemonic, string formula>
    : Grad_UnaryOp<mnemonic, Grad_NumberTensor, formula> { let integers = 1; }

class Grad_BinaryOp<string mnemonic, Type type, string formula, list<Trait> traits = []>
    : Grad_Op<mnemonic, !listconcat([SameOperandsAndResultType, Grad_Pointwise], traits)> {
  let summary = "y = " # formula;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
  bit floats = 1;
  bit integers = 1;
  bit cheap = 0; // to repeat
  int instructions = 1; // of AVX-512, counted in generated code
  bit high = 0;  // in mixed precision
  let extraClassDeclaration = [{
    static Scalar lowerScalar(Scalar a, Scalar b);
  }] # "int64_t getInstructions() { return " # instructions # "; }"
     # !if(floats, [{
    static double evaluateScalar(double a, double b);
    /// The operands' gradients from operands, result and the result's gradient; null is zero.
    static std::pair<Value, Value> backward(Expr a, Expr b, Expr y, Expr dy);
  }], "") # !if(integers, [{
    static int64_t evaluateScalar(int64_t a, int64_t b, bool isUnsigned);
  }], "") # !if(cheap, "bool isCheapToRepeat() { return true; }", "")
     # !if(high, "Precision getPrecision() { return Precision::high; }", "");
  let extraClassDefinition = [{
    void $cppClass::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
      evaluateBinary(operands, results, }]
      # !if(floats, "$cppClass::evaluateScalar", "nullptr") # ", "
      # !if(integers, "$cppClass::evaluateScalar", "nullptr") # [{);
    }
    SmallVector<Value> $cppClass::lowerToLoops(OpBuilder &builder, ValueRange operands) {
      return lowerBinary(builder, *this, operands, $cppClass::lowerScalar);
    }
    LogicalResult $cppClass::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                           SmallVectorImpl<Value> &operandGradients) {
      return }] # !if(floats, [{binaryGradient(builder, *this, resultGradients, operandGradients,
                                           $cppClass::backward)}], "success()") # [{;
    }
    LoopKind $cppClass::getLoopKind() { return LoopKind::elementwise; }
  }];
}
class Grad_NumberBinaryOp<string mnemonic, string formula, list<Trait> traits = []>
    : Grad_BinaryOp<mnemonic, Grad_NumberTensor, formula, traits>;
class Grad_BitBinaryOp<string mnemonic, string formula>
    : Grad_BinaryOp<mnemonic, Grad_IntOrBoolTensor, formula, [Commutative]> { let floats = 0; }
class Grad_ShiftOp<string mnemonic, string formula>
    : Grad_BinaryOp<mnemonic, Grad_IntTensor, formula> { let floats = 0; }

def Grad_NegOp : Grad_NumberUnaryOp<"neg", "-x"> { let cheap = 1; }
def Grad_AbsOp : Grad_NumberUnaryOp<"abs", "|x|">;
def Grad_SignOp : Grad_NumberUnaryOp<"sign", "-1, 0 or 1; NaN stays">;
def Grad_FloorOp : Grad_FloatUnaryOp<"floor", "the largest integer <= x">;
def Grad_CeilOp : Grad_FloatUnaryOp<"ceil", "the smallest integer >= x">;
def Grad_RoundOp : Grad_FloatUnaryOp<"round", "the nearest integer, halves to even">;
def Grad_ExpOp : Grad_FloatUnaryOp<"exp", "e^x"> { let instructions = 14; let high = 1; }
def Grad_Expm1Op : Grad_FloatUnaryOp<"expm1", "e^x - 1, exact near 0"> { let instructions = 19; let high = 1; }
def Grad_LogOp : Grad_FloatUnaryOp<"log", "ln x"> { let instructions = 33; let high = 1; }
def Grad_Log1pOp : Grad_FloatUnaryOp<"log1p", "ln(1 + x), exact near 0"> { let instructions = 50; let high = 1; }
def Grad_SqrtOp : Grad_FloatUnaryOp<"sqrt", "the square root of x"> { let instructions = 10; }
def Grad_RsqrtOp : Grad_FloatUnaryOp<"rsqrt", "1 / sqrt(x)"> { let instructions = 20; let high = 1; }
def Grad_ReciprocalOp : Grad_FloatUnaryOp<"reciprocal", "1 / x"> { let instructions = 10; let high = 1; }
def Grad_SinOp : Grad_FloatUnaryOp<"sin", "sin x, x in radians"> { let instructions = 99; }
def Grad_CosOp : Grad_FloatUnaryOp<"cos", "cos x, x in radians"> { let instructions = 88; }
def Grad_TanhOp : Grad_FloatUnaryOp<"tanh", "tanh x"> { let instructions = 30; }
def Grad_AtanOp : Grad_FloatUnaryOp<"atan", "the angle in [-pi/2, pi/2] whose tangent is x"> { let instructions = 26; }
def Grad_ErfOp : Grad_FloatUnaryOp<"erf", "the error function of x"> { let instructions = 32; }
def Grad_SigmoidOp : Grad_FloatUnaryOp<"sigmoid", "1 / (1 + e^-x)"> { let instructions = 28; }
def Grad_ReluOp : Grad_NumberUnaryOp<"relu", "x < 0 ? 0 : x; NaN stays; gradient 0 at 0">;
def Grad_NotOp : Grad_Op<"not", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = not x; every bit of an integer";
  let arguments = (ins Grad_IntOrBoolTensor:$operand);
  let results = (outs Grad_IntOrBoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Grad_AddOp : Grad_NumberBinaryOp<"add", "a + b", [Commutative]> { let cheap = 1; }
def Grad_SubOp : Grad_NumberBinaryOp<"sub", "a - b"> { let cheap = 1; }
def Grad_MulOp : Grad_NumberBinaryOp<"mul", "a * b", [Commutative]> { let cheap = 1; }
def Grad_DivOp : Grad_NumberBinaryOp<"div",
    "a / b; integers truncate toward 0, and a / 0 = 0"> { let instructions = 10; }
def Grad_RemOp : Grad_NumberBinaryOp<"rem",
    "a - trunc(a / b) * b, the sign of a (C's fmod), exact; integers: a rem 0 = 0"> { let instructions = 35; }
def Grad_PowOp : Grad_BinaryOp<"pow", Grad_FloatTensor, "a^b"> {
  let instructions = 216;
  let high = 1;
  let integers = 0;
  let hasCanonicalizer = 1;
}
def Grad_MaxOp : Grad_NumberBinaryOp<"maximum",
    "the larger; NaN wins; at equality the gradient is halved", [Commutative]>;
def Grad_MinOp : Grad_NumberBinaryOp<"minimum",
    "the smaller; NaN wins; at equality the gradient is halved", [Commutative]>;
def Grad_AndOp : Grad_BitBinaryOp<"and", "a and b, bit by bit">;
def Grad_OrOp : Grad_BitBinaryOp<"or", "a or b, bit by bit">;
def Grad_XorOp : Grad_BitBinaryOp<"xor", "a xor b, bit by bit">;
def Grad_ShiftLeftOp : Grad_ShiftOp<"shift_left",
    "a times 2^b, the bits that do not fit lost; 0 if b is negative or not below the number of bits">;
def Grad_ShiftRightOp : Grad_ShiftOp<"shift_right",
    "a / 2^b, rounded down; for b negative or not below the number of bits the limit: 0, or -1 of a negative a">;

def Grad_CompareOp : Grad_Op<"compare", [Grad_InferTypes, SameTypeOperands, Grad_Pointwise]> {
  let summary = "y = a PREDICATE b, as a bool; false with NaN, but `ne` true";
  let arguments = (ins Grad_ComparePredicate:$predicate, Grad_Tensor:$lhs, Grad_Tensor:$rhs);
  let results = (outs Grad_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)";
  // A threshold: an operand that is only compared has no gradient.
  let extraClassDeclaration = [{
    ::mlir::grad::OperandRole getOperandRole(unsigned) { return ::mlir::grad::OperandRole::constant; }
  }];
}

def Grad_SelectOp : Grad_Op<"select", [Grad_Pointwise, AllTypesMatch<["onTrue", "onFalse", "result"]>,
    TypesMatchWith<"condition is a bool tensor of the result's shape", "onTrue", "condition",
        "::llvm::cast<::mlir::RankedTensorType>($_self).clone(::mlir::IntegerType::get($_self.getContext(), 1))">]> {
  let summary = "y = condition ? onTrue : onFalse, element by element";
  let arguments = (ins Grad_BoolTensor:$condition, Grad_Tensor:$onTrue, Grad_Tensor:$onFalse);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "$condition `,` $onTrue `,` $onFalse attr-dict `:` type($onTrue)";
}

def Grad_CastOp : Grad_Op<"cast", [Grad_Pointwise, AllShapesMatch<["operand", "result"]>]> {
  let summary = "y = x in another element type";
  let description = [{
    To an integer: truncates toward 0; NaN becomes 0 and out-of-range values saturate.
    To a bool: x != 0. From a bool: 0 or 1. To a narrower integer: wraps.
    With `storage` a float is rounded only when stored: readers in the same kernel may get the unrounded value.

    C1: `storage` is of floats.
  }];
  let arguments = (ins Grad_Tensor:$operand, UnitAttr:$storage);
  let results = (outs Grad_Tensor:$result);
  let extraClassDeclaration = [{
    /// True for a widening cast of floats, whose operand has fewer bytes to read than its result.
    bool isCheapToRepeat();
  }];
  let assemblyFormat = "$operand (`storage` $storage^)? attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Grad_BitCastOp : Grad_Op<"bit_cast", [Grad_Pointwise, AllShapesMatch<["operand", "result"]>]> {
  let summary = "the bits of x as another element type";
  let description = [{
    C1: both element types have the same number of bits, and neither is bool. No gradient: the function is discontinuous.

    Example: `%bits = grad.bit_cast %x : tensor<3xf32> -> tensor<3xi32>`
  }];
  let arguments = (ins Grad_NumberTensor:$operand);
  let results = (outs Grad_NumberTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Grad_StraightThroughOp : Grad_CompositeOp<"straight_through", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = value, with y's gradient as that of x";
  let description = [{
    For a value that is x rounded by integer arithmetic, which has no gradient: the rounding counts as the identity, like a cast between floats.

    Example: `%y = grad.straight_through %x, %rounded : tensor<3xf32>`
  }];
  let arguments = (ins Grad_FloatTensor:$operand, Grad_FloatTensor:$value);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $value attr-dict `:` type($operand)";
}

def Grad_ClampOp : Grad_Op<"clamp", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = min(max(x, low), high); NaN stays; gradient 1 where low < x < high, else 0";
  let description = "C1: `low` and `high` are numbers; those of integers are whole or infinite.";
  let arguments = (ins Grad_NumberTensor:$operand, F64Attr:$low, F64Attr:$high);
  let results = (outs Grad_NumberTensor:$result);
  let assemblyFormat = "$operand `,` $low `,` $high attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Grad_GeluOp : Grad_CompositeOp<"gelu", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = x/2 (1 + erf(x / sqrt 2)); with `approximate` its tanh form";
  let arguments = (ins Grad_FloatTensor:$operand, UnitAttr:$approximate);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Grad_GeluGradOp : Grad_CompositeOp<"gelu_grad", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "the gradient of gelu: gelu'(x) gradient";
  let description = "gelu'(x) = (1 + erf(x / sqrt 2)) / 2 + x exp(-x^2 / 2) / sqrt(2 pi); with `approximate` that of the tanh form.";
  let arguments = (ins Grad_FloatTensor:$operand, Grad_FloatTensor:$gradient, UnitAttr:$approximate);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $gradient attr-dict `:` type($operand)";
}

def Grad_SiluOp : Grad_CompositeOp<"silu", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = x sigmoid(x)";
  let arguments = (ins Grad_FloatTensor:$operand);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Grad_SwishOp : Grad_CompositeOp<"swish", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = x sigmoid(slope x); with slope 1.702 QuickGELU, with slope 1 silu";
  let description = "Example: `%y = grad.swish %x slope 1.702 : tensor<4x8xf32>`";
  let arguments = (ins Grad_FloatTensor:$operand, F64Attr:$slope);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `slope` $slope attr-dict `:` type($operand)";
}

def Grad_MishOp : Grad_CompositeOp<"mish", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = x tanh(ln(1 + e^x))";
  let arguments = (ins Grad_FloatTensor:$operand);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Grad_IsFiniteOp : Grad_Op<"is_finite", [Grad_InferTypes, Grad_Pointwise]> {
  let summary = "y = x is neither infinite nor NaN";
  let arguments = (ins Grad_FloatTensor:$operand);
  let results = (outs Grad_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

#endif
