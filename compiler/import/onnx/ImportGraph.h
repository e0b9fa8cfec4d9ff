// One pass over the graph's nodes, which builds the body of one entry.
#ifndef COMPILER_IMPORT_ONNX_IMPORTGRAPH_H
#define COMPILER_IMPORT_ONNX_IMPORTGRAPH_H

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/States.h"
#include "compiler/import/onnx/Subgraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/include/gradc/artifact.h"

#include <map>

namespace gradc {

/// The names of one graph: the model's, or a node's subgraph. Ops are inserted into `block`.
struct Scope {
  Scope(const onnx::GraphProto &graph, mlir::Block &block, Scope *outer = nullptr)
      : graph(graph), block(block), outer(outer) {}

  /// Whether ops are in a region, which sees outside values only as arguments.
  bool isRegion() const { return outer && &outer->block != &block; }

  const onnx::GraphProto &graph;
  mlir::Block &block;
  Scope *outer;
  llvm::StringMap<mlir::Value> values;
  llvm::StringMap<llvm::SmallVector<mlir::Value>> sequences;
  llvm::StringSet<> absent; ///< optionals without an element
  /// For a region: outside values, each with the argument that represents it. These are the last
  /// arguments of `block`.
  llvm::MapVector<mlir::Value, mlir::BlockArgument> captured;
};

/// The work of computing values of an entry at compile time, in elements; an op counts as
/// `workPerOp` beside its elements.
constexpr uint64_t maxWork = 1 << 24, workPerOp = 64;
/// The iterations of all loops of an entry that are written out.
constexpr int64_t maxIterations = 1 << 14;

/// An entry under construction. Arguments are added on request, results at the end.
class EntryImport {
public:
  /// `batch` binds the first dim of inputs if it is symbolic; 0 leaves it to `options`.
  EntryImport(const OnnxModel &model, States &states, const ImportOptions &options,
              llvm::StringRef name, int64_t batch, bool training);

  const OnnxModel &getModel() const { return model; }
  States &getStates() { return states; }
  mlir::OpBuilder &getBuilder() { return builder; }
  bool isTraining() const { return training; }
  /// Whether gradients of the entry's values may be taken: in training, by nodes Gradient, or by
  /// whoever asked for them before the nodes were imported.
  bool mayDifferentiate() const { return training || asksForGradients || !gradientTargets.empty(); }
  void askForGradients() { asksForGradients = true; }
  int64_t batchSize() const { return batch; }
  mlir::func::FuncOp getFunction() { return function; }

  /// The type of a graph input with its symbols bound; reports every problem. If the entry
  /// `takesBytes`, strings become bytes with one more dim, and narrow types become bytes.
  mlir::FailureOr<mlir::RankedTensorType> inputType(const onnx::ValueInfoProto &input,
                                                    bool takesBytes = false);

  /// A new argument with attributes `grad.name`, `grad.role` and others.
  mlir::Value addArgument(mlir::RankedTensorType type, llvm::StringRef name, gradc_role role,
                          llvm::ArrayRef<mlir::NamedAttribute> more = {});
  /// The scalar argument with that role (seed, counter). The role determines its name and type; the
  /// first use creates it.
  mlir::Value scalarArgument(gradc_role role);

  /// Marks an argument whose first dim is the batch. The second form marks a graph input only if
  /// its first dim is the batch.
  void markBatch(mlir::Value argument);
  void markBatch(const onnx::ValueInfoProto &input, mlir::Value argument);

  bool isBatched(mlir::BlockArgument argument) const;

  /// Declares that the argument is the target of a loss: labels in [0, classes), or distributions
  /// over that number of classes; for one class, numbers from 0 to 1.
  void setClasses(mlir::Value argument, int64_t classes);

  /// Returns the value of a graph input, which is a tensor; returns null after reporting an error.
  using BindInput = llvm::function_ref<mlir::Value(const onnx::ValueInfoProto &)>;
  /// Imports all nodes that `outputs` depend on, after binding the inputs that these need. A
  /// sequence NAME is bound tensor by tensor, named NAME.0, NAME.1, and so on. On failure, all
  /// errors have been reported. Outputs are tensors, unless the entry `takesSequences`.
  mlir::LogicalResult importNodes(llvm::ArrayRef<std::string> outputs, BindInput bindInput,
                                  bool takesSequences = false);

