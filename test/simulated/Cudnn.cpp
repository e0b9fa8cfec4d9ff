// A cuDNN that convolves f32 tensors on the host in plain loops. Like the real library, it first
// proposes engines whose results visibly differ: one that rounds to TF32 and says so, and one that
// transforms the tensors and does not say so.
#include "test/simulated/CudnnObject.h"
#include "test/simulated/Execution.h"
#include "test/simulated/LibrarySettings.h"
#include "test/simulated/Stream.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace gradc::simulated;

namespace {

enum Kind { engineKind = 2, configKind = 3, heuristicKind = 4, planKind = 5, graphKind = 15 };
enum Engine { tf32 = 0, plain = 1, transforming = 2 };
constexpr uint64_t transformBytes = 256 << 20;
constexpr int fallbackMode = 2;

struct Handle {
  void *stream = nullptr;
};

/// A graph with its addresses.
struct Work {
  const CudnnObject *graph;
  std::vector<int64_t> ids;
  std::vector<float *> pointers;
  void *workspace;
  uint64_t workspaceBytes;
  int engine;

  /// Null if the caller gave no address for a tensor that must be in memory.
  float *pointerOf(const CudnnTensor &tensor) const {
    auto found = std::find(ids.begin(), ids.end(), tensor.id);
    return found == ids.end() ? nullptr : pointers[size_t(found - ids.begin())];
  }
  std::string check(const CudnnTensor &tensor) const;
  std::vector<double> convolve(const CudnnConvolution &c) const;
  std::string run() const;
};

float rounded(float value, int engine) {
  return engine == plain ? value : std::bit_cast<float>(std::bit_cast<uint32_t>(value) & ~0x1fffu);
}

int64_t at(const CudnnTensor &t, int64_t a, int64_t b, int64_t y, int64_t x) {
  return a * t.strides[0] + b * t.strides[1] + y * t.strides[2] + x * t.strides[3];
}

std::string Work::check(const CudnnTensor &tensor) const {
  const float *pointer = pointerOf(tensor);
  if (tensor.isVirtual)
    return pointer ? "cudnnBackendExecute: a virtual tensor has an address" : "";
  if (!isDeviceMemory(pointer, tensor.bytes()) ||
      reinterpret_cast<uintptr_t>(pointer) % uint64_t(tensor.alignment))
    return "cudnnBackendExecute: tensor " + std::to_string(tensor.id) +
           " is not aligned as promised or lies outside device memory";
  return "";
}

/// The sums of the result, stored by its strides.
std::vector<double> Work::convolve(const CudnnConvolution &c) const {
  const float *data = pointerOf(c.data), *filter = pointerOf(c.filter),
              *forward = pointerOf(c.forward);
  std::vector<double> sums(c.result().bytes() / sizeof(float));
  auto value = [&](const float *from, int64_t i) { return double(rounded(from[i], engine)); };
  auto meet = [&](int64_t d, int64_t f, int64_t o) {
    if (c.kind == 10)
      sums[size_t(o)] += value(data, d) * value(filter, f);
    else if (c.kind == 12)
      sums[size_t(d)] += value(forward, o) * value(filter, f);
    else
      sums[size_t(f)] += value(data, d) * value(forward, o);
  };
  for (int64_t p = 0; p < c.forward.sizes[2]; ++p)
    for (int64_t q = 0; q < c.forward.sizes[3]; ++q)
      for (int64_t r = 0; r < c.filter.sizes[2]; ++r)
        for (int64_t s = 0; s < c.filter.sizes[3]; ++s) {
          int64_t y = p * c.stride[0] + r * c.dilation[0] - c.low[0];
          int64_t x = q * c.stride[1] + s * c.dilation[1] - c.low[1];
          if (y < 0 || x < 0 || y >= c.data.sizes[2] || x >= c.data.sizes[3])
            continue;
          for (int64_t n = 0; n < c.data.sizes[0]; ++n)
            for (int64_t i = 0; i < c.data.sizes[1]; ++i)
              for (int64_t k = 0; k < c.filter.sizes[0]; ++k)
                meet(at(c.data, n, i, y, x), at(c.filter, k, i, r, s), at(c.forward, n, k, p, q));
        }
  return sums;
}

std::string Work::run() const {
  // 1. Find every tensor that must be in memory.
  int64_t count = graph->attributes.at(801).count;
  auto *operations = graph->values<CudnnObject *>(801);
  CudnnConvolution c(*operations[0]);
  CudnnTensor result = c.result();
  const CudnnObject *bias = nullptr;
  bool hasRelu = false;
  std::vector<CudnnTensor> tensors = {c.data, c.filter, c.forward};
  for (int64_t i = 1; i < count; ++i) {
    if (operations[i]->has(752))
      tensors.emplace_back(*(bias = &operations[i]->object(752)));
    else
      hasRelu = true;
    tensors.push_back(result = CudnnTensor(operations[i]->object(753)));
  }
  for (const CudnnTensor &tensor : tensors)
    if (std::string wrong = check(tensor); !wrong.empty())
      return wrong;
  if (workspaceBytes) {
    if (!isDeviceMemory(workspace, workspaceBytes))
      return "cudnnBackendExecute: the workspace lies outside device memory";
    std::memset(workspace, 0xff, workspaceBytes); // destroys any previous content
  }

  // 2. Compute the sums, and apply the operations to each.
  std::vector<double> sums = convolve(c);
  float *out = pointerOf(result);
  for (int64_t a = 0; a < result.sizes[0]; ++a)
    for (int64_t b = 0; b < result.sizes[1]; ++b)
      for (int64_t y = 0; y < result.sizes[2]; ++y)
        for (int64_t x = 0; x < result.sizes[3]; ++x) {
          double value = sums[size_t(at(c.result(), a, b, y, x))];
          if (bias)
            value += double(pointerOf(CudnnTensor(*bias))[at(CudnnTensor(*bias), 0, b, 0, 0)]);
          out[at(result, a, b, y, x)] = float(hasRelu && value < 0 ? 0.0 : value);
        }
  return "";
}

/// The first half of a configuration: an engine and its preferred workspace.
void propose(const CudnnObject &heuristic, std::vector<CudnnObject> &configs) {
  LibrarySettings settings = librarySettings(0);
  const CudnnObject &graph = heuristic.object(201);
  auto add = [&](int engine, uint64_t workspace) {
    CudnnObject config{configKind, true};
    config.engine = engine;
    config.workspace = workspace;
    config.attributes = graph.attributes;
    configs.push_back(config);
  };
  if (settings.refuses)
    return add(tf32, 0);
  if (heuristic.value<int>(200) != fallbackMode) {
    add(tf32, 0);
    add(transforming, transformBytes);
    add(plain, settings.workspace);
  } else if (!settings.hungry) {
    add(plain, 0);
  }
}

template <typename T> int give(const T &value, int64_t wanted, int64_t *count, void *values) {
  *count = 1;
  if (wanted > 0)
    std::memcpy(values, &value, sizeof value);
  return success;
}

} // namespace

