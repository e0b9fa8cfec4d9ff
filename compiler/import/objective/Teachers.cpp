// Imports a teacher as its own entry, computed as in evaluation, and moves it into the step.
#include "dialects/Pch.h"

#include "compiler/import/objective/Teachers.h"

#include "compiler/import/support/Names.h"
#include "dialects/grad/EntryAttributes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The values of a teacher that its block names, each with its places in the spec.
static SmallVector<std::pair<std::string, SmallVector<SpecFile::Step>>>
namedValues(const spec::Teacher &block, int index) {
  SmallVector<std::pair<std::string, SmallVector<SpecFile::Step>>> values;
  SpecFile::Step place = {"teacher", index};
  if (block.has_output())
    values.push_back({block.output(), {place, "output"}});
  for (auto [i, match] : llvm::enumerate(block.match()))
    values.push_back({match.teacher(), {place, {"match", int(i)}, "teacher"}});
  return values;
}

LogicalResult Teachers::checkNames(int index) {
  const spec::Teacher &block = spec.get().teacher(index);
  const OnnxModel &model = *teachers[index].model;
  std::vector<std::string> inputs = model.inputNames(), outputs = model.outputNames();
  llvm::StringSet<> computed = model.computedNames();
  bool ok = true;
  for (const auto &[name, place] : namedValues(block, index))
    if (!computed.contains(name)) {
      unknownName(spec.at(place), "value of the teacher:", name, outputs);
      ok = false;
    }
  for (auto [i, feed] : llvm::enumerate(block.feed())) {
    Location where = spec.at({{"teacher", index}, {"feed", int(i)}});
    if (!llvm::is_contained(inputs, feed.input())) {
      unknownName(where, "the teacher's graph input", feed.input(), inputs);
      ok = false;
    }
    teachers[index].fields[feed.input()] = feed.field();
  }
  return success(ok);
}

LogicalResult Teachers::read(llvm::function_ref<std::string(StringRef)> fieldOf) {
  bool ok = true;
  for (auto [i, block] : llvm::enumerate(spec.get().teacher())) {
    Teacher &teacher = teachers.emplace_back();
    FailureOr<std::unique_ptr<OnnxModel>> model =
        OnnxModel::read(*symbols.getOp()->getContext(), spec.resolve(block.model()));
    if (failed(model)) {
      ok = false;
      continue;
    }
    teacher.model = std::move(*model);
    for (const std::string &input : teacher.model->inputNames())
      teacher.fields[input] = fieldOf(input);
    std::string prefix = "teacher." + std::to_string(i) + "/";
    teacher.states = std::make_unique<States>(*teacher.model, symbols, prefix);
    for (const std::string &name : teacher.model->initializerNames())
      teacher.states->freeze(name);
    ok &= succeeded(checkNames(int(i)));
  }
  return success(ok);
}

/// The step's value for an argument of the teacher.
FailureOr<Value> Teachers::bind(int index, func::FuncOp teacher, unsigned argument,
                                SpecValues &values) {
  auto role = teacher.getArgAttrOfType<StringAttr>(argument, roleName);
  for (gradc_role scalar : {GRADC_ROLE_SEED, GRADC_ROLE_COUNTER})
    if (role.getValue() == gradc_role_name(scalar))
      return values.getEntry().scalarArgument(scalar);
  StringRef input = teacher.getArgAttrOfType<StringAttr>(argument, portName).getValue();
  std::string field = teachers[index].fields.at(input.str());
  Location where = spec.at({{"teacher", index}});
  for (auto [i, feed] : llvm::enumerate(spec.get().teacher(index).feed()))
    if (feed.input() == input)
      where = spec.at({{"teacher", index}, {"feed", int(i)}});
  auto type = cast<RankedTensorType>(teacher.getArgument(argument).getType());
  FailureOr<Value> value = values.field(field, type, input, where);
  if (succeeded(value) && (*value).getType() != type)
    return emitError(where) << "expected field \"" << field << "\" to be " << describe(type)
                            << " for graph input \"" << input << "\" of the teacher, found "
                            << describe((*value).getType());
  return value;
}

