// Loop: a repeated region, or individual iterations if values change their shapes.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/Subgraph.h"
#include "compiler/import/onnx/ops/UpperBound.h"
#include "compiler/import/onnx/ops/control/EmbeddingBag.h"
#include "compiler/import/onnx/ops/control/LoopCounter.h"
#include "compiler/import/support/ErrorNote.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Maximum number of unrolled iterations.
static constexpr int64_t maxUnrolled = 1024;

namespace {

/// A Loop node. Its operands are the bound of the trip count, the first condition, and carried
/// values.
class LoopImport {
public:
  LoopImport(Node &n, const onnx::GraphProto &graph) : n(n), graph(graph) {}

  LogicalResult run() {
    carriedCount = std::max(n.operandCount(), 2u) - 2;
    if (failed(expectCounts(n, graph, int(carriedCount) + 2, int(n.resultCount()) + 1)))
      return failure();
    if (failed(expectCarriedResults(n, carriedCount)))
      return failure();
    if (failed(expectNothingRandom(n, graph)))
      return failure();
    if (failed(findTrips()) || (n.operand(1) && failed(expectCondition(n.operand(1)))))
      return failure();
    bool hasSequence = false;
    for (unsigned i = 2; i < carriedCount + 2; ++i) {
      hasSequence |= n.isSequence(i);
      if (!n.isSequence(i) && !n.operand(i))
        return n.error() << "operand " << i << " is missing";
    }
    if (trips && !carriedCount && n.resultCount() == 1 && startsAlways()) {
      FailureOr<Value> bags = raiseEmbeddingBags(n, graph, *trips);
      if (failed(bags) || *bags)
        return failed(bags) ? failure() : n.set(*bags);
    }
    if (hasSequence && !n.operand(0) && raiseRecordedEmbeddingBag(n, graph))
      return success();
    return hasSequence ? unroll() : importOnce();
  }

private:
  /// An imported graph, which takes `initial`, then `captured`, and whether to go on after it.
  struct Body {
    std::unique_ptr<Block> block;
    SmallVector<Value> initial, captured, yielded;
    Value proceed;
  };

  /// A node of the graph may need the iteration number at compile time, for example a slice that
  /// starts there. In that case the loop is unrolled.
  LogicalResult importOnce() {
    std::vector<Diagnostic> problems, others;
    EntryImport::EffectCount before = n.getEntry().countEffects();
    if (tryOut([&] { return importRegion(); }, problems))
      return unbounded ? importUnbounded(before) : success();
    // Without a bound, the condition may end the loop at compile time.
    bool mayEnd = trips ? *trips <= maxUnrolled : n.operand(1) && !count;
    if (mayEnd && tryOut([&] { return unroll(); }, others))
      return success();
    // Problems of values outside the loop are reported once, when the values are first read.
    if (trips && mayEnd && !others.empty())
      problems = std::move(others);
    say(problems);
    return failure();
  }

  /// Imports a loop that its condition alone ends, as plain ops if that is at compile time.
  LogicalResult importUnbounded(EntryImport::EffectCount before) {
    EntryImport::Effects ofRegion = n.getEntry().takeEffects(before);
    std::vector<Diagnostic> problems;
    if (n.operand(1) && tryOut([&] { return unroll(); }, problems))
      return success();
    n.getEntry().addEffects(std::move(ofRegion));
    bound = unboundedTrips;
    isCut = true;
    return guard(std::move(*unbounded));
  }

  /// Tries an import. If it fails, `problems` receives its diagnostics, and its effects are undone.
  bool tryOut(llvm::function_ref<LogicalResult()> import, std::vector<Diagnostic> &problems) {
    EntryImport::EffectCount before = n.getEntry().countEffects();
    {
      ScopedDiagnosticHandler handler(n.loc().getContext(), [&](Diagnostic &problem) {
        problems.push_back(std::move(problem));
        return success();
      });
      if (failed(import())) {
        (void)n.getEntry().takeEffects(before);
        n.getEntry().forgetFailures();
        return false;
      }
    }
    say(problems); // notes
    return true;
  }

  void say(std::vector<Diagnostic> &said) {
    for (Diagnostic &diagnostic : said)
      n.loc().getContext()->getDiagEngine().emit(std::move(diagnostic));
  }

  bool startsAlways() {
    std::optional<HostTensor> first = n.operand(1) ? n.tryKnown(1) : std::nullopt;
    return !n.operand(1) || (first && first->getInt(0));
  }

