// gradc verify: compares compiled kernels with evaluated ones, and gradients with differences.
#include "compiler/verify/Verify.h"
#include "runtime/device/Device.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"

#include <fmt/format.h>

namespace gradc {
namespace {

int print(llvm::ArrayRef<KernelCheck> kernels) {
  int wrong = 0;
  std::string level;
  for (const KernelCheck &check : kernels) {
    if (check.level != level)
      fmt::print("level {}\n", level = check.level);
    if (check.entry.empty()) {
      fmt::print("kernel {:48} NOT LAUNCHED: no condition or count led to it\n", check.kernel);
      continue;
    }
    std::string sampled;
    if (check.compared < check.elements)
      sampled = fmt::format(", {} of {} elements", check.compared, check.elements);
    fmt::print(
        "kernel {:48} error {:8.1e} of {:8.1e}  {}{}\n", check.kernel, check.error, check.limit,
        check.ok ? "ok" : "MISMATCH in entry " + check.entry + ", node " + check.node, sampled);
    wrong += !check.ok;
  }
  return wrong;
}

int print(llvm::ArrayRef<GradientCheck> gradients) {
  int wrong = 0;
  for (const GradientCheck &check : gradients) {
    fmt::print("gradient {:46} {:+.9e}, by difference {:+.9e}  {}\n", check.parameter,
               check.gradient, check.difference,
               !check.isDecided ? "UNDECIDED: the loss has a kink at every step"
               : check.ok       ? "ok"
                                : "MISMATCH");
    wrong += check.isDecided && !check.ok;
  }
  return wrong;
}

bool machineRuns(const mlir::exec::Level &level) {
  if (!level.isCuda())
    return mlir::exec::runsHere(level);
  auto gpu = runtime::createCudaDevice();
  return gpu && (*gpu)->executes(level.name);
}

/// Reports levels that this machine lacks, removes them, and returns their names.
std::vector<std::string> skipLevels(std::vector<std::string> &levels) {
  std::vector<std::string> skipped;
  std::erase_if(levels, [&](const std::string &name) {
    const mlir::exec::Level &level = *mlir::exec::findLevel(name);
    if (machineRuns(level))
      return false;
    fmt::print("level {}: SKIPPED, {}\n", name,
               level.isCuda() ? "no GPU here runs it" : "this processor has not all of it");
    skipped.push_back(name);
    return true;
  });
  return skipped;
}

int verify(const CompileArguments &arguments, double seconds, const std::string &corruptGradient) {
  Compilation compilation(arguments);
  if (int code = compilation.import())
    return code;
  std::vector<std::string> &levels = compilation.options().levels;
  std::vector<std::string> skipped = skipLevels(levels);
  if (!skipped.empty() && levels.empty())
    return fail(Code::error, "nothing is verified: this machine runs none of the levels; gradc "
                             "doctor shows which it does");
  Imported &imported = compilation.imported();
  bool trains = imported.spec.has_value();
  Imported forGradients{imported.module->clone(), "", {}, imported.spec, {}, {}};
  if (int code = compilation.compile(/*directory=*/""))
    return code;
  auto kernels = verifyKernels(compilation.program(), compilation.artifact(), seconds / 3);
  if (!kernels)
    return fail(Code::error, llvm::toString(kernels.takeError()));
  int wrong = print(*kernels);
  size_t idle = llvm::count_if(*kernels, [](const KernelCheck &c) { return c.entry.empty(); });
  size_t checks = kernels->size() - idle;
  std::vector<std::string> entries = entriesWithGradients(forGradients);
  for (const std::string &entry : entries) {
    if (!trains || !arguments.options.corruptKernel.empty())
      break;
    std::vector<KernelCheck> doubles;
    auto gradients = verifyGradients(forGradients, entry, corruptGradient,
                                     seconds / 3 / double(entries.size()), doubles);
    if (failed(gradients))
      return exitCode(Code::invalid);
    fmt::print("gradients{}, in f64:\n", entries.size() > 1 ? " of " + entry : "");
    wrong += print(doubles) + print(*gradients);
    checks += doubles.size() + gradients->size();
  }
  fmt::print("{} checks, {} wrong{}{}\n", checks, wrong,
             idle ? fmt::format(", {} not launched", idle) : "",
             skipped.empty() ? "" : fmt::format("; skipped {}", fmt::join(skipped, ", ")));
  return exitCode(wrong ? Code::mismatch : Code::ok);
}

} // namespace

void addVerify(CLI::App &app, Runner &run) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *command = app.add_subcommand("verify", "compare compiled code with the evaluator");
  arguments->add(*command);
  command
      ->add_option("--corrupt-kernel", arguments->options.corruptKernel,
                   "tests only: compile this kernel wrongly, NAME or NAME:KIND")
      ->group("");
  auto corruptGradient = std::make_shared<std::string>();
  command
      ->add_option("--corrupt-gradient", *corruptGradient,
                   "tests only: make this parameter's gradient wrong by 1e-3")
      ->group("");
  auto seconds = std::make_shared<double>(60);
  command
      ->add_option("--seconds", *seconds,
                   "about how long comparing may take; large sums are sampled")
      ->check([](const std::string &text) -> std::string {
        double value;
        bool isRight = !llvm::StringRef(text).getAsDouble(value) && value > 0 && value <= 1e6;
        return isRight ? "" : "expected a number above 0 and up to 1e6, found " + text;
      })
      ->capture_default_str();
  command->callback(
      [=, &run] { run = [=] { return verify(*arguments, *seconds, *corruptGradient); }; });
}

} // namespace gradc
