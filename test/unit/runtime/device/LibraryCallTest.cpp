// Library calls on the simulated GPU against loops: all layouts of matrices, all parts of windows.
#include "runtime/device/Device.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>

using namespace gradc::runtime;

namespace {

using Values = std::vector<float>;

int64_t at(const gradc_library_tensor &t, int64_t a, int64_t b, int64_t c, int64_t d) {
  return a * t.strides[0] + b * t.strides[1] + c * t.strides[2] + d * t.strides[3];
}

class LibraryCall : public testing::Test {
protected:
  void SetUp() override {
    for (auto [variable, value] :
         {std::pair("GRADC_LIBCUDA", GRADC_TEST_LIBCUDA),
          std::pair("GRADC_LIBCUBLASLT", GRADC_TEST_LIBCUBLASLT),
          std::pair("GRADC_LIBCUDNN", GRADC_TEST_LIBCUDNN),
          std::pair("GRADC_LIBRARIES", "required"), std::pair("GRADC_SIMULATED_LIBRARIES", "")})
      setenv(variable, value, 1);
    auto made = createCudaDevice();
    ASSERT_TRUE(made) << made.status().message();
    device = std::move(*made);
  }

  static Values numbers(int64_t count, int seed) {
    Values values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(std::sin(double(i * 7 + 1) * seed));
    return values;
  }
  static int64_t count(const gradc_library_tensor &t) {
    int64_t last = 0;
    for (int d = 0; d < 4; ++d)
      last += (t.sizes[d] - 1) * t.strides[d];
    return last + 1;
  }

  /// The call's result in its stored order. Slices: lhs, rhs, result, bias, and `kept`, which is
  /// both input and output.
  Values run(const gradc_artifact_call &call, const Values &lhs, const Values &rhs,
             const Values &bias, Values *kept = nullptr) {
    const gradc_artifact_call *wanted[] = {&call};
    auto prepared = device->prepareCalls(wanted, 1 << 20);
    EXPECT_TRUE(prepared) << prepared.status().message();
    if (!prepared)
      return {};
    EXPECT_GT(prepared->workspace, 0u);
    DeviceMemory workspace(*device, prepared->workspace);
    device->setWorkspace(workspace.data());
    Values result(static_cast<size_t>(count(call.result)));
    std::vector<DeviceMemory> memory;
    Values none(1);
    Values &beside = kept ? *kept : none;
    const Values *given[] = {&lhs, &rhs, &result, &bias, &beside};
    for (const Values *values : given) {
      memory.emplace_back(*device, values->size() * 4);
      EXPECT_TRUE(device->copyIn(memory.back().data(), values->data(), values->size() * 4).ok());
    }
    std::vector<void *> slices;
    for (const DeviceMemory &m : memory)
      slices.push_back(m.data());
    Launch launch;
    launch.kind = Launch::Kind::call;
    launch.call = prepared->calls[0];
    launch.slices = slices.data();
    launch.sliceCount = slices.size();
    Status ran = device->launch(launch);
    EXPECT_TRUE(ran.ok()) << ran.message();
    EXPECT_TRUE(device->copyOut(result.data(), memory[2].data(), result.size() * 4).ok());
    EXPECT_TRUE(device->copyOut(beside.data(), memory[4].data(), beside.size() * 4).ok());
    Status done = device->synchronize();
    EXPECT_TRUE(done.ok()) << done.message();
    return result;
  }