/// Moves the ops of a teacher's entry into the step, where its nodes are named "teacher:NAME".
FailureOr<Teachers::Computed> Teachers::takeOver(int index, func::FuncOp teacher,
                                                 SpecValues &values) {
  EntryImport &entry = values.getEntry();
  IRMapping inStep;
  for (unsigned i = 0; i < teacher.getNumArguments(); ++i) {
    FailureOr<Value> value = bind(index, teacher, i, values);
    if (failed(value))
      return failure();
    inStep.map(teacher.getArgument(i), *value);
  }
  Builder b(symbols.getOp()->getContext());
  for (Operation &op : teacher.front().without_terminator())
    entry.getBuilder().clone(op, inStep)->walk([&](Operation *moved) {
      moved->setLoc(NameLoc::get(b.getStringAttr("teacher:" + nodeName(moved)), moved->getLoc()));
    });
  Computed computed;
  for (auto [i, result] : llvm::enumerate(teacher.front().getTerminator()->getOperands())) {
    StringRef name = teacher.getResultAttrOfType<StringAttr>(i, portName).getValue();
    Value value = inStep.lookup(result);
    if (auto limit = teacher.getResultAttrOfType<IntegerAttr>(i, "grad.classes"))
      entry.addIndexCheck(value, limit.getInt(), ("teacher:" + name).str());
    else
      computed[name.str()] = value;
  }
  if (Attribute why = teacher->getAttr("grad.exact");
      why && !entry.getFunction()->hasAttr("grad.exact"))
    entry.getFunction()->setAttr("grad.exact", why);
  return computed;
}

FailureOr<Teachers::Computed> Teachers::compute(int index, SpecValues &values) {
  Teacher &teacher = teachers[index];
  ImportOptions options;
  EntryImport entry(*teacher.model, *teacher.states, options, "teacher",
                    values.getEntry().batchSize(), /*training=*/false);
  func::FuncOp function = entry.getFunction();
  auto bindInput = [&](const onnx::ValueInfoProto &input) -> Value {
    FailureOr<RankedTensorType> type = entry.inputType(input);
    if (failed(type))
      return nullptr;
    Value argument = entry.addArgument(*type, input.name(), GRADC_ROLE_DATA);
    entry.markBatch(input, argument);
    return argument;
  };
  std::vector<std::string> names;
  for (const auto &[name, place] : namedValues(spec.get().teacher(index), index))
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  FailureOr<Computed> computed = failure();
  if (succeeded(entry.importNodes(names, bindInput))) {
    bool ok = true;
    for (const std::string &name : names) {
      ok &= succeeded(entry.expectWhole(name, entry.value(name), function.getLoc()));
      entry.addResult(entry.value(name), name, GRADC_ROLE_OUTPUT);
    }
    entry.finish();
    if (ok)
      computed = takeOver(index, function, values);
  }
  function.erase();
  return computed;
}

/// The mean over `perRow` numbers of each row of the batch.
static LossTerm meanOfRows(SpecValues &values, Expr sum, int64_t perRow, double weight) {
  OpBuilder &b = values.getBuilder();
  Expr rows = sum.with(
      CountOp::create(b, sum.getLoc(), values.batched(), ArrayRef<int64_t>{0}, IntegerAttr()));
  LossTerm term{sumAll(sum), (rows.cast(b.getF32Type()) * double(perRow)).get()};
  term.weight = weight;
  return term;
}

