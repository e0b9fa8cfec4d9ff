// The grad dialect: types, enums and the op base class that every family uses.
#ifndef GRAD_DIALECT
#define GRAD_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/grad/GradInterfaces.td"

def Grad_Dialect : Dialect {
  let name = "grad";
  let cppNamespace = "::mlir::grad";
  let summary = "tensor programs, closed under differentiation";
  let description = [{
    Static shapes of less than 2^60 bytes, SSA tensors. Elementwise ops never broadcast; only `grad.broadcast` does, with a
    reduction as its gradient, so no other op has to handle broadcasting. Parameters, optimizer slots and
    statistics are module symbols (`grad.state`), read and written in place by the entries.
  }];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::func::FuncDialect"];
}

// Types -------------------------------------------------------------------------------------------

def Grad_Float : AnyTypeOf<[F64, F32, F16, BF16], "f64, f32, f16 or bf16">;
def Grad_Int : AnyTypeOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64], "an integer">;
def Grad_Bool : AnyTypeOf<[I1], "a bool (i1)">;
def Grad_IntOrBool : AnyTypeOf<[Grad_Int, Grad_Bool], "an integer or a bool">;
def Grad_Number : AnyTypeOf<[Grad_Float, Grad_Int], "a float or an integer">;
def Grad_Element : AnyTypeOf<[Grad_Number, Grad_Bool], "a float, an integer or a bool">;

class Grad_TensorOf<Type element> : Type<
    And<[StaticShapeTensorOf<[element]>.predicate]>,
    "static tensor of " # element.summary, "::mlir::RankedTensorType">;
def Grad_Tensor : Grad_TensorOf<Grad_Element>;
def Grad_NumberTensor : Grad_TensorOf<Grad_Number>;
def Grad_FloatTensor : Grad_TensorOf<Grad_Float>;
def Grad_IntTensor : Grad_TensorOf<Grad_Int>;
def Grad_IntOrBoolTensor : Grad_TensorOf<Grad_IntOrBool>;
def Grad_BoolTensor : Grad_TensorOf<Grad_Bool>;
def Grad_FloatScalar : Type<And<[Grad_FloatTensor.predicate,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">]>,
    "float tensor of rank 0", "::mlir::RankedTensorType">;
def Grad_BoolScalar : Type<And<[Grad_BoolTensor.predicate,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">]>,
    "bool tensor of rank 0", "::mlir::RankedTensorType">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI1Type())">;

// Enums -------------------------------------------------------------------------------------------

class Grad_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::grad";
  let genSpecializedAttr = 0;
}
def Grad_Precision : Grad_Enum<"Precision", "what mixed precision may do with an op", [
  I32EnumAttrCase<"follow", 0>, I32EnumAttrCase<"low", 1>, I32EnumAttrCase<"high", 2>]>;
def Grad_OperandRole : Grad_Enum<"OperandRole", "what an initializer is to the model", [
  I32EnumAttrCase<"parameter", 0>, I32EnumAttrCase<"constant", 1>]>;
def Grad_LoopKind : Grad_Enum<"LoopKind", "how kernels form around an op", [
  I32EnumAttrCase<"elementwise", 0>, I32EnumAttrCase<"movement", 1>, I32EnumAttrCase<"reduction", 2>,
  I32EnumAttrCase<"contraction", 3>, I32EnumAttrCase<"view", 4>, I32EnumAttrCase<"assembly", 5>]>;
def Grad_ConvolutionPart : Grad_Enum<"ConvolutionPart", "what a convolution computes in training", [
  I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"data_gradient", 1>,
  I32EnumAttrCase<"filter_gradient", 2>]>;
def Grad_CollectiveKind : Grad_Enum<"CollectiveKind", "what ranks do with each other's values", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"scatter", 1>, I32EnumAttrCase<"gather", 2>]>;
def Grad_ComparePredicateEnum : Grad_Enum<"ComparePredicate", "comparison", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Grad_ComparePredicate : EnumAttr<Grad_Dialect, Grad_ComparePredicateEnum, "compare">;
def Grad_StateKindEnum : Grad_Enum<"StateKind", "who changes a state", [
  I32EnumAttrCase<"parameter", 0>, I32EnumAttrCase<"slot", 1>, I32EnumAttrCase<"statistic", 2>,
  I32EnumAttrCase<"constant", 3>, I32EnumAttrCase<"average", 4>, I32EnumAttrCase<"derived", 5>]>;
def Grad_StateKind : EnumAttr<Grad_Dialect, Grad_StateKindEnum, "state_kind">;

// Ops ---------------------------------------------------------------------------------------------

/// MLIR's InferTypeOpAdaptor, for operands that are tensors: when a custom form is parsed, their types have not been verified yet.
def Grad_InferTypes : TraitList<[DeclareOpInterfaceMethods<InferTypeOpInterface>, NativeOpTrait<"InferTypeOpAdaptor", [],
  [{
    static ::llvm::LogicalResult inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &inferredReturnTypes);
  }],
  [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties,
        ::mlir::RegionRange regions, ::llvm::SmallVectorImpl<::mlir::Type> &inferredReturnTypes) {
      if (::mlir::failed(::mlir::grad::expectTensors(location, operands)))
        return ::mlir::failure();
      $cppClass::Adaptor adaptor(operands, attributes, properties, regions);
      return $cppClass::inferReturnTypes(context, location, adaptor, inferredReturnTypes);
    }
  }]>]>;

/// Folds an op with constant operands through its own `evaluate`.
def Grad_FoldsByEvaluation : NativeOpTrait<"FoldsByEvaluation"> {
  let cppNamespace = "::mlir::grad";
}
/// For ops that lose too much precision in 16 bits, or whose results are small.
class Grad_HighPrecision { code declaration = "Precision getPrecision() { return Precision::high; }"; }
/// Each element of the result depends on the operands at the same index only.
def Grad_Pointwise : NativeOpTrait<"Pointwise"> { let cppNamespace = "::mlir::grad"; }
/// A CPU kernel that computes the op whole holds no other op: its code is not made of loops.
def Grad_OwnKernel : NativeOpTrait<"OwnKernel"> { let cppNamespace = "::mlir::grad"; }

class Grad_PureOp<string mnemonic, list<Trait> traits = []>
    : Op<Grad_Dialect, mnemonic, !listconcat(traits, [Pure, Grad_FoldsByEvaluation,
        DeclareOpInterfaceMethods<EvaluateOpInterface>])>;

/// A primitive: has its own gradient and lowers to loops.
class Grad_Op<string mnemonic, list<Trait> traits = [], list<string> cost = []>
    : Grad_PureOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<GradientOpInterface>, DeclareOpInterfaceMethods<CostOpInterface, cost>,
        PrecisionOpInterface, DeclareOpInterfaceMethods<LoopsOpInterface>, OperandRoleOpInterface])>;

/// A composite: stays whole while that is useful, then decomposes into primitives.
class Grad_CompositeOp<string mnemonic, list<Trait> traits = [], list<string> cost = []>
    : Grad_PureOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<GradientOpInterface>, DeclareOpInterfaceMethods<CostOpInterface, cost>,
        PrecisionOpInterface, DeclareOpInterfaceMethods<DecomposeOpInterface>,
        OperandRoleOpInterface])>;

#endif
