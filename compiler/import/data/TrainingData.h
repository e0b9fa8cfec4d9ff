// The facts about a data set that are known at compile time.
#ifndef COMPILER_IMPORT_DATA_TRAININGDATA_H
#define COMPILER_IMPORT_DATA_TRAININGDATA_H

#include "compiler/import/spec/TrainingSpec.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/include/gradc/data.h"
#include <map>
#include <optional>

namespace gradc {

/// One row of a field; a dim that varies between rows is ShapedType::kDynamic.
struct FieldType {
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  /// The number of classes of labels, each of which occurs in some row; 0 if unknown.
  int64_t classes = 0;
  bool isByLength = false; ///< its first dim is the length by which batches are made
};

/// A step that maps apply to a field (gradc/data.h), with its numbers.
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

/// The effect of the maps on a field. The steps begin after the last map that is not an operation
/// on tensors.
struct FieldSteps {
  FieldType input; ///< before the first step
  std::vector<FieldStep> steps;
  /// The maps as written in the spec: "cast: F32 scale: 0.0625".
  std::vector<std::string> before, maps, random;

  std::optional<uint32_t> map; ///< the last one told
};

/// What the maps alone say about a field of data that are not there yet.
struct MadeType {
  mlir::Type element;
  int64_t classes = 0; ///< the size of the last dim, which `one_hot` adds

  /// The field's type. `implied`: the type that its user expects; integers are labels, which
  /// `one_hot` takes.
  mlir::RankedTensorType of(mlir::RankedTensorType implied) const;
};

struct DataSet {
  /// The place of its block in the spec: {"data"} or {"evaluation", "data"}, for example.
  llvm::SmallVector<SpecFile::Step> place;
  std::string file;   ///< for messages
  bool known = false; ///< the file was there to be looked at
  std::map<std::string, FieldType> fields;
  std::map<std::string, FieldSteps> steps; ///< of fields that maps change
  std::map<std::string, MadeType> made;    ///< fields that maps change, if the data are not known
  static constexpr int64_t unknown = -1;
  /// The number of rows that an epoch visits.
  int64_t rows = unknown;
  std::string whyUnknown; ///< the rows: "'x.csv' is not there yet"
  /// The buckets by length; empty if rows of all lengths are batched together.
  std::vector<gradc_data_bucket> buckets;

  /// The data of one bucket's batches.
  DataSet ofLength(const gradc_data_bucket &bucket) const;
  /// The field, or null if the data set is not known. Reports an error if the known data set lacks
  /// the field.
  mlir::FailureOr<const FieldType *> find(llvm::StringRef field, mlir::Location where) const;
};

/// The element type's number in artifacts and in the runtime, which is ONNX's number.
gradc_dtype dtypeOf(mlir::Type element);

/// The note of errors that only the last batch causes.
std::string ofLastBatch(int64_t rows, int64_t batch);

class MapModels;
class OnnxModel;

/// Asks the runtime to describe the data block at `place`, and reports each problem at its line of
/// the spec. Files that do not exist yet are left to the run. Map stages that are models go to
/// `models`; if it is null, fields after them are not known. `model` is the one that the spec
/// trains; if it is null, any field may be used.
mlir::FailureOr<DataSet> describeData(mlir::MLIRContext &context, const SpecFile &spec,
                                      const spec::Data &data, llvm::ArrayRef<SpecFile::Step> place,
                                      MapModels *models = nullptr,
                                      const OnnxModel *model = nullptr);

/// Finds the values that csv fields of the spec leave open, their categories and the values that
/// fill gaps, in the training rows, and writes them into the spec. Artifacts then contain them like
/// any other value.
mlir::LogicalResult fitColumns(SpecFile &spec);

/// The training data, then the data of the evaluation and of its sets if the spec has any.
mlir::FailureOr<std::vector<DataSet>> describeTrainingData(mlir::MLIRContext &context,
                                                           const SpecFile &spec, MapModels *models,
                                                           const OnnxModel *model);

} // namespace gradc

#endif
