// A cuBLASLt that multiplies and transposes f32 matrices on the host in plain loops, and refuses
// arguments that NVIDIA's header does not allow.
#include "test/simulated/Execution.h"
#include "test/simulated/LibrarySettings.h"
#include "test/simulated/Stream.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

using namespace gradc::simulated;

namespace {

enum Status { success = 0, invalidValue = 7, notSupported = 15 };
enum { computeF32 = 68, typeF32 = 0 };
enum {
  epilogueRelu = 2,
  epilogueBias = 4,
  epilogueGelu = 32,
  epilogueGeluGrad = 64,
  epilogueAux = 128
};
enum { preferWorkspace = 1, preferAlignmentA = 5, preferAlignmentD = 8 };
constexpr uint64_t algorithmMark = 0x6c74616c676f;

struct Desc {
  int32_t transA = 0, transB = 0;
  uint32_t epilogue = 1;
  const float *bias = nullptr;
  float *aux = nullptr; // the argument of GELU
  int64_t auxLeading = 0, auxBatchStride = 0;
};

struct Layout {
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t batchStride = 0;

  uint64_t bytes() const {
    uint64_t last = (columns - 1) * uint64_t(leading) + rows;
    return (uint64_t(batch - 1) * uint64_t(batchStride) + last) * sizeof(float);
  }
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256}; // of A, B, C and D: the header's default
};

/// The caller's object, passed from the heuristic to the product.
struct Algorithm {
  uint64_t mark, m, n, k, workspace;
  uint32_t alignment[4], biasAlignment, auxAlignment;
};
static_assert(sizeof(Algorithm) == 64);

struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

template <typename T> int assign(T &target, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(T))
    return invalidValue;
  std::memcpy(&target, value, bytes);
  return success;
}

/// Rows and columns of op(X).
uint64_t rowsOf(const Layout &l, int32_t transposed) { return transposed ? l.columns : l.rows; }
uint64_t columnsOf(const Layout &l, int32_t transposed) { return transposed ? l.rows : l.columns; }

int check(const Desc &desc, const Layout &a, const Layout &b, const Layout &c, const Layout &d) {
  bool agree = rowsOf(a, desc.transA) == d.rows && columnsOf(b, desc.transB) == d.columns &&
               columnsOf(a, desc.transA) == rowsOf(b, desc.transB) && c.rows == d.rows &&
               c.columns == d.columns && a.batch == d.batch && b.batch == d.batch &&
               c.batch == d.batch;
  bool apart = d.batch == 1 || d.batchStride >= int64_t((d.columns - 1) * d.leading + d.rows);
  return agree && apart ? success : invalidValue;
}

/// The header's requirements on the auxiliary matrix.
int checkAux(const Desc &desc, const Layout &d) {
  if (!(desc.epilogue & epilogueAux))
    return success;
  bool apart = d.batch == 1 ||
               desc.auxBatchStride >= int64_t(d.columns - 1) * desc.auxLeading + int64_t(d.rows);
  bool fits = desc.auxLeading >= int64_t(d.rows) && apart && desc.auxLeading % 8 == 0 &&
              desc.auxBatchStride % 8 == 0;
  return fits ? success : invalidValue;
}

/// The largest power of two that divides an address.
uint32_t alignmentOf(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer) | 256;
  return uint32_t(address & -address);
}

struct Product {
  Desc desc;
  Layout a, b, d;
  const float *left, *right;
  float *result;
  Algorithm algorithm;
  void *workspace;

  std::string run() const;
  std::string checkPointers() const;
  float finish(double sum, uint64_t i, uint64_t j, int32_t z) const;
};

std::string Product::checkPointers() const {
  const void *pointers[] = {left, right, result, result};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<uintptr_t>(pointers[i]) % algorithm.alignment[i])
      return "cublasLtMatmul: a matrix is not aligned as the heuristic was told";
  if (alignmentOf(desc.bias) < algorithm.biasAlignment ||
      alignmentOf(desc.aux) < algorithm.auxAlignment)
    return "cublasLtMatmul: bias or auxiliary matrix are not aligned as the heuristic was told";
  if (!isDeviceMemory(left, a.bytes()) || !isDeviceMemory(right, b.bytes()) ||
      !isDeviceMemory(result, d.bytes()))
    return "cublasLtMatmul: a matrix lies outside device memory";
  if (desc.epilogue & epilogueBias &&
      (!desc.bias || !isDeviceMemory(desc.bias, d.rows * sizeof(float))))
    return "cublasLtMatmul: the bias lies outside device memory";
  if (desc.epilogue & epilogueAux) {
    Layout aux{d.rows, d.columns, desc.auxLeading, d.batch, desc.auxBatchStride};
    if (!desc.aux || !isDeviceMemory(desc.aux, aux.bytes()))
      return "cublasLtMatmul: the auxiliary matrix lies outside device memory";
    if (desc.aux < result + d.bytes() / sizeof(float) &&
        result < desc.aux + aux.bytes() / sizeof(float))
      return "cublasLtMatmul: the auxiliary matrix overlaps the result";
  }
  if (algorithm.workspace && (reinterpret_cast<uintptr_t>(workspace) % 256 ||
                              !isDeviceMemory(workspace, algorithm.workspace)))
    return "cublasLtMatmul: the workspace is not aligned to 256 bytes or no device memory";
  return "";
}

