// Metrics that count labels and predictions of one class, of each, or of several labels.
#ifndef COMPILER_IMPORT_OBJECTIVE_CLASSMETRICS_H
#define COMPILER_IMPORT_OBJECTIVE_CLASSMETRICS_H

#include "compiler/import/objective/Metrics.h"

namespace gradc {

/// How a metric takes several scores: as those of classes, one of which is right; as labels, each
/// with a metric of its own; or as labels that are counted together.
enum class Scores { classes, labels, together };
/// How a metric takes the scores of an output.
mlir::FailureOr<Scores> scoresOf(SpecValues &v, llvm::StringRef kind,
                                 const spec::ClassMetric &names, mlir::Location where);

/// Counts of true positives, predictions, and labels of the class: scalars, or one element per
/// class.
mlir::FailureOr<MetricResults> buildClassMetric(SpecValues &v, llvm::StringRef kind,
                                                const spec::ClassMetric &names,
                                                mlir::Location where);

/// The score and label of each sample. More than one dim: the last one is that of the classes, or
/// of several labels.
mlir::FailureOr<MetricResults> buildAuc(SpecValues &v, const spec::ClassMetric &names,
                                        mlir::Location where);

/// Counts [labels, predicted classes].
mlir::FailureOr<MetricResults> buildConfusion(SpecValues &v, const spec::ConfusionMatrix &names,
                                              mlir::Location where);

} // namespace gradc

#endif