/// temperature^2 KL(softmax(teacher / temperature) || softmax(student / temperature)).
FailureOr<LossTerm> Teachers::distill(int index, SpecValues &values, Value scores) {
  const spec::Teacher &block = spec.get().teacher(index);
  Location where = spec.at({{"teacher", index}, "output"});
  const std::string &name = block.has_logits() ? block.logits() : block.output();
  FailureOr<Value> logits = values.scores(name, /*sigmoid=*/false, where);
  if (failed(logits) || failed(values.expectClasses(*logits, name, where)))
    return failure();
  auto type = cast<RankedTensorType>((*logits).getType());
  Value taught = withoutSoftmax(scores);
  if (taught.getType() != type)
    return emitError(where) << "expected the teacher's \"" << block.output() << "\" to be "
                            << describe(type) << ", as \"" << name << "\" is, found "
                            << describe(taught.getType());
  int64_t classes = type.getShape().back(), rows = type.getNumElements() / classes;
  double temperature = block.temperature();
  auto soften = [&](Value value) {
    return values.expr(value).reshape({rows, classes}) * (1 / temperature);
  };
  Expr student = soften(*logits), teacher = soften(taught);
  OpBuilder &b = values.getBuilder();
  IntegerAttr lastDim = b.getI64IntegerAttr(1);
  Expr target = teacher.with(SoftmaxOp::create(b, teacher.getLoc(), teacher, lastDim)),
       logTarget = teacher.with(LogSoftmaxOp::create(b, teacher.getLoc(), teacher, lastDim));
  Expr entropy = student.with(
      b.createOrFold<SoftmaxCrossEntropyOp>(student.getLoc(), student.get(), target.get()));
  // A class without probability, such as one that the teacher masks with -inf, adds 0, not 0 *
  // -inf.
  Expr isPossible = target.compare(ComparePredicate::gt, target.splat(0));
  Expr information = isPossible.select(target * logTarget, target.splat(0));
  Expr divergence = entropy + information.sum({1});
  return meanOfRows(values, divergence, rows / values.getEntry().batchSize(),
                    block.weight() * temperature * temperature);
}

FailureOr<LossTerm> Teachers::match(int index, int which, SpecValues &values, Value value) {
  const spec::Match &block = spec.get().teacher(index).match(which);
  Location where = spec.at({{"teacher", index}, {"match", which}});
  FailureOr<Value> own = values.output(block.student(), where);
  if (failed(own))
    return failure();
  auto type = cast<RankedTensorType>((*own).getType());
  int64_t batch = values.getEntry().batchSize();
  if (value.getType() != type || type.getRank() == 0 || type.getDimSize(0) != batch)
    return emitError(where) << "expected two values of one shape, whose first dim is the batch of "
                            << batch << ", found \"" << block.student() << "\", " << describe(type)
                            << ", and the teacher's \"" << block.teacher() << "\", "
                            << describe(value.getType());
  Expr errors = values.expr(*own).apply<SquaredErrorOp>(value);
  return meanOfRows(values, errors, type.getNumElements() / batch, block.weight());
}

LogicalResult Teachers::addTerms(SpecValues &values, SmallVectorImpl<LossTerm> &terms) {
  if (values.getStep().hasOwnLosses())
    return success();
  bool ok = true;
  for (auto [i, block] : llvm::enumerate(spec.get().teacher())) {
    FailureOr<Computed> computed = compute(int(i), values);
    ok &= succeeded(computed);
    if (failed(computed))
      continue;
    SmallVector<FailureOr<LossTerm>> found;
    if (block.has_output())
      found.push_back(distill(int(i), values, computed->at(block.output())));
    for (auto [m, match] : llvm::enumerate(block.match()))
      found.push_back(this->match(int(i), int(m), values, computed->at(match.teacher())));
    for (const FailureOr<LossTerm> &term : found) {
      ok &= succeeded(term);
      if (succeeded(term))
        terms.push_back(*term);
    }
  }
  return success(ok);
}

LogicalResult Teachers::finish() {
  std::vector<Verdict> ignored;
  bool ok = true;
  for (Teacher &teacher : teachers)
    ok &= succeeded(teacher.states->finish(ignored));
  return success(ok);
}