  /// The value of a name: a graph input, an initializer, or a node's output (null if its import
  /// failed). The name belongs to the graph being imported or, as an argument of a region, to an
  /// enclosing graph.
  mlir::Value value(llvm::StringRef name) { return valueIn(*scope, name); }

  /// Imports the nodes of a subgraph into `block`, which ends without a terminator. `inputs` has
  /// one value per graph input. If `block` is not the node's own block, `captured` receives the
  /// outside values that became its last arguments. Returns one value per graph output. On failure,
  /// errors have been reported.
  mlir::FailureOr<llvm::SmallVector<GraphValue>>
  importSubgraph(const onnx::GraphProto &graph, mlir::Block &block,
                 llvm::ArrayRef<GraphValue> inputs,
                 llvm::SmallVectorImpl<mlir::Value> *captured = nullptr);
  /// The same for the types of the results alone: the run computes nothing of the subgraph.
  mlir::FailureOr<llvm::SmallVector<GraphValue>> importUnused(const onnx::GraphProto &graph,
                                                              llvm::ArrayRef<GraphValue> inputs);
  const onnx::GraphProto &getGraph() const { return scope->graph; }

  /// The tensors of the sequence with that name, or null if there is none.
  const llvm::SmallVector<mlir::Value> *findSequence(llvm::StringRef name) const;
  void setSequence(llvm::StringRef name, llvm::ArrayRef<mlir::Value> tensors);
  /// Whether the name is that of an optional without an element.
  bool isAbsent(llvm::StringRef name) const;
  void setAbsent(llvm::StringRef name) { scope->absent.insert(name); }

  /// The extent of the value that only a run knows; most values have none.
  std::optional<RunExtent> findExtent(mlir::Value value) const;
  /// Two counts that are computed alike become one.
  void setExtent(mlir::Value value, RunExtent extent);
  bool hasExtents() const { return !counts.empty(); }
  /// Whether a node's graph reads such a value from outside.
  bool readsExtent(const onnx::GraphProto &graph) const;
  /// A shape whose elements are known once the counts of extents are.
  std::optional<RunShape> shapeOfRun(mlir::Value shape);
  /// Whether the value is a tensor of strings: bytes (u8) with one more dim of size `stringBytes`.
  /// Zeros follow a string's end.
  bool isText(mlir::Value value) const { return texts.contains(value); }
  void markText(mlir::Value value) { texts.insert(value); }
  /// The narrow type whose codes the value holds; null if it holds numbers.
  const NarrowType *findNarrow(mlir::Value value) const { return narrows.lookup(value).type; }
  /// `rounded`: the floats that were cast to these codes, or null.
  void markNarrow(mlir::Value value, const NarrowType *type, mlir::Value rounded = nullptr) {
    narrows[value] = {type, rounded};
  }
  /// The floats that were cast to these codes in the graph being imported, moved like the codes
  /// since then; null if there are none.
  mlir::Value roundedTo(mlir::Value codes);
  /// For example "float8e4m3fn [4]", with the type that the model gives the value.
  std::string describeValue(mlir::Value value) const;
  int64_t stringBytes() const { return options.stringBytes; }

  /// Reports an error at `where` if the value has such an extent.
  mlir::LogicalResult expectNoExtent(llvm::StringRef name, mlir::Value value,
                                     mlir::Location where) const;
  /// Reports an error at `where` if the value has such an extent or a narrow type.
  mlir::LogicalResult expectWhole(llvm::StringRef name, mlir::Value value,
                                  mlir::Location where) const;

  /// A value known at compile time: a constant, an initializer, or a value computed from inputs
  /// with given values, if the call `mayBind` these inputs.
  std::optional<mlir::grad::HostTensor> known(mlir::Value value, bool mayBind = true);
  /// Says that `node` is compiled for elements of a known value, those that it reads (`isRead`). If
  /// one follows the rows of the batch, otherwise than in proportion if it `mayBeProportional`, the
  /// entry takes no other number of rows.
  void fixRows(mlir::Value value, llvm::StringRef node, bool mayBeProportional,
               llvm::function_ref<bool(int64_t)> isRead);
  /// Says that a known element of `sizes` is the size of a dim of `sized` to `node`. If it follows
  /// the rows, the dim must be one of rows, or repeats what it holds for each row.
  void sizeByRows(mlir::Value sized, int64_t dim, mlir::Value sizes, int64_t element,
                  llvm::StringRef node);
  /// Says that a constant has the numbers up to `limit`, as many as rows if that follows them.
  void numberRows(mlir::Value numbers, mlir::Value limit);
  /// Whether the last call of `known` would have taken more work than is left to the entry.
  bool lacksWork() const { return isWorkSpent; }
  /// Counts one more iteration of a loop that is written out; false: the entry has
  /// `maxIterations` of them.
  bool writeOutIteration() { return iterations++ < maxIterations; }
  const std::set<std::string> &getBoundInputs() const { return boundInputs; }
  const std::set<std::string> &getFoldedNodes() const { return foldedNodes; }

