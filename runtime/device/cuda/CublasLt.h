// The part of cuBLASLt that a matrix product and a transposition need, found at run time.
#ifndef RUNTIME_DEVICE_CUDA_CUBLASLT_H
#define RUNTIME_DEVICE_CUDA_CUBLASLT_H

#include "runtime/device/cuda/Library.h"

#include <cstddef>

namespace gradc::runtime::cuda {

/// Declarations from NVIDIA's cublasLt.h, identical in versions 12 and 13.
namespace lt {
using Handle = void *;
using Object = void *; // a descriptor, a layout, a preference

enum { computeF32 = 68, typeF32 = 0, transposed = 1 };
enum DescAttribute {
  transA = 3,
  transB = 4,
  epilogue = 7,
  biasPointer = 8,
  keptPointer = 11,
  keptLeading = 12,
  keptBatchStride = 13
};
enum TransformAttribute { transformA = 2 };
enum LayoutAttribute { batchCount = 5, batchStride = 6 };
enum PreferenceAttribute {
  maxWorkspace = 1,
  alignmentA = 5,
  alignmentB = 6,
  alignmentC = 7,
  alignmentD = 8
};
enum Epilogue : uint32_t { asIs = 1, relu = 2, bias = 4, gelu = 32, geluGrad = 64, keeps = 128 };

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};
} // namespace lt

// Name in this struct, symbol in the library, parameters. All functions return an error code.
#define GRADC_CUBLASLT_CALLS(CALL)                                                                 \
  CALL(descCreate, "cublasLtMatmulDescCreate", (lt::Object * desc, int compute, int scale))        \
  CALL(descDestroy, "cublasLtMatmulDescDestroy", (lt::Object desc))                                \
  CALL(descSet, "cublasLtMatmulDescSetAttribute",                                                  \
       (lt::Object desc, int attribute, const void *value, size_t bytes))                          \
  CALL(layoutCreate, "cublasLtMatrixLayoutCreate",                                                 \
       (lt::Object * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))          \
  CALL(layoutDestroy, "cublasLtMatrixLayoutDestroy", (lt::Object layout))                          \
  CALL(layoutSet, "cublasLtMatrixLayoutSetAttribute",                                              \
       (lt::Object layout, int attribute, const void *value, size_t bytes))                        \
  CALL(preferenceCreate, "cublasLtMatmulPreferenceCreate", (lt::Object * preference))              \
  CALL(preferenceDestroy, "cublasLtMatmulPreferenceDestroy", (lt::Object preference))              \
  CALL(preferenceSet, "cublasLtMatmulPreferenceSetAttribute",                                      \
       (lt::Object preference, int attribute, const void *value, size_t bytes))                    \
  CALL(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                                \
       (lt::Handle handle, lt::Object desc, lt::Object a, lt::Object b, lt::Object c,              \
        lt::Object d, lt::Object preference, int wanted, lt::Heuristic *results, int *found))      \
  CALL(matmul, "cublasLtMatmul",                                                                   \
       (lt::Handle handle, lt::Object desc, const void *alpha, const void *a, lt::Object aLayout,  \
        const void *b, lt::Object bLayout, const void *beta, const void *c, lt::Object cLayout,    \
        void *d, lt::Object dLayout, const lt::Algorithm *algorithm, void *workspace,              \
        size_t workspaceBytes, void *stream))                                                      \
  CALL(transformCreate, "cublasLtMatrixTransformDescCreate", (lt::Object * desc, int scale))       \
  CALL(transformDestroy, "cublasLtMatrixTransformDescDestroy", (lt::Object desc))                  \
  CALL(transformSet, "cublasLtMatrixTransformDescSetAttribute",                                    \
       (lt::Object desc, int attribute, const void *value, size_t bytes))                          \
  CALL(transform, "cublasLtMatrixTransform",                                                       \
       (lt::Handle handle, lt::Object desc, const void *alpha, const void *a, lt::Object aLayout,  \
        const void *beta, const void *b, lt::Object bLayout, void *c, lt::Object cLayout,          \
        void *stream))

class CublasLt final : public Library {
public:
  CublasLt();
  Status prepare(const gradc_artifact_call &call, uint64_t maxWorkspace,
                 std::unique_ptr<LibraryCall> &prepared) override;

#define GRADC_CUBLASLT_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  GRADC_CUBLASLT_CALLS(GRADC_CUBLASLT_MEMBER)
#undef GRADC_CUBLASLT_MEMBER

private:
  std::vector<Symbol> symbols() override;
};

/// Transposes f32 matrices of one size.
class Transposition {
public:
  explicit Transposition(const CublasLt &lt) : lt(lt) {}
  Transposition(const Transposition &) = delete;
  ~Transposition();
  /// Transposes row-major [rows, columns] to row-major [columns, rows].
  Status prepare(uint64_t rows, uint64_t columns);
  Status enqueue(const void *from, void *to, void *stream) const;

private:
  const CublasLt &lt;
  lt::Object desc = nullptr, source = nullptr, target = nullptr;
};

} // namespace gradc::runtime::cuda

#endif
