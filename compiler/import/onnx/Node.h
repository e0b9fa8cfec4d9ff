// A single ONNX node as import functions see it: operands, attributes, errors, results.
#ifndef COMPILER_IMPORT_ONNX_NODE_H
#define COMPILER_IMPORT_ONNX_NODE_H

#include "compiler/import/onnx/model/Attributes.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "dialects/grad/Build.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"

namespace gradc {

class EntryImport;
class Node;
struct EmbeddingBagCall;
struct NarrowType;

/// Imports one node: reads operands and attributes, builds grad ops, and sets the results.
using ImportFunction = mlir::LogicalResult (*)(Node &);

/// How an op treats operands whose extent only a run knows (RunExtent): it refuses them; or it
/// works element by element, and its results have the same extent; or it works row by row, so that
/// the first dim of operand 0, and then of each result, may have an extent; or its import function
/// decides.
enum class TakesExtents { no, pointwise, rows, itself };

/// How an op treats operands of narrow types (Narrow.h): it refuses them, or moves them to results
/// of the same type, or its import function decides.
enum class TakesNarrow { no, moved, itself };

struct OnnxOp {
  ImportFunction import;
  unsigned minOperands, maxOperands;
  unsigned sequences = 0; ///< first operands that may be sequences instead of tensors
  TakesExtents extents = TakesExtents::no;
  bool strings = false; ///< operands may be strings
  TakesNarrow narrow = TakesNarrow::no;
  static constexpr unsigned any = ~0u;
};
/// All ops by name. Each family adds its own: ops/<Family>.cpp defines add<Family>Ops.
using OpTable = llvm::StringMap<OnnxOp>;
void takeExtents(OpTable &ops, TakesExtents how, llvm::ArrayRef<llvm::StringRef> names);
void takeNarrow(OpTable &ops, TakesNarrow how, llvm::ArrayRef<llvm::StringRef> names);
const OpTable &onnxOps();

/// The only list of families. A family missing here fails to compile, because its function is not
/// declared.
#define GRADC_ONNX_FAMILIES(FAMILY)                                                                \
  FAMILY(Accumulate)                                                                               \
  FAMILY(Activation)                                                                               \
  FAMILY(Attention)                                                                                \
  FAMILY(BatchNormalization)                                                                       \
  FAMILY(Branch)                                                                                   \
  FAMILY(Cast)                                                                                     \
  FAMILY(Categories)                                                                               \
  FAMILY(Contraction)                                                                              \
  FAMILY(Convolution)                                                                              \
  FAMILY(DeformConvolution)                                                                        \
  FAMILY(Determinant)                                                                              \
  FAMILY(Diffusion)                                                                                \
  FAMILY(DynamicQuantization)                                                                      \
  FAMILY(Einsum)                                                                                   \
  FAMILY(Elementwise)                                                                              \
  FAMILY(Experts)                                                                                  \
  FAMILY(Features)                                                                                 \
  FAMILY(Gather)                                                                                   \
  FAMILY(Gradient)                                                                                 \
  FAMILY(Grid)                                                                                     \
  FAMILY(GridSample)                                                                               \
  FAMILY(GroupedAttention)                                                                         \
  FAMILY(Index)                                                                                    \
  FAMILY(IntegerProduct)                                                                           \
  FAMILY(Join)                                                                                     \
  FAMILY(Linear)                                                                                   \
  FAMILY(Loop)                                                                                     \
  FAMILY(Loss)                                                                                     \
  FAMILY(MultiHeadAttention)                                                                       \
  FAMILY(NonMaxSuppression)                                                                        \
  FAMILY(Normalization)                                                                            \
  FAMILY(NumberedValues)                                                                           \
  FAMILY(Pad)                                                                                      \
  FAMILY(Pooling)                                                                                  \
  FAMILY(Position)                                                                                 \
  FAMILY(QLinear)                                                                                  \
  FAMILY(Quantization)                                                                             \
  FAMILY(QuantizationScales)                                                                       \
  FAMILY(QuantizedBlocks)                                                                          \
  FAMILY(QuantizedExperts)                                                                         \
  FAMILY(Random)                                                                                   \
  FAMILY(Recurrent)                                                                                \
  FAMILY(Reduction)                                                                                \
  FAMILY(Resize)                                                                                   \
  FAMILY(RoiAlign)                                                                                 \
  FAMILY(Rotary)                                                                                   \
  FAMILY(Scan)                                                                                     \
  FAMILY(Scatter)                                                                                  \
  FAMILY(Select)                                                                                   \
  FAMILY(Sequence)                                                                                 \
  FAMILY(Shape)                                                                                    \
  FAMILY(Signal)                                                                                   \
  FAMILY(Sort)                                                                                     \
  FAMILY(Strings)                                                                                  \
  FAMILY(SumNormalization)                                                                         \
  FAMILY(SupportVectors)                                                                           \
  FAMILY(TfIdfVectorizer)                                                                          \
  FAMILY(Trees)                                                                                    \
  FAMILY(Trigonometry)                                                                             \
  FAMILY(Unique)                                                                                   \
  FAMILY(Update)

#define GRADC_DECLARE_FAMILY(NAME) void add##NAME##Ops(OpTable &ops);
GRADC_ONNX_FAMILIES(GRADC_DECLARE_FAMILY)
#undef GRADC_DECLARE_FAMILY

/// A dim of a value. The type has the maximum extent; in a run, only the first `count` (an i64
/// scalar) elements are meaningful.
struct RunExtent {
  int64_t dim;
  mlir::Value count;
};

/// A shape of at most `sizes`, one of which a run may determine.
struct RunShape {
  llvm::SmallVector<int64_t> sizes;
  std::optional<RunExtent> extent;
};

/// The maximum number of elements of a value that a node must know at compile time.
constexpr int64_t mostKnown = 1 << 24;

/// The element types that an op accepts.
enum class Kind { Any, Number, Float, Int, Bool };

class Node {
public:
  Node(EntryImport &entry, const onnx::NodeProto &proto, unsigned index,
       llvm::ArrayRef<mlir::Value> operands);