  LogicalResult findTrips() {
    if (!n.operand(0))
      return success();
    if (n.type(0).getNumElements() != 1 || n.narrow(0))
      return n.error() << "expected one trip count, found " << n.describeOperand(0);
    if (n.extent(0))
      return refuseUnknownTrips();
    if (std::optional<HostTensor> known = n.getEntry().known(n.operand(0))) {
      n.fixRows(0);
      // Exporters of a loop that a condition alone ends write the largest number.
      if (int64_t most = std::max<int64_t>(known->getInt(0), 0); most <= unboundedTrips)
        bound = trips = most;
      return success();
    }
    bound = upperBound(n.operand(0));
    if (!bound)
      return refuseUnknownTrips();
    isCut = *bound > unboundedTrips;
    bound = std::min(*bound, unboundedTrips);
    count = n.expr(0u).reshape({});
    return success();
  }

  /// Says why the trip count is unknown.
  LogicalResult refuseUnknownTrips() { return n.known(0, "the trip count, or a bound of it,"); }

  LogicalResult expectCondition(Value value) {
    auto type = value ? cast<RankedTensorType>(value.getType()) : RankedTensorType();
    if (type && type.getElementType().isInteger(1) && type.getNumElements() == 1)
      return success();
    return n.error() << "expected one bool as condition, found "
                     << (type ? describe(type) : std::string("a sequence"));
  }

  Value number(int64_t value) { return n.constantInts({value}, /*scalar=*/true); }

  /// A carried value or counter in the shape that the graph declares; some exporters declare [1]
  /// for a scalar.
  Value asDeclared(Expr value, int input) const {
    const auto &type = graph.input(input).type().tensor_type();
    bool isVector = type.has_shape() && type.shape().dim_size() == 1 && value.type().getRank() == 0;
    return isVector ? value.reshape({1}).get() : value.get();
  }

  LogicalResult importRegion() {
    auto block = std::make_unique<Block>();
    OpBuilder b(n.builder().getContext());
    b.setInsertionPointToEnd(block.get());
    SmallVector<Value> initial{number(0)};
    for (unsigned i = 0; i < carriedCount; ++i)
      initial.push_back(n.operand(i + 2));
    SmallVector<GraphValue> inputs(carriedCount + 2);
    for (auto [i, v] : llvm::enumerate(initial))
      inputs[i == 0 ? 0 : i + 1].tensor = block->addArgument(v.getType(), n.loc());
    for (unsigned i = 2; i < inputs.size(); ++i)
      inputs[i].narrow = n.narrow(i);
    inputs[0].tensor = asDeclared(Expr(b, n.loc(), inputs[0].tensor), 0);
    Value yes = splat(b, n.loc(), RankedTensorType::get({}, b.getI1Type()), 1);
    inputs[1].tensor = asDeclared(Expr(b, n.loc(), yes), 1);
    SmallVector<Value> captured;
    auto results = n.getEntry().importSubgraph(graph, *block, inputs, &captured);
    if (failed(results))
      return failure();
    for (unsigned i = 0; i < carriedCount; ++i)
      if (!(*results)[i + 1].hasTypeOf(inputs[i + 2]))
        return n.error() << "carries " << inputs[i + 2].describe()
                         << " at first, then a sequence or another shape; its iterations can be "
                            "written out if there are at most "
                         << maxUnrolled;
    if (failed(expectCondition(results->front().tensor)))
      return failure();
    b.setInsertionPointToEnd(block.get());
    Expr counter(b, n.loc(), block->getArgument(0));
    SmallVector<Value> yielded{counter + 1.0};
    for (const GraphValue &result : llvm::drop_begin(*results)) {
      yielded.push_back(result.tensor);
      narrows.push_back(result.narrow);
    }
    if (llvm::is_contained(yielded, Value()))
      return n.error() << "a sequence cannot be stacked";
    Expr proceed = Expr(b, n.loc(), results->front().tensor).reshape({});
    if (count) {
      captured.push_back(count);
      Value limit = block->addArgument(count.getType(), n.loc());
      proceed = proceed.apply<AndOp>((counter + 1.0).compare(ComparePredicate::lt, limit));
    }
    if (!count && startsAlways() && matchPattern(proceed.get(), m_One()))
      return repeat(std::move(block), initial, captured, yielded);
    if (yielded.size() > initial.size())
      return n.error() << "stacks values in a loop that a condition ends, so how many they are is "
                          "known at run time only";
    Body body{std::move(block), std::move(initial), std::move(captured), std::move(yielded),
              proceed};
    if (bound)
      return guard(std::move(body));
    unbounded = std::move(body);
    return success();
  }

