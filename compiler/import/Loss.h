// Losses and metrics of a training spec as grad IR.
#ifndef COMPILER_IMPORT_LOSS_H
#define COMPILER_IMPORT_LOSS_H

#include "compiler/import/data/TrainingData.h"
#include "compiler/import/onnx/ImportGraph.h"

namespace gradc {

/// A loss as a quotient of two f32 scalars, so that the mean over several batches is exact: it is
/// the sum of their numerators over the sum of their denominators.
struct LossTerm {
  mlir::Value numerator;
  /// The number of elements that the mean is over, or the sum of their weights: it depends on
  /// fields of the data alone. Null: the model itself made a mean of unknown weight.
  mlir::Value denominator;

  mlir::Value quotient(mlir::OpBuilder &builder) const;
};

/// Builds losses and metrics into one entry, and the arguments that their labels need.
class LossBuilder {
public:
  LossBuilder(EntryImport &entry, const SpecFile &spec, const DataSet &data)
      : entry(entry), spec(spec), data(data) {}

  /// The values of the graph that the loss and the metrics look at.
  std::vector<std::string> outputs() const;
  /// Result 0 is the loss, the metrics follow.
  mlir::LogicalResult build();

  /// The argument that a field feeds, of the type that its rows have (`otherwise` where the data
  /// set is not known); arguments are shared by all who read the field.
  mlir::FailureOr<mlir::Value> field(llvm::StringRef name, mlir::RankedTensorType otherwise,
                                     llvm::StringRef argumentName, mlir::Location where);

private:
  mlir::FailureOr<LossTerm> loss();
  mlir::FailureOr<LossTerm> softmaxCrossEntropy(const spec::SoftmaxCrossEntropy &loss);
  mlir::FailureOr<LossTerm> regression(llvm::StringRef prediction, llvm::StringRef target,
                                       bool logits, mlir::Location where);
  mlir::FailureOr<mlir::Value> accuracy(const spec::Accuracy &metric, mlir::Location where);
  mlir::FailureOr<mlir::Value> output(llvm::StringRef name, mlir::Location where);
  mlir::FailureOr<mlir::Value> labels(llvm::StringRef name, mlir::Value scores,
                                      mlir::Location where);
  mlir::grad::Expr expr(mlir::Value value);
  mlir::Value mean(mlir::Value value);
  void returnTerm(const LossTerm &term);
  LossTerm meanTerm(mlir::Value losses, mlir::Value field, llvm::ArrayRef<int64_t> dims);

  EntryImport &entry;
  const SpecFile &spec;
  const DataSet &data;
  std::map<std::string, mlir::Value> arguments;
};

} // namespace gradc

#endif