  std::unique_ptr<Device> device;
};

/// [1, batch, rows, columns], with contiguous rows or columns.
gradc_library_tensor matrix(uint32_t slice, int64_t batch, int64_t rows, int64_t columns,
                            bool transposed) {
  gradc_library_tensor t{slice, 0, {1, batch, rows, columns}, {0, rows * columns, columns, 1}};
  if (transposed) {
    t.strides[2] = 1;
    t.strides[3] = rows;
  }
  return t;
}

TEST_F(LibraryCall, MultipliesMatricesHoweverTheyLie) {
  struct Case {
    int64_t batch, m, n, k;
  };
  for (Case c :
       {Case{1, 5, 7, 3}, Case{3, 4, 2, 6}, Case{1, 1, 9, 4}, Case{1, 6, 1, 5}, Case{1, 4, 5, 1}})
    for (int transposed = 0; transposed < 4; ++transposed)
      for (uint32_t epilogue : {GRADC_EPILOGUE_NONE, GRADC_EPILOGUE_BIAS, GRADC_EPILOGUE_RELU,
                                GRADC_EPILOGUE_BIAS_RELU}) {
        bool hasBias = epilogue & GRADC_EPILOGUE_BIAS, hasRelu = epilogue & GRADC_EPILOGUE_RELU;
        gradc_artifact_call call{};
        call.role = GRADC_LIBRARY_MATMUL;
        call.epilogue = epilogue;
        call.bias = hasBias ? 3 : GRADC_NONE;
        call.kept = GRADC_NONE;
        call.lhs = matrix(0, c.batch, c.m, c.k, transposed & 1);
        call.rhs = matrix(1, c.batch, c.k, c.n, transposed & 2);
        call.result = matrix(2, c.batch, c.m, c.n, false);
        Values x = numbers(count(call.lhs), 1), y = numbers(count(call.rhs), 2),
               b = numbers(c.n, 3);
        Values found = run(call, x, y, b);
        ASSERT_FALSE(found.empty());
        for (int64_t z = 0; z < c.batch; ++z)
          for (int64_t i = 0; i < c.m; ++i)
            for (int64_t j = 0; j < c.n; ++j) {
              double sum = hasBias ? b[size_t(j)] : 0;
              for (int64_t p = 0; p < c.k; ++p)
                sum += double(x[size_t(at(call.lhs, 0, z, i, p))]) *
                       y[size_t(at(call.rhs, 0, z, p, j))];
              if (hasRelu)
                sum = std::max(sum, 0.0);
              ASSERT_NEAR(found[size_t(at(call.result, 0, z, i, j))], sum, 1e-6)
                  << c.m << 'x' << c.n << 'x' << c.k << " transposed " << transposed << " epilogue "
                  << epilogue;
            }
      }
}

double gelu(double x) { return x / 2 * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }

TEST_F(LibraryCall, AppliesGeluAndItsGradient) {
  struct Case {
    int64_t batch;
    uint32_t epilogue;
    bool keeps;
  };
  constexpr int64_t m = 5, n = 16, k = 3;
  for (Case c :
       {Case{1, GRADC_EPILOGUE_GELU, false}, Case{2, GRADC_EPILOGUE_GELU, true},
        Case{1, GRADC_EPILOGUE_BIAS_GELU, false}, Case{1, GRADC_EPILOGUE_BIAS_GELU, true},
        Case{1, GRADC_EPILOGUE_GELU_GRAD, true}, Case{3, GRADC_EPILOGUE_GELU_GRAD, true}}) {
    bool hasBias = c.epilogue & GRADC_EPILOGUE_BIAS;
    gradc_artifact_call call{};
    call.role = GRADC_LIBRARY_MATMUL;
    call.epilogue = c.epilogue;
    call.bias = hasBias ? 3 : GRADC_NONE;
    call.kept = c.keeps ? 4 : GRADC_NONE;
    call.lhs = matrix(0, c.batch, m, k, false);
    call.rhs = matrix(1, c.batch, k, n, true);
    call.result = matrix(2, c.batch, m, n, false);
    Values x = numbers(count(call.lhs), 1), y = numbers(count(call.rhs), 2), b = numbers(n, 3);
    Values before = numbers(count(call.result), 4), kept = before;
    Values found = run(call, x, y, b, &kept);
    ASSERT_EQ(found.size(), before.size());
    for (int64_t z = 0; z < c.batch; ++z)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = hasBias ? b[size_t(j)] : 0;
          for (int64_t p = 0; p < k; ++p)
            sum +=
                double(x[size_t(at(call.lhs, 0, z, i, p))]) * y[size_t(at(call.rhs, 0, z, p, j))];
          size_t here = size_t(at(call.result, 0, z, i, j));
          bool isGradient = c.epilogue == GRADC_EPILOGUE_GELU_GRAD;
          double at = before[here], step = 1e-5;
          double slope = (gelu(at + step) - gelu(at - step)) / (2 * step);
          ASSERT_NEAR(found[here], isGradient ? sum * slope : gelu(sum), 1e-6) << c.epilogue;
          ASSERT_NEAR(kept[here], c.keeps && !isGradient ? sum : at, 1e-6) << c.epilogue;
        }
  }
}

