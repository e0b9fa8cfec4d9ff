// How the checks of a training spec report errors.
#ifndef COMPILER_IMPORT_SPEC_SPECCHECKER_H
#define COMPILER_IMPORT_SPEC_SPECCHECKER_H

#include "compiler/import/spec/StepSpec.h"
#include "compiler/import/support/Names.h"
#include "llvm/ADT/StringSet.h"

namespace gradc {

/// Reports errors, and remembers whether there were any.
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

/// Checks optimizer, groups, and clipping that the spec or the `train` block sets itself.
void checkUpdates(Checker &c, const StepSpec &step);
/// Checks the name of a block that has an entry of its own, such as "train.NAME": NAME may not
/// begin a suffix such as ".tail". `names`: those of the blocks before it.
void checkEntryName(Checker &c, const SpecPlace &place, const std::string &name,
                    llvm::StringRef what, llvm::StringRef example, llvm::StringSet<> &names);
/// Checks `train` blocks, what they require of the surrounding spec, and what a spec without them
/// requires.
void checkSteps(Checker &c, const spec::Training &training);

/// Checks the blocks of a spec that asks for gradients.
void checkGradients(Checker &c, const spec::Training &training);
/// Checks losses and their weights.
void checkLosses(Checker &c, const StepSpec &step);
void checkRegularizers(Checker &c, const spec::Training &training);
void checkMetrics(Checker &c, const spec::Training &training);
/// Checks the schedule of the learning rate.
void checkSchedule(Checker &c, const spec::Training &training);
/// Checks the blocks `gradients` of a spec that trains.
void checkLossGradients(Checker &c, const spec::Training &training);
/// Checks a block that watches a metric of the evaluations.
void checkWatch(Checker &c, const spec::Training &training, llvm::ArrayRef<SpecFile::Step> place,
                llvm::StringRef block, llvm::StringRef metric);
/// Checks when to evaluate, and the actions that depend on evaluations.
void checkEvaluations(Checker &c, const spec::Training &training);

/// Checks the blocks `prune`, as far as that needs no model.
void checkPruning(Checker &c, const spec::Training &training);

/// Checks parts that come from other models: weights, classifiers, teachers, adapters.
void checkTransfer(Checker &c, const spec::Training &training);

/// Checks that a block has both of two names.
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
