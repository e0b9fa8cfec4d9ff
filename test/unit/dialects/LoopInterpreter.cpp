// The interpreter: scalars carry a double or an APInt, and every float result is rounded to its
// type.
#include "LoopInterpreter.h"

#include "dialects/Pch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/CommonFolders.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::grad;

namespace {

struct ScalarValue {
  double number = 0;
  APInt bits{64, 0};
};

using FloatUnary = double (*)(double);
using FloatBinary = double (*)(double, double);
using IntBinary = APInt (*)(const APInt &, const APInt &);

} // namespace

static unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

static double roundTo(Type type, double number) {
  HostTensor one(RankedTensorType::get({}, type));
  one.setFloat(0, number);
  return one.getFloat(0);
}

static ScalarValue load(const HostTensor &tensor, int64_t position) {
  Type type = tensor.getElementType();
  if (isa<FloatType>(type))
    return {tensor.getFloat(position), APInt(64, 0)};
  return {0, APInt(widthOf(type), tensor.getInt(position), /*isSigned=*/true,
                   /*implicitTrunc=*/true)};
}

static void store(HostTensor &tensor, int64_t position, const ScalarValue &scalar) {
  if (isa<FloatType>(tensor.getElementType()))
    tensor.setFloat(position, scalar.number);
  else
    tensor.setInt(position, scalar.bits.getSExtValue());
}

static const std::map<StringRef, FloatUnary> floatUnaries = {
    {"arith.negf", [](double x) { return -x; }},
    {"arith.extf", [](double x) { return x; }},
    {"arith.truncf", [](double x) { return x; }},
    {"math.absf", std::fabs},
    {"math.atan", std::atan},
    {"math.ceil", std::ceil},
    {"math.cos", std::cos},
    {"math.erf", std::erf},
    {"math.exp", std::exp},
    {"math.expm1", std::expm1},
    {"math.floor", std::floor},
    {"math.log", std::log},
    {"math.log1p", std::log1p},
    {"math.roundeven", std::nearbyint},
    {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"math.sin", std::sin},
    {"math.sqrt", std::sqrt},
    {"math.tanh", std::tanh},
    {"math.trunc", std::trunc},
};

static const std::map<StringRef, FloatBinary> floatBinaries = {
    {"arith.addf", [](double a, double b) { return a + b; }},
    {"arith.divf", [](double a, double b) { return a / b; }},
    {"arith.mulf", [](double a, double b) { return a * b; }},
    {"arith.remf", std::fmod},
    {"arith.subf", [](double a, double b) { return a - b; }},
    {"math.copysign", std::copysign},
    {"math.powf", std::pow},
};

// Operations that are undefined in LLVM (division by 0, shift by the width) give a recognizable
// wrong value.
static APInt undefined(const APInt &like) { return APInt(like.getBitWidth(), 0x55); }

static const std::map<StringRef, IntBinary> intBinaries = {
    {"arith.addi", [](const APInt &a, const APInt &b) { return a + b; }},
    {"arith.andi", [](const APInt &a, const APInt &b) { return a & b; }},
    {"arith.divsi",
     [](const APInt &a, const APInt &b) { return b.isZero() ? undefined(a) : a.sdiv(b); }},
    {"arith.divui",
     [](const APInt &a, const APInt &b) { return b.isZero() ? undefined(a) : a.udiv(b); }},
    {"arith.maxsi", [](const APInt &a, const APInt &b) { return a.sgt(b) ? a : b; }},
    {"arith.minsi", [](const APInt &a, const APInt &b) { return a.slt(b) ? a : b; }},
    {"arith.muli", [](const APInt &a, const APInt &b) { return a * b; }},
    {"arith.ori", [](const APInt &a, const APInt &b) { return a | b; }},
    {"arith.remsi",
     [](const APInt &a, const APInt &b) { return b.isZero() ? undefined(a) : a.srem(b); }},
    {"arith.remui",
     [](const APInt &a, const APInt &b) { return b.isZero() ? undefined(a) : a.urem(b); }},
    {"arith.shli", [](const APInt &a, const APInt &b) { return a.shl(b); }},
    {"arith.shrsi", [](const APInt &a, const APInt &b) { return a.ashr(b); }},
    {"arith.shrui", [](const APInt &a, const APInt &b) { return a.lshr(b); }},
    {"arith.subi", [](const APInt &a, const APInt &b) { return a - b; }},
    {"arith.xori", [](const APInt &a, const APInt &b) { return a ^ b; }},
};

