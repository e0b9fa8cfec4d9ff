// Derivatives of an entry's values: requests and results.
#ifndef COMPILER_IMPORT_DERIVATIVES_GRADIENTREQUESTS_H
#define COMPILER_IMPORT_DERIVATIVES_GRADIENTREQUESTS_H

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// How a value depends on the rows of a run.
enum class Rows {
  none, ///< not at all: all rows share it
  each, ///< its first dim are the rows
  sum   ///< it is summed over them
};

/// A value to differentiate, or a target to differentiate with respect to.
struct Quantity {
  mlir::Value value;
  Rows rows;
};

/// The name that a request gives to its derivative with respect to target number `target`.
std::string resultName(const spec::Gradients &request, int target);

/// Adds requests one by one to an entry whose nodes have been imported.
class GradientRequests {
public:
  GradientRequests(EntryImport &entry, const SpecFile &spec);

  /// Adds request `index` of the spec. Later requests may name its results.
  mlir::LogicalResult add(int index);
  /// Adds the model's outputs as results, then the derivatives.
  void addResults();

private:
  mlir::FailureOr<Quantity> find(llvm::StringRef name, mlir::Location where);
  mlir::FailureOr<llvm::SmallVector<Quantity>> findTargets(int index);
  mlir::LogicalResult checkReach(const spec::Gradients &request, int index, const Quantity &of,
                                 llvm::ArrayRef<Quantity> targets);
  /// The scalars that the reverse passes start from: one, or one per element of a Jacobian.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> objectives(int index, Quantity of);
  mlir::FailureOr<mlir::Value> weights(int index, const Quantity &of);
  /// The dims that precede the target's own dims in its assembled gradients.
  llvm::SmallVector<int64_t> frontDims(const spec::Gradients &request, const Quantity &of) const;
  Quantity assemble(const spec::Gradients &request, const Quantity &of, const Quantity &target,
                    llvm::ArrayRef<mlir::Value> gradients);
  mlir::LogicalResult keep(int index, int target, const Quantity &result);
  void addResult(const Quantity &quantity, llvm::StringRef name, gradc_role role);
  mlir::grad::Expr expr(mlir::Value value, mlir::Location location);
  llvm::ArrayRef<int64_t> rowShape(const Quantity &quantity) const;

  EntryImport &entry;
  const SpecFile &spec;
  llvm::DenseSet<mlir::Value> dependent; ///< values of the graph that depend on rows
  std::map<std::string, Quantity> named; ///< results of requests
  std::vector<std::string> order;        ///< their names
  std::map<std::string, mlir::Value> weightInputs;
};

} // namespace gradc

#endif
