// Reads the blocks of the optimizers; each contains one kind.
#include "runtime/train/spec/Optimizers.h"

#include <set>

namespace gradc::runtime {

double optimizerRate(Config optimizer) {
  for (Config kind : optimizer.children())
    return kind.real("learning_rate", 0);
  return 0;
}

double optimizerMomentum(Config optimizer) {
  for (Config kind : optimizer.children())
    return kind.real("momentum", kind.real("beta1", 0));
  return 0;
}

/// The kinds of the optimizers in a block of the spec, with those of its own blocks.
static void addOptimizers(Config block, std::set<std::string> &kinds) {
  for (Config child : block.children()) {
    if (child.name() == "optimizer")
      for (Config kind : child.children())
        kinds.emplace(kind.name());
    else if (child.name() == "group" || child.name() == "train")
      addOptimizers(child, kinds);
  }
}

std::vector<std::string> optimizersOf(Config spec) {
  std::set<std::string> kinds;
  addOptimizers(spec, kinds);
  return {kinds.begin(), kinds.end()};
}

} // namespace gradc::runtime