  /// Repeats a region whose condition holds in every iteration.
  LogicalResult repeat(std::unique_ptr<Block> block, ArrayRef<Value> initial,
                       ArrayRef<Value> captured, SmallVector<Value> yielded) {
    if (!trips)
      return n.error() << "expected a trip count of at most " << unboundedTrips
                       << ", as its condition is always true";
    SmallVector<Value> checks = n.getEntry().indexChecksIn(*block);
    llvm::append_range(yielded, checks);
    ScanOperands operands{SmallVector<Value>(initial), {}, SmallVector<Value>(captured)};
    auto scan = buildScan(n.builder(), n.loc(), *trips, /*reverse=*/false, operands,
                          std::move(block), yielded);
    handOnIndexChecks(n, checks, scan.getResults().take_back(checks.size()));
    return setAll(scan.getResults().drop_front());
  }

  /// The run decides after each iteration whether to continue; later iterations do nothing.
  LogicalResult guard(Body region) {
    auto &[block, initial, captured, yielded, proceed] = region;
    std::optional<int64_t> counted = mostIterations({*block, initial, captured, yielded, proceed});
    if (counted && *counted <= *bound) {
      bound = counted;
      isCut = false;
    }
    OpBuilder &b = n.builder();
    RankedTensorType flag = RankedTensorType::get({}, b.getI1Type());
    Expr active(b, n.loc(),
                n.operand(1) ? n.expr(1u).reshape({}).get() : splat(b, n.loc(), flag, 1));
    if (count)
      active = active.apply<AndOp>(n.expr(number(0)).compare(ComparePredicate::lt, count));
    ScanOperands operands{{active}, {}, SmallVector<Value>(captured)};
    llvm::append_range(operands.initial, initial);
    yielded.insert(yielded.begin(), proceed);
    OpBuilder inside(b.getContext());
    inside.setInsertionPointToEnd(block.get());
    // The largest values so far: as many as there are iterations cannot be stacked.
    SmallVector<Value> checks = n.getEntry().indexChecksIn(*block);
    for (Value check : checks) {
      auto type = cast<RankedTensorType>(check.getType());
      Value before = block->insertArgument(unsigned(operands.initial.size()) - 1, type, n.loc());
      yielded.push_back(Expr(inside, n.loc(), check).apply<MaxOp>(before));
      operands.initial.push_back(splat(b, n.loc(), type, 0));
    }
    YieldOp::create(inside, n.loc(), yielded);
    auto scan = buildScan(
        b, n.loc(), std::max<int64_t>(*bound, 0), /*reverse=*/false, operands,
        [&](OpBuilder &body, Block::BlockArgListType arguments) {
          auto branch = IfOp::create(body, n.loc(), ValueRange(yielded).getTypes(), arguments[0],
                                     arguments.drop_front());
          Block *otherwise = body.createBlock(&branch.getOtherwise());
          for (BlockArgument argument : arguments.drop_front())
            otherwise->addArgument(argument.getType(), n.loc());
          SmallVector<Value> kept{splat(body, n.loc(), flag, 0)};
          llvm::append_range(kept, otherwise->getArguments().take_front(yielded.size() - 1));
          YieldOp::create(body, n.loc(), kept);
          branch.getBody().push_back(block.release());
          body.setInsertionPointAfter(branch);
          return SmallVector<Value>(branch.getResults());
        });
    for (auto [check, largest] :
         llvm::zip_equal(checks, scan.getResults().take_back(checks.size())))
      n.getEntry().replaceIndexCheck(check, largest);
    if (isCut)
      n.getEntry().requireEnd(scan.getResult(0), n.loc());
    return setAll(scan.getResults().drop_front(2));
  }

  /// `results` may end with those of index checks.
  LogicalResult setAll(ValueRange results) {
    for (auto [i, result] : llvm::enumerate(results))
      if (n.wants(i) && failed(n.setNarrow(unsigned(i), result, narrows[i])))
        return failure();
    return success();
  }

