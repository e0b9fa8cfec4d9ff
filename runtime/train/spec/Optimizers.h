// Reads from a spec which optimizers train its parameters.
#ifndef RUNTIME_TRAIN_SPEC_OPTIMIZERS_H
#define RUNTIME_TRAIN_SPEC_OPTIMIZERS_H

#include "runtime/core/artifact/Config.h"

#include <string>
#include <vector>

namespace gradc::runtime {

/// The learning rate of the spec's optimizer block. Artifacts contain it even if it is the default.
double optimizerRate(Config optimizer);
/// Its momentum or beta1; 0 if it has neither.
double optimizerMomentum(Config optimizer);
/// The kinds of all optimizers of the spec, its blocks and groups, each once: "adam", "lars".
std::vector<std::string> optimizersOf(Config spec);

} // namespace gradc::runtime

#endif