  llvm::StringRef op() const { return proto.op_type(); }
  int64_t opset() const;
  bool training() const;
  /// Whether the entry may take gradients through the node.
  bool mayDifferentiate() const;
  /// The node's position in the file. It distinguishes random ops, in the same way in all entries.
  unsigned position() const { return index; }
  mlir::Location loc() const { return location; }
  mlir::OpBuilder &builder();
  EntryImport &getEntry() { return entry; }

  // Operands ------------------------------------------------------------------------------------
  unsigned operandCount() const { return operands.size(); }
  /// Operand `i`, or null if the node omits it or it is a sequence.
  mlir::Value operand(unsigned i) const { return i < operands.size() ? operands[i] : nullptr; }
  /// Whether operand `i` is a sequence of tensors, which has no value of its own.
  bool isSequence(unsigned i) const { return findSequence(i) != nullptr; }
  llvm::ArrayRef<mlir::Value> sequence(unsigned i) const { return *findSequence(i); }
  /// From here on, operand `i` is `value`.
  void replaceOperand(unsigned i, mlir::Value value) { operands[i] = value; }
  llvm::StringRef inputName(unsigned i) const { return proto.input(int(i)); }
  mlir::RankedTensorType type(unsigned i) const;
  mlir::Type element(unsigned i) const { return type(i).getElementType(); }
  llvm::ArrayRef<int64_t> shape(unsigned i) const { return type(i).getShape(); }
  int64_t rank(unsigned i) const { return type(i).getRank(); }
  mlir::grad::Expr expr(mlir::Value value);
  mlir::grad::Expr expr(unsigned i) { return expr(operand(i)); }
  /// The same float value, through which no gradient flows.
  mlir::grad::Expr detached(mlir::grad::Expr x);
  /// Whether PyTorch's exporter has written the node for `detach`.
  bool isDetach() const;
  /// Of an embedding of PyTorch, the row of operand 0 that gets no gradient.
  std::optional<int64_t> paddingRow() const;
  /// The embedding bag of PyTorch that the node is part of.
  std::optional<EmbeddingBagCall> embeddingBag() const;
  /// Of a mean of PyTorch's scatter_reduce, whether the elements of operand 0 take part.
  std::optional<bool> scatterMean() const;
  /// `operand 1 ("fc1.weight", f32 [64, 128])`.
  std::string describeOperand(unsigned i) const;

