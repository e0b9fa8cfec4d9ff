// What a data set looks like, as far as it can be known at compile time.
#ifndef COMPILER_IMPORT_TRAININGDATA_H
#define COMPILER_IMPORT_TRAININGDATA_H

#include "compiler/import/spec/TrainingSpec.h"
#include "mlir/IR/BuiltinTypes.h"
#include <map>

namespace gradc {

/// One row of a field; a dim that varies from row to row is ShapedType::kDynamic.
struct FieldType {
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
};

struct DataSet {
  /// Where the spec describes it: {"data"} or {"evaluation", "data"}.
  llvm::SmallVector<SpecFile::Step> place;
  std::string file;   ///< for messages
  bool known = false; ///< the file was there to be looked at
  std::map<std::string, FieldType> fields;
  static constexpr int64_t unknown = -1;
  /// That an epoch visits.
  int64_t rows = unknown;
  std::string whyUnknown; ///< the rows: "'x.csv' is not there yet"

  /// The field, or null where the data set is not known. Fails (said) where it is known without it.
  mlir::FailureOr<const FieldType *> find(llvm::StringRef field, mlir::Location where) const;
};

class MapModels;

/// Asks the runtime what the data block at `place` is, and says all that is wrong with it at its
/// line of the spec. Files that are not there yet are left to the run. Map stages that are models
/// go to `models`; null: fields behind them are not known.
mlir::FailureOr<DataSet> describeData(mlir::MLIRContext &context, const SpecFile &spec,
                                      const spec::Data &data, llvm::ArrayRef<SpecFile::Step> place,
                                      MapModels *models = nullptr);

/// The data to train on, then those to evaluate on where the spec has them.
mlir::FailureOr<std::vector<DataSet>> describeTrainingData(mlir::MLIRContext &context,
                                                           const SpecFile &spec, MapModels *models);

} // namespace gradc

#endif
