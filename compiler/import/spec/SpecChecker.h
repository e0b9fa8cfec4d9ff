// How the checks of a training spec say what is wrong.
#ifndef COMPILER_IMPORT_SPECCHECKER_H
#define COMPILER_IMPORT_SPECCHECKER_H

#include "compiler/import/spec/StepSpec.h"
#include "compiler/import/support/Names.h"

namespace gradc {

/// Says what is wrong and remembers that something was.
struct Checker {
  const SpecFile &file;
  bool ok = true;

  mlir::InFlightDiagnostic error(llvm::ArrayRef<SpecFile::Step> place) {
    ok = false;
    return mlir::emitError(file.at(place));
  }
  template <typename T>
  void expect(bool holds, llvm::ArrayRef<SpecFile::Step> place, llvm::StringRef field,
              llvm::StringRef expected, T found) {
    if (holds)
      return;
    auto diagnostic = error(place) << "expected " << field << " " << expected << ", found ";
    if constexpr (std::is_floating_point_v<T>)
      diagnostic << numberText(found);
    else
      diagnostic << found;
  }
  void require(bool given, llvm::ArrayRef<SpecFile::Step> place, llvm::StringRef field,
               llvm::StringRef example) {
    if (!given)
      error(place) << "missing " << field << ": add " << example;
  }
};

/// Optimizer, groups and clipping, where the spec or the `train` block itself says them.
void checkUpdates(Checker &c, const StepSpec &step);
/// `train` blocks, what they need of the spec around them, and what it needs without them.
void checkSteps(Checker &c, const spec::Training &training);

/// The blocks of a spec that asks for gradients.
void checkGradients(Checker &c, const spec::Training &training);
/// Losses with their weights.
void checkLosses(Checker &c, const StepSpec &step);
void checkRegularizers(Checker &c, const spec::Training &training);
void checkMetrics(Checker &c, const spec::Training &training);
/// The learning rate over the run.
void checkSchedule(Checker &c, const spec::Training &training);
/// The blocks of a spec that trains.
void checkLossGradients(Checker &c, const spec::Training &training);
/// When to evaluate, and what follows from evaluations.
void checkEvaluations(Checker &c, const spec::Training &training);

/// Parts that come from other models: weights, classifiers, teachers, adapters.
void checkTransfer(Checker &c, const spec::Training &training);

/// Two names that belong together.
inline void checkPair(Checker &c, llvm::ArrayRef<SpecFile::Step> place, llvm::StringRef what,
                      llvm::StringRef first, const std::string &a, llvm::StringRef second,
                      const std::string &b) {
  if (a.empty() || b.empty())
    c.error(place) << what << " needs " << first << " and " << second << ", found "
                   << (a.empty() ? b.empty() ? "neither" : "no " + first.str()
                                 : "no " + second.str());
}

} // namespace gradc

#endif
