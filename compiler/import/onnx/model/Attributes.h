// Attributes of nodes as a file has them. Import functions read theirs by class Node, which also
// checks them.
#ifndef COMPILER_IMPORT_ONNX_MODEL_ATTRIBUTES_H
#define COMPILER_IMPORT_ONNX_MODEL_ATTRIBUTES_H

#include "compiler/import/onnx/model/onnx.pb.h"
#include "llvm/ADT/StringRef.h"

namespace gradc {

/// AttributeProto.AttributeType, with the numbers of the file format.
enum class AttributeType : int32_t {
  real = 1,
  integer,
  string,
  tensor,
  graph,
  reals,
  integers,
  strings
};

/// The attribute of that name, or null.
inline const onnx::AttributeProto *findAttribute(const onnx::NodeProto &node,
                                                 llvm::StringRef name) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

inline int64_t integerAttribute(const onnx::NodeProto &node, llvm::StringRef name,
                                int64_t otherwise) {
  const onnx::AttributeProto *attribute = findAttribute(node, name);
  return attribute ? attribute->i() : otherwise;
}

} // namespace gradc

#endif
