// The types of tensors in ONNX files.
#ifndef COMPILER_IMPORT_ONNX_MODEL_DATATYPE_H
#define COMPILER_IMPORT_ONNX_MODEL_DATATYPE_H

#include <cstdint>

namespace gradc::data_type {

/// TensorProto.DataType, with the numbers of the file format.
enum : int32_t {
  FLOAT = 1,
  UINT8,
  INT8,
  UINT16,
  INT16,
  INT32,
  INT64,
  STRING,
  BOOL,
  FLOAT16,
  DOUBLE,
  UINT32,
  UINT64,
  COMPLEX64,
  COMPLEX128,
  BFLOAT16
};

} // namespace gradc::data_type

#endif
