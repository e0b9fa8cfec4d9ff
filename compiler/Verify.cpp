// The evaluator shares no code with code generation, so agreement is meaningful.
#include "compiler/Verify.h"

#include "compiler/Interpreter.h"
#include "compiler/Session.h"
#include "dialects/grad/Build.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
namespace {

/// Relative to the largest element of a tensor: float sums differ by their order.
double tolerance(Type element) { return element.isF64() ? 1e-11 : element.isF32() ? 2e-5 : 2e-2; }

/// The filters g whose transforms u = G g G^T lie in panels: g = P u P^T with
/// P = [[1, 0, 0, 0], [0, 1, -1, 0], [0, 0, 0, 1]].
HostTensor transformBack(ArrayRef<char> bytes, RankedTensorType type, exec::PanelAttr layout) {
  const SmallVector<std::pair<int64_t, double>> parts[] = {{{0, 1}}, {{1, 1}, {2, -1}}, {{3, 1}}};
  int64_t d = layout.getDim(), w = layout.getWidth(), others = type.getDimSize(5 - d);
  HostTensor transformed(
      RankedTensorType::get({type.getDimSize(d) / w, 16, others, w}, type.getElementType()), bytes);
  HostTensor tensor(type);
  int64_t position = 0;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    double sum = 0;
    for (auto [i, a] : parts[index[0]])
      for (auto [j, b] : parts[index[1]]) {
        int64_t slot = (index[d] / w * 16 + i * 4 + j) * others + index[5 - d];
        sum += a * b * transformed.getFloat(slot * w + index[d] % w);
      }
    tensor.setFloat(position++, sum);
  });
  return tensor;
}

/// The row-major tensor in `bytes`, which are stored in `layout`.
HostTensor unpack(ArrayRef<char> bytes, RankedTensorType type, exec::PanelAttr layout) {
  if (!layout)
    return HostTensor(type, bytes);
  if (layout.getWinograd())
    return transformBack(bytes, type, layout);
  HostTensor tensor(type);
  int64_t width = elementBytes(type.getElementType()), d = layout.getDim(), w = layout.getWidth(),
          pairs = layout.getPairs();
  MutableArrayRef<char> out = tensor.mutableBytes();
  int64_t position = 0;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t panel = index[d] / w;
    for (auto [i, n] : llvm::enumerate(type.getShape()))
      if (int64_t(i) == pairs)
        panel = panel * llvm::divideCeil(n, 2) + index[i] / 2;
      else if (int64_t(i) != d)
        panel = panel * n + index[i];
    int64_t from = panel * w + index[d] % w;
    if (layout.hasPairs())
      from = 2 * from + index[pairs] % 2;
    std::copy_n(bytes.data() + from * width, width, out.data() + position++ * width);
  });
  return tensor;
}

/// The largest finite magnitude in a tensor of floats.
double largestIn(const HostTensor &tensor) {
  double largest = 1e-30;
  for (int64_t i = 0; isa<FloatType>(tensor.getElementType()) && i < tensor.size(); ++i)
    if (std::isfinite(tensor.getFloat(i)))
      largest = std::max(largest, std::abs(tensor.getFloat(i)));
  return largest;
}

/// The magnitude that bounds the rounding of a sum of an operand's elements into one of `results`,
/// for terms that cancel as in the gradient of a bias before a normalization.
double roundingScale(const HostTensor &operand, int64_t results) {
  double terms = double(operand.size()) / double(std::max<int64_t>(results, 1));
  return 1e-2 * largestIn(operand) * std::sqrt(std::max(terms, 1.0));
}

/// The largest difference, relative to the largest magnitude, but at least to `scale`; NaN and
/// infinities must be equal.
double compare(const HostTensor &found, const HostTensor &expected, double scale) {
  double largest = std::max(largestIn(expected), scale), worst = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    double a = found.getFloat(i), b = expected.getFloat(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    worst = std::max(worst,
                     std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) / largest : INFINITY);
  }
  return worst;
}

class KernelVerifier {
public:
  KernelVerifier(ModuleOp level, CompiledSession &session) : level(level), session(session) {}

