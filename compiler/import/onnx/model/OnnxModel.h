// An ONNX file in memory: read and checked, with external data inlined and every tensor as raw
// bytes.
#ifndef COMPILER_IMPORT_ONNX_MODEL_ONNXMODEL_H
#define COMPILER_IMPORT_ONNX_MODEL_ONNXMODEL_H

#include "compiler/import/onnx/model/ImportTypes.h"
#include "compiler/import/onnx/model/onnx.pb.h"
#include "dialects/grad/HostTensor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <memory>
#include <set>

namespace gradc {

/// The oldest and newest version of ONNX's operator set that the importer supports.
constexpr int64_t oldestOpset = 6, newestOpset = 28;

class OnnxModel {
public:
  /// Reads and checks a file; every problem is a diagnostic at the file or at a node.
  static mlir::FailureOr<std::unique_ptr<OnnxModel>> read(mlir::MLIRContext &context,
                                                          llvm::StringRef path);

  const onnx::GraphProto &graph() const { return proto->graph(); }
  int64_t opset() const { return opsetVersion; }
  /// For messages, the version of the domain's operators that the model uses: "opset 17" or, for
  /// other domains than ONNX's own, "opset 3 of ai.onnx.ml".
  std::string describeOpset(llvm::StringRef domain) const;
  llvm::StringRef producer() const { return proto->producer_name(); }
  mlir::Location fileLoc() const { return location; }
  /// The location of a node within the file, by its name or, if it has none, by its op and first
  /// output.
  mlir::Location nodeLoc(const onnx::NodeProto &node) const;
  mlir::Location nameLoc(llvm::StringRef name) const;

  /// The graph's inputs without initializers, which are also inputs up to IR version 3.
  std::vector<std::string> inputNames() const;
  std::vector<std::string> outputNames() const;
  /// The results of the graph's nodes.
  llvm::StringSet<> computedNames() const;
  std::vector<std::string> initializerNames() const;
  /// The initializer of that name, or null.
  const onnx::TensorProto *initializer(llvm::StringRef name) const;
  /// Fails, with a diagnostic at `where`, if the model has no initializer of that name, or has tied
  /// it to another one.
  mlir::LogicalResult expectInitializer(llvm::StringRef name, mlir::Location where) const;
  /// The symbol of the first symbolic dim of graph inputs, which is the batch; "" if there is none.
  llvm::StringRef batchSymbol() const;
  /// Whether the first dim of a graph input has a size of its own.
  bool hasFixedBatch() const;

  /// Makes `b` an alias of `a` (transposed) in the graph; `bytes` still contains both.
  mlir::LogicalResult tie(llvm::StringRef a, llvm::StringRef b, bool transpose,
                          mlir::Location where);

  /// The type of a tensor, u8 for narrow types. Fails, with a diagnostic at `where`, if gradc does
  /// not support the type.
  mlir::FailureOr<mlir::RankedTensorType> type(const onnx::TensorProto &tensor,
                                               mlir::Location where) const;
  /// A tensor's elements; for narrow types, their codes. Large ones are views of this model's
  /// memory and keep it alive.
  mlir::FailureOr<mlir::ElementsAttr> value(const onnx::TensorProto &tensor,
                                            mlir::Location where) const;

  /// Changes the model for later imports and for `bytes`. Initializers stay.
  void edit(llvm::function_ref<void(onnx::ModelProto &)> change);

  /// Changes the graph for later imports; `bytes` stays as it was.
  void extend(llvm::function_ref<void(onnx::GraphProto &)> change);

  /// Changes `bytes` alone. Fails, with a diagnostic at `where`, if they become too many for a
  /// file.
  mlir::LogicalResult editExported(llvm::function_ref<void(onnx::ModelProto &)> change,
                                   mlir::Location where);

  /// The initializer that this name is tied to, following chains, or the name itself.
  struct Tied {
    llvm::StringRef initializer;
    bool transposed;
  };
  Tied tiedTo(llvm::StringRef name) const;

  /// The files next to the model from which its tensors were read.
  const std::set<std::string> &externalFiles() const { return files; }
  const std::string &file() const { return path; }

  /// The model as a file, before ties and extensions. If it is too large for one file, the tensors
  /// stay in their own files.
  std::string bytes() const;
  bool isTooLargeForOneFile() const { return staysApart; }

private:
  OnnxModel(mlir::MLIRContext &context, llvm::StringRef path);
  mlir::LogicalResult parse();
  mlir::LogicalResult checkFields();
  mlir::LogicalResult checkOpset();
  /// Replaces sparse initializers by dense ones, also in `original`.
  mlir::LogicalResult makeDense();
  /// The same of a graph and the subgraphs of its nodes; whether there were any. `room`: the bytes
  /// that dense ones may still take.
  mlir::FailureOr<bool> makeDense(onnx::GraphProto &graph, int64_t &room);
  /// Adds the initializer if it takes no more than `room` bytes, and takes them.
  mlir::LogicalResult addDense(onnx::GraphProto &graph, onnx::SparseTensorProto &sparse,
                               int64_t &room);
  mlir::LogicalResult inlineCalls();
  mlir::LogicalResult checkNames();
  mlir::LogicalResult loadTensors();

  /// Protobuf's limit is 2 GiB, and an export adds nodes.
  static constexpr size_t mostBytes = INT32_MAX - (size_t(64) << 20);

  mlir::MLIRContext &context;
  std::string path;
  mlir::Location location;
  std::shared_ptr<onnx::ModelProto> proto;
  /// The result of `bytes` if it differs from `proto`: the file as read, or the model before ties
  /// and extensions.
  std::string original;
  bool staysApart = false; ///< `original` keeps tensors in files of their own
  std::set<std::string> files;
  int64_t opsetVersion = 0;
  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<std::pair<std::string, bool>> ties; ///< to what, and whether transposed
};

/// The element type for ONNX's TensorProto.DataType `number`, or null.
mlir::Type elementType(mlir::MLIRContext &context, int32_t number);
bool isString(int32_t number);
/// For example "f32 [64, 128]", or "u8 [64, ?]" for files of varying length.
std::string describe(mlir::Type type);
/// Whether a shape is plausible: no negative dim, and fewer than 2^40 elements.
bool fits(llvm::ArrayRef<int64_t> shape);
/// ONNX's name of a data type, such as "string" or "float8e4m3fn".
std::string dataTypeName(int32_t number);

/// Moves data from external files and typed fields into raw_data. If it reads a file, adds the
/// file's name to `files`.
mlir::LogicalResult inlineExternalData(onnx::TensorProto &tensor, llvm::StringRef modelPath,
                                       mlir::Location where,
                                       std::set<std::string> *files = nullptr);
mlir::LogicalResult makeRaw(onnx::TensorProto &tensor, mlir::MLIRContext &context,
                            mlir::Location where);

/// The position of each initializer's raw bytes in a serialized model.
std::vector<InitializerRange> initializerRanges(llvm::StringRef modelBytes);

} // namespace gradc

#endif
