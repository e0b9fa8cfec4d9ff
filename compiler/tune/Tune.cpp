// All kernels are timed with the schedules that they have; then variants of each, the most
// important kernel first.
#include "compiler/tune/Tune.h"

#include "compiler/tune/Trial.h"
#include "dialects/grad/Grad.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/schedule/ScheduleCandidates.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace gradc;
using Clock = std::chrono::steady_clock;

namespace {

struct Tuned {
  exec::KernelOp kernel;
  std::string key;
  double launches = 0; ///< of all entries, in all iterations of their loops
  bool isWarm = true;  ///< all of them are in loops, whose data stay in cache
  double seconds = 0;  ///< of a launch with the present schedule; 0: it could not be run
  bool isTimed = false;
};

/// Whether a time measured with other values of indices says nothing.
bool dependsOnIndices(exec::KernelOp kernel) {
  return llvm::any_of(kernel.getBlock(), [](Operation &op) {
    auto cost = dyn_cast<grad::CostOpInterface>(op);
    return cost && cost.costDependsOnIndices();
  });
}

/// The kernels that launches name, in the module's order.
SmallVector<Tuned> kernelsOf(ModuleOp module, const exec::Level &level) {
  SmallVector<Tuned> all;
  llvm::StringMap<size_t> places;
  llvm::DenseSet<size_t> divided;
  for (auto kernel : module.getOps<exec::KernelOp>())
    if (kernel.getScheduleAttr() && !kernel.getParts() && !kernel.getPatchAttr() &&
        !dependsOnIndices(kernel)) {
      places[kernel.getSymName()] = all.size();
      all.push_back({kernel, tuningKey(kernel, level)});
    }
  module.walk([&](exec::DispatchOp dispatch) {
    auto place = places.find(dispatch.getKernel());
    if (place == places.end())
      return;
    Tuned &tuned = all[place->second];
    tuned.launches += exec::runsOf(dispatch);
    tuned.isWarm &= !exec::loopsAround(dispatch).empty();
    if (dispatch.getCutAttr()) // pieces are whole units, so other units cut otherwise
      divided.insert(place->second);
  });
  for (size_t place : divided)
    all[place].launches = 0;
  llvm::erase_if(all, [](const Tuned &tuned) { return tuned.launches == 0; });
  return all;
}

/// The index of the fastest schedule. Another than the first must be faster by more than the noise.
size_t fastest(ArrayRef<Trial> trials) {
  constexpr double clearly = 0.97;
  size_t best = 0;
  for (size_t i = 1; i < trials.size(); ++i)
    if (trials[i].seconds > 0 &&
        trials[i].seconds < trials[best].seconds * (best == 0 ? clearly : 1))
      best = i;
  return best;
}

std::string describe(exec::KernelOp kernel, const Trial &before, const Trial &after) {
  std::string change = &before == &after
                           ? "no faster one found"
                           : llvm::formatv("{0:f2} us before{1}", before.seconds * 1e6,
                                           after.sameBits ? "" : ", sums in another order")
                                 .str();
  return llvm::formatv("// {0}: {1:f2} us, {2}\n", kernel.getSymName(), after.seconds * 1e6,
                       change);
}

} // namespace

llvm::Expected<TuneResult> gradc::tune(ModuleOp module, double seconds, Tuning &tuning,
                                       llvm::function_ref<llvm::Error()> save) {
  constexpr double unimportant = 1e-3; // of all launches' time
  const exec::Level &level = *namedLevel(module);
  auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds));
  SmallVector<Tuned> kernels = kernelsOf(module, level);
  bool hasChanged = false;
  for (Tuned &tuned : kernels)
    hasChanged |= tuning.dropMisfit(tuned.kernel, level);
  if (hasChanged)
    if (llvm::Error error = save())
      return std::move(error);
  llvm::erase_if(kernels, [&](const Tuned &tuned) { return tuning.find(tuned.key); });
  TuneResult result;
  double all = 0;
  for (Tuned &tuned : kernels) {
    if (Clock::now() >= deadline)
      break;
    exec::ScheduleAttr present = tuned.kernel.getScheduleAttr();
    tuned.seconds = tryOut(tuned.kernel, present, level, tuned.isWarm, deadline)[0].seconds;
    tuned.isTimed = true;
    all += tuned.seconds * tuned.launches;
  }
  llvm::stable_sort(kernels, [](const Tuned &a, const Tuned &b) {
    return a.seconds * a.launches > b.seconds * b.launches;
  });
  for (Tuned &tuned : kernels) {
    if (tuned.isTimed && tuned.seconds == 0) {
      ++result.failed;
      continue;
    }
    if (tuned.isTimed && tuned.seconds * tuned.launches < unimportant * all)
      continue;
    if (!tuned.isTimed || Clock::now() >= deadline) {
      ++result.left;
      continue;
    }
    if (tuning.find(tuned.key)) // of a kernel with the same code
      continue;
    SmallVector<exec::ScheduleAttr> schedules{tuned.kernel.getScheduleAttr()};
    llvm::append_range(schedules, scheduleCandidates(tuned.kernel, level));
    std::vector<Trial> trials = tryOut(tuned.kernel, schedules, level, tuned.isWarm, deadline);
    if (trials[0].seconds == 0) {
      ++result.failed;
      continue;
    }
    size_t best = fastest(trials);
    tuning.insert(tuned.key, {schedules[best], describe(tuned.kernel, trials[0], trials[best])});
    ++result.measured;
    result.faster += best != 0;
    result.otherBits += !trials[best].sameBits;
    result.before += trials[0].seconds * tuned.launches;
    result.after += trials[best].seconds * tuned.launches;
    if (llvm::Error error = save())
      return std::move(error);
  }
  return result;
}
