// A training spec as a file: parsed, checked, and every field with its place.
#ifndef COMPILER_IMPORT_TRAININGSPEC_H
#define COMPILER_IMPORT_TRAININGSPEC_H

#include "compiler/import/spec/training.pb.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <google/protobuf/text_format.h>
#include <memory>

namespace gradc {

class SpecFile {
public:
  /// Reads and checks a spec: syntax, unknown fields, missing fields, values out of range. All
  /// problems are diagnostics at their line.
  static mlir::FailureOr<std::unique_ptr<SpecFile>> read(mlir::MLIRContext &context,
                                                         llvm::StringRef path);

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

  /// The stages of a chain in their order; `index` is -1 where there can be one only.
  static llvm::SmallVector<Step> stagesOf(const spec::Data &data);

private:
  SpecFile(mlir::MLIRContext &context, llvm::StringRef path) : context(context), path(path.str()) {}
  mlir::LogicalResult parse(llvm::StringRef text);
  mlir::LogicalResult orderStages(spec::Data &data, llvm::ArrayRef<Step> place);
  /// Line and column, from 0.
  std::pair<int, int> placeOf(llvm::ArrayRef<Step> steps) const;
  mlir::LogicalResult check() const;
  mlir::LogicalResult checkData(const spec::Data &data, llvm::ArrayRef<Step> place) const;

  mlir::MLIRContext &context;
  std::string path;
  spec::Training training;
  google::protobuf::TextFormat::ParseInfoTree places;
};

/// The field of `optimizer` that is set: "adam"; empty where none is.
std::string optimizerName(const spec::Optimizer &optimizer);
/// The message in it, which has the hyperparameters.
const google::protobuf::Message &optimizerRule(const spec::Optimizer &optimizer);

} // namespace gradc

#endif
