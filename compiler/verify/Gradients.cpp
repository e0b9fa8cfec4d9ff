// Derivatives along directions, by the program's backward pass and by differences of its loss.
#include "compiler/Session.h"
#include "compiler/verify/Verify.h"
#include "dialects/grad/Build.h"
#include "dialects/grad/EntryAttributes.h"
#include "passes/training/StepAttributes.h"
#include "passes/training/TrainedStates.h"
#include "runtime/include/gradc/entries.h"

#include <chrono>
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
namespace {

/// Keeps the forward pass of the training function `entry`, which returns loss and gradients.
SmallVector<std::string> requestGradients(ModuleOp module, StringRef entry, StringRef corrupted) {
  SmallVector<std::string> parameters;
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (function.getSymName() != entry)
      function.erase();
  auto function = *module.getOps<func::FuncOp>().begin();
  function->removeAttr(updateRuleName);
  function->removeAttr("grad.clip");
  function->removeAttr("grad.average");
  function->removeAttr(stagesName);
  Operation *exit = function.front().getTerminator();
  OpBuilder b(exit);
  SmallVector<Value> reads, results = {exit->getOperand(0)};
  for (auto read : function.getOps<ReadOp>())
    if (module.lookupSymbol<StateOp>(read.getState()).getKind() == StateKind::parameter &&
        isTrainedBy(function, read.getStateAttr()) &&
        !llvm::is_contained(parameters, read.getState())) {
      parameters.push_back(read.getState().str());
      reads.push_back(read.getResult());
    }
  function->removeAttr(trainsName);
  auto gradient = GradientOp::create(b, exit->getLoc(), results[0], reads);
  for (auto [name, value] : llvm::zip_equal(parameters, gradient.getResults()))
    results.push_back(name == corrupted ? Expr(b, exit->getLoc(), value) * 1.001
                                        : Expr(b, exit->getLoc(), value));
  exit->setOperands(results);
  function.setType(b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.removeResAttrsAttr();
  // The update's inputs are unused now; the runtime would still see them as f32.
  for (unsigned i = function.getNumArguments(); i-- > 0;)
    if (function.getArgument(i).use_empty())
      (void)function.eraseArgument(i);
  return parameters;
}

/// Parameters that move together; their values are concatenated.
struct Group {
  std::vector<unsigned> parameters; ///< indices
  std::vector<double> point, gradient, direction;
};

/// Derivatives of the compiled loss at points near the initial values.
class GradientVerifier {
public:
  GradientVerifier(MLIRContext &context, CompiledSession &session, uint32_t entry,
                   ArrayRef<std::string> parameters)
      : context(context), session(session), entry(entry), parameters(parameters),
        inputs(randomTensors(session.inputs(context, entry), 3)) {}

  llvm::Error start() {
    auto results = session.run(context, entry, inputs);
    if (!results)
      return results.takeError();
    for (auto [i, name] : llvm::enumerate(parameters)) {
      auto bytes = session.getState(name);
      if (!bytes)
        return bytes.takeError();
      initial.emplace_back((*results)[1 + i].getType(), *bytes);
    }
    return llvm::Error::success();
  }

  /// Tries a direction. If a kink of the loss interferes, tries others from other points.
  llvm::Expected<GradientCheck> check(std::vector<unsigned> indices) {
    GradientCheck check;
    Group group{std::move(indices), {}, {}, {}};
    check.parameter = parameters[group.parameters[0]];
    if (group.parameters.size() > 1)
      check.parameter += " and " + std::to_string(group.parameters.size() - 1) + " more, together";
    for (unsigned attempt = 0; attempt < attempts; ++attempt) {
      std::mt19937 random(7 + attempt);
      auto isDecided = judge(group, random, attempt > 0, check);
      if (!isDecided)
        return isDecided.takeError();
      if (*isDecided)
        break;
    }
    if (auto error = moveTo(group, initialOf(group)))
      return error;
    return check;
  }

private:
  static constexpr unsigned attempts = 4;
  /// The relative accuracy of f64 sums and functions of a whole network, relative to its loss.
  static constexpr double lossRoundoff = 1e-14;

  std::vector<double> initialOf(const Group &group) const {
    std::vector<double> values;
    for (unsigned p : group.parameters)
      for (int64_t i = 0; i < initial[p].size(); ++i)
        values.push_back(initial[p].getFloat(i));
    return values;
  }

  llvm::Error moveTo(const Group &group, ArrayRef<double> values) {
    for (unsigned p : group.parameters) {
      HostTensor value = initial[p];
      for (int64_t i = 0; i < value.size(); ++i)
        value.setFloat(i, values[i]);
      values = values.drop_front(value.size());
      if (auto error = session.setState(parameters[p], value.bytes()))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Expected<double> lossAt(const Group &group, double h) {
    std::vector<double> values = group.point;
    for (auto [value, d] : llvm::zip_equal(values, group.direction))
      value += h * d;
    if (auto error = moveTo(group, values))
      return error;
    auto results = session.run(context, entry, inputs);
    if (!results)
      return results.takeError();
    return (*results)[0].getFloat(0);
  }

  /// Half of the direction, which has length 1, is the gradient itself, where a wrong factor shows
  /// best. The other half is random, and shows components that the gradient lacks.
  static void aim(Group &group, std::mt19937 &random) {
    auto norm = [](ArrayRef<double> v) {
      double sum = 0;
      for (double x : v)
        sum += x * x;
      return std::max(std::sqrt(sum), 1e-300);
    };
    std::normal_distribution<double> normal;
    std::vector<double> noise(group.point.size());
    for (double &x : noise)
      x = normal(random);
    group.direction = noise;
    double ofNoise = norm(noise), ofGradient = norm(group.gradient);
    for (auto [d, g] : llvm::zip_equal(group.direction, group.gradient))
      d = d / ofNoise + g / ofGradient;
    double length = norm(group.direction);
    for (double &d : group.direction)
      d /= length;
  }

  /// Moves to the point (slightly away from the initial one if `away`), and computes the gradient
  /// there.
  llvm::Error settle(Group &group, std::mt19937 &random, bool away) {
    std::normal_distribution<double> normal;
    group.point = initialOf(group);
    double largest = 0;
    for (double x : group.point)
      largest = std::max(largest, std::abs(x));
    for (double &x : group.point)
      x += away ? 1e-3 * (largest > 0 ? largest : 1) * normal(random) : 0;
    if (auto error = moveTo(group, group.point))
      return error;
    auto results = session.run(context, entry, inputs);
    if (!results)
      return results.takeError();
    loss = (*results)[0].getFloat(0);
    group.gradient.clear();
    for (unsigned p : group.parameters)
      for (int64_t i = 0; i < (*results)[1 + p].size(); ++i)
        group.gradient.push_back((*results)[1 + p].getFloat(i));
    return llvm::Error::success();
  }

  /// Compares along one direction. Difference quotients are used if those of two steps agree and
  /// the loss is smooth between them: its second difference shrinks with the step, which it does
  /// not around a kink. Returns false if no two steps qualify; `check` then holds the closest
  /// quotients, which count as wrong only if they are further from the gradient than from each
  /// other.
  llvm::Expected<bool> judge(Group &group, std::mt19937 &random, bool away, GradientCheck &check) {
    if (auto error = settle(group, random, away))
      return error;
    aim(group, random);
    check.gradient = 0;
    double scale = 0;
    for (auto [g, d] : llvm::zip_equal(group.gradient, group.direction)) {
      check.gradient += g * d;
      scale += std::abs(g * d);
    }
    check.ok = check.isDecided = true;
    double before = NAN, bendBefore = NAN, spread = INFINITY;
    double floor = lossRoundoff * std::max(std::abs(loss), 1e-3) / 1e-4;
    for (double h : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8}) {
      auto up = lossAt(group, h);
      if (!up)
        return up.takeError();
      auto down = lossAt(group, -h);
      if (!down)
        return down.takeError();
      double noise = lossRoundoff * std::max(std::abs(loss), 1e-3) / h;
      double quotient = (*up - *down) / (2 * h), bend = std::abs(*up - 2 * loss + *down) / h;
      double apart = std::abs(quotient - before) + noise;
      bool isSmooth = bend <= 0.3 * bendBefore + 4 * noise;
      double size = std::max(scale, std::abs(quotient));
      if (isSmooth && apart < spread) {
        spread = apart;
        check.difference = quotient;
        check.ok = std::abs(check.gradient - quotient) <= 2 * apart + 1e-6 * size + floor;
      }
      if (spread <= 1e-5 * size + floor)
        return true;
      before = quotient;
      bendBefore = bend;
    }
    if (std::isinf(spread))
      check.difference = before;
    check.isDecided = std::isfinite(spread);
    return false;
  }

  MLIRContext &context;
  CompiledSession &session;
  uint32_t entry;
  ArrayRef<std::string> parameters;
  std::vector<HostTensor> inputs, initial;
  double loss = 0;
};

/// Checks parameters one by one; those left after `seconds` are checked together.
llvm::Expected<std::vector<GradientCheck>> checkParameters(GradientVerifier &verifier,
                                                           unsigned count, double seconds) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  std::vector<GradientCheck> checks;
  for (unsigned i = 0; i < count; ++i) {
    std::vector<unsigned> group = {i};
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds)
      for (++i; i < count; ++i)
        group.push_back(i);
    auto check = verifier.check(group);
    if (!check)
      return check.takeError();
    checks.push_back(*check);
  }
  return checks;
}

} // namespace

