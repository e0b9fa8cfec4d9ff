// The function of a module as numbers, before and after passes.
#ifndef TEST_UNIT_PASSES_PASSTESTING_H
#define TEST_UNIT_PASSES_PASSTESTING_H

#include "dialects/grad/Evaluate.h"
#include "dialects/grad/Grad.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <gtest/gtest.h>

namespace gradc {

class PassTesting : public testing::Test {
protected:
  PassTesting() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::grad::GradDialect, mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text.str();
  }
  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }

  /// Runs a pass, whose result is valid.
  void run(std::unique_ptr<mlir::Pass> pass) {
    mlir::PassManager passes(&context);
    passes.addPass(std::move(pass));
    ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  }

  /// The function's results for fixed numbers in [-1, 1].
  llvm::SmallVector<mlir::grad::HostTensor> evaluate() {
    llvm::SmallVector<mlir::grad::HostTensor> arguments;
    for (auto [seed, type] : llvm::enumerate(function().getArgumentTypes())) {
      auto &tensor = arguments.emplace_back(llvm::cast<mlir::RankedTensorType>(type));
      for (int64_t i = 0; i < tensor.size(); ++i)
        tensor.setFloat(i, std::sin(1.7 * double(i) + 12.3 * double(seed) + 0.5));
    }
    return mlir::grad::evaluateBlock(function().front(), arguments);
  }

  /// Runs a pass, and expects results that are at most `most` off.
  void expectSameAfter(std::unique_ptr<mlir::Pass> pass, double most) {
    auto before = evaluate();
    ASSERT_FALSE(before.empty());
    ASSERT_NO_FATAL_FAILURE(run(std::move(pass)));
    for (auto [expected, found] : llvm::zip_equal(before, evaluate())) {
      ASSERT_EQ(found.getType(), expected.getType());
      for (int64_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(found.getFloat(i), expected.getFloat(i), most) << "at element " << i;
    }
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace gradc

#endif
