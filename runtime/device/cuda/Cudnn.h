// The part of cuDNN's backend that a convolution needs, found at run time.
#ifndef RUNTIME_DEVICE_CUDA_CUDNN_H
#define RUNTIME_DEVICE_CUDA_CUDNN_H

#include "runtime/device/cuda/CublasLt.h"

#include <span>
#include <string_view>
#include <vector>

namespace gradc::runtime::cuda {

/// Declarations from NVIDIA's cudnn_graph.h, identical in all versions 9.
namespace dnn {
using Handle = void *;
using Object = void *; // a backend descriptor

enum Type : int {
  typeHandle = 0,
  typeDataType = 1,
  typeBool = 2,
  typeInt64 = 3,
  typeFloat = 4,
  typePointer = 6,
  typeConvolutionMode = 7,
  typeHeuristicMode = 8,
  typeNote = 11,
  typePointwiseMode = 14,
  typeObject = 15,
  typeChar = 24
};
enum Kind : int {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engineConfig = 3,
  heuristics = 4,
  executionPlan = 5,
  operationForward = 10,
  operationFilter = 11,
  operationData = 12,
  operationPointwise = 13,
  operationGraph = 15,
  variantPack = 16,
  tensor = 17,
  deviceProperties = 38
};
enum Attribute : int {
  pointwiseMode = 0,
  pointwiseType = 1,
  computeType = 100,
  convolutionMode = 101,
  dilations = 102,
  strides = 103,
  postPaddings = 104,
  prePaddings = 105,
  spatialDims = 106,
  heuristicMode = 200,
  heuristicGraph = 201,
  heuristicResults = 202,
  heuristicDevice = 204,
  configEngine = 300,
  planHandle = 400,
  planConfig = 401,
  planWorkspace = 402,
  planDevice = 407,
  // For each operation: alpha, beta, convolution, filter, data, and result of the forward
  // convolution.
  forwardAlpha = 700,
  dataAlpha = 706,
  filterAlpha = 712,
  pointwiseDesc = 750,
  pointwiseX = 751,
  pointwiseB = 752,
  pointwiseY = 753,
  graphHandle = 800,
  graphOperations = 801,
  tensorAlignment = 900,
  tensorType = 901,
  tensorSizes = 902,
  tensorStrides = 903,
  tensorId = 906,
  tensorVirtual = 907,
  packIds = 1000,
  packPointers = 1001,
  packWorkspace = 1003,
  engineNotes = 1303,
  deviceJson = 2702,
};
enum Heuristic : int { fallbackMode = 2, bestMode = 3 };
/// Numerical notes of an engine. Notes up to this one mean that it is not plain f32 or that its
/// bits vary.
enum Note : int { lastInexactNote = 8 };
constexpr int dataF32 = 0, crossCorrelation = 1, pointwiseAdd = 0, pointwiseRelu = 100;
} // namespace dnn

// Name in this struct, symbol in the library, parameters. All functions return an error code.
#define GRADC_CUDNN_CALLS(CALL)                                                                    \
  CALL(setStream, "cudnnSetStream", (dnn::Handle handle, void *stream))                            \
  CALL(createObject, "cudnnBackendCreateDescriptor", (int kind, dnn::Object *object))              \
  CALL(destroyObject, "cudnnBackendDestroyDescriptor", (dnn::Object object))                       \
  CALL(set, "cudnnBackendSetAttribute",                                                            \
       (dnn::Object object, int attribute, int type, int64_t count, const void *values))           \
  CALL(                                                                                            \
      get, "cudnnBackendGetAttribute",                                                             \
      (dnn::Object object, int attribute, int type, int64_t wanted, int64_t *count, void *values)) \
  CALL(finalize, "cudnnBackendFinalize", (dnn::Object object))                                     \
  CALL(execute, "cudnnBackendExecute", (dnn::Handle handle, dnn::Object plan, dnn::Object pack))

class Cudnn final : public Library {
public:
  Cudnn();
  /// Prepares the library for an absent device with this description: plans can be made but not
  /// run.
  void startWithout(std::string_view deviceDescription) { description = deviceDescription; }
  /// The library that converts filters to cuDNN's layout and back. Outlives the calls.
  void setTransposer(const CublasLt &library) { transposer = &library; }
  Status prepare(const gradc_artifact_call &call, uint64_t maxWorkspace,
                 std::unique_ptr<LibraryCall> &prepared) override;

#define GRADC_CUDNN_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  GRADC_CUDNN_CALLS(GRADC_CUDNN_MEMBER)
#undef GRADC_CUDNN_MEMBER
  std::string description; ///< of an absent device
  const CublasLt *transposer = nullptr;

private:
  std::vector<Symbol> symbols() override;
};

} // namespace gradc::runtime::cuda

#endif