static ScalarValue convertToInt(double number, unsigned width, bool isSigned) {
  APSInt bits(width, !isSigned);
  bool exact;
  auto status = APFloat(number).convertToInteger(bits, APFloat::rmTowardZero, &exact);
  return {0, status == APFloat::opInvalidOp ? undefined(bits) : APInt(bits)};
}

static ScalarValue bitCast(Type from, Type to, const ScalarValue &scalar) {
  HostTensor one(RankedTensorType::get({}, from));
  store(one, 0, scalar);
  return load(HostTensor(RankedTensorType::get({}, to), one.bytes()), 0);
}

/// Runs one scalar op; nullopt if it is unknown.
static std::optional<ScalarValue> runScalarOp(Operation &op, ArrayRef<ScalarValue> in) {
  StringRef name = op.getName().getStringRef();
  Type type = op.getResult(0).getType();
  auto rounded = [&](double number) { return ScalarValue{roundTo(type, number), APInt(64, 0)}; };
  auto boolean = [](bool value) { return ScalarValue{0, APInt(1, value)}; };

  if (auto found = floatUnaries.find(name); found != floatUnaries.end())
    return rounded(found->second(in[0].number));
  if (auto found = floatBinaries.find(name); found != floatBinaries.end())
    return rounded(found->second(in[0].number, in[1].number));
  if (auto found = intBinaries.find(name); found != intBinaries.end())
    return ScalarValue{0, found->second(in[0].bits, in[1].bits)};

  if (name == "math.fma")
    return rounded(std::fma(in[0].number, in[1].number, in[2].number));
  if (name == "arith.select")
    return in[0].bits.isZero() ? in[2] : in[1];
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return boolean(arith::applyCmpPredicate(compare.getPredicate(), APFloat(in[0].number),
                                            APFloat(in[1].number)));
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return boolean(arith::applyCmpPredicate(compare.getPredicate(), in[0].bits, in[1].bits));
  if (name == "arith.sitofp" || name == "arith.uitofp") {
    APFloat number(APFloat::IEEEdouble());
    number.convertFromAPInt(in[0].bits, name == "arith.sitofp", APFloat::rmNearestTiesToEven);
    return rounded(number.convertToDouble());
  }
  if (name == "arith.fptosi" || name == "arith.fptoui")
    return convertToInt(in[0].number, widthOf(type), name == "arith.fptosi");
  if (name == "arith.bitcast")
    return bitCast(op.getOperand(0).getType(), type, in[0]);
  if (name == "arith.extui")
    return ScalarValue{0, in[0].bits.zext(widthOf(type))};
  if (name == "arith.extsi" || name == "arith.trunci" || name == "arith.index_cast")
    return ScalarValue{0, in[0].bits.sextOrTrunc(widthOf(type))};
  if (name == "arith.index_castui")
    return ScalarValue{0, in[0].bits.zextOrTrunc(widthOf(type))};
  return std::nullopt;
}

static ScalarValue constantScalar(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return {number.getValueAsDouble(), APInt(64, 0)};
  return {0, cast<IntegerAttr>(op.getValue()).getValue()};
}

void gradc::test::LoopInterpreter::run(Block &block, ArrayRef<HostTensor> arguments) {
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    tensors[key(argument)] = value;
  for (Operation &op : block)
    runTensorOp(op);
}

void gradc::test::LoopInterpreter::runTensorOp(Operation &op) {
  if (isa<linalg::GenericOp>(op))
    return runGeneric(op);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    // Users of a scalar inspect the op.
    if (auto elements = dyn_cast<ElementsAttr>(constant.getValue()))
      tensors[key(constant)] = HostTensor(elements);
    return;
  }
  if (isa<tensor::EmptyOp>(op)) {
    // Not zeros, so that reading an element that was never written becomes visible.
    HostTensor garbage(cast<RankedTensorType>(op.getResult(0).getType()));
    for (char &byte : garbage.mutableBytes())
      byte = garbage.getElementType().isInteger(1) ? 1 : 0x5a;
    tensors[key(op.getResult(0))] = garbage;
  } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    HostTensor filled(cast<RankedTensorType>(fill.getResult(0).getType()));
    ScalarValue value = constantScalar(fill.getInputs()[0].getDefiningOp<arith::ConstantOp>());
    for (int64_t i = 0; i < filled.size(); ++i)
      store(filled, i, value);
    tensors[key(fill.getResult(0))] = filled;
  } else if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    tensors[key(op.getResult(0))] = lookup(op.getOperand(0)).reshaped(type.getShape());
  } else if (unknown.empty()) {
    unknown = op.getName().getStringRef();
  }
}

