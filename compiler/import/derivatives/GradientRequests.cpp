// Each request becomes one reverse pass, or one pass per element of a Jacobian; all passes share
// the forward pass.
#include "compiler/import/derivatives/GradientRequests.h"
#include "compiler/import/support/Names.h"
#include "dialects/grad/EntryAttributes.h"
#include "passes/training/Reach.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Each element of a Jacobian takes its own reverse pass.
static constexpr int64_t mostElements = 1024;

GradientRequests::GradientRequests(EntryImport &entry, const SpecFile &spec)
    : entry(entry), spec(spec) {
  Block &block = entry.getFunction().getBody().front();
  for (BlockArgument argument : block.getArguments())
    if (entry.isBatched(argument))
      dependent.insert(argument);
  for (Operation &op : block)
    if (llvm::any_of(op.getOperands(), [&](Value v) { return dependent.contains(v); }))
      dependent.insert(op.result_begin(), op.result_end());
}

Expr GradientRequests::expr(Value value, Location location) {
  return Expr(entry.getBuilder(), location, value);
}

ArrayRef<int64_t> GradientRequests::rowShape(const Quantity &quantity) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(quantity.value.getType()).getShape();
  return quantity.rows == Rows::each ? shape.drop_front() : shape;
}

FailureOr<Quantity> GradientRequests::find(StringRef name, Location where) {
  if (auto found = named.find(name.str()); found != named.end())
    return found->second;
  Value value = entry.value(name);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (failed(entry.expectWhole(name, value, where)))
    return failure();
  if (!type || !isa<FloatType>(type.getElementType()))
    return emitError(where) << "expected \"" << name << "\" to hold floats, found "
                            << describe(value.getType());
  if (!dependent.contains(value))
    return Quantity{value, Rows::none};
  bool isEach = type.getRank() > 0 && type.getDimSize(0) == entry.batchSize();
  return Quantity{value, isEach ? Rows::each : Rows::sum};
}

FailureOr<SmallVector<Quantity>> GradientRequests::findTargets(int index) {
  SmallVector<Quantity> targets;
  for (auto [i, name] : llvm::enumerate(spec.get().gradients(index).with_respect_to())) {
    FailureOr<Quantity> target =
        find(name, spec.at({{"gradients", index}, {"with_respect_to", int(i)}}));
    if (failed(target))
      return failure();
    targets.push_back(*target);
  }
  return targets;
}

/// A value of the graph that does not depend on a target is more likely a mistake than a zero. A
/// derivative that does not depend on a target, as in a linear model, is zero.
LogicalResult GradientRequests::checkReach(const spec::Gradients &request, int index,
                                           const Quantity &of, ArrayRef<Quantity> targets) {
  if (named.count(request.of()))
    return success();
  SmallVector<Value> values;
  for (const Quantity &target : targets)
    values.push_back(target.value);
  bool ok = true;
  for (auto [i, reach] : llvm::enumerate(findReach(of.value, values))) {
    Location where = spec.at({{"gradients", index}, {"with_respect_to", int(i)}});
    const std::string &name = request.with_respect_to(int(i));
    if (reach.arrival == Arrival::unconnected) {
      emitError(where) << "\"" << request.of() << "\" does not depend on \"" << name << "\"";
      ok = false;
    } else if (reach.arrival == Arrival::stopped) {
      emitRemark(where) << "the gradient of \"" << request.of() << "\" with respect to \"" << name
                        << "\" is zero: none gets through \"" << nodeName(reach.op) << "\"";
    }
  }
  return success(ok);
}

