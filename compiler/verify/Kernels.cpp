// The evaluator shares no code with code generation, so agreement is meaningful.
#include "compiler/Session.h"
#include "compiler/verify/Bounds.h"
#include "compiler/verify/Layout.h"
#include "compiler/verify/Verify.h"
#include "dialects/exec/Exec.h"
#include "passes/Passes.h"
#include "passes/entry/ModuleLevel.h"

#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
namespace {

/// A bound is a first-order estimate; errors are far above it.
constexpr double safety = 4;

double largestIn(const HostTensor &tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (double x = std::abs(tensor.getFloat(i)); std::isfinite(x))
      largest = std::max(largest, x);
  return largest;
}

/// The maximum difference between values read back from Winograd's transforms and the original
/// values.
double layoutError(const HostTensor &tensor, exec::PanelAttr layout) {
  int64_t outputs = layout ? layout.getWinogradOutputs() : 0;
  double growth = outputs == 4 ? 32 : outputs == 2 ? 8 : 0; // of the way there and back
  return growth * roundoff(Float32Type::get(tensor.getType().getContext())) * largestIn(tensor);
}

/// The precision with which kernels are evaluated.
struct Effort {
  int64_t maxTerms = INT64_MAX;
  bool everyLaunch = true;
};

class KernelVerifier {
public:
  KernelVerifier(ModuleOp level, CompiledSession &session)
      : level(level), reference(cast<ModuleOp>(level->clone())), session(session) {}

  llvm::Error verify(double seconds) {
    PassManager pm(level.getContext(), ModuleOp::getOperationName());
    pm.addPass(createDecomposeComposites());
    if (failed(pm.run(*reference)))
      return llvm::createStringError("the composites of " + session.level() + " do not decompose");
    chooseEffort(seconds);
    if (auto error = fillSlots())
      return error;
    for (auto entry : level.getOps<exec::EntryOp>())
      if (!entry.getEachRow()) // the other entry is verified
        if (auto error = verifyEntry(entry))
          return error;
    return llvm::Error::success();
  }

  std::vector<KernelCheck> take() {
    level.walk([&](exec::DispatchOp dispatch) {
      KernelCheck notLaunched;
      notLaunched.level = session.level();
      notLaunched.kernel = dispatch.getKernel();
      checks.insert({notLaunched.kernel, notLaunched});
    });
    std::vector<KernelCheck> list;
    for (auto &[name, check] : checks)
      list.push_back(check);
    return list;
  }

private:
  exec::KernelOp referenceOf(exec::DispatchOp dispatch) {
    return reference->lookupSymbol<exec::KernelOp>(dispatch.getKernel());
  }

  /// Chooses the highest precision that an estimate allows, so that a program is always verified in
  /// the same way.
  void chooseEffort(double seconds) {
    auto estimate = [&] {
      double sum = 0;
      llvm::DenseSet<StringRef> seen;
      level.walk([&](exec::DispatchOp dispatch) {
        if (seen.insert(dispatch.getKernel()).second || effort.everyLaunch)
          sum += exec::runsOf(dispatch) *
                 estimateSeconds(referenceOf(dispatch).getBlock(), effort.maxTerms);
      });
      return sum;
    };
    if (estimate() <= seconds)
      return;
    for (int shift = 34; shift >= 14; --shift) {
      effort.maxTerms = int64_t(1) << shift;
      if (estimate() <= seconds)
        return;
    }
    effort.everyLaunch = false;
  }