  /// The state's value after the nodes so far; a module that runs twice updates it twice.
  mlir::Value latestStatistic(mlir::grad::ReadOp state);
  /// Makes the entry store `value` in the state.
  void setStatistic(mlir::grad::ReadOp state, mlir::Value value, mlir::Location node);

  /// Finds the node that couples rows of the batch, for `grad.coupling_node`. Only the first call
  /// has an effect: sums over rows that are added later do not count.
  void judgeRows();
  /// Whether gradc-bind-rows reads an op that nothing else reads: the size of a dim that has
  /// readers, or a count that such a size follows, which comes before it. To be called from the
  /// last op to the first.
  bool isJudgedLater(mlir::Operation &op);

  void addResult(mlir::Value value, llvm::StringRef name, gradc_role role,
                 llvm::ArrayRef<mlir::NamedAttribute> more = {});
  /// Makes a run fail if any of the node's `indices` is not in [-limit, limit).
  void requireIndices(mlir::Value indices, int64_t limit, mlir::Location node);
  /// The same for an entry that has become part of this one: `largest` is its check result.
  void addIndexCheck(mlir::Value largest, int64_t limit, llvm::StringRef node) {
    indexChecks.push_back({largest, limit, node.str()});
  }
  /// Makes a run fail if any of `isWrong` (bool) is true: a string has letters that the node cannot
  /// change.
  void requireText(mlir::Value isWrong, mlir::Location node);
  /// Makes a run fail if the condition of a loop still holds (bool) after all of its iterations.
  void requireEnd(mlir::Value goesOn, mlir::Location node);
  /// The index checks of a region, which its op passes on.
  llvm::SmallVector<mlir::Value> indexChecksIn(const mlir::Block &region) const;
  void replaceIndexCheck(mlir::Value inRegion, mlir::Value outside);
  /// The numbers of checks and of updates of statistics. An import that is given up takes back
  /// those of after its start.
  struct EffectCount {
    size_t checks, updates;
  };
  EffectCount countEffects() const { return {indexChecks.size(), updates.size()}; }
  /// The checks behind `before` pass where `condition`, a bool scalar, does not hold.
  void checkIndicesIf(mlir::Value condition, EffectCount before);
  struct Effects;
  Effects takeEffects(EffectCount behind);
  void addEffects(Effects effects);
  /// Lets names whose values could not be imported be tried, and reported, again: after an import
  /// whose diagnostics are not shown.
  void forgetFailures();
  /// Ends the function and erases unused ops.
  void finish();

private:
  mlir::LogicalResult importNode(unsigned index);
  /// The value that later nodes read under the name of a node's output: `result`, or a barrier in
  /// front of it if it is a gradient's target.
  mlir::Value valueOfOutput(llvm::StringRef name, mlir::Value result);
  /// In training, stores the result of a node in the buffer that the module updates with it, if
  /// any. Returns the value that later nodes read, at which gradients stop.
  mlir::Value storeInBuffer(Node &node, llvm::StringRef name, mlir::Value result);
  /// Reports a dim without a size; if symbols are shared, once for each of them.
  void reportOpenDim(const onnx::ValueInfoProto &input, int64_t d);
  mlir::LogicalResult bindGraphInput(const onnx::ValueInfoProto &input, BindInput bindInput);
  /// Refuses operands with an extent that the op does not take.
  mlir::LogicalResult expectExtents(Node &node, TakesExtents how) const;
  /// Gives the results of an op that takes operands by elements or rows the extent of these.
  mlir::LogicalResult followExtents(Node &node, TakesExtents how);
  /// Refuses operands of narrow types that the op does not take. If the op moves elements, gives
  /// its results the same type.
  mlir::LogicalResult expectNarrow(Node &node, const OnnxOp &op);
  void followNarrow(Node &node);
  mlir::Value valueIn(Scope &scope, llvm::StringRef name);
  void markInitializer(mlir::Value value, const onnx::TensorProto &initializer);
  mlir::Value capture(Scope &scope, mlir::Value value);
  /// A value of the entry as a given graph sees it.
  mlir::Value visible(Scope &scope, mlir::Value value);
  bool isKnownName(llvm::StringRef name) const;
  /// Reports a sequence from outside a region, since regions contain only tensors; false if there
  /// is none.
  bool reportHiddenSequence(llvm::StringRef name, mlir::Location reader) const;
  /// Gives each node of the file a unique position. Nodes of subgraphs come after those of the
  /// enclosing graph.
  void numberNodes(const onnx::GraphProto &graph, unsigned &positions);
  /// The value given for an argument, or null.
  const mlir::grad::HostTensor *givenValue(mlir::BlockArgument argument) const;
  llvm::SmallVector<mlir::grad::CountOp> countsBehind(mlir::Value value);
  /// The counts that a known value follows: fewer rows change an element, in proportion to the
  /// rows or not, and `isChange(element, isProportional)`.
  llvm::SmallVector<mlir::grad::CountOp>
  countsThatChange(mlir::Value value, llvm::function_ref<bool(int64_t, bool)> isChange);
  /// Marks the rows behind numbers from which a node has computed results without a dim of rows.
  void followRowNumbers(mlir::ValueRange operands, mlir::ValueRange results, llvm::StringRef node);
  llvm::StringRef argumentAttribute(mlir::BlockArgument argument, llvm::StringRef attribute) const;
  void bindArguments();