FailureOr<Value> GradientRequests::weights(int index, const Quantity &of) {
  const std::string &name = spec.get().gradients(index).weights();
  Location where = spec.at({{"gradients", index}, "weights"});
  auto type = cast<RankedTensorType>(of.value.getType());
  auto known = weightInputs.find(name);
  if (known != weightInputs.end()) {
    if (known->second.getType() != type ||
        dependent.contains(known->second) != (of.rows == Rows::each))
      return emitError(where) << "expected weights \"" << name << "\" to be of one type, found "
                              << describe(known->second.getType()) << " before and "
                              << describe(type) << " here";
    return known->second;
  }
  if (llvm::is_contained(entry.getModel().inputNames(), name))
    return emitError(where) << "weights \"" << name
                            << "\" become an input of their own; the model has a graph input of "
                               "that name";
  Value argument = entry.addArgument(type, name, GRADC_ROLE_DATA);
  if (of.rows == Rows::each) {
    entry.markBatch(argument);
    dependent.insert(argument);
  }
  return weightInputs[name] = argument;
}

static Value sumOfProducts(Expr a, Expr b) {
  Expr product = a * b;
  return product.type().getRank()
             ? product.sum(llvm::to_vector(llvm::seq(product.type().getRank())))
             : product;
}

FailureOr<SmallVector<Value>> GradientRequests::objectives(int index, Quantity of) {
  const spec::Gradients &request = spec.get().gradients(index);
  Location where = spec.at({{"gradients", index}});
  Expr value = expr(of.value, where);
  auto ones = [&](Expr v) { return of.rows == Rows::each ? zerosWithRowsOf(v) + 1.0 : v.splat(1); };
  if (request.has_weights()) {
    FailureOr<Value> factor = weights(index, of);
    if (failed(factor))
      return failure();
    return SmallVector<Value>{sumOfProducts(value, expr(*factor, where))};
  }
  if (!request.has_jacobian())
    return SmallVector<Value>{sumOfProducts(value, ones(value))};

  int64_t count = ShapedType::getNumElements(rowShape(of));
  SmallVector<int64_t> elements(request.jacobian().element().begin(),
                                request.jacobian().element().end());
  if (elements.empty())
    elements = llvm::to_vector(llvm::seq<int64_t>(0, count));
  if (int64_t(elements.size()) > mostElements)
    return emitError(spec.at({{"gradients", index}, "jacobian"}))
           << "expected at most " << mostElements << " elements, found " << elements.size()
           << "; name those that are wanted, jacobian { element: 0 }";
  SmallVector<Value> objectives;
  int64_t rows = of.rows == Rows::each ? value.shape()[0] : 1;
  Expr flat = value.reshape({rows, count});
  for (auto [i, element] : llvm::enumerate(elements)) {
    if (element >= count)
      return emitError(spec.at({{"gradients", index}, "jacobian", {"element", int(i)}}))
             << "expected an element below " << count << ", the size of "
             << (of.rows == Rows::each ? "a row of " : "") << "\"" << request.of() << "\", found "
             << element;
    Expr picked = flat.with(SliceOp::create(entry.getBuilder(), where, flat.get(),
                                            ArrayRef<int64_t>{0, element},
                                            ArrayRef<int64_t>{rows, 1}, ArrayRef<int64_t>{1, 1}));
    objectives.push_back(sumOfProducts(picked, ones(picked)));
  }
  return objectives;
}

SmallVector<int64_t> GradientRequests::frontDims(const spec::Gradients &request,
                                                 const Quantity &of) const {
  if (request.jacobian().element_size())
    return {request.jacobian().element_size()};
  return request.has_jacobian() ? SmallVector<int64_t>(rowShape(of)) : SmallVector<int64_t>();
}

Quantity GradientRequests::assemble(const spec::Gradients &request, const Quantity &of,
                                    const Quantity &target, ArrayRef<Value> gradients) {
  // Dims in this order: rows, the elements of the Jacobian, the target's own dims.
  bool hasRows = target.rows == Rows::each || (request.per_sample() && of.rows == Rows::each);
  int64_t rows =
      target.rows == Rows::each ? cast<RankedTensorType>(target.value.getType()).getDimSize(0) : 1;
  Rows kind = hasRows ? Rows::each : of.rows == Rows::none ? Rows::none : Rows::sum;
  SmallVector<int64_t> shape;
  if (hasRows)
    shape.push_back(rows);
  llvm::append_range(shape, frontDims(request, of));
  llvm::append_range(shape, rowShape(target));
  SmallVector<Value> parts;
  for (Value gradient : gradients) {
    SmallVector<int64_t> part = {rows, 1};
    llvm::append_range(part, rowShape(target));
    parts.push_back(request.has_jacobian() ? expr(gradient, gradient.getLoc()).reshape(part).get()
                                           : gradient);
  }
  Value all = parts[0];
  if (parts.size() > 1)
    all = ConcatenateOp::create(entry.getBuilder(), all.getLoc(), parts, /*dim=*/1);
  return {expr(all, all.getLoc()).reshape(shape), kind};
}