// Names and parameters are those of cudnn.h.
extern "C" {
size_t cudnnGetVersion() { return librarySettings(91900).version; }
int cudnnCreate(void **handle) {
  *handle = new Handle;
  return success;
}
int cudnnDestroy(void *handle) {
  delete static_cast<Handle *>(handle);
  return success;
}
int cudnnSetStream(void *handle, void *stream) {
  static_cast<Handle *>(handle)->stream = stream;
  return success;
}

int cudnnBackendCreateDescriptor(int kind, void **object) {
  *object = new CudnnObject{kind};
  return success;
}
int cudnnBackendDestroyDescriptor(void *object) {
  delete static_cast<CudnnObject *>(object);
  return success;
}
int cudnnBackendSetAttribute(void *object, int attribute, int type, int64_t count,
                             const void *values) {
  return static_cast<CudnnObject *>(object)->set(attribute, type, count, values);
}
int cudnnBackendFinalize(void *object) {
  auto *o = static_cast<CudnnObject *>(object);
  int failed = o->finalize();
  if (!failed && o->kind == planKind)
    o->workspace = o->object(401).workspace;
  return failed;
}

int cudnnBackendGetAttribute(void *object, int attribute, int type, int64_t wanted, int64_t *count,
                             void *values) {
  const auto &o = *static_cast<CudnnObject *>(object);
  if (!o.finalized && o.kind != engineKind)
    return notFinalized;
  if (o.kind == heuristicKind && attribute == 202) {
    std::vector<CudnnObject> configs;
    propose(o, configs);
    *count = int64_t(configs.size());
    for (int64_t i = 0; i < std::min(wanted, *count); ++i)
      **(static_cast<CudnnObject **>(values) + i) = configs[size_t(i)];
    return success;
  }
  if (o.kind == configKind && attribute == 300) {
    (*static_cast<CudnnObject **>(values))->engine = o.engine;
    *count = 1;
    return success;
  }
  if (o.kind == engineKind && attribute == 1303)
    return give(o.engine == tf32 ? 0 : 9, wanted, count, values);
  if (o.kind == planKind && attribute == 402)
    return give(o.workspace, wanted, count, values);
  return badParameter;
}

int cudnnBackendExecute(void *handle, void *planObject, void *packObject) {
  const auto &plan = *static_cast<CudnnObject *>(planObject);
  const auto &pack = *static_cast<CudnnObject *>(packObject);
  if (!plan.finalized || !pack.finalized || plan.kind != planKind)
    return notFinalized;
  const CudnnObject &config = plan.object(401);
  size_t count = size_t(pack.attributes.at(1000).count);
  if (pack.attributes.at(1001).count != int64_t(count))
    return badParameter;
  auto *ids = pack.values<int64_t>(1000);
  auto *pointers = pack.values<float *>(1001);
  Work work{
      &config,        {ids, ids + count}, {pointers, pointers + count}, pack.value<void *>(1003),
      plan.workspace, config.engine};
  return enqueue(static_cast<Handle *>(handle)->stream, [work] { return work.run(); });
}
}
