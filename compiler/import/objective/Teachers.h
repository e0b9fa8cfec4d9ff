// Other models that an entry computes so that its own model learns their outputs.
#ifndef COMPILER_IMPORT_OBJECTIVE_TEACHERS_H
#define COMPILER_IMPORT_OBJECTIVE_TEACHERS_H

#include "compiler/import/objective/Loss.h"

namespace gradc {

/// The teachers of a spec. Their weights are constants of the module.
class Teachers {
public:
  Teachers(const SpecFile &spec, mlir::SymbolTable &symbols) : spec(spec), symbols(symbols) {}

  /// Reads the models, and reports names that they lack. `fieldOf`: the field that feeds a graph
  /// input of the student.
  mlir::LogicalResult read(llvm::function_ref<std::string(llvm::StringRef)> fieldOf);

  /// Computes the teachers of a step or an evaluation and adds their losses. A `train` block with
  /// its own losses has no teachers.
  mlir::LogicalResult addTerms(SpecValues &values, llvm::SmallVectorImpl<LossTerm> &terms);

  /// Must be called after all entries; see States::finish.
  mlir::LogicalResult finish();

private:
  struct Teacher {
    std::unique_ptr<OnnxModel> model;
    std::unique_ptr<States> states;
    std::map<std::string, std::string> fields; ///< by graph input
  };
  using Computed = std::map<std::string, mlir::Value>; ///< by name

  mlir::LogicalResult checkNames(int index);
  mlir::FailureOr<Computed> compute(int index, SpecValues &values);
  mlir::FailureOr<Computed> takeOver(int index, mlir::func::FuncOp teacher, SpecValues &values);
  mlir::FailureOr<mlir::Value> bind(int index, mlir::func::FuncOp teacher, unsigned argument,
                                    SpecValues &values);
  mlir::FailureOr<LossTerm> distill(int index, SpecValues &values, mlir::Value scores);
  mlir::FailureOr<LossTerm> match(int index, int which, SpecValues &values, mlir::Value value);

  const SpecFile &spec;
  mlir::SymbolTable &symbols;
  std::vector<Teacher> teachers;
};

} // namespace gradc

#endif
