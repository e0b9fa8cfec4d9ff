// Loops that conditions end as numbers: the same results whether steps are passed over or not.
#include "dialects/grad/control/Control.h"
#include "passes/Passes.h"
#include "test/unit/passes/PassTesting.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::grad;

namespace {

/// Doubles a number and counts how often, until it is at least a limit or that was done `trips`
/// times. Returns the flag, the number and the count.
std::string doubling(int64_t trips) {
  return "func.func @f(%go0: tensor<i1>, %x0: tensor<f32>, %limit: tensor<f32>)"
         " -> (tensor<i1>, tensor<f32>, tensor<i64>) {\n"
         "  %zero = grad.constant dense<0> : tensor<i64>\n"
         "  %r:3 = grad.scan " +
         std::to_string(trips) + R"( from (%go0, %x0, %zero) over () with (%limit)
      : (tensor<i1>, tensor<f32>, tensor<i64>, tensor<f32>) -> (tensor<i1>, tensor<f32>, tensor<i64>) {
  ^bb0(%go: tensor<i1>, %x: tensor<f32>, %n: tensor<i64>, %l: tensor<f32>):
    %s:3 = grad.if %go with (%x, %n, %l)
        : (tensor<f32>, tensor<i64>, tensor<f32>) -> (tensor<i1>, tensor<f32>, tensor<i64>) {
    ^bb0(%a: tensor<f32>, %b: tensor<i64>, %c: tensor<f32>):
      %one = grad.constant dense<1> : tensor<i64>
      %0 = grad.add %a, %a : tensor<f32>
      %1 = grad.add %b, %one : tensor<i64>
      %2 = grad.compare lt %0, %c : tensor<f32>
      grad.yield %2, %0, %1 : tensor<i1>, tensor<f32>, tensor<i64>
    } else {
    ^bb0(%a: tensor<f32>, %b: tensor<i64>, %c: tensor<f32>):
      %no = grad.constant dense<false> : tensor<i1>
      grad.yield %no, %a, %b : tensor<i1>, tensor<f32>, tensor<i64>
    }
    grad.yield %s#0, %s#1, %s#2 : tensor<i1>, tensor<f32>, tensor<i64>
  }
  return %r#0, %r#1, %r#2 : tensor<i1>, tensor<f32>, tensor<i64>
})";
}

class EndScans : public gradc::PassTesting {
protected:
  void end() {
    ASSERT_NO_FATAL_FAILURE(run(gradc::createEndScans()));
    ASSERT_NO_FATAL_FAILURE(run(createCanonicalizerPass()));
    int64_t loops = 0;
    module->walk([&](ScanOp scan) {
      EXPECT_TRUE(scan.mayEndEarly());
      ++loops;
    });
    EXPECT_EQ(loops, 1);
  }
  void expect(bool goes, float x, float limit, bool last, float result, int64_t count) {
    auto scalar = [&](Type type, double value) {
      HostTensor tensor(RankedTensorType::get({}, type));
      tensor.setFloat(0, value);
      return tensor;
    };
    Type f32 = Float32Type::get(&context);
    HostTensor arguments[] = {scalar(IntegerType::get(&context, 1), goes), scalar(f32, x),
                              scalar(f32, limit)};
    SmallVector<HostTensor> results = evaluateBlock(function().front(), arguments);
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(results[0].getInt(0), last);
    EXPECT_EQ(results[1].getFloat(0), result);
    EXPECT_EQ(results[2].getInt(0), count);
  }
};

TEST_F(EndScans, HaveTheResultsOfStepsThatArePassedOver) {
  parse(doubling(5));
  for (bool isEnded : {false, true}) {
    if (isEnded)
      end();
    expect(false, 3, 100, false, 3, 0); // before the first step
    expect(true, 200, 100, false, 400, 1);
    expect(true, 3, 20, false, 24, 3);
    expect(true, 3, 96, false, 96, 5);  // in the last step
    expect(true, 3, 1000, true, 96, 5); // never
  }
}

// The largest number of steps takes no time before and after the pass, if the condition ends them.
TEST_F(EndScans, EvaluateNoFurtherThanTheirConditions) {
  parse(doubling(unboundedTrips));
  for (bool isEnded : {false, true}) {
    if (isEnded)
      end();
    expect(true, 1, 1 << 20, false, 1 << 20, 20);
  }
}

} // namespace
