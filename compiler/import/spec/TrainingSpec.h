// A training spec as a file: parsed and checked, with the position of each field.
#ifndef COMPILER_IMPORT_SPEC_TRAININGSPEC_H
#define COMPILER_IMPORT_SPEC_TRAININGSPEC_H

#include "compiler/import/spec/SpecTree.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>

namespace gradc {

class SpecFile {
public:
  /// Reads a spec. Reports syntax errors and unknown fields, each at its line.
  static mlir::FailureOr<std::unique_ptr<SpecFile>> read(mlir::MLIRContext &context,
                                                         llvm::StringRef path);
  /// Performs all checks that need neither the model nor the data: missing fields and values out of
  /// range.
  mlir::LogicalResult check() const;

  const spec::Training &get() const { return training; }
  spec::Training &edit() { return training; }
  /// Resolves a path of the spec, which is relative to the spec's folder.
  std::string resolve(llvm::StringRef path) const;

  /// A step of the path to a field; `index` selects an element of a repeated field.
  struct Step {
    Step(const char *name, int index = -1) : name(name), index(index) {}
    const char *name;
    int index;
  };
  /// The position of a field: `at({"data", "batch", "size"})`. If the field is not set, the
  /// position of the enclosing field.
  mlir::Location at(llvm::ArrayRef<Step> steps) const;

  mlir::Location at(int line, int column) const;
  /// The positions of the fields of a message; null if the message is not set.
  const SpecTree::Places *placesIn(llvm::ArrayRef<Step> steps) const;

  /// The batch stage of a data block, or an empty one.
  static const spec::Batch &batchOf(const spec::Data &data);

private:
  SpecFile(mlir::MLIRContext &context, llvm::StringRef path) : context(context), path(path.str()) {}
  mlir::LogicalResult parse(llvm::StringRef text);
  /// Line and column, counted from 0, and the positions of inner fields.
  std::pair<std::pair<int, int>, const SpecTree::Places *> find(llvm::ArrayRef<Step> steps) const;

  mlir::MLIRContext &context;
  std::string path;
  spec::Training training;
  SpecTree::Places places;
};

/// A data block of a spec, and its place: {"data"} or {"evaluation", "data"}, for example.
struct DataBlock {
  const spec::Data *data;
  llvm::SmallVector<SpecFile::Step> place;
  /// That takes its batches: "train", "evaluate" or "evaluate.NAME", which gradc-bind-rows removes
  /// if "evaluate" takes them, too.
  std::string entry;
};
/// The data to train on, those of the evaluation, and those of its sets, as far as the spec has
/// them.
llvm::SmallVector<DataBlock> dataBlocks(const spec::Training &training);
/// The same blocks, to change.
llvm::SmallVector<spec::Data *> editDataBlocks(spec::Training &training);

/// A metric's name in logs and summaries: its own name, or that of its kind.
std::string metricName(const spec::Metric &metric);
/// Whether the lowest or the highest value of a metric is the best; nullopt if the spec has no
/// metric of that name. The name may be "loss", and may begin with that of a set of the evaluation:
/// "NAME/loss".
std::optional<spec::Direction> directionOf(const spec::Training &training, llvm::StringRef metric);
/// Sets the direction of each block that watches a metric to the metric's direction, unless it has
/// one.
void setDirections(spec::Training &training);

} // namespace gradc

#endif