  /// Unrolls the iterations, for sequences and for values whose shapes change.
  LogicalResult unroll() {
    if (count)
      return refuseUnknownTrips();
    if (trips ? *trips > maxUnrolled : !n.operand(1))
      return n.error()
             << "carries a sequence, or a tensor whose shape changes, so its iterations are "
                "written out: expected a trip count of at most "
             << maxUnrolled;
    SmallVector<GraphValue> carried;
    for (unsigned i = 0; i < carriedCount; ++i) {
      carried.push_back({n.operand(i + 2), std::nullopt, n.narrow(i + 2)});
      if (n.isSequence(i + 2))
        carried.back().sequence = SmallVector<Value>(n.sequence(i + 2));
    }
    SmallVector<SmallVector<GraphValue>> stacks(n.resultCount() - carriedCount);
    Value proceed = n.operand(1) ? n.operand(1)
                                 : splat(n.builder(), n.loc(),
                                         RankedTensorType::get({}, n.builder().getI1Type()), 1);
    for (int64_t i = 0; !trips || i < *trips; ++i) {
      // A loop that a region can repeat is no reason to fix given inputs to their values.
      auto goesOn = n.getEntry().known(proceed, /*mayBind=*/!unbounded);
      if (!goesOn)
        return n.error()
               << "carries a sequence, or a tensor whose shape changes, and only a run knows "
                  "when the condition ends it";
      if (!goesOn->getInt(0))
        break;
      if (i == maxUnrolled)
        return n.error()
               << "carries a sequence, or a tensor whose shape changes, and its condition "
                  "still holds after "
               << i << " iterations; more are not written out";
      if (!n.getEntry().writeOutIteration())
        return n.error() << "carries a sequence, or a tensor whose shape changes, and the loops "
                            "of the model have more than "
                         << maxIterations << " iterations together; more are not written out";
      auto results = n.getEntry().importSubgraph(graph, *n.builder().getInsertionBlock(),
                                                 inputsOf(i, proceed, carried));
      if (failed(results))
        return failure();
      proceed = results->front().tensor;
      if (failed(expectCondition(proceed)))
        return failure();
      carried.assign(results->begin() + 1, results->begin() + 1 + carriedCount);
      for (auto [k, steps] : llvm::enumerate(stacks))
        if (failed(addStep(steps, (*results)[1 + carriedCount + k], carriedCount + k)))
          return failure();
    }
    if (!stacks.empty() && stacks.front().empty())
      return stackNothing(proceed, std::move(carried));
    for (const SmallVector<GraphValue> &steps : stacks)
      carried.push_back(stacked(steps));
    return setGraphValues(n, carried);
  }

  /// The values of the graph's inputs in iteration `i`.
  SmallVector<GraphValue> inputsOf(int64_t i, Value proceed, ArrayRef<GraphValue> carried) {
    SmallVector<GraphValue> inputs{{asDeclared(n.expr(number(i)), 0), std::nullopt},
                                   {proceed, std::nullopt}};
    llvm::append_range(inputs, carried);
    return inputs;
  }

  /// The results of no iteration. What a first one would stack tells the types of the stacks.
  LogicalResult stackNothing(Value proceed, SmallVector<GraphValue> carried) {
    ErrorNote explain(n.loc().getContext(), "no iteration runs, but a first one would tell the "
                                            "shapes of what the loop stacks");
    auto results = n.getEntry().importUnused(graph, inputsOf(0, proceed, carried));
    if (failed(results))
      return failure();
    for (const GraphValue &step : llvm::drop_begin(*results, 1 + carriedCount)) {
      if (!step.tensor)
        return n.error() << "a sequence cannot be stacked";
      HostTensor none(stackType(step.tensor.getType(), 0));
      carried.push_back({constant(n.builder(), n.loc(), none), std::nullopt, step.narrow});
    }
    return setGraphValues(n, carried);
  }

  /// One more of the tensors that result `result` stacks.
  LogicalResult addStep(SmallVector<GraphValue> &steps, const GraphValue &step, unsigned result) {
    if (!step.tensor)
      return n.error() << "a sequence cannot be stacked";
    if (!steps.empty() && !step.hasTypeOf(steps.front()))
      return n.error() << "stacks " << steps.front().describe() << " at first, then "
                       << step.describe();
    steps.push_back(step);
    return n.getEntry().expectNoExtent(n.resultName(result), step.tensor, n.loc());
  }

  GraphValue stacked(ArrayRef<GraphValue> steps) {
    SmallVector<Value> parts;
    for (const GraphValue &step : steps) {
      Expr x = n.expr(step.tensor);
      SmallVector<int64_t> shape{1};
      llvm::append_range(shape, x.shape());
      parts.push_back(x.reshape(shape));
    }
    return {ConcatenateOp::create(n.builder(), n.loc(), parts, 0), std::nullopt,
            steps.front().narrow};
  }

  Node &n;
  const onnx::GraphProto &graph;
  unsigned carriedCount = 0;
  std::optional<int64_t> trips, bound;     ///< `bound` is of `trips`, or of `count`
  bool isCut = false;                      ///< `bound` is not the model's: a condition ends it
  Value count;                             ///< the trips, if only a run knows them
  std::optional<Body> unbounded;           ///< imported, but without a bound
  SmallVector<const NarrowType *> narrows; ///< of the results of the region
};

} // namespace

static LogicalResult importLoop(Node &n) {
  auto graph = findGraph(n, "body");
  return failed(graph) ? failure() : LoopImport(n, **graph).run();
}

void gradc::addLoopOps(OpTable &ops) {
  ops["Loop"] = {importLoop, 0, OnnxOp::any, /*sequences=*/OnnxOp::any};
  takeNarrow(ops, TakesNarrow::itself, {"Loop"});
}
