// Fifty steps in f64 of each optimizer and each way to clip, group, and average, compared with
// PyTorch, Keras, and optax (test/e2e/references/make_optimizers.py). The step runs decomposed,
// through the reference interpreter.
#include "dialects/Pch.h"

#include "compiler/Compiler.h"
#include "compiler/Interpreter.h"
#include "compiler/Pipeline.h"
#include "compiler/import/spec/SpecTree.h"
#include "passes/Passes.h"
#include "runtime/train/spec/Turns.h"

#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

constexpr double tolerance = 1e-6;
constexpr int batch = 8, batches = 4;

std::string reference(StringRef name) { return (Twine(GRADC_REFERENCES "/") + name).str(); }

/// The elements of a .npy file, which follow its header.
template <typename T> std::vector<double> readNpy(StringRef name, size_t count) {
  auto file = llvm::MemoryBuffer::getFile(reference(name), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file || (*file)->getBufferSize() < count * sizeof(T))
    return {};
  std::vector<T> values(count);
  memcpy(values.data(), (*file)->getBufferEnd() - count * sizeof(T), count * sizeof(T));
  return {values.begin(), values.end()};
}

/// A case's job in f64, with its states.
class Training {
public:
  /// Null if the spec is refused.
  static std::unique_ptr<Training> make(MLIRContext &context, const std::string &name,
                                        const std::string &spec) {
    std::string data = "source { npy { field { name: \"x\" path: \"" +
                       reference("optimizers-x.npy") + "\" } field { name: \"labels\" path: \"" +
                       reference("optimizers-labels.npy") + "\" } } } ";
    std::string path = GRADC_TEST_SPECS "/optimizers-" + name + ".textproto";
    std::error_code error;
    llvm::raw_fd_ostream(path, error)
        << "model: \"" << reference("optimizers.onnx") << "\"\n"
        << spec
        << "\nloss { softmax_cross_entropy { logits: \"logits\" labels: \"labels\" } }\ndata { "
        << data << "stage { batch { size: 8 } } }\nevaluation { data { " << data
        << "stage { batch { size: 32 } } } }\n";
    CompileOptions options;
    options.retypeF64 = true;
    FailureOr<Imported> imported = importFile(context, path, options);
    if (failed(imported))
      return nullptr;
    PassManager passes(&context);
    buildGraphPhase(passes, options);
    passes.addPass(createDecomposeComposites());
    if (failed(passes.run(*imported->module)))
      return nullptr;
    return std::make_unique<Training>(std::move(*imported));
  }
  explicit Training(Imported imported)
      : job(std::move(imported)), interpreter(*this->job.module),
        tree(*job.spec, "job", /*text=*/nullptr), config(tree.values.data(), tree.strings.data()),
        turns(config,
              [&](std::string_view name) { return job.module->lookupSymbol(name) != nullptr; }),
        x(readNpy<float>("optimizers-x.npy", 32 * 72)),
        labels(readNpy<int64_t>("optimizers-labels.npy", 32)) {}

  /// The results of step `step`, counted from 1. `rate` replaces the optimizer's.
  std::map<std::string, double> train(int begin, int rows, int step, std::optional<double> rate,
                                      double momentum) {
    const auto &turn = turns.entries()[turns.entryOf(step - 1)];
    return run(turn.name, begin, rows, step,
               rate.value_or(runtime::commonRate(config) * turn.share), momentum);
  }

  /// The results of an entry on `rows` rows starting at `begin`, by name.
  std::map<std::string, double> run(StringRef entry, int begin, int rows, int step, double rate,
                                    double momentum) {
    auto function = job.module->lookupSymbol<func::FuncOp>(entry);
    SmallVector<HostTensor> arguments;
    for (BlockArgument argument : function.getArguments()) {
      HostTensor value(cast<RankedTensorType>(argument.getType()));
      auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "grad.role");
      auto field = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "grad.field");
      if (role == "learning_rate")
        value.setFloat(0, rate * (field ? runtime::shareOfGroup(
                                              config, runtime::blockOf(entry.str()), field.str())
                                        : 1));
      else if (role == "momentum")
        value.setFloat(0, momentum);
      else if (role == "step")
        value.setFloat(0, step);
      else if (role == "rows")
        value.setFloat(0, rows);
      else if (field == "x")
        for (int64_t i = 0; i < value.size(); ++i)
          value.setFloat(i, x[size_t(begin * 72 + i)]);
      else
        for (int i = 0; i < rows; ++i)
          value.setInt(i, int64_t(labels[size_t(begin + i)]));
      arguments.push_back(std::move(value));
    }
    std::map<std::string, double> results;
    for (auto [i, value] : llvm::enumerate(interpreter.run(function, arguments)))
      if (isa<FloatType>(value.getType().getElementType()))
        results[function.getResultAttrOfType<StringAttr>(i, "grad.role").str()] = value.getFloat(0);
    return results;
  }

  double norm(const std::string &state) {
    HostTensor &value = interpreter.state(state);
    double sum = 0;
    for (int64_t i = 0; i < value.size(); ++i)
      sum += value.getFloat(i) * value.getFloat(i);
    return std::sqrt(sum);
  }

