// One pass over the graph's nodes, which builds the body of one entry.
#ifndef COMPILER_IMPORT_IMPORTGRAPH_H
#define COMPILER_IMPORT_IMPORTGRAPH_H

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/States.h"
#include "compiler/import/onnx/Subgraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/include/gradc/artifact.h"

#include <map>

namespace gradc {

/// The names of one graph: the model's, or one that a node has as an attribute. Ops stand in
/// `block`.
struct Scope {
  Scope(const onnx::GraphProto &graph, mlir::Block &block, Scope *outer = nullptr)
      : graph(graph), block(block), outer(outer) {}

  /// Whether ops stand in a region, which sees values around it as arguments only.
  bool isRegion() const { return outer && &outer->block != &block; }

  const onnx::GraphProto &graph;
  mlir::Block &block;
  Scope *outer;
  llvm::StringMap<mlir::Value> values;
  llvm::StringMap<llvm::SmallVector<mlir::Value>> sequences;
  llvm::StringSet<> absent; ///< optionals without an element
  /// Of a region: values around it, each with the argument that it is here, the last ones of
  /// `block`.
  llvm::MapVector<mlir::Value, mlir::BlockArgument> captured;
};

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
  int64_t batchSize() const { return batch; }
  mlir::func::FuncOp getFunction() { return function; }

  /// The type of a graph input with its symbols bound; reports every problem. Where the entry
  /// `takesBytes`, strings are bytes with one more dim, and narrow types are bytes.
  mlir::FailureOr<mlir::RankedTensorType> inputType(const onnx::ValueInfoProto &input,
                                                    bool takesBytes = false);

  /// A new argument with attributes `grad.name`, `grad.role` and others.
  mlir::Value addArgument(mlir::RankedTensorType type, llvm::StringRef name, gradc_role role,
                          llvm::ArrayRef<mlir::NamedAttribute> more = {});
  /// The scalar argument of that role (seed, counter), named and typed by it, made on first use.
  mlir::Value scalarArgument(gradc_role role);

  /// Marks an argument whose first dim is the batch; of a graph input, if it is.
  void markBatch(mlir::Value argument);
  void markBatch(const onnx::ValueInfoProto &input, mlir::Value argument);

  bool isBatched(mlir::BlockArgument argument) const;

  /// The argument is a target of a loss: labels in [0, classes), or distributions over as many
  /// classes; over one, numbers from 0 to 1.
  void setClasses(mlir::Value argument, int64_t classes);

  /// Sets the value of a graph input, which is a tensor; returns null after reporting an error.
  using BindInput = llvm::function_ref<mlir::Value(const onnx::ValueInfoProto &)>;
  /// Imports all nodes that `outputs` need, after binding the inputs that these need: of a sequence
  /// NAME its tensors, named NAME.0, NAME.1 and so on. On failure, all errors have been reported.
  /// Outputs are tensors, unless the entry `takesSequences`.
  mlir::LogicalResult importNodes(llvm::ArrayRef<std::string> outputs, BindInput bindInput,
                                  bool takesSequences = false);

  /// The value of that name: a graph input, an initializer, or a node's output (null: failed), of
  /// the graph that is being imported or, then as a region's argument, of one around it.
  mlir::Value value(llvm::StringRef name) { return valueIn(*scope, name); }

  /// Imports the nodes of a node's graph from `inputs`, one a graph input, into `block`, which ends
  /// without a terminator. Where that is not the block of the node, `captured` gets the values
  /// around it that are its last arguments. Returns one value a graph output; on failure, errors
  /// have been reported.
  mlir::FailureOr<llvm::SmallVector<GraphValue>>
  importSubgraph(const onnx::GraphProto &graph, mlir::Block &block,
                 llvm::ArrayRef<GraphValue> inputs,
                 llvm::SmallVectorImpl<mlir::Value> *captured = nullptr);
  const onnx::GraphProto &getGraph() const { return scope->graph; }

  /// The tensors of a sequence of that name, or null: there is none.
  const llvm::SmallVector<mlir::Value> *findSequence(llvm::StringRef name) const;
  void setSequence(llvm::StringRef name, llvm::ArrayRef<mlir::Value> tensors);
  /// Whether the name is of an optional without an element.
  bool isAbsent(llvm::StringRef name) const;
  void setAbsent(llvm::StringRef name) { scope->absent.insert(name); }

  /// The value's extents that only runs know; most values have none.
  std::optional<RunExtent> findExtent(mlir::Value value) const;
  void setExtent(mlir::Value value, RunExtent extent) { extents[value] = extent; }
  /// Whether the value is a tensor of strings: of bytes (u8), with one more dim, whose size is
  /// `stringBytes`; zeros are behind a string's end.
  bool isText(mlir::Value value) const { return texts.contains(value); }
  void markText(mlir::Value value) { texts.insert(value); }
  /// The narrow type whose codes the value has; null: it has numbers.
  const NarrowType *findNarrow(mlir::Value value) const { return narrows.lookup(value); }
  void markNarrow(mlir::Value value, const NarrowType *type) { narrows[value] = type; }
  /// "float8e4m3fn [4]", by the type that the model gives the value.
  std::string describeValue(mlir::Value value) const;
  int64_t stringBytes() const { return options.stringBytes; }

