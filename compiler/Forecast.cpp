// Walks the schedule twice: the second time, caches hold what a step leaves in them.
#include "compiler/Forecast.h"

#include "passes/layout/FactorPanels.h"
#include "passes/schedule/KernelTime.h"

#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace gradc;

namespace {

class Walk {
public:
  Walk(exec::EntryOp entry, const Machine &machine) : entry(entry), machine(machine) {
    for (Operation *node : exec::nodesOf(entry))
      numbers[node] = numbers.size();
  }

  std::vector<NodeForecast> run() {
    forecasts.resize(numbers.size());
    for (int step = 0; step < 2; ++step)
      walk(entry.getBody(), 1);
    return std::move(forecasts);
  }

private:
  /// Rates count three lines per step of a triad, which reads the one that it writes as well: four
  /// in all. What a line takes that is read, or written after that; and one that is only written.
  static constexpr double ofKnownLine = 0.75, ofNewLine = 1.5;

  /// Where a slice begins; slices of one place overlap.
  using Place = std::tuple<exec::Space, int64_t, const void *, int64_t>;

  static Place placeOf(const exec::Access &access) {
    const void *buffer = access.slice.getBuffer().getAsOpaquePointer();
    return {access.slice.getSpace(), access.slice.getIndex(), buffer, access.slice.getOffset()};
  }

  void walk(Region &region, double times) {
    if (region.empty())
      return;
    for (Operation &node : region.front()) {
      if (auto loop = dyn_cast<exec::LoopOp>(node)) {
        walk(loop.getBody(), times); // the first iteration brings what the others find in cache
        walk(loop.getBody(), times * double(loop.getTrips()));
      } else if (isa<exec::DispatchOp, exec::CopyOp>(node)) {
        forecasts[numbers[&node]] = launch(&node, times);
      } else {
        for (Region &body : node.getRegions())
          walk(body, times);
      }
    }
  }

  NodeForecast launch(Operation *node, double times) {
    NodeForecast result;
    double bytes = 0, computing = 0,
           notHidden = 0; // the part of the shorter time that adds to the longer
    bool multiplies = false;
    if (auto dispatch = dyn_cast<exec::DispatchOp>(node)) {
      auto kernel = tables.lookupNearestSymbolFrom<exec::KernelOp>(node, dispatch.getKernelAttr());
      int64_t units = exec::kernelUnits(kernel), grain = kernel.getScheduleAttr().getGrain();
      result.threads = int(std::clamp<int64_t>(units / grain, 1, machine.threads));
      double share = result.threads > 1 ? machine.core.f32Flops / machine.flops : 1;
      int64_t rounds = llvm::divideCeil(units, result.threads) * result.threads;
      bytes = double(kernel.getBytes().value_or(0));
      multiplies = productOf(kernel);
      notHidden = streamsWeights(kernel) ? 0.4 : 0.2;
      computing = computingSeconds(kernel, machine.core, machine.inFlight) * share *
                  double(rounds) / double(units);
    }
    SmallVector<exec::Access> accesses = exec::accessesOf(node, tables);
    double all = 0, waiting = 0;
    for (const exec::Access &access : accesses)
      all += double(access.getBytes());
    double part = std::min(1.0, bytes > 0 ? bytes / all : 1); // rows of tables, slices
    std::set<Place> read;
    for (const exec::Access &access : accesses) {
      Place place = placeOf(access);
      if (!access.isWrite)
        read.insert(place);
      double lines = !access.isWrite || read.count(place) ? ofKnownLine : ofNewLine;
      waiting += lines * accessSeconds(access, part, result.threads > 1, multiplies);
    }
    result.waits = waiting > computing;
    auto [shorter, longer] = std::minmax(computing, waiting);
    double team = result.threads > 1 ? machine.core.launch : 0;
    result.seconds = times * (longer + notHidden * shorter + team);
    return result;
  }

  /// The more has been accessed since the last use of a slice, the more of it has left a cache.
  double accessSeconds(const exec::Access &access, double part, bool isShared, bool multiplies) {
    // Kernels access memory in other orders than a triad, whose prefetches all arrive in time,
    // products more so. Several threads wait for less of it at a time.
    double reached = isShared ? (multiplies ? 0.9 : 1) : (multiplies ? 0.6 : 0.8);
    Place place = placeOf(access);
    double bytes = part * double(access.getBytes());
    bool moves = llvm::any_of(access.slice.getStrides(), [](int64_t n) { return n != 0; });
    auto [last, isNew] = uses.insert({place, touched});
    double since = isNew || moves ? INFINITY : touched - last->second + bytes;
    touched += bytes;
    last->second = touched;
    double seconds = 0, left = 1; // to be found
    for (const MemoryTier &tier : machine.tiers) {
      double kept = std::max(0.0, 1 - since / double(tier.bytes));
      double here = &tier == &machine.tiers.back() ? left : std::min(left, kept);
      double rate = isShared ? tier.all : tier.one;
      seconds += here * bytes / (&tier == &machine.tiers.back() ? reached * rate : rate);
      left -= here;
    }
    return seconds;
  }

  exec::EntryOp entry;
  const Machine &machine;
  SymbolTableCollection tables;
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<NodeForecast> forecasts;
  std::map<Place, double> uses; ///< bytes accessed until a place was last used
  double touched = 0;           ///< bytes accessed so far
};

} // namespace

std::vector<NodeForecast> gradc::forecast(exec::EntryOp entry, const Machine &machine) {
  return Walk(entry, machine).run();
}
