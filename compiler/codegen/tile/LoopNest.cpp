// Builds scf loops on i64 and records the values known at each depth.
#include "compiler/codegen/tile/LoopNest.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace gradc::tile;

LoopNest::LoopNest(OpBuilder &builder, Location location, const exec::Level &level, int64_t lanes)
    : builder(builder), location(location), level(level), lanes(lanes) {
  scopes.push_back(std::make_shared<Scope>(Scope{builder.getInsertionBlock(), {}, {}, {}}));
}

SmallVector<Value> LoopNest::loop(Value lower, Value upper, ValueRange carried, LoopBody body) {
  auto loop = scf::ForOp::create(builder, location, lower, upper, constant(1), carried);
  Block *block = loop.getBody();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(block);
  scopes.push_back(std::make_shared<Scope>(Scope{block, {}, {}, {}}));
  SmallVector<Value> next = body(variable(loop.getInductionVar()), loop.getRegionIterArgs());
  scopes.pop_back();
  if (!carried.empty())
    scf::YieldOp::create(builder, location, next);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> LoopNest::loop(int64_t lower, int64_t upper, bool unroll, ValueRange carried,
                                  LoopBody body) {
  if (!unroll && upper - lower > 1)
    return loop(constant(lower), constant(upper), carried, body);
  SmallVector<Value> values(carried);
  for (int64_t i = lower; i < upper; ++i)
    values = body(LinearExpr(i), values);
  return values;
}

void LoopNest::again(int64_t count, llvm::function_ref<void(LinearExpr)> body) {
  again(constant(count), body);
}

void LoopNest::again(Value count, llvm::function_ref<void(LinearExpr)> body) {
  loop(constant(0), count, {}, [&](LinearExpr i, ValueRange) {
    llvm::SaveAndRestore keep(floor, unsigned(scopes.size() - 1));
    body(i);
    return SmallVector<Value>();
  });
}

void LoopNest::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, location, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scopes.push_back(std::make_shared<Scope>(Scope{branch.thenBlock(), {}, {}, {}}));
  llvm::SaveAndRestore keep(floor, unsigned(scopes.size() - 1));
  body();
  scopes.pop_back();
}

SmallVector<Value> LoopNest::choose(Value condition, ValueRange otherwise,
                                    llvm::function_ref<SmallVector<Value>()> body) {
  auto branch = scf::IfOp::create(builder, location, otherwise.getTypes(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scopes.push_back(std::make_shared<Scope>(Scope{branch.thenBlock(), {}, {}, {}}));
  {
    llvm::SaveAndRestore keep(floor, unsigned(scopes.size() - 1));
    scf::YieldOp::create(builder, location, body());
  }
  scopes.pop_back();
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, location, otherwise);
  return SmallVector<Value>(branch.getResults());
}

unsigned LoopNest::depthOf(const LinearExpr &e) const {
  unsigned depth = floor;
  for (auto [id, coefficient] : e.terms)
    depth = std::max(depth, variables[id].depth);
  return depth;
}

unsigned LoopNest::depthOf(const Point &p) const {
  unsigned depth = floor;
  for (const LinearExpr &e : p.coordinates)
    depth = std::max(depth, depthOf(e));
  return depth;
}

void LoopNest::atDepth(unsigned depth, llvm::function_ref<void()> emit) {
  if (depth + 1 == scopes.size())
    return emit();
  OpBuilder::InsertionGuard guard(builder);
  auto saved = scopes;
  builder.setInsertionPoint(scopes[depth + 1]->block->getParentOp());
  scopes.truncate(depth + 1);
  emit();
  scopes = saved;
}

Value &LoopNest::known(Value value, const Point &p) {
  return scopes[depthOf(p)]->known[{value.getAsOpaquePointer(), p}];
}

LinearExpr LoopNest::variable(Value value, bool uniform) {
  variables.push_back({value, unsigned(scopes.size() - 1), uniform});
  return LinearExpr::variable(variables.size() - 1);
}

bool LoopNest::isUniform(const LinearExpr &e) const {
  return llvm::all_of(e.terms, [&](auto &term) { return variables[term.first].uniform; });
}

bool LoopNest::isUniform(const Point &p) const {
  return llvm::all_of(p.coordinates, [&](const LinearExpr &e) { return isUniform(e); });
}

Value LoopNest::index(const LinearExpr &e) {
  assert(e.lane == 0 && "an index is one number");
  if (e.terms.empty())
    return constant(e.constant);
  unsigned depth = depthOf(e);
  auto sum = [&](Value a, Value b) { return arith::AddIOp::create(builder, location, a, b); };
  if (auto at = scopes[depth]->indices.find(e); at != scopes[depth]->indices.end())
    return at->second;
  Value result;
  if (e.constant != 0) {
    Value base = index(e.variables());
    atDepth(depth, [&] { result = sum(base, constant(e.constant)); });
  } else {
    atDepth(depth, [&] {
      for (auto [id, coefficient] : e.terms) {
        Value term = variables[id].value;
        if (coefficient != 1)
          term = arith::MulIOp::create(builder, location, term, constant(coefficient));
        result = result ? sum(result, term) : term;
      }
    });
  }
  scopes[depth]->indices[e] = result;
  return result;
}

std::pair<LinearExpr, LinearExpr> LoopNest::divide(const LinearExpr &e, int64_t divisor) {
  unsigned depth = depthOf(e);
  auto &quotients = scopes[depth]->quotients;
  if (auto at = quotients.find({e, divisor}); at != quotients.end())
    return at->second;
  std::pair<LinearExpr, LinearExpr> result;
  Value dividend = index(e);
  bool uniform = isUniform(e);
  atDepth(depth, [&] {
    result = {
        variable(arith::DivUIOp::create(builder, location, dividend, constant(divisor)), uniform),
        variable(arith::RemUIOp::create(builder, location, dividend, constant(divisor)), uniform)};
  });
  quotients[{e, divisor}] = result;
  return result;
}

Value LoopNest::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, location, value, 64);
}