  /// An error at `where` if the value of that name has such an extent, or is of a narrow type.
  mlir::LogicalResult expectWhole(llvm::StringRef name, mlir::Value value,
                                  mlir::Location where) const;

  /// A value known at compile time: a constant, an initializer, or a value computed from inputs
  /// with given values, which are bound by this call.
  std::optional<mlir::grad::HostTensor> known(mlir::Value value);
  const std::set<std::string> &getBoundInputs() const { return boundInputs; }
  const std::set<std::string> &getFoldedNodes() const { return foldedNodes; }

  /// The state's value after the nodes so far; a module that runs twice updates it twice.
  mlir::Value latestStatistic(mlir::grad::ReadOp state);
  /// Makes the entry leave `value` in the state.
  void setStatistic(mlir::grad::ReadOp state, mlir::Value value, mlir::Location node);

  /// Finds the node that couples rows of the batch, for `grad.coupling_node`; nothing after the
  /// first call. Sums over rows that are added later do not count.
  void judgeRows();

  void addResult(mlir::Value value, llvm::StringRef name, gradc_role role,
                 llvm::ArrayRef<mlir::NamedAttribute> more = {});
  /// Makes every run fail in which one of the node's `indices` is not in [-limit, limit).
  void requireIndices(mlir::Value indices, int64_t limit, mlir::Location node);
  /// The same of an entry that has become a part of this one: `largest` is that of its result.
  void addIndexCheck(mlir::Value largest, int64_t limit, llvm::StringRef node) {
    indexChecks.push_back({largest, limit, node.str()});
  }
  /// Makes every run fail in which one of `isWrong` (bool) is true: of strings whose letters the
  /// node cannot change.
  void requireText(mlir::Value isWrong, mlir::Location node);
  /// The checks of a region's indices, which its op hands on.
  llvm::SmallVector<mlir::Value> indexChecksIn(const mlir::Block &region) const;
  void replaceIndexCheck(mlir::Value inRegion, mlir::Value outside);
  /// A region that is not used after all has nothing to check.
  size_t countIndexChecks() const { return indexChecks.size(); }
  void dropIndexChecks(size_t behind) { indexChecks.truncate(behind); }
  /// Ends the function and erases unused ops.
  void finish();

private:
  mlir::LogicalResult importNode(unsigned index);
  mlir::LogicalResult bindGraphInput(const onnx::ValueInfoProto &input, BindInput bindInput);
  /// Gives the results of a pointwise op the extent that its operands share.
  mlir::LogicalResult followExtents(Node &node);
  /// Refuses operands of narrow types that the op does not take; gives results of one that moves
  /// them the same type.
  mlir::LogicalResult expectNarrow(Node &node, const OnnxOp &op);
  void followNarrow(Node &node);
  mlir::Value valueIn(Scope &scope, llvm::StringRef name);
  void markInitializer(mlir::Value value, const onnx::TensorProto &initializer);
  mlir::Value capture(Scope &scope, mlir::Value value);
  /// A value of the entry as a graph sees it.
  mlir::Value visible(Scope &scope, mlir::Value value);
  bool isKnownName(llvm::StringRef name) const;
  /// Reports a sequence of a graph around a region, in which there are only tensors; false: none.
  bool reportHiddenSequence(llvm::StringRef name, mlir::Location reader) const;
  /// Gives every node of the file a position of its own, graphs of nodes behind the graph around
  /// them.
  void numberNodes(const onnx::GraphProto &graph, unsigned &positions);
  /// The value given for an argument, or null.
  const mlir::grad::HostTensor *givenValue(mlir::BlockArgument argument) const;
  llvm::StringRef argumentAttribute(mlir::BlockArgument argument, llvm::StringRef attribute) const;
  void bindArguments();

  const OnnxModel &model;
  States &states;
  const ImportOptions &options;
  int64_t batch;
  bool training, isJudged = false;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  std::unique_ptr<Scope> modelScope;
  Scope *scope;
  unsigned depth = 0; ///< graphs around the one that is being imported
  llvm::DenseMap<const onnx::GraphProto *, unsigned> firstPositions;
  llvm::DenseMap<mlir::Value, RunExtent> extents;
  llvm::DenseSet<mlir::Value> texts;
  llvm::DenseMap<mlir::Value, const NarrowType *> narrows;
  /// Of the regions that are being imported: what their arguments are around them.
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
  llvm::SmallVector<IndexCheck> indexChecks;
  std::set<std::string> boundInputs, foldedNodes;
  llvm::MapVector<mlir::StringAttr, std::pair<mlir::Value, mlir::Location>> statistics;
};

} // namespace gradc

#endif