/// An element at indices computed by the body, all of which are in range.
static ScalarValue runExtract(tensor::ExtractOp op, const HostTensor &from,
                              llvm::function_ref<ScalarValue(Value)> get, std::string &unknown) {
  SmallVector<int64_t> at = llvm::map_to_vector(
      op.getIndices(), [&](Value index) { return get(index).bits.getSExtValue(); });
  for (auto [index, size] : llvm::zip_equal(at, from.getShape()))
    if (index < 0 || index >= size) {
      unknown = "tensor.extract out of range";
      return {};
    }
  return load(from, linearize(at, from.getShape()));
}

void gradc::test::LoopInterpreter::runGeneric(Operation &op) {
  auto generic = cast<linalg::GenericOp>(op);
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  SmallVector<HostTensor> values;
  for (Value operand : generic->getOperands())
    values.push_back(lookup(operand));
  // A loop is as long as the shortest dim that a map reads alone: a slice reads the beginning of a
  // longer dim, and a concatenation writes it.
  SmallVector<int64_t> bounds(generic.getNumLoops(), std::numeric_limits<int64_t>::max());
  for (auto [map, value] : llvm::zip_equal(maps, values))
    for (auto [expression, size] : llvm::zip_equal(map.getResults(), value.getShape()))
      if (auto dim = dyn_cast<AffineDimExpr>(expression))
        bounds[dim.getPosition()] = std::min(bounds[dim.getPosition()], size);

  unsigned inputs = generic.getNumDpsInputs();
  Block &body = *generic.getBody();
  forEachIndex(bounds, [&](ArrayRef<int64_t> index) {
    std::map<void *, ScalarValue> scalars;
    SmallVector<int64_t> positions;
    for (auto [map, value, argument] : llvm::zip_equal(maps, values, body.getArguments())) {
      SmallVector<int64_t> at;
      for (AffineExpr expression : map.getResults()) {
        SmallVector<AffineExpr> numbers;
        for (int64_t i : index)
          numbers.push_back(getAffineConstantExpr(i, op.getContext()));
        at.push_back(cast<AffineConstantExpr>(expression.replaceDims(numbers)).getValue());
      }
      positions.push_back(linearize(at, value.getShape()));
      scalars[key(argument)] = load(value, positions.back());
    }
    auto get = [&](Value value) -> ScalarValue {
      if (auto constant = value.getDefiningOp<arith::ConstantOp>())
        return constantScalar(constant);
      return scalars.at(key(value));
    };
    for (Operation &inner : body.without_terminator()) {
      if (isa<arith::ConstantOp>(inner))
        continue;
      if (auto number = dyn_cast<linalg::IndexOp>(inner)) {
        scalars[key(number)] = {0, APInt(64, index[number.getDim()])};
        continue;
      }
      if (isa<arith::MulUIExtendedOp>(inner)) {
        APInt a = get(inner.getOperand(0)).bits, b = get(inner.getOperand(1)).bits;
        APInt product = a.zext(2 * a.getBitWidth()) * b.zext(2 * a.getBitWidth());
        scalars[key(inner.getResult(0))] = {0, product.trunc(a.getBitWidth())};
        scalars[key(inner.getResult(1))] = {0,
                                            product.extractBits(a.getBitWidth(), a.getBitWidth())};
        continue;
      }
      if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
        scalars[key(extract)] = runExtract(extract, lookup(extract.getTensor()), get, unknown);
        continue;
      }
      std::optional<ScalarValue> result =
          runScalarOp(inner, llvm::map_to_vector(inner.getOperands(), get));
      if (!result && unknown.empty())
        unknown = inner.getName().getStringRef();
      scalars[key(inner.getResult(0))] =
          result.value_or(ScalarValue{0, APInt(widthOf(inner.getResult(0).getType()), 0)});
    }
    for (auto [i, yielded] : llvm::enumerate(body.getTerminator()->getOperands()))
      store(values[inputs + i], positions[inputs + i], get(yielded));
  });
  for (auto [i, result] : llvm::enumerate(generic.getResults()))
    tensors[key(result)] = values[inputs + i];
}
