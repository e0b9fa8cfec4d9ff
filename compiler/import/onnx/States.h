// The initializers of a model: which become states, which of those train, and how others are used.
#ifndef COMPILER_IMPORT_ONNX_STATES_H
#define COMPILER_IMPORT_ONNX_STATES_H

#include "compiler/import/onnx/model/OnnxModel.h"
#include "dialects/grad/Grad.h"
#include "llvm/ADT/StringSet.h"

#include <map>

namespace gradc {

/// Shared by all entries of a model. An initializer that may hold parameters (a float of rank above
/// 0, or one that the exporter calls a parameter) becomes a `grad.state` at its first use; any
/// other is a constant that folds.
class States {
public:
  /// `symbols` has the states of all models of the module; `prefix` separates those of one model
  /// from those of another.
  States(const OnnxModel &model, mlir::SymbolTable &symbols, llvm::StringRef prefix = "");
  mlir::ModuleOp getModule() const { return llvm::cast<mlir::ModuleOp>(symbols.getOp()); }
  /// Adds an entry to the module. If a state has its symbol, `finish` refuses the state.
  void add(mlir::func::FuncOp entry);

  /// Sets the patterns of the spec: `trainable` overrides the rule, `freeze` overrides both.
  mlir::LogicalResult setPatterns(llvm::ArrayRef<std::string> trainable,
                                  llvm::ArrayRef<std::string> freeze,
                                  llvm::function_ref<mlir::Location(int)> trainableLoc,
                                  llvm::function_ref<mlir::Location(int)> freezeLoc);

  /// Equivalent to a match of `freeze`.
  void freeze(llvm::StringRef initializer) { frozen.insert(initializer); }
  /// Equivalent to a match of `trainable`.
  void train(llvm::StringRef initializer) { trainable.insert(initializer); }
  /// Makes only initializers that `trainable` names train; `why` is the reason in the other
  /// verdicts.
  void trainNothingElse(llvm::StringRef why) { whyOthersStay = why.str(); }

  /// The initializer as a value at `builder`. Null if its type is not supported, which is reported.
  mlir::Value read(mlir::OpBuilder &builder, const onnx::TensorProto &initializer);
  /// The value of a constant or of an initializer; null for anything else.
  mlir::ElementsAttr known(mlir::Value value);

  /// The buffer in which the module stores a value of the graph in each step; empty if in none.
  llvm::StringRef updatedBuffer(llvm::StringRef value) const;
  /// Whether the exporter has recorded which initializers are parameters.
  bool hasKinds() const { return !moduleParameters.empty() || !moduleBuffers.empty(); }
  /// Whether `trainable` of the spec names the initializer.
  bool isNamed(llvm::StringRef initializer) const { return trainable.contains(initializer); }

  /// Marks the state that `read` reads as a statistic of the node at `node`: entries update it,
  /// optimizers do not. `rule` tells it from other statistics. Returns false if no state is read.
  bool makeStatistic(mlir::Value read, mlir::Location node, llvm::StringRef rule = "");
  /// Marks a state that `read` reads, if any, as the scale of codes: only `trainable` makes it
  /// train.
  void makeScale(mlir::Value read, mlir::Location node);
  /// The same for a table of the angles of a rotary embedding.
  void makeTable(mlir::Value read, mlir::Location node);
  /// Whether `freeze` of the spec names the initializer that is read.
  bool isFrozen(mlir::Value read);

  /// Must be called after all entries: decides which states train, turns large constants into
  /// states, and erases states that folding left unused. Fails if an entry has an initializer's
  /// name, because files and commands name states by their symbols.
  mlir::LogicalResult finish(std::vector<Verdict> &verdicts);

  /// An initializer's state; null if it has none.
  mlir::grad::StateOp state(llvm::StringRef initializer) const {
    return states.lookup(initializer);
  }
  /// The symbol of an initializer's state; empty if it has none.
  llvm::StringRef symbol(llvm::StringRef initializer) const;

private:
  bool mayTrain(llvm::StringRef initializer, mlir::RankedTensorType type) const;
  mlir::grad::StateOp create(llvm::StringRef name, mlir::grad::StateKind kind,
                             mlir::ElementsAttr value, mlir::Location location);
  Verdict judge(const onnx::TensorProto &initializer, llvm::ArrayRef<mlir::grad::ReadOp> reads);

  const OnnxModel &model;
  mlir::SymbolTable &symbols;
  std::string prefix;
  llvm::StringMap<mlir::ElementsAttr> attributes;
  llvm::StringMap<mlir::grad::StateOp> states; ///< by initializer
  llvm::DenseMap<mlir::grad::StateOp, std::string> initializers;
  llvm::DenseMap<mlir::Attribute, std::string> names;
  llvm::StringMap<llvm::SmallVector<mlir::grad::StateOp, 1>> constants;
  llvm::StringSet<> trainable, frozen;
  llvm::StringSet<> moduleParameters, moduleBuffers; ///< as PyTorch's exporter records them
  std::map<std::string, std::string> bufferUpdates;  ///< buffers by their new values
  std::string whyOthersStay;
  llvm::DenseMap<mlir::grad::StateOp, std::string> statistics; ///< with the node that updates them
  llvm::DenseMap<mlir::grad::StateOp, std::string> scales;     ///< with the node that reads them
  llvm::DenseMap<mlir::grad::StateOp, std::string> tables;     ///< with the node that reads them
};

/// The reason in the verdict on a scalar that nothing says is a parameter.
inline constexpr llvm::StringLiteral scalarReason = "a scalar (rank 0)";

/// The ONNX node that an op comes from.
std::string nodeName(mlir::Location location);
std::string nodeName(mlir::Operation *op);

} // namespace gradc

#endif