// According to the header, the leading dim of the auxiliary matrix is a multiple of 8.
TEST_F(LibraryCall, RefusesAMatrixBesideTheResultOfOddColumns) {
  setenv("GRADC_LIBRARIES", "auto", 1);
  gradc_artifact_call call{};
  call.epilogue = GRADC_EPILOGUE_GELU;
  call.bias = GRADC_NONE;
  call.kept = 3;
  call.lhs = matrix(0, 1, 4, 4, false);
  call.rhs = matrix(1, 1, 4, 12, false);
  call.result = matrix(2, 1, 4, 12, false);
  const gradc_artifact_call *wanted[] = {&call};
  auto prepared = device->prepareCalls(wanted, 0);
  ASSERT_TRUE(prepared) << prepared.status().message();
  EXPECT_EQ(prepared->note, "cuBLASLt 13.1.0 runs 0 of 1 kernels, cuBLASLt refuses the product "
                            "(error 7); generated kernels are used");
}

/// Calls `each` with the elements of data, filter, and forward result that belong together.
void meet(const gradc_artifact_call &call, const gradc_library_tensor &data,
          const gradc_library_tensor &filter, const gradc_library_tensor &forward,
          const std::function<void(size_t, size_t, size_t)> &each) {
  for (int64_t n = 0; n < data.sizes[0]; ++n)
    for (int64_t k = 0; k < filter.sizes[0]; ++k)
      for (int64_t c = 0; c < filter.sizes[1]; ++c)
        for (int64_t p = 0; p < forward.sizes[2]; ++p)
          for (int64_t q = 0; q < forward.sizes[3]; ++q)
            for (int64_t r = 0; r < filter.sizes[2]; ++r)
              for (int64_t s = 0; s < filter.sizes[3]; ++s) {
                int64_t y = p * call.stride[0] + r * call.dilation[0] - call.low[0];
                int64_t x = q * call.stride[1] + s * call.dilation[1] - call.low[1];
                if (y >= 0 && x >= 0 && y < data.sizes[2] && x < data.sizes[3])
                  each(size_t(at(data, n, c, y, x)), size_t(at(filter, k, c, r, s)),
                       size_t(at(forward, n, k, p, q)));
              }
}

