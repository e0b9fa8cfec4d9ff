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
  std::string whyUnknown; ///< the rows: "\"x.csv\" is not there yet"

  /// The field, or null where the data set is not known. Fails (said) where it is known without it.
  mlir::FailureOr<const FieldType *> find(llvm::StringRef field, mlir::Location where) const;
};

class MapModels;

/// Looks at the headers of a chain's files. Files that are not there yet are left to the run; what
/// is wrong with those that are is said. Map stages that are models go to `models`.
mlir::FailureOr<DataSet> describeData(mlir::MLIRContext &context, const SpecFile &spec,
                                      const spec::Data &data, llvm::ArrayRef<SpecFile::Step> place,
                                      MapModels *models = nullptr);

} // namespace gradc

#endif
