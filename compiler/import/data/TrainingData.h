// A data set, as far as it can be known at compile time.
#ifndef COMPILER_IMPORT_TRAININGDATA_H
#define COMPILER_IMPORT_TRAININGDATA_H

#include "compiler/import/spec/TrainingSpec.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/include/gradc/data.h"
#include <map>
#include <optional>

namespace gradc {

/// One row of a field; a dim that varies from row to row is ShapedType::kDynamic.
struct FieldType {
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  /// The number of classes of labels, each of which occurs in some row; 0: not known.
  int64_t classes = 0;
  bool isByLength = false; ///< its first dim is the length by which batches are made
};

/// A step that maps take a field through (gradc/data.h), with its numbers.
struct FieldStep {
  gradc_data_op op;
  gradc_dtype dtype;
  int64_t axis, count;
  std::vector<double> factors, offsets;
  std::vector<int64_t> indices;
  std::vector<float> weights;
  std::string key;
  double epsilon;
};

/// The effect of the maps on a field. Steps begin behind the last map that is no operation on
/// tensors.
struct FieldSteps {
  FieldType input; ///< before the first step
  std::vector<FieldStep> steps;
  /// The maps as the spec has them: "cast: F32 scale: 0.0625".
  std::vector<std::string> before, maps, random;

  std::optional<uint32_t> map; ///< the last one told
};

struct DataSet {
  /// Where the spec describes it: {"data"} or {"evaluation", "data"}.
  llvm::SmallVector<SpecFile::Step> place;
  std::string file;   ///< for messages
  bool known = false; ///< the file was there to be looked at
  std::map<std::string, FieldType> fields;
  std::map<std::string, FieldSteps> steps; ///< of fields that maps change
  static constexpr int64_t unknown = -1;
  /// That an epoch visits.
  int64_t rows = unknown;
  std::string whyUnknown; ///< the rows: "'x.csv' is not there yet"
  /// By length; none where rows of any length come together.
  std::vector<gradc_data_bucket> buckets;

  /// The data of a bucket's batches alone.
  DataSet ofLength(const gradc_data_bucket &bucket) const;
  /// The field, or null where the data set is not known. Fails (said) where it is known without it.
  mlir::FailureOr<const FieldType *> find(llvm::StringRef field, mlir::Location where) const;
};

/// Its number in artifacts and in the runtime, which is ONNX's.
gradc_dtype dtypeOf(mlir::Type element);

class MapModels;

/// Asks the runtime what the data block at `place` is, and says all that is wrong with it at its
/// line of the spec. Files that are not there yet are left to the run. Map stages that are models
/// go to `models`; null: fields behind them are not known.
mlir::FailureOr<DataSet> describeData(mlir::MLIRContext &context, const SpecFile &spec,
                                      const spec::Data &data, llvm::ArrayRef<SpecFile::Step> place,
                                      MapModels *models = nullptr);

/// Finds in the rows to train on what csv fields of the spec leave to be found, their categories
/// and what fills their gaps, and writes it into the spec: artifacts then have it like any other
/// value.
mlir::LogicalResult fitColumns(SpecFile &spec);

/// The data to train on, then those to evaluate on where the spec has them.
mlir::FailureOr<std::vector<DataSet>> describeTrainingData(mlir::MLIRContext &context,
                                                           const SpecFile &spec, MapModels *models);

} // namespace gradc

#endif