/// The epilogue of one element.
float Product::finish(double sum, uint64_t i, uint64_t j, int32_t z) const {
  constexpr double scale = 0.7978845608028654, cubic = 0.044715; // sqrt(2 / pi)
  if (desc.epilogue & epilogueBias)
    sum += double(desc.bias[i]);
  float *aux = desc.aux + z * desc.auxBatchStride + int64_t(j) * desc.auxLeading + int64_t(i);
  if (desc.epilogue & epilogueGeluGrad) {
    double x = *aux, t = std::tanh(scale * (x + cubic * x * x * x));
    return float(sum * ((1 + t) / 2 + x / 2 * (1 - t * t) * scale * (1 + 3 * cubic * x * x)));
  }
  if (desc.epilogue & epilogueAux)
    *aux = float(sum);
  if (desc.epilogue & epilogueGelu)
    return float(sum / 2 * (1 + std::tanh(scale * (sum + cubic * sum * sum * sum))));
  return float(desc.epilogue & epilogueRelu && sum < 0 ? 0.0 : sum);
}

std::string Product::run() const {
  if (std::string problem = checkPointers(); !problem.empty())
    return problem;
  if (algorithm.workspace)
    std::memset(workspace, 0xff, algorithm.workspace); // destroys any previous content
  std::vector<double> column(d.rows);
  for (int32_t z = 0; z < d.batch; ++z) {
    const float *x = left + z * a.batchStride, *y = right + z * b.batchStride;
    for (uint64_t j = 0; j < d.columns; ++j) {
      std::fill(column.begin(), column.end(), 0.0);
      for (uint64_t p = 0; p < algorithm.k; ++p) {
        double factor = y[desc.transB ? j + p * b.leading : p + j * b.leading];
        for (uint64_t i = 0; i < d.rows; ++i)
          column[i] += factor * double(x[desc.transA ? p + i * a.leading : i + p * a.leading]);
      }
      float *to = result + z * d.batchStride + j * uint64_t(d.leading);
      for (uint64_t i = 0; i < d.rows; ++i)
        to[i] = finish(column[i], i, j, z);
    }
  }
  return "";
}

struct Transform {
  int32_t transposed;
  Layout source, target;
  const float *from;
  float *to;

  std::string run() const {
    if (!isDeviceMemory(from, source.bytes()) || !isDeviceMemory(to, target.bytes()))
      return "cublasLtMatrixTransform: a matrix lies outside device memory";
    for (uint64_t j = 0; j < target.columns; ++j)
      for (uint64_t i = 0; i < target.rows; ++i)
        to[i + j * uint64_t(target.leading)] =
            from[transposed ? j + i * uint64_t(source.leading) : i + j * uint64_t(source.leading)];
    return "";
  }
};

} // namespace

// Names and parameters are those of cublasLt.h.
extern "C" {
size_t cublasLtGetVersion() { return librarySettings(130100).version; }
int cublasLtCreate(void **handle) {
  static int one;
  *handle = &one;
  return success;
}
int cublasLtDestroy(void *) { return success; }

int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
  if (compute != computeF32 || scale != typeF32)
    return notSupported;
  *desc = new Desc;
  return success;
}
int cublasLtMatmulDescDestroy(void *desc) {
  delete static_cast<Desc *>(desc);
  return success;
}
int cublasLtMatmulDescSetAttribute(void *object, int attribute, const void *value, size_t bytes) {
  auto *desc = static_cast<Desc *>(object);
  switch (attribute) {
  case 3:
    return assign(desc->transA, value, bytes);
  case 4:
    return assign(desc->transB, value, bytes);
  case 7: {
    int failed = assign(desc->epilogue, value, bytes);
    constexpr uint32_t known[] = {1,
                                  epilogueRelu,
                                  epilogueBias,
                                  epilogueRelu | epilogueBias,
                                  epilogueGelu,
                                  epilogueGelu | epilogueBias,
                                  epilogueGelu | epilogueAux,
                                  epilogueGelu | epilogueAux | epilogueBias,
                                  epilogueGeluGrad | epilogueAux};
    bool isKnown = std::count(std::begin(known), std::end(known), desc->epilogue) == 1;
    return failed ? failed : isKnown ? success : notSupported;
  }
  case 8:
    return assign(desc->bias, value, bytes);
  case 11:
    return assign(desc->aux, value, bytes);
  case 12:
    return assign(desc->auxLeading, value, bytes);
  case 13:
    return assign(desc->auxBatchStride, value, bytes);
  default:
    return invalidValue;
  }
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                               int64_t leading) {
  if (type != typeF32 || rows == 0 || columns == 0 || leading < int64_t(rows))
    return invalidValue;
  *layout = new Layout{rows, columns, leading};
  return success;
}
int cublasLtMatrixLayoutDestroy(void *layout) {
  delete static_cast<Layout *>(layout);
  return success;
}
int cublasLtMatrixLayoutSetAttribute(void *object, int attribute, const void *value, size_t bytes) {
  auto *layout = static_cast<Layout *>(object);
  if (attribute == 5)
    return assign(layout->batch, value, bytes);
  return attribute == 6 ? assign(layout->batchStride, value, bytes) : int(invalidValue);
}