TEST_F(LibraryCall, ConvolvesForwardAndBack) {
  constexpr int64_t n = 2, in = 3, out = 4, h = 7, w = 6, r = 3, s = 2;
  for (int64_t stride : {1, 2})
    for (int64_t dilation : {1, 2}) {
      gradc_artifact_call call{};
      call.bias = call.kept = GRADC_NONE;
      int64_t sizes[2] = {h, w}, taps[2] = {r, s}, result[2];
      for (int d = 0; d < 2; ++d) {
        call.low[d] = 1;
        call.high[d] = d;
        call.stride[d] = stride;
        call.dilation[d] = dilation;
        result[d] = (sizes[d] + 1 + d - (taps[d] - 1) * dilation - 1) / stride + 1;
      }
      gradc_library_tensor data{0, 0, {n, in, h, w}, {in, 1, w * n * in, n * in}};
      gradc_library_tensor filter{0, 0, {out, in, r, s}, {1, out, s * in * out, in * out}};
      gradc_library_tensor forward{
          0, 0, {n, out, result[0], result[1]}, {out, 1, result[1] * n * out, n * out}};
      Values x = numbers(count(data), 1), f = numbers(count(filter), 2),
             g = numbers(count(forward), 3);
      Values bias = numbers(out, 4);
      auto check = [&](uint32_t role, const gradc_library_tensor &lhs, const Values &left,
                       const gradc_library_tensor &rhs, const Values &right,
                       const gradc_library_tensor &target,
                       const std::function<void(Values &, size_t, size_t, size_t)> &add) {
        call.role = role;
        call.lhs = lhs;
        call.rhs = rhs;
        call.result = target;
        call.rhs.slice = 1;
        call.result.slice = 2;
        Values expected(static_cast<size_t>(count(target)));
        meet(call, data, filter, forward,
             [&](size_t d, size_t k, size_t o) { add(expected, d, k, o); });
        for (size_t i = 0; i < expected.size() && call.bias != GRADC_NONE; ++i) {
          expected[i] += bias[i % bias.size()]; // channels are the last dim
          if (call.epilogue == GRADC_EPILOGUE_BIAS_RELU)
            expected[i] = std::max(expected[i], 0.0f);
        }
        Values found = run(call, left, right, bias);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i)
          ASSERT_NEAR(found[i], expected[i], 1e-5) << role << ' ' << stride << ' ' << dilation;
      };
      for (uint32_t epilogue :
           {GRADC_EPILOGUE_BIAS, GRADC_EPILOGUE_BIAS_RELU, GRADC_EPILOGUE_NONE}) {
        call.epilogue = epilogue;
        call.bias = epilogue == GRADC_EPILOGUE_NONE ? GRADC_NONE : 3;
        check(GRADC_LIBRARY_CONVOLUTION, data, x, filter, f, forward,
              [&](Values &v, size_t d, size_t k, size_t o) { v[o] += x[d] * f[k]; });
      }
      check(GRADC_LIBRARY_DATA_GRADIENT, forward, g, filter, f, data,
            [&](Values &v, size_t d, size_t k, size_t o) { v[d] += g[o] * f[k]; });
      check(GRADC_LIBRARY_FILTER_GRADIENT, data, x, forward, g, filter,
            [&](Values &v, size_t d, size_t k, size_t o) { v[k] += x[d] * g[o]; });
    }
}

TEST_F(LibraryCall, TellsWhichLibraryIsMissingOrRefuses) {
  gradc_artifact_call call{};
  call.bias = call.kept = GRADC_NONE;
  call.lhs = call.rhs = call.result = matrix(0, 1, 4, 4, false);
  const gradc_artifact_call *wanted[] = {nullptr, &call};
  auto message = [&] {
    auto prepared = device->prepareCalls(wanted, 0);
    return prepared ? prepared->note : prepared.status().message();
  };
  setenv("GRADC_LIBRARIES", "auto", 1);
  EXPECT_EQ(message(), "cuBLASLt 13.1.0 runs 1 of 1 kernels");
  setenv("GRADC_SIMULATED_LIBRARIES", "refuse", 1);
  EXPECT_EQ(message(),
            "cuBLASLt 13.1.0 runs 0 of 1 kernels, cuBLASLt refuses the product (error 15); "
            "generated kernels are used");
  setenv("GRADC_LIBRARIES", "required", 1);
  EXPECT_EQ(message(),
            "GRADC_LIBRARIES=required, and cuBLASLt 13.1.0 runs 0 of 1 kernels, cuBLASLt "
            "refuses the product (error 15)");
  setenv("GRADC_LIBRARIES", "off", 1);
  EXPECT_EQ(message(), "");
  setenv("GRADC_LIBRARIES", "sometimes", 1);
  EXPECT_EQ(message(), "expected GRADC_LIBRARIES to be auto, off or required, found sometimes");
}

} // namespace
