// The part of CUDA's driver API that a session uses, found at run time. Nothing links libcuda.
#ifndef RUNTIME_DEVICE_CUDA_DRIVER_H
#define RUNTIME_DEVICE_CUDA_DRIVER_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gradc::runtime::cuda {

// Declarations from NVIDIA's cuda.h; its ABI does not change.
using Device = int;
using Address = unsigned long long;
using Handle = void *; // contexts, modules, functions, streams, events, graphs

enum Attribute : int {
  computeMajor = 75, // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  computeMinor = 76,
};

/// Tags for a launch's `extra`, CU_LAUNCH_PARAM_BUFFER_POINTER and its companions: they precede a
/// pointer to the bytes of all parameters, a pointer to the number of bytes, and the end.
inline void *const parameterBuffer = reinterpret_cast<void *>(1);
inline void *const parameterBytes = reinterpret_cast<void *>(2);
inline void *const parametersEnd = nullptr;

/// Of streamBeginCapture: a library may load code at any time, which only a relaxed capture
/// permits.
constexpr int captureRelaxed = 2;
/// Of graphConditionalHandleCreate: every launch begins with the default value.
constexpr unsigned assignDefaultAtLaunch = 1;

/// As CUgraphNodeParams of a conditional node.
enum class ConditionalKind : int { once, again }; // IF, WHILE
struct ConditionalNode {
  int type = 13; // CU_GRAPH_NODE_TYPE_CONDITIONAL
  int reserved[3] = {};
  unsigned long long handle = 0;
  ConditionalKind kind = ConditionalKind::once;
  unsigned size = 1;
  Handle *bodies = nullptr; ///< the driver's: `size` graphs
  Handle context = nullptr; ///< the current one
  long long padding[25] = {}, end = 0;
};
static_assert(sizeof(ConditionalNode) == 256);

/// The oldest driver with these calls: 12.0.
constexpr int oldestDriver = 12000;
/// The oldest driver whose conditional nodes hold copies and other conditional nodes: 12.4.
constexpr int oldestConditionalDriver = 12040;

// Name in this struct, symbol in the library, parameters. All functions return an error code.
#define GRADC_CUDA_CALLS(CALL)                                                                     \
  CALL(init, "cuInit", (unsigned flags))                                                           \
  CALL(driverGetVersion, "cuDriverGetVersion", (int *version))                                     \
  CALL(getErrorString, "cuGetErrorString", (int error, const char **text))                         \
  CALL(deviceGetCount, "cuDeviceGetCount", (int *count))                                           \
  CALL(deviceGet, "cuDeviceGet", (Device * device, int number))                                    \
  CALL(deviceGetName, "cuDeviceGetName", (char *name, int bytes, Device device))                   \
  CALL(deviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, Device device))     \
  CALL(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (Handle * context, Device device))            \
  CALL(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (Device device))                         \
  CALL(ctxPushCurrent, "cuCtxPushCurrent_v2", (Handle context))                                    \
  CALL(ctxPopCurrent, "cuCtxPopCurrent_v2", (Handle * context))                                    \
  CALL(moduleLoadData, "cuModuleLoadData", (Handle * module, const void *image))                   \
  CALL(moduleUnload, "cuModuleUnload", (Handle module))                                            \
  CALL(moduleGetFunction, "cuModuleGetFunction",                                                   \
       (Handle * function, Handle module, const char *name))                                       \
  CALL(memAlloc, "cuMemAlloc_v2", (Address * memory, size_t bytes))                                \
  CALL(memFree, "cuMemFree_v2", (Address memory))                                                  \
  CALL(memAllocHost, "cuMemAllocHost_v2", (void **memory, size_t bytes))                           \
  CALL(memFreeHost, "cuMemFreeHost", (void *memory))                                               \
  CALL(memset, "cuMemsetD8Async", (Address to, unsigned char byte, size_t count, Handle stream))   \
  CALL(memset2D, "cuMemsetD2D32Async",                                                             \
       (Address to, size_t pitch, unsigned word, size_t words, size_t lines, Handle stream))       \
  CALL(copyIn, "cuMemcpyHtoDAsync_v2",                                                             \
       (Address to, const void *from, size_t bytes, Handle stream))                                \
  CALL(copyOut, "cuMemcpyDtoHAsync_v2", (void *to, Address from, size_t bytes, Handle stream))     \
  CALL(copyAlong, "cuMemcpyDtoDAsync_v2", (Address to, Address from, size_t bytes, Handle stream)) \
  CALL(streamCreate, "cuStreamCreate", (Handle * stream, unsigned flags))                          \
  CALL(streamDestroy, "cuStreamDestroy_v2", (Handle stream))                                       \
  CALL(streamSynchronize, "cuStreamSynchronize", (Handle stream))                                  \
  CALL(streamQuery, "cuStreamQuery", (Handle stream))                                              \
  CALL(streamBeginCapture, "cuStreamBeginCapture_v2", (Handle stream, int mode))                   \
  CALL(streamEndCapture, "cuStreamEndCapture", (Handle stream, Handle * graph))                    \
  CALL(graphInstantiate, "cuGraphInstantiateWithFlags",                                            \
       (Handle * executable, Handle graph, unsigned long long flags))                              \
  CALL(graphLaunch, "cuGraphLaunch", (Handle executable, Handle stream))                           \
  CALL(graphExecDestroy, "cuGraphExecDestroy", (Handle executable))                                \
  CALL(graphDestroy, "cuGraphDestroy", (Handle graph))                                             \
  CALL(eventCreate, "cuEventCreate", (Handle * event, unsigned flags))                             \
  CALL(eventDestroy, "cuEventDestroy_v2", (Handle event))                                          \
  CALL(eventRecord, "cuEventRecord", (Handle event, Handle stream))                                \
  CALL(eventSynchronize, "cuEventSynchronize", (Handle event))                                     \
  CALL(eventElapsedTime, "cuEventElapsedTime", (float *milliseconds, Handle begin, Handle end))    \
  CALL(launchKernel, "cuLaunchKernel",                                                             \
       (Handle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,          \
        unsigned blockY, unsigned blockZ, unsigned sharedBytes, Handle stream, void **parameters,  \
        void **extra))

