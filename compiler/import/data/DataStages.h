// The compiler's view of sources and stages: one function each that says what the run will make.
#ifndef COMPILER_IMPORT_DATASTAGES_H
#define COMPILER_IMPORT_DATASTAGES_H

#include "compiler/import/data/TrainingData.h"

namespace gradc {

/// A source block under way. A source sets the data set's `file`, and where it can, `known`,
/// `fields` and `rows` (all rows: the selection is made behind it). A file that is not there yet is
/// no error.
struct SourceLook {
  mlir::MLIRContext &context;
  const SpecFile &spec;
  llvm::SmallVector<SpecFile::Step> place; ///< {"data", "source"}
  DataSet &set;
  bool skipsBadRows; ///< rather than failing

  mlir::InFlightDiagnostic error() const { return mlir::emitError(spec.at(place)); }
};

/// Calls the function of the source that the spec names.
mlir::LogicalResult describeSource(SourceLook &look, const spec::Source &source);
/// What of a source's rows the spec selects; empty where all.
const spec::Rows &rowsOf(const spec::Source &source);
/// How many of `rows` rows a selection keeps.
int64_t countRows(const spec::Rows &rows, int64_t all);

/// What a map block makes of a field. Fails (said, at `place`) where it can never work.
mlir::FailureOr<FieldType> mapped(mlir::Location place, const spec::Map &map,
                                  const FieldType &before);

} // namespace gradc

#endif
