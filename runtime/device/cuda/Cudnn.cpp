// A convolution, with its bias and ReLU, as a graph of operations. Of the plans that the library
// proposes, takes the first that computes in plain f32 and gives the same bits every time.
//
// Data tensors may have any layout, but the library supports only two filter layouts, whatever the
// strides say. Our layout, [y, x, in, out], is converted to [out, y, x, in] in the workspace.
#include "runtime/device/cuda/Cudnn.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <optional>

namespace gradc::runtime::cuda {
namespace {

/// In bytes; too small for any transform of interest.
constexpr uint64_t smallWorkspace = 64 << 10;

/// Identifiers of the tensors.
enum : int64_t { lhsId = 1, rhsId = 2, resultId = 3, biasId = 4, sumId = 5, biasedId = 6 };

class ConvolutionCall final : public LibraryCall {
public:
  ConvolutionCall(const Cudnn &dnn, const gradc_artifact_call &call) : dnn(dnn), call(call) {
    changesFilter = call.role == GRADC_LIBRARY_FILTER_GRADIENT;
  }
  ~ConvolutionCall() override;
  Status prepare(uint64_t maxWorkspace);
  Status enqueue(void *const *slices, void *workspace, void *stream) const override;

private:
  // Created objects live until the call is destroyed; the first error stays in `failed`.
  dnn::Object make(dnn::Kind kind);
  void set(dnn::Object object, int attribute, dnn::Type type, int64_t count, const void *values);
  void setObject(dnn::Object object, int attribute, dnn::Object value) {
    set(object, attribute, dnn::typeObject, 1, &value);
  }
  void finalize(dnn::Object object);

  Status reorderFilter();
  dnn::Object makeTensor(const gradc_library_tensor &tensor, int64_t id);
  dnn::Object makeWindow();
  dnn::Object makeConvolution(dnn::Object result);
  dnn::Object makePointwise(int mode, dnn::Object x, dnn::Object b, dnn::Object y);
  std::vector<dnn::Object> makeOperations();
  void setDevice(dnn::Object object, int handleAttribute, int deviceAttribute);
  std::vector<dnn::Object> propose(int mode);
  bool isPlain(dnn::Object config);
  bool choose(dnn::Object config, uint64_t maxWorkspace);

