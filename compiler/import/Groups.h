// The update rules of a training job: the common ones of its steps, and those of parameter groups.
#ifndef COMPILER_IMPORT_GROUPS_H
#define COMPILER_IMPORT_GROUPS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/States.h"
#include "compiler/import/spec/StepSpec.h"
#include "compiler/import/support/Names.h"

namespace gradc {

/// The update op of that name, and the fields of its message as attributes: numbers as f64, counts
/// as i64, flags that are set as unit. The learning rate is an input of the step, and so is the
/// momentum where the schedule changes it (`cycled`).
mlir::DictionaryAttr ruleOf(mlir::Builder &b, const spec::Training &training,
                            const spec::Optimizer &optimizer);

/// The groups of a spec, by the names of a model's initializers.
class Groups {
public:
  Groups(const SpecFile &spec, const OnnxModel &model) : spec(spec), model(model) {}

  /// Finds each initializer's group: the first with a pattern that matches. Those of `train` blocks
  /// come before the spec's.
  mlir::LogicalResult resolve();
  /// Initializers of frozen groups.
  std::vector<std::string> frozen() const;
  /// The steps in which an initializer stays as it is; 0: it trains from the first on.
  int64_t frozenUntil(llvm::StringRef initializer) const;
  /// Tells states that train about the rules of their groups, and verdicts about the groups.
  /// Fails where a rule cannot take a parameter.
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