  llvm::Error verifyEntry(exec::EntryOp entry) {
    auto index = session.find(entry.getSymName());
    if (!index)
      return index.takeError();
    auto inputs = randomTensors(session.inputs(*level.getContext(), *index), 1);
    if (auto error = session.begin(*index, inputs))
      return error;
    uint32_t number = 0;
    for (auto dispatch : entry.getBody().front().getOps<exec::DispatchOp>())
      if (auto error = verifyLaunch(entry, dispatch, *index, number++))
        return error;
    return llvm::Error::success();
  }

  std::vector<KernelCheck> take() {
    std::vector<KernelCheck> list;
    for (auto &[name, check] : checks)
      list.push_back(check);
    return list;
  }

private:
  llvm::Expected<HostTensor> read(exec::KernelOp kernel, Type type, uint32_t entry, uint32_t launch,
                                  uint32_t slice) {
    auto bytes = session.readSlice(entry, launch, slice);
    if (!bytes)
      return bytes.takeError();
    return unpack(*bytes, cast<RankedTensorType>(type), kernel.getLayout(slice));
  }

  llvm::Error verifyLaunch(exec::EntryOp entry, exec::DispatchOp dispatch, uint32_t index,
                           uint32_t launch) {
    auto kernel = level.lookupSymbol<exec::KernelOp>(dispatch.getKernel());
    std::vector<HostTensor> operands;
    for (BlockArgument argument : kernel.getBlock().getArguments()) {
      auto value = read(kernel, argument.getType(), index, launch, argument.getArgNumber());
      if (!value)
        return value.takeError();
      operands.push_back(std::move(*value));
    }
    if (auto error = session.launch(launch))
      return error;
    KernelCheck &check = checks[dispatch.getKernel()];
    check.level = session.level();
    check.kernel = dispatch.getKernel();
    for (auto [i, expected] : llvm::enumerate(evaluateBlock(kernel.getBlock(), operands))) {
      auto found = read(kernel, expected.getType(), index, launch, operands.size() + i);
      if (!found)
        return found.takeError();
      double scale = 0;
      for (const HostTensor &operand : operands)
        scale = std::max(scale, roundingScale(operand, expected.size()));
      double error = compare(*found, expected, scale);
      if (error < check.error)
        continue;
      check.error = error;
      check.entry = entry.getSymName();
      auto nodes = dispatch->getAttrOfType<ArrayAttr>("nodes");
      check.node = nodes && !nodes.empty() ? cast<StringAttr>(nodes[0]).getValue() : "";
      check.ok = error <= tolerance(expected.getElementType());
    }
    return llvm::Error::success();
  }

  ModuleOp level;
  CompiledSession &session;
  llvm::MapVector<StringRef, KernelCheck> checks;
};

