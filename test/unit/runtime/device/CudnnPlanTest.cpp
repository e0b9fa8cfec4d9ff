// The real cuDNN accepts gradc's convolution graphs without a GPU: it plans for a device described
// by text.
#include "runtime/device/cuda/Cudnn.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::cuda;

namespace {

/// An H200 according to its data sheet.
constexpr char h200[] =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
    R"("multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
    R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":150000000000,)"
    R"("smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":62914560,"cudaDeviceId":0,)"
    R"("deviceVer":900,"driverVer":13000,"deviceName":"NVIDIA H200"})";

class CudnnPlan : public testing::Test {
protected:
  void SetUp() override {
#ifdef GRADC_TEST_REAL_CUDNN
    setenv("GRADC_LIBCUDNN", GRADC_TEST_REAL_CUDNN, 1);
#else
    unsetenv("GRADC_LIBCUDNN");
#endif
    Status opened = dnn.open();
    if (!opened.ok())
      GTEST_SKIP() << "cuDNN's graphs are not checked: " << opened.message();
    dnn.startWithout(h200);
  }

  /// Data [y, x, pictures, channels], and a filter [y, x, in, out] of 3 by 3.
  static gradc_artifact_call convolution(uint32_t role, int64_t stride) {
    constexpr int64_t pictures = 32, in = 16, out = 32, size = 14, taps = 3;
    int64_t result = (size - 1) / stride + 1;
    gradc_library_tensor data{
        0, 0, {pictures, in, size, size}, {in, 1, size * pictures * in, pictures * in}};
    gradc_library_tensor filter{1, 0, {out, in, taps, taps}, {1, out, taps * in * out, in * out}};
    gradc_library_tensor forward{
        2, 0, {pictures, out, result, result}, {out, 1, result * pictures * out, pictures * out}};
    gradc_artifact_call call{
        role,   GRADC_EPILOGUE_NONE, GRADC_NONE, GRADC_NONE, data, filter, forward, {}, {1, 1},
        {1, 1}, {stride, stride},    {1, 1}};
    if (role == GRADC_LIBRARY_DATA_GRADIENT)
      std::swap(call.lhs, call.result);
    if (role == GRADC_LIBRARY_FILTER_GRADIENT)
      std::swap(call.rhs, call.result);
    return call;
  }

  Cudnn dnn;
  std::unique_ptr<LibraryCall> call;
};

constexpr uint32_t roles[] = {GRADC_LIBRARY_CONVOLUTION, GRADC_LIBRARY_DATA_GRADIENT,
                              GRADC_LIBRARY_FILTER_GRADIENT};

TEST_F(CudnnPlan, TakesEveryConvolutionOfOurLayout) {
  for (uint32_t role : roles)
    for (int64_t stride : {1, 2}) {
      Status prepared = dnn.prepare(convolution(role, stride), uint64_t(256) << 20, call);
      EXPECT_TRUE(prepared.ok()) << role << " with stride " << stride << ": " << prepared.message();
    }
}

TEST_F(CudnnPlan, TakesBiasAndReluWithTheConvolution) {
  for (uint32_t epilogue : {GRADC_EPILOGUE_BIAS, GRADC_EPILOGUE_BIAS_RELU}) {
    gradc_artifact_call wanted = convolution(GRADC_LIBRARY_CONVOLUTION, 1);
    wanted.epilogue = epilogue;
    wanted.bias = 3;
    Status prepared = dnn.prepare(wanted, uint64_t(256) << 20, call);
    EXPECT_TRUE(prepared.ok()) << epilogue << ": " << prepared.message();
  }
}

TEST_F(CudnnPlan, HasEnginesThatNeedRoomForTheFilterAlone) {
  constexpr uint64_t filterBytes = 3 * 3 * 16 * 32 * sizeof(float);
  for (uint32_t role : roles) {
    Status prepared = dnn.prepare(convolution(role, 1), filterBytes, call);
    ASSERT_TRUE(prepared.ok()) << role << ": " << prepared.message();
    EXPECT_EQ(call->workspaceBytes, filterBytes);
    EXPECT_EQ(dnn.prepare(convolution(role, 1), filterBytes - 1, call).message(),
              "cuDNN has no plain f32 engine for the convolution within 18431 bytes of workspace");
  }
}

TEST_F(CudnnPlan, RefusesAFilterInAnotherOrder) {
  gradc_artifact_call turned = convolution(GRADC_LIBRARY_CONVOLUTION, 1);
  std::swap(turned.rhs.strides[2], turned.rhs.strides[3]);
  EXPECT_EQ(dnn.prepare(turned, 1 << 20, call).message(),
            "cuDNN takes no filter in this order, expected [y, x, in, out]");
}

TEST_F(CudnnPlan, RefusesSizesThatDoNotFitTogether) {
  gradc_artifact_call wrong = convolution(GRADC_LIBRARY_CONVOLUTION, 1);
  wrong.result.sizes[2] += 1;
  Status prepared = dnn.prepare(wrong, 0, call);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.message().substr(0, 38), "cuDNN refuses the convolution (error 2");
}

} // namespace