int cublasLtMatmulPreferenceCreate(void **preference) {
  *preference = new Preference;
  return success;
}
int cublasLtMatmulPreferenceDestroy(void *preference) {
  delete static_cast<Preference *>(preference);
  return success;
}
int cublasLtMatmulPreferenceSetAttribute(void *object, int attribute, const void *value,
                                         size_t bytes) {
  auto *preference = static_cast<Preference *>(object);
  if (attribute == preferWorkspace)
    return assign(preference->workspace, value, bytes);
  if (attribute < preferAlignmentA || attribute > preferAlignmentD)
    return invalidValue;
  return assign(preference->alignment[attribute - preferAlignmentA], value, bytes);
}

int cublasLtMatmulAlgoGetHeuristic(void *, void *desc, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, Heuristic *results, int *found) {
  auto layout = [](void *object) -> const Layout & { return *static_cast<Layout *>(object); };
  const auto &how = *static_cast<Desc *>(desc);
  if (wanted < 1 || check(how, layout(a), layout(b), layout(c), layout(d)) ||
      checkAux(how, layout(d)))
    return invalidValue;
  LibrarySettings settings = librarySettings(0);
  const auto &preferred = *static_cast<Preference *>(preference);
  *found = 0;
  bool fits = preferred.workspace >= settings.workspace;
  if (settings.refuses || (settings.hungry && !fits))
    return notSupported;
  *found = 1;
  *results = {};
  results->workspace = fits ? settings.workspace : 0;
  results->algorithm = {algorithmMark,
                        layout(d).rows,
                        layout(d).columns,
                        columnsOf(layout(a), how.transA),
                        results->workspace,
                        {},
                        how.epilogue & epilogueBias ? alignmentOf(how.bias) : 1,
                        how.epilogue & epilogueAux ? alignmentOf(how.aux) : 1};
  std::memcpy(results->algorithm.alignment, preferred.alignment, sizeof preferred.alignment);
  return success;
}

int cublasLtMatmul(void *, void *desc, const float *alpha, const float *a, void *aLayout,
                   const float *b, void *bLayout, const float *beta, const float *c, void *cLayout,
                   float *d, void *dLayout, const Algorithm *algorithm, void *workspace,
                   size_t workspaceBytes, void *stream) {
  auto layout = [](void *object) -> const Layout & { return *static_cast<Layout *>(object); };
  Product product{*static_cast<Desc *>(desc),
                  layout(aLayout),
                  layout(bLayout),
                  layout(dLayout),
                  a,
                  b,
                  d,
                  *algorithm,
                  workspace};
  if (check(product.desc, product.a, product.b, layout(cLayout), product.d) ||
      checkAux(product.desc, product.d))
    return invalidValue;
  bool isTheirs = algorithm->mark == algorithmMark && algorithm->m == product.d.rows &&
                  algorithm->n == product.d.columns &&
                  algorithm->k == columnsOf(product.a, product.desc.transA);
  if (!isTheirs || *alpha != 1 || *beta != 0 || c != d || workspaceBytes < algorithm->workspace)
    return invalidValue;
  return enqueue(stream, [product] { return product.run(); });
}

int cublasLtMatrixTransformDescCreate(void **desc, int scale) {
  if (scale != typeF32)
    return notSupported;
  *desc = new int32_t(0);
  return success;
}
int cublasLtMatrixTransformDescDestroy(void *desc) {
  delete static_cast<int32_t *>(desc);
  return success;
}
int cublasLtMatrixTransformDescSetAttribute(void *desc, int attribute, const void *value,
                                            size_t bytes) {
  return attribute == 2 ? assign(*static_cast<int32_t *>(desc), value, bytes) : int(invalidValue);
}
int cublasLtMatrixTransform(void *, void *desc, const float *alpha, const float *a, void *aLayout,
                            const float *beta, const float *b, void *, float *c, void *cLayout,
                            void *stream) {
  Transform transform{*static_cast<int32_t *>(desc), *static_cast<Layout *>(aLayout),
                      *static_cast<Layout *>(cLayout), a, c};
  const Layout &from = transform.source, &to = transform.target;
  if (rowsOf(from, transform.transposed) != to.rows ||
      columnsOf(from, transform.transposed) != to.columns || from.batch != 1 || to.batch != 1 ||
      *alpha != 1 || *beta != 0 || b)
    return invalidValue;
  return enqueue(stream, [transform] { return transform.run(); });
}
}