/// Keeps the training function's forward and returns loss and gradients, as the entry "gradients".
SmallVector<std::string> requestGradients(ModuleOp module) {
  SmallVector<std::string> parameters;
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (function.getSymName() != "train")
      function.erase();
  auto function = *module.getOps<func::FuncOp>().begin();
  function.setSymName("gradients");
  function->removeAttr("grad.optimizer");
  function->removeAttr("grad.clip");
  Operation *exit = function.front().getTerminator();
  OpBuilder b(exit);
  SmallVector<Value> reads, results = {exit->getOperand(0)};
  for (auto read : function.getOps<ReadOp>())
    if (module.lookupSymbol<StateOp>(read.getState()).getKind() == StateKind::parameter &&
        !llvm::is_contained(parameters, read.getState())) {
      parameters.push_back(read.getState().str());
      reads.push_back(read.getResult());
    }
  auto gradient = GradientOp::create(b, exit->getLoc(), results[0], reads);
  llvm::append_range(results, gradient.getResults());
  exit->setOperands(results);
  function.setType(b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.removeResAttrsAttr();
  // Arguments that only the update read are unused now.
  for (unsigned i = function.getNumArguments(); i-- > 0;)
    if (function.getArgument(i).use_empty())
      (void)function.eraseArgument(i);
  return parameters;
}

/// Central differences along one parameter's direction. A kink inside the step disappears with a
/// smaller step; an error does not.
llvm::Expected<GradientCheck> checkParameter(MLIRContext &context, CompiledSession &session,
                                             uint32_t entry, ArrayRef<HostTensor> inputs,
                                             StringRef name, const HostTensor &gradient) {
  auto start = session.getState(name);
  if (!start)
    return start.takeError();
  HostTensor value(gradient.getType(), *start);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> direction(value.size());
  GradientCheck check{name.str()};
  double scale = 0;
  for (int64_t i = 0; i < value.size(); ++i) {
    direction[i] = normal(random);
    check.gradient += gradient.getFloat(i) * direction[i];
    scale += std::abs(gradient.getFloat(i) * direction[i]);
  }
  auto lossAt = [&](double h) -> llvm::Expected<double> {
    HostTensor moved = value;
    for (int64_t i = 0; i < value.size(); ++i)
      moved.setFloat(i, value.getFloat(i) + h * direction[i]);
    if (auto error = session.setState(name, moved.bytes()))
      return error;
    auto results = session.run(context, entry, inputs);
    if (!results)
      return results.takeError();
    return (*results)[0].getFloat(0);
  };
  for (double h : {1e-4, 1e-5, 1e-6, 1e-7}) {
    auto up = lossAt(h), down = lossAt(-h);
    if (!up || !down)
      return llvm::joinErrors(up ? llvm::Error::success() : up.takeError(),
                              down ? llvm::Error::success() : down.takeError());
    check.difference = (*up - *down) / (2 * h);
    check.ok = std::abs(check.gradient - check.difference) <= 1e-6 * scale + 1e-9;
    if (check.ok)
      break;
  }
  if (auto error = session.setState(name, *start))
    return error;
  return check;
}

} // namespace

llvm::Expected<std::vector<KernelCheck>> verifyKernels(PlannedProgram &program,
                                                       const std::string &artifact) {
  std::vector<KernelCheck> checks;
  for (auto &level : program.levels) {
    auto name = (*level)->getAttrOfType<StringAttr>("exec.level").str();
    auto session = CompiledSession::open(artifact, name);
    if (!session)
      return session.takeError();
    KernelVerifier verifier(*level, **session);
    for (auto entry : (*level).getOps<exec::EntryOp>())
      if (auto error = verifier.verifyEntry(entry))
        return error;
    llvm::append_range(checks, verifier.take());
  }
  return checks;
}

FailureOr<std::vector<GradientCheck>> verifyGradients(const Imported &imported,
                                                      std::vector<KernelCheck> &kernels) {
  ModuleOp source = *imported.module;
  MLIRContext &context = *source.getContext();
  Imported copy{cast<ModuleOp>(source->clone()), "", {}, std::nullopt, {}};
  SmallVector<std::string> parameters = requestGradients(*copy.module);
  CompileOptions options;
  options.retypeF64 = true;
  auto program = planProgram(std::move(copy), options);
  if (failed(program))
    return failure();
  auto artifact = compileProgram(*program, "", options);
  if (failed(artifact))
    return failure();

  auto run = [&]() -> llvm::Expected<std::vector<GradientCheck>> {
    auto checked = verifyKernels(*program, *artifact);
    if (!checked)
      return checked.takeError();
    kernels.insert(kernels.end(), checked->begin(), checked->end());
    auto session = CompiledSession::open(*artifact);
    if (!session)
      return session.takeError();
    auto entry = (*session)->find("gradients");
    if (!entry)
      return entry.takeError();
    auto inputs = randomTensors((*session)->inputs(context, *entry), 3);
    auto results = (*session)->run(context, *entry, inputs);
    if (!results)
      return results.takeError();
    std::vector<GradientCheck> checks;
    for (auto [i, name] : llvm::enumerate(parameters)) {
      auto check = checkParameter(context, **session, *entry, inputs, name, (*results)[1 + i]);
      if (!check)
        return check.takeError();
      checks.push_back(*check);
    }
    return checks;
  };
  auto checks = run();
  if (!checks)
    return source.emitError() << llvm::toString(checks.takeError()), failure();
  return *checks;
}

} // namespace gradc
