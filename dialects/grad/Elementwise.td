// Elementwise ops: one scalar formula over operands of one shape.
#ifndef GRAD_ELEMENTWISE
#define GRAD_ELEMENTWISE

include "dialects/grad/GradDialect.td"

class Grad_UnaryOp<string mnemonic, Type type, string formula>
    : Grad_Op<mnemonic, [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = " # formula;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

class Grad_BinaryOp<string mnemonic, Type type, string formula, list<Trait> traits = []>
    : Grad_Op<mnemonic, !listconcat([SameOperandsAndResultType, Grad_Pointwise], traits)> {
  let summary = "y = " # formula;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Grad_NegOp : Grad_UnaryOp<"neg", Grad_NumberTensor, "-x">;
def Grad_AbsOp : Grad_UnaryOp<"abs", Grad_NumberTensor, "|x|">;
def Grad_SignOp : Grad_UnaryOp<"sign", Grad_NumberTensor, "-1, 0 or 1; NaN stays">;
def Grad_FloorOp : Grad_UnaryOp<"floor", Grad_FloatTensor, "the largest integer <= x">;
def Grad_CeilOp : Grad_UnaryOp<"ceil", Grad_FloatTensor, "the smallest integer >= x">;
def Grad_RoundOp : Grad_UnaryOp<"round", Grad_FloatTensor, "the nearest integer, halves to even">;
def Grad_ExpOp : Grad_UnaryOp<"exp", Grad_FloatTensor, "e^x">;
def Grad_Expm1Op : Grad_UnaryOp<"expm1", Grad_FloatTensor, "e^x - 1, exact near 0">;
def Grad_LogOp : Grad_UnaryOp<"log", Grad_FloatTensor, "ln x">;
def Grad_Log1pOp : Grad_UnaryOp<"log1p", Grad_FloatTensor, "ln(1 + x), exact near 0">;
def Grad_SqrtOp : Grad_UnaryOp<"sqrt", Grad_FloatTensor, "the square root of x">;
def Grad_RsqrtOp : Grad_UnaryOp<"rsqrt", Grad_FloatTensor, "1 / sqrt(x)">;
def Grad_ReciprocalOp : Grad_UnaryOp<"reciprocal", Grad_FloatTensor, "1 / x">;
def Grad_SinOp : Grad_UnaryOp<"sin", Grad_FloatTensor, "sin x, x in radians">;
def Grad_CosOp : Grad_UnaryOp<"cos", Grad_FloatTensor, "cos x, x in radians">;
def Grad_TanhOp : Grad_UnaryOp<"tanh", Grad_FloatTensor, "tanh x">;
def Grad_ErfOp : Grad_UnaryOp<"erf", Grad_FloatTensor, "the error function of x">;
def Grad_SigmoidOp : Grad_UnaryOp<"sigmoid", Grad_FloatTensor, "1 / (1 + e^-x)">;
def Grad_ReluOp : Grad_UnaryOp<"relu", Grad_NumberTensor, "x > 0 ? x : 0; NaN stays; gradient 0 at 0">;
def Grad_NotOp : Grad_UnaryOp<"not", Grad_BoolTensor, "not x">;

def Grad_AddOp : Grad_BinaryOp<"add", Grad_NumberTensor, "a + b", [Commutative]>;
def Grad_SubOp : Grad_BinaryOp<"sub", Grad_NumberTensor, "a - b">;
def Grad_MulOp : Grad_BinaryOp<"mul", Grad_NumberTensor, "a * b", [Commutative]>;
def Grad_DivOp : Grad_BinaryOp<"div", Grad_NumberTensor,
    "a / b; integers truncate toward 0, and a / 0 = 0">;
def Grad_RemOp : Grad_BinaryOp<"rem", Grad_NumberTensor,
    "a - trunc(a / b) * b, the sign of a (C's fmod); integers: a rem 0 = 0">;
def Grad_PowOp : Grad_BinaryOp<"pow", Grad_FloatTensor, "a^b">;
def Grad_MaxOp : Grad_BinaryOp<"maximum", Grad_NumberTensor,
    "the larger; NaN wins; at equality the gradient is halved", [Commutative]>;
def Grad_MinOp : Grad_BinaryOp<"minimum", Grad_NumberTensor,
    "the smaller; NaN wins; at equality the gradient is halved", [Commutative]>;
def Grad_AndOp : Grad_BinaryOp<"and", Grad_BoolTensor, "a and b", [Commutative]>;
def Grad_OrOp : Grad_BinaryOp<"or", Grad_BoolTensor, "a or b", [Commutative]>;
def Grad_XorOp : Grad_BinaryOp<"xor", Grad_BoolTensor, "a xor b", [Commutative]>;

def Grad_CompareOp : Grad_Op<"compare", [InferTypeOpAdaptor, SameTypeOperands, Grad_Pointwise]> {
  let summary = "y = a PREDICATE b, as a bool; false with NaN, but `ne` true";
  let arguments = (ins Grad_ComparePredicate:$predicate, Grad_Tensor:$lhs, Grad_Tensor:$rhs);
  let results = (outs Grad_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)";
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
    To an integer: truncates toward 0; NaN gives 0 and what is out of range the nearest limit.
    To a bool: x != 0. From a bool: 0 or 1. To a narrower integer: wraps.
  }];
  let arguments = (ins Grad_Tensor:$operand);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Grad_ClampOp : Grad_Op<"clamp", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = min(max(x, low), high); NaN stays; gradient 1 where low <= x <= high, else 0";
  let description = "C1: `low` and `high` are numbers. Limits are exact in f64 (integers: in i64).";
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

def Grad_SiluOp : Grad_CompositeOp<"silu", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = x sigmoid(x)";
  let arguments = (ins Grad_FloatTensor:$operand);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Grad_IsFiniteOp : Grad_Op<"is_finite", [InferTypeOpAdaptor, Grad_Pointwise]> {
  let summary = "y = x is neither infinite nor NaN";
  let arguments = (ins Grad_FloatTensor:$operand);
  let results = (outs Grad_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

#endif