private:
  Imported job;
  Interpreter interpreter;
  SpecTree tree;
  runtime::Config config;
  runtime::Turns turns;
  std::vector<double> x, labels;
};

/// The largest relative difference between a case's results and the expected ones.
double worstError(MLIRContext &context, const std::string &name, const nlohmann::json &expected) {
  double worst = 0;
  auto compare = [&](double found, double wanted) {
    double error = std::abs(found - wanted) / std::abs(wanted);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  };
  auto training = Training::make(context, name, expected["spec"]);
  if (!training)
    return INFINITY;
  for (size_t k = 0; k < expected["loss"].size(); ++k) {
    std::optional<double> rate;
    double momentum = 0;
    if (expected.contains("rates")) {
      rate = double(expected["rates"][k]);
      momentum = double(expected["momenta"][k]);
    }
    auto found = training->train(int(k) % batches * batch, batch, int(k) + 1, rate, momentum);
    compare(found["loss"], expected["loss"][k]);
    if (expected.contains("grad_norm"))
      compare(found["gradient_norm"], expected["grad_norm"][k]);
  }
  for (const auto &[parameter, norm] : expected["weights"].items())
    compare(training->norm(parameter), norm);
  if (expected.contains("averages")) {
    for (const auto &[parameter, norm] : expected["averages"].items())
      compare(training->norm(parameter + ".ema"), norm);
    compare(training->run("evaluate", 0, batch * batches, 0, 0, 0)["loss"], expected["evaluation"]);
  }
  return worst;
}

TEST(Optimizers, FollowTheirReferences) {
  auto file = llvm::MemoryBuffer::getFile(reference("optimizers.json"));
  ASSERT_TRUE(bool(file));
  auto all = nlohmann::json::parse((*file)->getBuffer().str());
  ASSERT_GT(all.size(), 40u);
  auto context = createContext();
  double worst = 0;
  for (const auto &[name, expected] : all.items()) {
    double error = worstError(*context, name, expected);
    EXPECT_LE(error, tolerance) << name;
    worst = std::max(worst, error);
  }
  std::printf("%zu cases within %.1e\n", all.size(), worst);
}

// The comparison can fail: losses, norms, and averages differ between rules.
TEST(Optimizers, AreToldApart) {
  auto file = llvm::MemoryBuffer::getFile(reference("optimizers.json"));
  ASSERT_TRUE(bool(file));
  auto all = nlohmann::json::parse((*file)->getBuffer().str());
  auto context = createContext();
  auto error = [&](const char *name, const char *spec, const char *replacement) {
    nlohmann::json changed = all[name];
    std::string text = changed["spec"];
    size_t at = text.find(spec);
    EXPECT_NE(at, std::string::npos);
    changed["spec"] = text.replace(at, strlen(spec), replacement);
    return worstError(*context, name, changed);
  };
  EXPECT_GT(error("adam", "0.01", "0.010001"), tolerance);
  EXPECT_GT(error("ema", "0.9 ", "0.90001 "), tolerance);
  EXPECT_GT(error("swa", "every: 5", "every: 6"), tolerance);
  EXPECT_GT(error("clip-norm", "norm: 0.05", "norm: 0.0501"), tolerance);
  EXPECT_GT(error("groups", "learning_rate: 0.05", "learning_rate: 0.050001"), tolerance);
  EXPECT_GT(error("unfreeze", "frozen_until_step: 7", "frozen_until_step: 8"), tolerance);
  EXPECT_GT(error("blocks", "steps: 2", "steps: 3"), tolerance);
}

} // namespace
