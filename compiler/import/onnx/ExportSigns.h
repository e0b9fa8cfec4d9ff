// Records that exporters keep about a model, and signs that a part which training needs is missing.
#ifndef COMPILER_IMPORT_ONNX_EXPORTSIGNS_H
#define COMPILER_IMPORT_ONNX_EXPORTSIGNS_H

#include "compiler/import/onnx/model/onnx.pb.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gradc {

/// Whether a node is `detach`, which PyTorch's newer exporter writes as an Identity.
bool isDetach(const onnx::NodeProto &node);

/// The row of an embedding's table that PyTorch does not train, its `padding_idx`, which PyTorch's
/// newer exporter has recorded.
std::optional<int64_t> findPaddingRow(const onnx::NodeProto &node);

/// A call of PyTorch's embedding bag.
struct EmbeddingBagCall {
  enum Mode { sum, mean, max } mode; ///< as PyTorch numbers them
  std::optional<int64_t> padding;    ///< the index that bags leave out
};
/// The call that a node comes from, which PyTorch's newer exporter has recorded.
std::optional<EmbeddingBagCall> findEmbeddingBag(const onnx::NodeProto &node);

/// Of a node that PyTorch's newer exporter has written for the mean of scatter_reduce: whether the
/// elements before it take part. ONNX has no such reduction, and the node has none.
std::optional<bool> findScatterMean(const onnx::NodeProto &node);

/// Whether PyTorch's newer exporter has recorded that the module itself gives an initializer to all
/// of these nodes, so that it is no merger of several parameters.
bool isGivenToAll(const onnx::GraphProto &graph, const std::string &initializer,
                  const std::set<std::string> &nodes);

/// The values that a module's forward pass stores in buffers, each with its buffer, as PyTorch's
/// newer exporter has recorded them: the vectors of a spectral normalization, an average of the
/// module's own. A value is one of the graph and depends on what buffers held before. So gradients
/// stop at it in PyTorch, where a step cannot pass those of an earlier one.
std::map<std::string, std::string> findBufferUpdates(const onnx::GraphProto &graph);

/// One note per sign: the sign, and the exporter's call that avoids it. Notes are not errors: a
/// network that never had BatchNormalization may look like one that had.
std::vector<std::string> exportSigns(const onnx::GraphProto &graph);

} // namespace gradc

#endif
