// Metrics of a training spec as grad IR.
#ifndef COMPILER_IMPORT_OBJECTIVE_METRICS_H
#define COMPILER_IMPORT_OBJECTIVE_METRICS_H

#include "compiler/import/objective/SpecValues.h"

namespace gradc {

/// The results of a metric. A mean over the batch is a single result. All other metrics are several
/// tensors of one name, which the runtime adds or collects over batches and combines by the
/// metric's kind (runtime/train/entry/MetricRule.h describes the tensors of each kind).
struct MetricResults {
  gradc_role role;
  llvm::SmallVector<mlir::Value> values;
};

/// Sums over the first dim in f64: counts are exact, and differences of large sums keep digits.
mlir::Value sumRows(mlir::grad::Expr x);

/// The class with the highest score in each row.
mlir::grad::Expr bestClass(mlir::grad::Expr x);

/// Builds metric `index` of the spec.
mlir::FailureOr<MetricResults> buildMetric(SpecValues &v, int index);

} // namespace gradc

#endif
