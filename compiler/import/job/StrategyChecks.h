// Checks of a spec for each strategy of several ranks. A check reports errors at their fields, and
// returns false if there are any.
#ifndef COMPILER_IMPORT_JOB_STRATEGYCHECKS_H
#define COMPILER_IMPORT_JOB_STRATEGYCHECKS_H

#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// Checks that workers can run steps independently of each other. The server runs the same entry
/// for whichever worker comes next, so all steps must be of one kind.
bool checkStaleness(const SpecFile &spec);

/// Checks that a step can be cut into stages, each of which runs on all rows of a batch.
bool checkPipeline(const SpecFile &spec);

/// Checks that ranks can share products: each has all rows, and entries are those of one process.
bool checkTensor(const SpecFile &spec);

} // namespace gradc

#endif