  /// The dim of an operand whose extent only a run knows.
  std::optional<RunExtent> extent(unsigned i) const;
  /// The number of elements of an extent, if it can be computed now, as of a mask of constants.
  std::optional<int64_t> knownCount(const RunExtent &extent);
  /// Reports that the node cannot take the operand because of its extent.
  mlir::LogicalResult refuseExtent(unsigned i);
  /// The extent that operands share. `places[i]` numbers the dims of operand `i`, and dims with the
  /// same number have the same elements. The extent's dim is such a number; an operand without the
  /// extent has size 1 there, or no such dim.
  mlir::FailureOr<std::optional<RunExtent>>
  commonExtent(llvm::ArrayRef<llvm::SmallVector<int64_t>> places);
  /// `x` is operand `i` or has its dims up to its extent's. Returns `x` with `neutral` past the
  /// operand's extent, if the extent is in one of `dims`. For integers, infinity stands for the
  /// limit of the type.
  mlir::grad::Expr neutralBehindExtent(unsigned i, mlir::grad::Expr x, llvm::ArrayRef<int64_t> dims,
                                       double neutral);

  /// Checks an operand's element type.
  mlir::LogicalResult expect(unsigned i, Kind kind);
  /// Checks that two operands have the same element type.
  mlir::LogicalResult expectSameElement(unsigned i, unsigned j);
  mlir::LogicalResult expectRank(unsigned i, int64_t rank);

  /// The value of an operand that must be known at compile time.
  mlir::FailureOr<mlir::grad::HostTensor> known(unsigned i, llvm::StringRef what);
  mlir::FailureOr<llvm::SmallVector<int64_t>> knownInts(unsigned i, llvm::StringRef what);
  /// The same of a shape, one element of which may be the extent of a value of the run.
  mlir::FailureOr<RunShape> knownShape(unsigned i, llvm::StringRef what);
  /// Says that the node is compiled for the elements of operand `i` that it reads. If one follows
  /// the rows of the batch, the entry takes no other number of rows.
  void fixRows(unsigned i, llvm::function_ref<bool(int64_t)> isRead = [](int64_t) { return true; });
  /// The same of sizes, which may be in proportion to the rows: these then are the extent of a dim.
  void fixRowsOfSizes(unsigned i);
  /// Says that an element of operand `i` determines the size of a dim of `sized`, which is one of
  /// rows if the element follows them.
  void sizeByRows(mlir::Value sized, int64_t dim, unsigned i, int64_t element);
  /// Says that a constant has the numbers up to operand `i`.
  void numberRows(mlir::Value numbers, unsigned i);
  /// The value of a constant, but not of an initializer that may train.
  std::optional<mlir::grad::HostTensor> tryKnown(unsigned i);

  /// Whether operand `i` is a tensor of strings: bytes with one more dim.
  bool isText(unsigned i) const;
  /// Marks result `i`, which has been set, as strings.
  void markText(unsigned i);
  /// The narrow type of operand `i`, whose elements are codes in bytes; null for other types.
  const NarrowType *narrow(unsigned i) const;
  /// Sets result `i` to codes of a narrow type, or to a plain value if `type` is null.
  mlir::LogicalResult setNarrow(unsigned i, mlir::Value codes, const NarrowType *type);