Value LoopNest::addressBehind(Value base, Type element, int64_t count) {
  LLVM::GEPArg index = llvm::isInt<LLVM::kGEPConstantBitWidth>(count)
                           ? LLVM::GEPArg(int32_t(count))
                           : LLVM::GEPArg(constant(count));
  return LLVM::GEPOp::create(builder, location, base.getType(), element, base,
                             ArrayRef<LLVM::GEPArg>{index}, LLVM::GEPNoWrapFlags::inbounds);
}

Value LoopNest::extent(int64_t size, int64_t perRow) {
  if (perRow <= 0)
    return constant(size);
  return perRow == 1 ? rows
                     : Value(arith::MulIOp::create(builder, location, rows, constant(perRow)));
}

VectorType LoopNest::vectorOf(Type element) const { return VectorType::get({lanes}, element); }

Value LoopNest::splat(Value scalar) { return splat(scalar, lanes); }

Value LoopNest::splat(Value scalar, int64_t width) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  Value &vector = splats[{scalar, width}];
  if (!vector) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(scalar);
    auto type = VectorType::get({width}, scalar.getType());
    vector = vector::BroadcastOp::create(builder, location, type, scalar);
  }
  return vector;
}

Value LoopNest::combineLanes(Value vector, function_ref<Value(Value, Value)> combine) {
  auto part = [&](int64_t first, int64_t size) -> Value {
    auto order = llvm::to_vector(llvm::seq<int64_t>(first, first + size));
    return vector::ShuffleOp::create(builder, location, vector, vector, order);
  };
  auto lane = [&](int64_t l) -> Value {
    return vector::ExtractOp::create(builder, location, vector, l);
  };
  for (int64_t half = lanes / 2; half > 1; half /= 2) {
    Value low = part(0, half), high = part(half, half);
    vector = combine(low, high);
  }
  Value first = lane(0);
  return lanes > 1 ? combine(first, lane(1)) : first;
}

Value LoopNest::select(Value condition, Value value, Value otherwise) {
  if (isa<VectorType>(value.getType()))
    condition = splat(condition);
  return arith::SelectOp::create(builder, location, condition, value, otherwise);
}

Value LoopNest::prefixMask(int64_t count) {
  SmallVector<bool> bits(lanes, false);
  std::fill_n(bits.begin(), count, true);
  auto type = vectorOf(builder.getI1Type());
  return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(type, bits));
}
