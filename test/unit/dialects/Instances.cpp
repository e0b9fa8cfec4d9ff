// Samples as ops.
#include "Instances.h"

#include "mlir/Parser/Parser.h"

namespace gradc::test {

std::string withElement(std::string text, StringRef element) {
  for (StringRef opening : {"<", "x"})
    for (std::string pattern = (opening + "T>").str();;) {
      size_t at = text.find(pattern);
      if (at == std::string::npos)
        break;
      text.replace(at, pattern.size(), (opening + element + ">").str());
    }
  return text;
}

Instance::Instance(MLIRContext &context, const Sample &sample, StringRef element) {
  std::string text = "func.func @f(";
  for (auto [i, operand] : llvm::enumerate(sample.operands)) {
    text += (i ? ", %" : "%") + std::to_string(i) + ": " + operand.type;
    domains.push_back(operand.domain);
  }
  text += ") {\n  " + std::string(sample.ir) + "\n  return\n}";
  module = parseSourceString<ModuleOp>(withElement(text, element), &context);
  if (module)
    op = &(*module->getOps<func::FuncOp>().begin()).front().front();
}

HostTensor randomTensor(RankedTensorType type, Domain domain, std::mt19937 &random) {
  HostTensor tensor(type);
  auto between = [&](double low, double high) {
    return low + (high - low) * (random() / 4294967296.0);
  };
  bool isFloat = isa<FloatType>(type.getElementType());
  bool isUnsigned = type.getElementType().isUnsignedInteger();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    bool negative = random() % 2 && domain == Domain::any && !isUnsigned;
    if (type.getElementType().isInteger(1))
      tensor.setInt(i, domain == Domain::one || (domain != Domain::zero && random() % 2));
    else if (domain == Domain::one)
      tensor.setFloat(i, 1);
    else if (domain == Domain::labels)
      tensor.setInt(i, random() % 4);
    else if (domain == Domain::indices)
      tensor.setInt(i, int64_t(random() % 9) - 4);
    else if (domain == Domain::zero && i % 4 == 1)
      tensor.setFloat(i, 0);
    else if (!isFloat)
      tensor.setInt(i, (negative ? -1 : 1) * int64_t(1 + random() % 5));
    else if (domain == Domain::any || domain == Domain::zero)
      tensor.setFloat(i, (negative ? -1 : 1) * between(0.1, 2));
    else
      tensor.setFloat(i, domain == Domain::unit ? between(0.1, 0.9) : between(0.3, 2));
  }
  return tensor;
}

SmallVector<HostTensor> Instance::randomOperands(uint32_t seed) const {
  std::mt19937 random(seed);
  SmallVector<HostTensor> tensors;
  for (auto [operand, domain] : llvm::zip_equal(op->getOperands(), domains))
    tensors.push_back(randomTensor(cast<RankedTensorType>(operand.getType()), domain, random));
  return tensors;
}

bool isClose(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

void expectClose(const HostTensor &found, const HostTensor &expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (int64_t i = 0; i < found.size(); ++i) {
    if (isa<FloatType>(expected.getElementType()))
      EXPECT_PRED3(isClose, found.getFloat(i), expected.getFloat(i), tolerance)
          << "at element " << i;
    else
      EXPECT_EQ(found.getInt(i), expected.getInt(i)) << "at element " << i;
  }
}

} // namespace gradc::test