std::vector<std::string> entriesWithGradients(const Imported &imported) {
  std::vector<std::string> names;
  for (auto function : ModuleOp(*imported.module).getOps<func::FuncOp>())
    if (StringRef name = function.getSymName();
        function->hasAttr(updateRuleName) && !name.ends_with(GRADC_TAIL_SUFFIX) &&
        !name.ends_with(GRADC_WATCH_SUFFIX) && !name.contains(GRADC_UNTIL_INFIX))
      names.push_back(name.str());
  return names;
}

FailureOr<std::vector<GradientCheck>> verifyGradients(const Imported &imported, StringRef entry,
                                                      StringRef corrupted, double seconds,
                                                      std::vector<KernelCheck> &kernels) {
  ModuleOp source = *imported.module;
  MLIRContext &context = *source.getContext();
  Imported copy{cast<ModuleOp>(source->clone()), "", {}, std::nullopt, {}, {}};
  SmallVector<std::string> parameters = requestGradients(*copy.module, entry, corrupted);
  CompileOptions options;
  options.retypeF64 = true;
  auto program = planProgram(std::move(copy), options);
  if (failed(program))
    return failure();
  auto artifact = compileProgram(*program, "", options);
  if (failed(artifact))
    return failure();

  auto run = [&]() -> llvm::Expected<std::vector<GradientCheck>> {
    auto checked = verifyKernels(*program, *artifact, seconds);
    if (!checked)
      return checked.takeError();
    llvm::append_range(kernels, *checked);
    auto session = CompiledSession::open(*artifact);
    if (!session)
      return session.takeError();
    auto gradients = (*session)->find(entry);
    if (!gradients)
      return gradients.takeError();
    GradientVerifier verifier(context, **session, *gradients, parameters);
    if (auto error = verifier.start())
      return error;
    return checkParameters(verifier, parameters.size(), seconds);
  };
  auto checks = run();
  if (!checks)
    return source.emitError() << llvm::toString(checks.takeError()), failure();
  return *checks;
}

} // namespace gradc
