// The real cuBLASLt accepts gradc's descriptions of products. It only lists algorithms on a machine
// with a GPU.
#include "runtime/device/cuda/CublasLt.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::cuda;

namespace {

gradc_library_tensor matrix(uint32_t slice, int64_t rows, int64_t columns, bool transposed) {
  gradc_library_tensor t{slice, 0, {1, 2, rows, columns}, {0, rows * columns, columns, 1}};
  if (transposed) {
    t.strides[2] = 1;
    t.strides[3] = rows;
  }
  return t;
}

TEST(CublasLtLibrary, TakesEveryDescription) {
#ifdef GRADC_TEST_REAL_CUBLASLT
  setenv("GRADC_LIBCUBLASLT", GRADC_TEST_REAL_CUBLASLT, 1);
#else
  unsetenv("GRADC_LIBCUBLASLT");
#endif
  CublasLt lt;
  Status opened = lt.open();
  if (!opened.ok())
    GTEST_SKIP() << "cuBLASLt's descriptions are not checked: " << opened.message();
  // Without a GPU, it does not start and has no algorithm to propose, which is error 1.
  const char *expected = lt.start().ok() ? "" : "cuBLASLt refuses the product (error 1)";
  struct Case {
    uint32_t epilogue;
    bool keeps;
  };
  for (auto [epilogue, keeps] :
       {Case{GRADC_EPILOGUE_NONE, false}, Case{GRADC_EPILOGUE_BIAS, false},
        Case{GRADC_EPILOGUE_RELU, false}, Case{GRADC_EPILOGUE_BIAS_RELU, false},
        Case{GRADC_EPILOGUE_GELU, false}, Case{GRADC_EPILOGUE_GELU, true},
        Case{GRADC_EPILOGUE_BIAS_GELU, false}, Case{GRADC_EPILOGUE_BIAS_GELU, true},
        Case{GRADC_EPILOGUE_GELU_GRAD, true}})
    for (int transposed = 0; transposed < 4; ++transposed) {
      gradc_artifact_call call{};
      call.role = GRADC_LIBRARY_MATMUL;
      call.epilogue = epilogue;
      call.bias = epilogue & GRADC_EPILOGUE_BIAS ? 3 : GRADC_NONE;
      call.kept = keeps ? 4 : GRADC_NONE;
      call.lhs = matrix(0, 32, 64, transposed & 1);
      call.rhs = matrix(1, 64, 16, transposed & 2);
      call.result = matrix(2, 32, 16, false);
      std::unique_ptr<LibraryCall> prepared;
      EXPECT_EQ(lt.prepare(call, 1 << 20, prepared).message(), expected)
          << "epilogue " << epilogue << " transposed " << transposed;
    }
}

} // namespace