  /// An optimizer's slots start at zero and averages at the weights, which hides half of an update.
  /// Here they get magnitudes from 1e-12 to 1, so that both sides of each sum matter somewhere.
  llvm::Error fillSlots() {
    std::mt19937 random(11);
    for (auto state : level.getOps<StateOp>()) {
      if (state.getKind() != StateKind::slot && state.getKind() != StateKind::average)
        continue;
      auto bytes = session.getState(state.getSymName());
      if (!bytes)
        return bytes.takeError();
      HostTensor value(cast<RankedTensorType>(state.getLogicalType()), *bytes);
      for (int64_t i = 0; i < value.size(); ++i)
        value.setFloat(i, std::pow(10, -12 * (random() * 0x1p-32)));
      if (auto error = session.setState(state.getSymName(), value.bytes()))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error verifyEntry(exec::EntryOp entry) {
    auto index = session.find(entry.getSymName());
    if (!index)
      return index.takeError();
    auto inputs = randomTensors(session.inputs(*level.getContext(), *index), 1);
    if (auto error = session.begin(*index, inputs))
      return error;
    SmallVector<Operation *> nodes = exec::nodesOf(entry);
    for (;;) {
      auto number = session.next();
      if (!number)
        return number.takeError();
      if (*number == GRADC_NONE)
        return llvm::Error::success();
      auto dispatch = dyn_cast<exec::DispatchOp>(nodes[*number]);
      if (auto error = dispatch ? verifyLaunch(entry, dispatch, *index, *number)
                                : verifyCopy(entry, nodes[*number], *index, *number))
        return error;
    }
  }

  /// A copy makes its second slice equal to its first. With a single rank, exchanges return the
  /// rank's own values.
  llvm::Error verifyCopy(exec::EntryOp entry, Operation *copy, uint32_t index, uint32_t launch) {
    if (isa<exec::TransferOp>(copy)) // there is no other rank
      return session.launch(launch);
    auto collective = dyn_cast<exec::CollectiveOp>(copy);
    uint32_t count = collective ? uint32_t(collective.getSlices().size()) : 1;
    std::vector<std::vector<char>> before;
    for (uint32_t slice = 0; slice < count; ++slice) {
      auto value = session.readSlice(index, launch, slice);
      if (!value)
        return value.takeError();
      before.push_back(std::move(*value));
    }
    if (auto error = session.launch(launch))
      return error;
    KernelCheck check;
    check.level = session.level();
    check.kernel = collective ? "exchange of ranks" : "copy";
    check.entry = entry.getSymName();
    check.node = exec::nodesText(copy);
    check.ok = true;
    for (uint32_t slice = 0; slice < count; ++slice) {
      auto after = session.readSlice(index, launch, count + slice);
      if (!after)
        return after.takeError();
      check.compared = check.elements += int64_t(after->size());
      check.ok &= before[slice] == *after;
    }
    check.error = check.ok ? 0 : INFINITY;
    add(check);
    return llvm::Error::success();
  }

  llvm::Expected<HostTensor> read(exec::KernelOp kernel, Type type, uint32_t entry, uint32_t launch,
                                  uint32_t slice) {
    auto bytes = session.readSlice(entry, launch, slice);
    if (!bytes)
      return bytes.takeError();
    return unpack(*bytes, cast<RankedTensorType>(type), kernel.getLayout(slice));
  }

  llvm::Error verifyLaunch(exec::EntryOp entry, exec::DispatchOp dispatch, uint32_t index,
                           uint32_t launch) {
    if (!effort.everyLaunch && checks.contains(dispatch.getKernel().str()))
      return session.launch(launch);
    exec::KernelOp kernel = referenceOf(dispatch);
    SmallVector<Bounded> operands;
    for (BlockArgument argument : kernel.getBlock().getArguments()) {
      auto value = read(kernel, argument.getType(), index, launch, argument.getArgNumber());
      if (!value)
        return value.takeError();
      double error = layoutError(*value, kernel.getLayout(argument.getArgNumber()));
      operands.push_back(boundedOperand(*value, error));
    }
    if (auto error = session.launch(launch))
      return error;
    KernelCheck check;
    check.level = session.level();
    check.kernel = dispatch.getKernel();
    check.entry = entry.getSymName();
    ArrayAttr nodes = dispatch.getNodesAttr();
    check.node = nodes && !nodes.empty() ? cast<StringAttr>(nodes[0]).str() : "";
    SmallVector<HostTensor> found;
    for (auto [i, value] : llvm::enumerate(kernel.getYielded())) {
      auto result = read(kernel, value.getType(), index, launch, operands.size() + i);
      if (!result)
        return result.takeError();
      found.push_back(std::move(*result));
    }
    compareLaunch(kernel, operands, found, check);
    add(check);
    return llvm::Error::success();
  }

  /// If no result element could be compared, because each depends on elements that were not
  /// sampled, evaluates all elements.
  void compareLaunch(exec::KernelOp kernel, ArrayRef<Bounded> operands, ArrayRef<HostTensor> found,
                     KernelCheck &check) {
    EvaluationOptions options;
    options.maxTerms = effort.maxTerms;
    if (auto schedule = kernel.getScheduleAttr())
      options.winogradOutputs = schedule.getWinogradOutputs();
    auto compareAll = [&] {
      bool sawAll = true;
      auto expected = evaluateBounded(kernel.getBlock(), operands, options);
      for (auto [i, result] : llvm::enumerate(expected)) {
        double error = layoutError(found[i], kernel.getLayout(operands.size() + i));
        int64_t compared = compare(found[i], result, error, check);
        sawAll &= compared > 0 || found[i].size() == 0;
        check.compared += compared;
        check.elements += found[i].size();
      }
      return sawAll;
    };
    if (compareAll() || options.maxTerms == INT64_MAX)
      return;
    options.maxTerms = INT64_MAX;
    check.compared = check.elements = 0;
    compareAll();
  }

  /// Records the worst element; returns the number of elements that could be compared.
  static int64_t compare(const HostTensor &found, const Bounded &expected, double layoutError,
                         KernelCheck &check) {
    int64_t compared = 0;
    bool floats = isa<FloatType>(found.getElementType());
    for (int64_t i = 0; i < found.size(); ++i) {
      double bound = expected.errorAt(i);
      if (!std::isfinite(bound))
        continue;
      ++compared;
      if (!floats) {
        bool isEqual = found.getInt(i) == expected.value.getInt(i);
        worsen(check, isEqual ? 0 : INFINITY, 0);
        continue;
      }
      double a = found.getFloat(i), b = expected.value.getFloat(i);
      if (a == b || (std::isnan(a) && std::isnan(b)))
        continue;
      double error = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : INFINITY;
      worsen(check, error, safety * (bound + layoutError));
    }
    return compared;
  }

  static void worsen(KernelCheck &check, double error, double limit) {
    check.ok &= error <= limit;
    // Compares error / limit, where either may be 0.
    if (error * (check.limit + 1e-300) < check.error * (limit + 1e-300))
      return;
    check.error = error;
    check.limit = limit;
  }

  void add(const KernelCheck &check) {
    auto [it, isNew] = checks.insert({check.kernel, check});
    KernelCheck &all = it->second;
    if (isNew)
      return;
    int64_t compared = all.compared + check.compared, elements = all.elements + check.elements;
    bool ok = all.ok && check.ok;
    if (check.error * (all.limit + 1e-300) > all.error * (check.limit + 1e-300))
      all = check;
    all.ok = ok;
    all.compared = compared;
    all.elements = elements;
  }

  ModuleOp level;
  OwningOpRef<ModuleOp> reference;
  CompiledSession &session;
  Effort effort;
  llvm::MapVector<std::string, KernelCheck, llvm::StringMap<unsigned>> checks; ///< by kernel
};

} // namespace

llvm::Expected<std::vector<KernelCheck>>
verifyKernels(PlannedProgram &program, const std::string &artifact, double seconds) {
  std::vector<KernelCheck> checks;
  for (auto &level : program.levels) {
    auto name = levelNameOf(*level).str();
    auto session = CompiledSession::open(artifact, name);
    if (!session)
      return session.takeError();
    KernelVerifier verifier(*level, **session);
    if (auto error = verifier.verify(seconds / double(program.levels.size())))
      return error;
    llvm::append_range(checks, verifier.take());
  }
  return checks;
}

} // namespace gradc
