// The attribute table follows cudnn_graph.h, as far as a convolution needs it.
#include "test/simulated/CudnnObject.h"

#include <cstddef>

namespace gradc::simulated {
namespace {

enum Type {
  handle = 0,
  dataType = 1,
  boolean = 2,
  int64 = 3,
  real = 4, // the library accepts a double, 5, but reads its low half: refused here
  pointer = 6,
  convolutionMode = 7,
  heuristicMode = 8,
  pointwiseMode = 14,
  object = 15
};

struct Rule {
  int kind, attribute, type;
  int64_t fewest, most; ///< values
  bool isOptional = false;
};
constexpr Rule rules[] = {
    {0, 0, pointwiseMode, 1, 1},     {0, 1, dataType, 1, 1},  {1, 100, dataType, 1, 1},
    {1, 101, convolutionMode, 1, 1}, {1, 102, int64, 2, 2},   {1, 103, int64, 2, 2},
    {1, 104, int64, 2, 2},           {1, 105, int64, 2, 2},   {1, 106, int64, 1, 1},
    {4, 200, heuristicMode, 1, 1},   {4, 201, object, 1, 1},  {5, 400, handle, 1, 1},
    {5, 401, object, 1, 1},          {10, 700, real, 1, 1},   {10, 701, real, 1, 1},
    {10, 702, object, 1, 1},         {10, 703, object, 1, 1}, {10, 704, object, 1, 1},
    {10, 705, object, 1, 1},         {12, 706, real, 1, 1},   {12, 707, real, 1, 1},
    {12, 708, object, 1, 1},         {12, 709, object, 1, 1}, {12, 710, object, 1, 1},
    {12, 711, object, 1, 1},         {11, 712, real, 1, 1},   {11, 713, real, 1, 1},
    {11, 714, object, 1, 1},         {11, 715, object, 1, 1}, {11, 716, object, 1, 1},
    {11, 717, object, 1, 1},         {13, 750, object, 1, 1}, {13, 751, object, 1, 1},
    {13, 752, object, 1, 1, true},   {13, 753, object, 1, 1}, {15, 800, handle, 1, 1},
    {15, 801, object, 1, 3},         {16, 1000, int64, 3, 4}, {16, 1001, pointer, 3, 4},
    {16, 1003, pointer, 1, 1},       {17, 900, int64, 1, 1},  {17, 901, dataType, 1, 1},
    {17, 902, int64, 4, 4},          {17, 903, int64, 4, 4},  {17, 906, int64, 1, 1},
    {17, 907, boolean, 1, 1, true},
};

size_t bytesOf(int type) {
  bool isEnum =
      type == dataType || type == convolutionMode || type == heuristicMode || type == pointwiseMode;
  return type == boolean ? 1 : isEnum || type == real ? 4 : 8;
}

bool isComplete(const CudnnObject &o) {
  for (const Rule &rule : rules)
    if (rule.kind == o.kind && !rule.isOptional && !o.has(rule.attribute))
      return false;
  return true;
}

bool areFinalized(const CudnnObject &o) {
  for (const auto &[attribute, value] : o.attributes)
    for (int64_t i = 0; value.type == object && i < value.count; ++i) {
      const auto *used = reinterpret_cast<CudnnObject *const *>(value.bytes.data())[i];
      if (!used || !used->finalized)
        return false;
    }
  return true;
}

int checkTensor(const CudnnObject &o) {
  if (o.value<int>(901) != 0)
    return notSupported; // f32 only
  for (int d = 0; d < 4; ++d)
    if (o.values<int64_t>(902)[d] < 1 || o.values<int64_t>(903)[d] < 1)
      return badParameter;
  return success;
}

int checkWindow(const CudnnObject &o) {
  if (o.value<int>(100) != 0 || o.value<int>(101) != 1 || o.value<int64_t>(106) != 2)
    return notSupported;
  for (int d = 0; d < 2; ++d)
    if (o.values<int64_t>(102)[d] < 1 || o.values<int64_t>(103)[d] < 1 ||
        o.values<int64_t>(104)[d] < 0 || o.values<int64_t>(105)[d] < 0)
      return badParameter;
  return success;
}

int checkOperation(const CudnnObject &o) {
  CudnnConvolution c(o);
  int first = o.attributes.begin()->first;
  if (o.value<float>(first) != 1 || o.value<float>(first + 1) != 0)
    return notSupported;
  // The library only supports filter strides of [out, y, x, in] (or [out, in, y, x]), and silently
  // computes nonsense for others.
  const int64_t *sizes = c.filter.sizes, *strides = c.filter.strides;
  if (strides[0] != sizes[1] * sizes[2] * sizes[3] || strides[1] != 1 ||
      strides[2] != sizes[3] * sizes[1] || strides[3] != sizes[1])
    return notSupported;
  bool agree = c.data.sizes[0] == c.forward.sizes[0] && c.data.sizes[1] == c.filter.sizes[1] &&
               c.forward.sizes[1] == c.filter.sizes[0];
  for (int d = 0; d < 2; ++d) {
    int64_t padded = c.data.sizes[2 + d] + c.low[d] + c.high[d];
    int64_t reach = (c.filter.sizes[2 + d] - 1) * c.dilation[d] + 1;
    agree =
        agree && padded >= reach && c.forward.sizes[2 + d] == (padded - reach) / c.stride[d] + 1;
  }
  return agree ? success : badParameter;
}

/// An addition of one number per channel, or a ReLU.
int checkPointwise(const CudnnObject &o) {
  CudnnTensor x(o.object(751)), y(o.object(753));
  int function = o.object(750).value<int>(0);
  if (o.object(750).value<int>(1) != 0 || (function != 0 && function != 100))
    return notSupported;
  if (o.has(752) != (function == 0))
    return badParameter;
  for (int d = 0; d < 4; ++d)
    if (x.sizes[d] != y.sizes[d] ||
        (o.has(752) && CudnnTensor(o.object(752)).sizes[d] != (d == 1 ? x.sizes[1] : 1)))
      return badParameter;
  return success;
}

/// Each operation continues with the result of the previous one; only the last result is in memory.
int checkGraph(const CudnnObject &o) {
  int64_t count = o.attributes.at(801).count;
  auto *operations = o.values<CudnnObject *>(801);
  for (int64_t i = 0; i < count; ++i) {
    const CudnnObject &operation = *operations[i];
    if ((operation.kind == 13) != (i > 0))
      return notSupported;
    CudnnTensor result =
        i ? CudnnTensor(operation.object(753)) : CudnnConvolution(operation).result();
    if (result.isVirtual != (i + 1 < count))
      return badParameter;
    if (i + 1 < count && CudnnTensor(operations[i + 1]->object(751)).id != result.id)
      return badParameter;
  }
  return success;
}

} // namespace

CudnnTensor::CudnnTensor(const CudnnObject &o)
    : id(o.value<int64_t>(906)), alignment(o.value<int64_t>(900)), sizes(o.values<int64_t>(902)),
      strides(o.values<int64_t>(903)), isVirtual(o.has(907) && o.value<bool>(907)) {}

uint64_t CudnnTensor::bytes() const {
  uint64_t last = 0;
  for (int d = 0; d < 4; ++d)
    last += uint64_t(sizes[d] - 1) * uint64_t(strides[d]);
  return (last + 1) * sizeof(float);
}

static int firstOf(const CudnnObject &operation) { return operation.attributes.begin()->first; }

CudnnConvolution::CudnnConvolution(const CudnnObject &o)
    : kind(o.kind), filter(o.object(firstOf(o) + 3)), data(o.object(firstOf(o) + 4)),
      forward(o.object(firstOf(o) + 5)), low(o.object(firstOf(o) + 2).values<int64_t>(105)),
      high(o.object(firstOf(o) + 2).values<int64_t>(104)),
      stride(o.object(firstOf(o) + 2).values<int64_t>(103)),
      dilation(o.object(firstOf(o) + 2).values<int64_t>(102)) {}

const CudnnTensor &CudnnConvolution::result() const {
  return kind == 10 ? forward : kind == 12 ? data : filter;
}

int CudnnObject::set(int attribute, int type, int64_t count, const void *given) {
  if (finalized)
    return notSupported;
  for (const Rule &rule : rules) {
    if (rule.kind != kind || rule.attribute != attribute)
      continue;
    if (type != rule.type || count < rule.fewest || count > rule.most || !given)
      return badParameter;
    const auto *bytes = static_cast<const char *>(given);
    attributes[attribute] = {type, count, {bytes, bytes + size_t(count) * bytesOf(type)}};
    return success;
  }
  return badParameter;
}

int CudnnObject::finalize() {
  if (finalized || !isComplete(*this))
    return badParameter;
  if (!areFinalized(*this))
    return notFinalized;
  int failed = kind == 17                 ? checkTensor(*this)
               : kind == 13               ? checkPointwise(*this)
               : kind == 15               ? checkGraph(*this)
               : kind == 1                ? checkWindow(*this)
               : kind >= 10 && kind <= 12 ? checkOperation(*this)
                                          : int(success);
  finalized = failed == success;
  return failed;
}

} // namespace gradc::simulated
