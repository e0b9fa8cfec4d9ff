// Makes sparse initializers dense when a model is read.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "compiler/import/onnx/model/OnnxModel.h"

using namespace mlir;
using namespace gradc;

/// A small file may ask for large tensors, which then are part of the file that is exported.
static constexpr int64_t mostDenseBytes = int64_t(1) << 30;

/// The places in row-major order that `indices` name: as such places, or as one index for each dim.
/// `count` of them are given for a tensor of `shape`.
static FailureOr<SmallVector<int64_t>> readPlaces(const onnx::TensorProto &indices, int64_t count,
                                                  ArrayRef<int64_t> shape, Location where) {
  int64_t rank = int64_t(shape.size()), each = indices.dims_size() == 2 ? rank : 1;
  SmallVector<int64_t> given(indices.dims().begin(), indices.dims().end()), expected{count};
  if (given.size() == 2)
    expected.push_back(rank);
  if (indices.data_type() != data_type::INT64 || given != expected)
    return emitError(where) << "expected an index in 64 bits for each of " << count
                            << " values, or one for each of " << rank << " dims, found "
                            << dataTypeName(indices.data_type()) << " "
                            << mlir::grad::formatDims(given);
  const char *next = indices.raw_data().data();
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    for (int64_t k = 0; k < each; ++k) {
      int64_t index, size = each == rank ? shape[k] : llvm::product_of(shape);
      std::memcpy(&index, next, sizeof(index));
      next += sizeof(index);
      if (index < 0 || index >= size)
        return emitError(where) << "expected indices from 0 to " << size - 1 << ", found " << index;
      place = place * size + index;
    }
    places.push_back(place);
  }
  return places;
}

LogicalResult OnnxModel::addDense(onnx::GraphProto &graph, onnx::SparseTensorProto &sparse,
                                  int64_t &room) {
  onnx::TensorProto &values = *sparse.mutable_values(), &indices = *sparse.mutable_indices();
  Location where = nameLoc(values.name());
  for (onnx::TensorProto *tensor : {&values, &indices})
    if (failed(inlineExternalData(*tensor, path, where, &files)) ||
        failed(makeRaw(*tensor, context, where)))
      return failure();
  FailureOr<RankedTensorType> type = this->type(values, where);
  if (failed(type))
    return failure();
  SmallVector<int64_t> shape(sparse.dims().begin(), sparse.dims().end());
  int64_t width = mlir::grad::elementBytes(type->getElementType());
  if (type->getRank() != 1 || findNarrow(values.data_type()))
    return emitError(where) << "expected a list of values of 8 or more bits, found "
                            << dataTypeName(values.data_type()) << " "
                            << mlir::grad::formatDims(type->getShape());
  if (!fits(shape) || llvm::product_of(shape) > room / width)
    return emitError(where) << "expected sparse initializers of at most 1 GiB as dense ones, found "
                            << mlir::grad::formatDims(shape);
  room -= llvm::product_of(shape) * width;
  auto places = readPlaces(indices, type->getNumElements(), shape, where);
  if (failed(places))
    return failure();
  std::string data(size_t(llvm::product_of(shape) * width), '\0');
  for (auto [i, place] : llvm::enumerate(*places))
    std::memcpy(data.data() + place * width, values.raw_data().data() + int64_t(i) * width,
                size_t(width));
  onnx::TensorProto &dense = *graph.add_initializer();
  dense.set_name(values.name());
  dense.set_data_type(values.data_type());
  dense.mutable_dims()->Add(shape.begin(), shape.end());
  dense.set_raw_data(std::move(data));
  return success();
}

FailureOr<bool> OnnxModel::makeDense(onnx::GraphProto &graph, int64_t &room) {
  bool found = graph.sparse_initializer_size() > 0;
  for (onnx::SparseTensorProto &sparse : *graph.mutable_sparse_initializer())
    if (failed(addDense(graph, sparse, room)))
      return failure();
  graph.clear_sparse_initializer();
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (!attribute.has_g())
        continue;
      FailureOr<bool> inner = makeDense(*attribute.mutable_g(), room);
      if (failed(inner))
        return failure();
      found |= *inner;
    }
  return found;
}

LogicalResult OnnxModel::makeDense() {
  int64_t room = std::min(mostDenseBytes, int64_t(mostBytes) - int64_t(original.size()));
  FailureOr<bool> found = makeDense(*proto->mutable_graph(), room);
  if (failed(found))
    return failure();
  if (*found)
    original = proto->SerializeAsString();
  return success();
}