std::string gradc::resultName(const spec::Gradients &request, int target) {
  const std::string &variable = request.with_respect_to(target);
  if (!request.has_name())
    return "d" + request.of() + "/d" + variable;
  return request.with_respect_to_size() > 1 ? request.name() + "/" + variable : request.name();
}

LogicalResult GradientRequests::keep(int index, int target, const Quantity &result) {
  std::string name = resultName(spec.get().gradients(index), target);
  bool isOutput = llvm::any_of(entry.getModel().graph().output(),
                               [&](const auto &output) { return output.name() == name; });
  if (isOutput || !named.insert({name, result}).second)
    return emitError(spec.at({{"gradients", index}}))
           << "two results are called \"" << name << "\": tell them apart, gradients { name: "
           << "\"...\" }";
  order.push_back(name);
  return success();
}

LogicalResult GradientRequests::add(int index) {
  const spec::Gradients &request = spec.get().gradients(index);
  FailureOr<Quantity> of = find(request.of(), spec.at({{"gradients", index}, "of"}));
  FailureOr<SmallVector<Quantity>> targets = findTargets(index);
  if (failed(of) || failed(targets) || failed(checkReach(request, index, *of, *targets)))
    return failure();
  if (request.per_sample() && of->rows != Rows::each)
    return emitError(spec.at({{"gradients", index}, "per_sample"}))
           << "expected \"" << request.of() << "\" to have a value for each row, found "
           << describe(of->value.getType());
  FailureOr<SmallVector<Value>> from = objectives(index, *of);
  if (failed(from))
    return failure();
  SmallVector<Value> values;
  for (const Quantity &target : *targets)
    values.push_back(target.value);
  SmallVector<SmallVector<Value>> gradients(values.size());
  for (Value objective : *from) {
    auto answers = GradientOp::create(entry.getBuilder(), objective.getLoc(), objective, values);
    for (auto [list, answer] : llvm::zip_equal(gradients, answers.getResults()))
      list.push_back(answer);
  }
  bool ok = true;
  for (auto [i, target] : llvm::enumerate(*targets))
    ok &= succeeded(keep(index, int(i), assemble(request, *of, target, gradients[i])));
  return success(ok);
}

void GradientRequests::addResult(const Quantity &quantity, StringRef name, gradc_role role) {
  Builder &b = entry.getBuilder();
  SmallVector<NamedAttribute> more;
  // For larger batches, a later pass finds the results that hold rows.
  if (entry.batchSize() == 1 && quantity.rows == Rows::each)
    more.push_back(b.getNamedAttr(batchedName, b.getUnitAttr()));
  entry.addResult(quantity.value, name, role, more);
}

void GradientRequests::addResults() {
  for (const onnx::ValueInfoProto &output : entry.getModel().graph().output()) {
    Value value = entry.value(output.name());
    auto type = cast<RankedTensorType>(value.getType());
    bool isEach =
        dependent.contains(value) && type.getRank() > 0 && type.getDimSize(0) == entry.batchSize();
    addResult({value, isEach ? Rows::each : Rows::none}, output.name(), GRADC_ROLE_OUTPUT);
  }
  for (const std::string &name : order) {
    const Quantity &quantity = named.at(name);
    addResult(quantity, name,
              quantity.rows == Rows::none ? GRADC_ROLE_OUTPUT : GRADC_ROLE_GRADIENT);
  }
}