  // Attributes ----------------------------------------------------------------------------------
  bool has(llvm::StringRef name);
  int64_t integer(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  llvm::StringRef string(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name);
  std::optional<llvm::SmallVector<float>> reals(llvm::StringRef name);
  std::optional<std::vector<std::string>> strings(llvm::StringRef name);
  /// Null if the node has no such attribute, or one of another type, which is reported.
  const onnx::AttributeProto *attribute(llvm::StringRef name, AttributeType type);
  /// Accepts an attribute that gradc does not need.
  void ignore(llvm::StringRef name) { read.insert(name); }
  /// An attribute up to some opset and an operand from then on, like `axes` of most ops.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> integersOrOperand(llvm::StringRef name,
                                                                               unsigned operand);

  /// A dim, checked; negative values count from the back.
  mlir::FailureOr<int64_t> axis(int64_t value, int64_t rank);
  /// Distinct dims, sorted.
  mlir::FailureOr<llvm::SmallVector<int64_t>> axes(llvm::ArrayRef<int64_t> values, int64_t rank);
  /// Distinct dims of operand 0 in the given order; all dims if none are given.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  axesInOrder(const std::optional<llvm::SmallVector<int64_t>> &values);

  // Building ------------------------------------------------------------------------------------
  /// Broadcasts a value to a compatible shape by numpy's rules.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Broadcasts operands [begin, end) to their common shape.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> broadcastOperands(unsigned begin, unsigned end);
  /// Checks a shape that the node requires.
  mlir::LogicalResult expectSensible(llvm::ArrayRef<int64_t> shape);
  mlir::Value constant(const mlir::grad::HostTensor &value);
  mlir::Value constantInts(llvm::ArrayRef<int64_t> values, bool scalar = false);

  // Results -------------------------------------------------------------------------------------
  /// Whether result `i` has a name.
  bool wants(unsigned i) const {
    return i < unsigned(proto.output_size()) && !proto.output(i).empty();
  }
  /// Whether a node or the graph reads result `i`. Exporters also name results that are never read.
  bool isRead(unsigned i) const;
  mlir::LogicalResult set(mlir::Value value) { return set(0, value); }
  mlir::LogicalResult set(unsigned i, mlir::Value value);
  /// Sets a result whose extent only a run knows; a known extent makes it a plain result.
  mlir::LogicalResult set(unsigned i, mlir::Value value, RunExtent extent);
  /// Sets a result with the extent of operand `operand`, if it has one, in the result's dim `dim`.
  mlir::LogicalResult setLike(unsigned operand, mlir::Value value, int64_t dim);
  /// Sets the result to operand 0 in another shape.
  mlir::LogicalResult setReshaped(llvm::ArrayRef<int64_t> shape);
  /// Sets result `i` to a sequence of these tensors.
  mlir::LogicalResult setSequence(llvm::ArrayRef<mlir::Value> values) {
    return setSequence(0, values);
  }
  mlir::LogicalResult setSequence(unsigned i, llvm::ArrayRef<mlir::Value> values);
  /// Sets result `i` to an optional without an element.
  mlir::LogicalResult setAbsent(unsigned i);
  unsigned resultCount() const { return proto.output_size(); }
  llvm::StringRef resultName(unsigned i) const { return proto.output(int(i)); }

  mlir::InFlightDiagnostic error();
  /// Called after the import function: unread attributes and missing results are errors.
  mlir::LogicalResult finish();
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }

private:
  const llvm::SmallVector<mlir::Value> *findSequence(unsigned i) const;

  EntryImport &entry;
  const onnx::NodeProto &proto;
  unsigned index;
  mlir::Location location;
  llvm::SmallVector<mlir::Value> operands, results;
  llvm::StringSet<> read, mistyped;
  llvm::SmallSet<unsigned, 4> withoutValue; ///< results that are sequences or absent
};

/// numpy's common shape; nullopt if the shapes are incompatible.
std::optional<llvm::SmallVector<int64_t>> broadcastShape(llvm::ArrayRef<int64_t> a,
                                                         llvm::ArrayRef<int64_t> b);

} // namespace gradc

#endif
