#include "dialects/Pch.h"

#include "compiler/import/Import.h"
#include <gtest/gtest.h>
using namespace mlir;
using namespace gradc;
TEST(X, Y) {
  MLIRContext context;
  auto i = importTraining(context, getenv("SPEC"));
  ASSERT_TRUE(succeeded(i));
  i->module->print(llvm::outs(), OpPrintingFlags().elideLargeResourceString(16).elideLargeElementsAttrs(16));
  for (auto &v : i->verdicts) llvm::outs() << v.initializer << " " << v.type << " " << v.trains << " " << v.reason << "\n";
  for (auto &v : i->ranges) llvm::outs() << v.state << " " << v.offset << " " << v.bytes << "\n";
}
