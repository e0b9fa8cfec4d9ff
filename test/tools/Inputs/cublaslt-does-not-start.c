// A cuBLASLt that exists but cannot start, like one made for a newer driver.
#include <stddef.h>

size_t cublasLtGetVersion(void) { return 130200; }
int cublasLtCreate(void **handle) { return 1; } // CUBLAS_STATUS_NOT_INITIALIZED
int cublasLtDestroy(void *handle) { return 0; }

#define UNUSED(name)                                                                               \
  int cublasLt##name(void) { return 1; }
UNUSED(MatmulDescCreate)
UNUSED(MatmulDescDestroy)
UNUSED(MatmulDescSetAttribute)
UNUSED(MatrixLayoutCreate)
UNUSED(MatrixLayoutDestroy)
UNUSED(MatrixLayoutSetAttribute)
UNUSED(MatmulPreferenceCreate)
UNUSED(MatmulPreferenceDestroy)
UNUSED(MatmulPreferenceSetAttribute)
UNUSED(MatmulAlgoGetHeuristic)
UNUSED(Matmul)
UNUSED(MatrixTransformDescCreate)
UNUSED(MatrixTransformDescDestroy)
UNUSED(MatrixTransformDescSetAttribute)
UNUSED(MatrixTransform)
