// A training spec as a file: parsed, checked, and every field with its place.
#ifndef COMPILER_IMPORT_TRAININGSPEC_H
#define COMPILER_IMPORT_TRAININGSPEC_H

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
  /// Reads a spec. Syntax errors and unknown fields are diagnostics, each at its line.
  static mlir::FailureOr<std::unique_ptr<SpecFile>> read(mlir::MLIRContext &context,
                                                         llvm::StringRef path);
  /// Checks all that needs neither the model nor the data: missing fields and values out of range.
  mlir::LogicalResult check() const;

  const spec::Training &get() const { return training; }
  spec::Training &edit() { return training; }
  /// A path of the spec, which is relative to the spec's folder.
  std::string resolve(llvm::StringRef path) const;

  /// One step on the way to a field; `index` counts the elements of a repeated one.
  struct Step {
    Step(const char *name, int index = -1) : name(name), index(index) {}
    const char *name;
    int index;
  };
  /// Where a field stands: `at({"data", "batch", "size"})`; where it is not set, the field around.
  mlir::Location at(llvm::ArrayRef<Step> steps) const;

  mlir::Location at(int line, int column) const;
  /// Where the fields of a message stand; null where it is not set.
  const SpecTree::Places *placesIn(llvm::ArrayRef<Step> steps) const;

  /// The batch stage of a data block, or an empty one.
  static const spec::Batch &batchOf(const spec::Data &data);

private:
  SpecFile(mlir::MLIRContext &context, llvm::StringRef path) : context(context), path(path.str()) {}
  mlir::LogicalResult parse(llvm::StringRef text);
  /// Line and column, from 0, and the places inside.
  std::pair<std::pair<int, int>, const SpecTree::Places *> find(llvm::ArrayRef<Step> steps) const;

  mlir::MLIRContext &context;
  std::string path;
  spec::Training training;
  SpecTree::Places places;
};

/// A metric's name in logs and summaries: its own, or else its kind's.
std::string metricName(const spec::Metric &metric);
/// Whether the lowest or the highest value of a metric is the best; nothing where the spec has none
/// of that name, which may be "loss".
std::optional<spec::Direction> directionOf(const spec::Training &training, llvm::StringRef metric);
/// Gives every block that watches a metric the metric's direction, unless it has one.
void setDirections(spec::Training &training);

} // namespace gradc

#endif