  const OnnxModel &model;
  States &states;
  const ImportOptions &options;
  int64_t batch;
  bool training, asksForGradients = false, isJudged = false, isWorkSpent = false;
  uint64_t workLeft = maxWork;
  /// Results of loops and branches, which are evaluated once; not those in regions, which may be
  /// dropped.
  llvm::DenseMap<mlir::Value, mlir::grad::HostTensor> evaluated;
  int64_t iterations = 0; ///< of loops that are written out
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  std::unique_ptr<Scope> modelScope;
  Scope *scope;
  unsigned depth = 0; ///< graphs around the one that is being imported
  llvm::DenseMap<const onnx::GraphProto *, unsigned> firstPositions;
  llvm::DenseMap<mlir::Value, RunExtent> extents;
  /// The counts of extents, each with its maximum.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> counts;
  llvm::DenseSet<mlir::Value> texts;
  struct Codes {
    const NarrowType *type = nullptr;
    mlir::Value rounded; ///< the floats that were cast to the codes, or null
  };
  llvm::DenseMap<mlir::Value, Codes> narrows;
  /// For regions being imported: the outside values of their arguments.
  llvm::DenseMap<mlir::Value, mlir::Value> outside;
  llvm::SmallVector<mlir::NamedAttrList> argumentAttributes;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::NamedAttrList> resultAttributes;
  std::map<gradc_role, mlir::Value> scalars;
  /// The largest of a node's indices plus the limit, as an unsigned number.
  struct IndexCheck {
    mlir::Value largest;
    int64_t limit;
    std::string node;
  };
  /// A new value of a statistic, which replaces those before it.
  struct Update {
    mlir::StringAttr state;
    mlir::Value value;
    mlir::Location node;
  };
  llvm::SmallVector<IndexCheck> indexChecks;
  llvm::SmallVector<Update> updates;
  /// Constants with an element for each row, and what nodes compute from these and other constants.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::grad::CountOp>> rowNumbers;
  int64_t sizedDims = 0;               ///< number of dims whose sizes follow counts
  llvm::DenseSet<int64_t> judgedSizes; ///< those that `isJudgedLater` keeps
  std::set<std::string> boundInputs, foldedNodes;
  llvm::StringSet<> gradientTargets; ///< of nodes Gradient
  llvm::StringSet<> openDims;        ///< symbols that have been reported
};

struct EntryImport::Effects {
  llvm::SmallVector<IndexCheck> indexChecks;
  llvm::SmallVector<Update> updates;
};

} // namespace gradc

#endif
