// Outputs of the graph and fields of the data, as named by losses and metrics of a spec.
#ifndef COMPILER_IMPORT_OBJECTIVE_SPECVALUES_H
#define COMPILER_IMPORT_OBJECTIVE_SPECVALUES_H

#include "compiler/import/data/TrainingData.h"
#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/spec/StepSpec.h"

namespace gradc {

/// Class scores as rows, with an integer label per row.
struct ClassRows {
  mlir::grad::Expr scores;                ///< [rows, classes]
  mlir::grad::Expr labels;                ///< i64 [rows], a class each
  std::optional<mlir::grad::Expr> counts; ///< i1 [rows]; without it all labels count
  mlir::Value field;                      ///< the argument, [batch, ...]

  int64_t classes() const { return scores.shape()[1]; }
  /// Whether a class is the row's label: i1 [rows, classes].
  mlir::grad::Expr isLabel() const;
  /// x[i, label[i]] for each row of `x`, whose type is that of the scores.
  mlir::grad::Expr pick(mlir::grad::Expr x) const;
  /// 1 for each row that counts, 0 for others, in the scores' element type.
  mlir::grad::Expr ones() const;
};

/// The outputs and fields of one entry. Fields are arguments, shared by all users. All failures are
/// reported at `where`.
class SpecValues {
public:
  /// `step` determines the losses of the entry.
  SpecValues(EntryImport &entry, const SpecFile &spec, const StepSpec &step, const DataSet &data)
      : entry(entry), spec(spec), step(step), data(data) {}

  EntryImport &getEntry() { return entry; }
  const SpecFile &getSpec() const { return spec; }
  const StepSpec &getStep() const { return step; }
  mlir::OpBuilder &getBuilder() { return entry.getBuilder(); }
  mlir::grad::Expr expr(mlir::Value value);

  /// A float output of the graph.
  mlir::FailureOr<mlir::Value> output(llvm::StringRef name, mlir::Location where);
  /// An output before its final softmax (before its final sigmoid if `sigmoid`).
  mlir::FailureOr<mlir::Value> scores(llvm::StringRef name, bool sigmoid, mlir::Location where);
  /// An output before its final softmax, with the classes in the last dim. They may be in the
  /// second one, as PyTorch has them: integer labels [batch, ...] tell, which lack that dim.
  mlir::FailureOr<mlir::Value> classScores(llvm::StringRef name, llvm::StringRef labels,
                                           mlir::Location where);
  /// A float output [batch, dim].
  mlir::FailureOr<mlir::grad::Expr> vectors(llvm::StringRef name, mlir::Location where);

  /// The argument that a field feeds. Its type is that of the field's rows. If the data set is not
  /// known, it is `otherwise`, as far as the data's maps do not say more.
  mlir::FailureOr<mlir::Value> field(llvm::StringRef name, mlir::RankedTensorType otherwise,
                                     llvm::StringRef argumentName, mlir::Location where);
  /// Either integer labels with the scores' shape minus the class dim, or a distribution with the
  /// scores' shape.
  mlir::FailureOr<mlir::Value> labels(llvm::StringRef name, mlir::Value scores,
                                      mlir::Location where);
  /// Numbers that match the elements of `like`, the value of `output`, cast and reshaped to its
  /// type.
  mlir::FailureOr<mlir::grad::Expr> targets(llvm::StringRef name, mlir::Value like,
                                            llvm::StringRef output, mlir::Location where);
  /// Scores [batch, ..., classes] or [batch, classes, ...] and integer labels [batch, ...] as rows.
  /// Labels equal to `ignore` need not be a class.
  mlir::FailureOr<ClassRows> classRows(llvm::StringRef output, llvm::StringRef labels,
                                       std::optional<int64_t> ignore, mlir::Location where);
  /// Numbers of a field whose dims are the leading dims of `like`, broadcast to all its elements.
  mlir::FailureOr<mlir::grad::Expr> weights(llvm::StringRef name, mlir::RankedTensorType like,
                                            mlir::Location where);
  /// Makes a run fail if any of the integers is not in [0, limit).
  void requireBelow(mlir::grad::Expr numbers, int64_t limit, const llvm::Twine &what,
                    mlir::Location where);
  mlir::LogicalResult expectClasses(mlir::Value scores, llvm::StringRef name, mlir::Location where);
  /// The argument of a field that has been read.
  mlir::Value argument(llvm::StringRef name) const { return arguments.at(name.str()); }
  /// An input or a field that has the batch dim; null if there is none.
  mlir::Value batched() const;

private:
  /// Boolean labels, or labels with a dim of 1 more, the last or the second, as integers of the
  /// expected dims.
  mlir::Value plainLabels(mlir::Value labels, llvm::ArrayRef<int64_t> expected);

  EntryImport &entry;
  const SpecFile &spec;
  StepSpec step;
  const DataSet &data;
  std::map<std::string, mlir::Value> arguments;
};

/// The dims of a tensor of `rank`, except the last `without` ones.
llvm::SmallVector<int64_t> leadingDims(int64_t rank, int64_t without = 0);

/// The operand of a final softmax, or the value itself.
mlir::Value withoutSoftmax(mlir::Value value);

/// The sum of all elements as f32, which the runtime prints.
mlir::Value sumAll(mlir::grad::Expr x);

} // namespace gradc

#endif