// The calls that only drivers with conditional nodes have.
#define GRADC_CUDA_CONDITIONAL_CALLS(CALL)                                                         \
  CALL(graphCreate, "cuGraphCreate", (Handle * graph, unsigned flags))                             \
  CALL(graphConditionalHandleCreate, "cuGraphConditionalHandleCreate",                             \
       (unsigned long long *handle, Handle graph, Handle context, unsigned defaultValue,           \
        unsigned flags))                                                                           \
  CALL(graphAddNode, "cuGraphAddNode_v2",                                                          \
       (Handle * node, Handle graph, const Handle *after, const void *edges, size_t count,         \
        ConditionalNode *parameters))                                                              \
  CALL(streamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph",                                   \
       (Handle stream, Handle graph, const Handle *after, const void *edges, size_t count,         \
        int mode))                                                                                 \
  CALL(streamGetCaptureInfo, "cuStreamGetCaptureInfo_v3",                                          \
       (Handle stream, int *status, unsigned long long *id, Handle *graph, const Handle **last,    \
        const void **edges, size_t *count))

class Driver {
public:
  /// Opens libcuda.so.1, or the library named by GRADC_LIBCUDA, and initializes it. An error says
  /// what was looked for and what was found.
  static Result<std::shared_ptr<const Driver>> open();
  ~Driver();

#define GRADC_CUDA_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  GRADC_CUDA_CALLS(GRADC_CUDA_MEMBER)
  GRADC_CUDA_CONDITIONAL_CALLS(GRADC_CUDA_MEMBER)
#undef GRADC_CUDA_MEMBER

  /// Ok, or an error with the failed call and the reason.
  Status check(int code, const char *what) const;
  /// Whether graphs may have conditional nodes, and the calls for them are there.
  bool hasConditionalNodes() const { return conditionalNodes; }
  /// "12.8"
  std::string versionText() const;

private:
  Driver() = default;
  Status load();

  void *library = nullptr;
  int version = 0;
  bool conditionalNodes = false;
};

} // namespace gradc::runtime::cuda

#endif
