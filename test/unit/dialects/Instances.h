// Samples as ops: parsed, evaluated on random operands, and compared.
#ifndef TEST_UNIT_DIALECTS_INSTANCES_H
#define TEST_UNIT_DIALECTS_INSTANCES_H

#include "Samples.h"

#include "dialects/grad/Build.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace gradc::test {

using namespace mlir;
using namespace mlir::grad;

/// `text` with T replaced by the element type.
std::string withElement(std::string text, StringRef element);

/// One sample, parsed for one element type, in a function of its operands.
struct Instance {
  Instance(MLIRContext &context, const Sample &sample, StringRef element);

  SmallVector<HostTensor> randomOperands(uint32_t seed) const;

  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
  SmallVector<Domain> domains;
};

HostTensor randomTensor(RankedTensorType type, Domain domain, std::mt19937 &random);

/// Evaluates the ops of a block in order.
class Evaluation {
public:
  void set(Value value, const HostTensor &tensor) { tensors[value] = tensor; }
  void setOperands(Operation *op, ArrayRef<HostTensor> operands) {
    for (auto [operand, tensor] : llvm::zip_equal(op->getOperands(), operands))
      set(operand, tensor);
  }
  void run(Operation *op) {
    SmallVector<HostTensor> operands;
    for (Value operand : op->getOperands())
      operands.push_back(tensors.at(operand));
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), evaluateOp(op, operands)))
      set(result, tensor);
  }
  const HostTensor &get(Value value) const { return tensors.at(value); }

private:
  struct Less {
    bool operator()(Value a, Value b) const {
      return a.getAsOpaquePointer() < b.getAsOpaquePointer();
    }
  };
  std::map<Value, HostTensor, Less> tensors;
};

bool isClose(double a, double b, double tolerance);
void expectClose(const HostTensor &found, const HostTensor &expected, double tolerance);

/// A context in which every diagnostic is a failure.
class Contract : public testing::Test {
protected:
  Contract() {
    DialectRegistry registry;
    registry.insert<GradDialect, func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler(
        [](Diagnostic &diagnostic) { ADD_FAILURE() << diagnostic.str(); });
  }

  /// Calls `body` with each sample, parsed for each of its element types (or only for f64).
  void forEachInstance(bool onlyF64, llvm::function_ref<void(Instance &)> body) {
    for (const Sample &sample : samples())
      for (StringRef element : sample.elements) {
        if (onlyF64 && element != "f64")
          continue;
        SCOPED_TRACE(withElement(sample.ir, element));
        Instance instance(context, sample, element);
        ASSERT_TRUE(instance.op);
        body(instance);
      }
  }

  MLIRContext context;
};

} // namespace gradc::test

#endif
