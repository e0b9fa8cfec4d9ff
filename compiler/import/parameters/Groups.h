// The update rules of a training job: the common rules of its steps and those of parameter groups.
#ifndef COMPILER_IMPORT_PARAMETERS_GROUPS_H
#define COMPILER_IMPORT_PARAMETERS_GROUPS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/States.h"
#include "compiler/import/spec/StepSpec.h"
#include "compiler/import/support/Names.h"

namespace gradc {

/// The name of the update op, and the fields of its message as attributes: numbers as f64, counts
/// as i64, flags that are set as unit. The learning rate is an input of the step. So is the
/// momentum if the schedule changes it (`cycled`).
mlir::DictionaryAttr ruleOf(mlir::Builder &b, const spec::Training &training,
                            const spec::Optimizer &optimizer);

/// The groups of a spec, resolved to the names of a model's initializers.
class Groups {
public:
  Groups(const SpecFile &spec, const OnnxModel &model) : spec(spec), model(model) {}

  /// Assigns each initializer to the first group with a matching pattern. Groups of `train` blocks
  /// come before those of the spec.
  mlir::LogicalResult resolve();
  /// The initializers of frozen groups.
  std::vector<std::string> frozen() const;
  /// The number of steps for which an initializer stays frozen; 0 if it trains from the first step.
  int64_t frozenUntil(llvm::StringRef initializer) const;
  /// Writes the groups' rules to trained states, and the groups to verdicts. Fails if a rule cannot
  /// take a parameter.
  mlir::LogicalResult apply(Imported &imported, const States &states) const;

private:
  struct Group {
    const spec::Group *block;
    SpecPlace place;
    StepSpec step; ///< whose group it is
  };
  struct Member {
    int group;
    std::string pattern;
  };
  mlir::LogicalResult assign(int group, int pattern, const PatternScope &scope);
  mlir::FailureOr<mlir::DictionaryAttr> rule(mlir::Builder &b, int index,
                                             const StepSpec &step) const;
  mlir::FailureOr<mlir::DictionaryAttr> ownRule(mlir::Builder &b, const Verdict &verdict,
                                                int group) const;
  mlir::Location optimizerLoc(int group, const StepSpec &step) const;

  const SpecFile &spec;
  const OnnxModel &model;
  llvm::SmallVector<Group, 0> groups;
  std::map<std::string, Member> members; ///< by initializer
};

} // namespace gradc

#endif
