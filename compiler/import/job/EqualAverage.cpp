// Counts the steps of `swa { unit: EPOCHS }`.
#include "dialects/Pch.h"

#include "compiler/import/job/EqualAverage.h"
#include "compiler/import/spec/RunLength.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gradc;

LogicalResult gradc::countAveragedSteps(SpecFile &spec, int64_t rows) {
  if (!spec.get().has_swa())
    return success();
  RunLength run(spec.get(), rows);
  spec::Swa &swa = *spec.edit().mutable_swa();
  if (swa.unit() == spec::EPOCHS) {
    if (!run.perEpoch)
      return emitError(spec.at({"swa", "unit"}))
             << "swa by epochs needs to know the steps of an epoch, which depend on the data: give "
                "begin and every in steps";
    swa.set_begin(llvm::SaturatingMultiply(uint64_t(swa.begin()), uint64_t(*run.perEpoch)));
    swa.set_every(llvm::SaturatingMultiply(uint64_t(swa.every()), uint64_t(*run.perEpoch)));
    swa.set_unit(spec::STEPS);
  }
  if (std::max(uint64_t(swa.begin()), uint64_t(swa.every())) > uint64_t(mostCountedSteps))
    return emitError(spec.at({"swa"}))
           << "expected begin and every of at most " << mostCountedSteps << " steps";
  if (run.steps && *run.steps > mostCountedSteps)
    emitWarning(spec.at({"swa"})) << "swa: the run has " << *run.steps
                                  << " steps, of which f32 counts the first " << mostCountedSteps
                                  << ": later averages take some weights twice and others never";
  if (run.steps && *run.steps < swa.begin())
    emitWarning(spec.at({"swa", "begin"}))
        << "swa: averages begin at step " << swa.begin() << ", but the run ends at step "
        << *run.steps << ": evaluation and export use the weights";
  return success();
}