  const Cudnn &dnn;
  gradc_artifact_call call;
  bool changesFilter; ///< rather than reads it
  std::optional<Transposition> reorder;
  uint64_t filterAt = 0, filterBytes = 0; ///< the filter in the library's order, in the workspace
  std::vector<dnn::Object> objects;
  dnn::Object device = nullptr, graph = nullptr, plan = nullptr;
  int failed = 0;
};

ConvolutionCall::~ConvolutionCall() {
  for (size_t i = objects.size(); i-- > 0;)
    dnn.destroyObject(objects[i]);
}

dnn::Object ConvolutionCall::make(dnn::Kind kind) {
  dnn::Object object = nullptr;
  if (!failed)
    failed = dnn.createObject(kind, &object);
  if (object)
    objects.push_back(object);
  return object;
}

void ConvolutionCall::set(dnn::Object object, int attribute, dnn::Type type, int64_t count,
                          const void *values) {
  if (!failed)
    failed = dnn.set(object, attribute, type, count, values);
}

void ConvolutionCall::finalize(dnn::Object object) {
  if (!failed)
    failed = dnn.finalize(object);
}

dnn::Object ConvolutionCall::makeTensor(const gradc_library_tensor &tensor, int64_t id) {
  dnn::Object object = make(dnn::tensor);
  int64_t alignment = 64;
  set(object, dnn::tensorType, dnn::typeDataType, 1, &dnn::dataF32);
  set(object, dnn::tensorSizes, dnn::typeInt64, 4, tensor.sizes);
  set(object, dnn::tensorStrides, dnn::typeInt64, 4, tensor.strides);
  set(object, dnn::tensorId, dnn::typeInt64, 1, &id);
  set(object, dnn::tensorAlignment, dnn::typeInt64, 1, &alignment);
  bool isVirtual = id >= sumId; // is never written to memory
  if (isVirtual)
    set(object, dnn::tensorVirtual, dnn::typeBool, 1, &isVirtual);
  finalize(object);
  return object;
}

dnn::Object ConvolutionCall::makeWindow() {
  dnn::Object window = make(dnn::convolution);
  int64_t dims = 2;
  set(window, dnn::computeType, dnn::typeDataType, 1, &dnn::dataF32);
  set(window, dnn::convolutionMode, dnn::typeConvolutionMode, 1, &dnn::crossCorrelation);
  set(window, dnn::spatialDims, dnn::typeInt64, 1, &dims);
  set(window, dnn::prePaddings, dnn::typeInt64, 2, call.low);
  set(window, dnn::postPaddings, dnn::typeInt64, 2, call.high);
  set(window, dnn::strides, dnn::typeInt64, 2, call.stride);
  set(window, dnn::dilations, dnn::typeInt64, 2, call.dilation);
  finalize(window);
  return window;
}

dnn::Object ConvolutionCall::makeConvolution(dnn::Object result) {
  dnn::Object lhs = makeTensor(call.lhs, lhsId), rhs = makeTensor(call.rhs, rhsId);
  // Data, filter and result of the forward convolution, whichever of them this call computes.
  dnn::Object data = lhs, filter = rhs, forward = result;
  dnn::Kind kind = dnn::operationForward;
  int first = dnn::forwardAlpha;
  if (call.role == GRADC_LIBRARY_DATA_GRADIENT) {
    data = result, forward = lhs;
    kind = dnn::operationData;
    first = dnn::dataAlpha;
  } else if (call.role == GRADC_LIBRARY_FILTER_GRADIENT) {
    filter = result, forward = rhs;
    kind = dnn::operationFilter;
    first = dnn::filterAlpha;
  }
  dnn::Object operation = make(kind);
  // The type must be the accumulator's: f32 engines would read the low half of a double, which is 0
  // for 1.
  float alpha = 1, beta = 0;
  set(operation, first, dnn::typeFloat, 1, &alpha);
  set(operation, first + 1, dnn::typeFloat, 1, &beta);
  setObject(operation, first + 2, makeWindow());
  setObject(operation, first + 3, filter);
  setObject(operation, first + 4, data);
  setObject(operation, first + 5, forward);
  finalize(operation);
  return operation;
}

dnn::Object ConvolutionCall::makePointwise(int mode, dnn::Object x, dnn::Object b, dnn::Object y) {
  dnn::Object function = make(dnn::pointwise);
  set(function, dnn::pointwiseMode, dnn::typePointwiseMode, 1, &mode);
  set(function, dnn::pointwiseType, dnn::typeDataType, 1, &dnn::dataF32);
  finalize(function);
  dnn::Object operation = make(dnn::operationPointwise);
  setObject(operation, dnn::pointwiseDesc, function);
  setObject(operation, dnn::pointwiseX, x);
  if (b)
    setObject(operation, dnn::pointwiseB, b);
  setObject(operation, dnn::pointwiseY, y);
  finalize(operation);
  return operation;
}

std::vector<dnn::Object> ConvolutionCall::makeOperations() {
  dnn::Object result = makeTensor(call.result, resultId);
  if (call.bias == GRADC_NONE)
    return {makeConvolution(result)};
  bool hasRelu = call.epilogue == GRADC_EPILOGUE_BIAS_RELU;
  int64_t channels = call.result.sizes[1];
  gradc_library_tensor vector{call.bias, 0, {1, channels, 1, 1}, {channels, 1, channels, channels}};
  dnn::Object sum = makeTensor(call.result, sumId), bias = makeTensor(vector, biasId);
  dnn::Object biased = hasRelu ? makeTensor(call.result, biasedId) : result;
  std::vector<dnn::Object> operations = {makeConvolution(sum),
                                         makePointwise(dnn::pointwiseAdd, sum, bias, biased)};
  if (hasRelu)
    operations.push_back(makePointwise(dnn::pointwiseRelu, biased, nullptr, result));
  return operations;
}

/// Sets the current device, or the described one.
void ConvolutionCall::setDevice(dnn::Object object, int handleAttribute, int deviceAttribute) {
  if (!device)
    set(object, handleAttribute, dnn::typeHandle, 1, &dnn.handle);
  else if (deviceAttribute)
    setObject(object, deviceAttribute, device);
}

/// Engine configurations, the most promising ones first.
std::vector<dnn::Object> ConvolutionCall::propose(int mode) {
  dnn::Object heuristics = make(dnn::heuristics);
  setObject(heuristics, dnn::heuristicGraph, graph);
  set(heuristics, dnn::heuristicMode, dnn::typeHeuristicMode, 1, &mode);
  if (device)
    setObject(heuristics, dnn::heuristicDevice, device);
  finalize(heuristics);
  int64_t count = 0;
  if (!failed)
    failed = dnn.get(heuristics, dnn::heuristicResults, dnn::typeObject, 0, &count, nullptr);
  std::vector<dnn::Object> configs;
  for (int64_t i = 0; i < count && !failed; ++i)
    configs.push_back(make(dnn::engineConfig));
  if (!failed && count > 0)
    failed =
        dnn.get(heuristics, dnn::heuristicResults, dnn::typeObject, count, &count, configs.data());
  configs.resize(failed ? 0 : size_t(count));
  return configs;
}

bool ConvolutionCall::isPlain(dnn::Object config) {
  dnn::Object engine = make(dnn::engine);
  int64_t count = 0;
  int notes[16] = {};
  if (failed || dnn.get(config, dnn::configEngine, dnn::typeObject, 1, &count, &engine) ||
      dnn.get(engine, dnn::engineNotes, dnn::typeNote, std::size(notes), &count, notes))
    return false;
  return std::all_of(notes, notes + count, [](int note) { return note > dnn::lastInexactNote; });
}

/// Size of an f32 tensor in bytes.
uint64_t bytesOf(const gradc_library_tensor &t) {
  return uint64_t(t.sizes[0] * t.sizes[1] * t.sizes[2] * t.sizes[3]) * sizeof(float);
}

/// Makes the plan; false if the engine does not support the tensors or needs too much memory.
bool ConvolutionCall::choose(dnn::Object config, uint64_t maxWorkspace) {
  dnn::Object made = make(dnn::executionPlan);
  setObject(made, dnn::planConfig, config);
  setDevice(made, dnn::planHandle, dnn::planDevice);
  int64_t bytes = 0, count = 0;
  if (failed || dnn.finalize(made) ||
      dnn.get(made, dnn::planWorkspace, dnn::typeInt64, 1, &count, &bytes))
    return false;
  // Plain engines copy the tensors into another layout. Engines with larger workspaces transform
  // them (Winograd, FFT), and some of those lack the note that they lose eight bits by it (cuDNN
  // 9.19).
  uint64_t copies = bytesOf(call.lhs) + bytesOf(call.rhs) + bytesOf(call.result);
  if (uint64_t(bytes) > copies + copies / 4 + smallWorkspace)
    return false;
  constexpr uint64_t alignment = 256;
  filterAt = (uint64_t(bytes) + alignment - 1) / alignment * alignment;
  workspaceBytes = filterAt + filterBytes;
  plan = made;
  return workspaceBytes <= maxWorkspace;
}

/// Converts the filter's strides to the library's layout.
Status ConvolutionCall::reorderFilter() {
  gradc_library_tensor &filter = changesFilter ? call.result : call.rhs;
  auto [out, in, height, width] = filter.sizes;
  const int64_t ours[] = {1, out, width * in * out, in * out},
                theirs[] = {height * width * in, 1, width * in, in};
  if (!std::equal(ours, ours + 4, filter.strides))
    return Status::error("cuDNN takes no filter in this order, expected [y, x, in, out]");
  std::copy(theirs, theirs + 4, filter.strides);
  uint64_t taps = uint64_t(height * width * in);
  filterBytes = taps * uint64_t(out) * sizeof(float);
  if (!dnn.transposer)
    return {}; // the call can be planned but not run
  reorder.emplace(*dnn.transposer);
  return changesFilter ? reorder->prepare(uint64_t(out), taps)
                       : reorder->prepare(taps, uint64_t(out));
}

Status ConvolutionCall::prepare(uint64_t maxWorkspace) {
  if (Status reordered = reorderFilter(); !reordered.ok())
    return reordered;
  if (!dnn.description.empty()) {
    device = make(dnn::deviceProperties);
    set(device, dnn::deviceJson, dnn::typeChar, int64_t(dnn.description.size()),
        dnn.description.data());
    finalize(device);
  }
  std::vector<dnn::Object> operations = makeOperations();
  graph = make(dnn::operationGraph);
  set(graph, dnn::graphOperations, dnn::typeObject, int64_t(operations.size()), operations.data());
  setDevice(graph, dnn::graphHandle, 0);
  finalize(graph);
  if (failed)
    return Status::error(text("cuDNN refuses the convolution (error ", failed, ')'));
  for (int mode : {dnn::bestMode, dnn::fallbackMode}) {
    failed = 0; // the other query may succeed
    for (dnn::Object config : propose(mode))
      if (isPlain(config) && choose(config, maxWorkspace))
        return {};
  }
  return Status::error(text("cuDNN has no plain f32 engine for the convolution within ",
                            maxWorkspace, " bytes of workspace"));
}

Status ConvolutionCall::enqueue(void *const *slices, void *workspace, void *stream) const {
  dnn::Object pack = nullptr;
  int64_t ids[] = {lhsId, rhsId, resultId, biasId}, count = call.bias == GRADC_NONE ? 3 : 4;
  void *pointers[] = {slices[call.lhs.slice], slices[call.rhs.slice], slices[call.result.slice],
                      count == 4 ? slices[call.bias] : nullptr};
  void *&filter = pointers[changesFilter ? 2 : 1], *ours = filter;
  filter = static_cast<std::byte *>(workspace) + filterAt;
  if (!changesFilter)
    if (Status s = reorder->enqueue(ours, filter, stream); !s.ok())
      return s;
  int error = dnn.createObject(dnn::variantPack, &pack);
  if (!error)
    error = dnn.set(pack, dnn::packIds, dnn::typeInt64, count, ids);
  if (!error)
    error = dnn.set(pack, dnn::packPointers, dnn::typePointer, count, pointers);
  if (!error)
    error = dnn.set(pack, dnn::packWorkspace, dnn::typePointer, 1, &workspace);
  if (!error)
    error = dnn.finalize(pack);
  if (!error)
    error = dnn.setStream(dnn.handle, stream);
  if (!error)
    error = dnn.execute(dnn.handle, plan, pack);
  if (pack)
    dnn.destroyObject(pack);
  if (error)
    return Status::error(text("cuDNN cannot run a convolution (error ", error, ')'));
  return changesFilter ? reorder->enqueue(filter, ours, stream) : Status();
}

} // namespace

static constexpr const char *cudnnFiles[] = {"libcudnn.so.9"};

// Version 9.0 is the oldest that has these calls.
Cudnn::Cudnn() : Library({"cuDNN", "GRADC_LIBCUDNN", "cudnn", cudnnFiles, 90000}) {}

std::vector<Symbol> Cudnn::symbols() {
#define GRADC_CUDNN_SYMBOL(member, symbol, parameters) {symbol, reinterpret_cast<void **>(&member)},
  return {GRADC_CUDNN_CALLS(GRADC_CUDNN_SYMBOL)};
#undef GRADC_CUDNN_SYMBOL
}

Status Cudnn::prepare(const gradc_artifact_call &call, uint64_t maxWorkspace,
                      std::unique_ptr<LibraryCall> &prepared) {
  auto made = std::make_unique<ConvolutionCall>(*this, call);
  Status status = made->prepare(maxWorkspace);
  prepared = std::move(made);
  return status;
}

} // namespace gradc::runtime::cuda
