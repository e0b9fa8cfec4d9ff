// Rotary position embeddings: ONNX's operator and that of ONNX Runtime's models.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/attention/AttentionParts.h"
#include "compiler/import/onnx/ops/attention/Rotary.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

Expr gradc::rotate(Expr x, Expr cosine, Expr sine, bool interleaved) {
  SmallVector<int64_t> shape(x.shape());
  int64_t half = cosine.shape()[2], width = 2 * half;
  auto join = [&](ArrayRef<Value> parts, int64_t dim) {
    return x.with(x.getBuilder().createOrFold<ConcatenateOp>(x.getLoc(), parts, dim));
  };
  Expr first = x.slice(3, 0, half, interleaved ? 2 : 1);
  Expr second = x.slice(3, interleaved ? 1 : half, half, interleaved ? 2 : 1);
  Expr c = cosine.broadcast(first.type(), {0, 2, 3}), s = sine.broadcast(first.type(), {0, 2, 3});
  Expr real = c * first - s * second, imaginary = s * first + c * second;
  SmallVector<int64_t> pairs{shape[0], shape[1], shape[2], half, 1};
  Expr rotated = interleaved ? join({real.reshape(pairs), imaginary.reshape(pairs)}, 4)
                                   .reshape({shape[0], shape[1], shape[2], width})
                             : join({real, imaginary}, 3);
  if (width < shape[3])
    rotated = join({rotated, x.slice(3, width, shape[3] - width)}, 3);
  return rotated;
}

void gradc::markTables(Node &n, unsigned cosines, unsigned sines) {
  for (unsigned i : {cosines, sines})
    if (n.operand(i))
      n.getEntry().getStates().makeTable(n.operand(i), n.loc());
}

FailureOr<Expr> gradc::pickAngles(Node &n, unsigned i, Expr ids) {
  if (failed(n.expectRank(i, 2)))
    return failure();
  int64_t size = n.shape(i)[0];
  SmallVector<int64_t> shape(ids.shape());
  Expr table = n.expr(i);
  ElementsAttr known;
  if (ids.type().getNumElements() <= mostKnown && matchPattern(ids.get(), m_Constant(&known))) {
    HostTensor values(known);
    SmallVector<int64_t> indices;
    for (int64_t k = 0; k < values.size(); ++k) {
      indices.push_back(values.getInt(k));
      if (indices.back() < 0 || indices.back() >= size)
        return n.error() << "expected position_ids from 0 to " << size - 1 << ", found "
                         << indices.back();
    }
    if (Value picked = pick(table, 0, indices))
      return table.with(picked).reshape({shape[0], shape[1], n.shape(i)[1]});
  }
  Expr wide = ids.cast(n.builder().getI64Type());
  if (failed(expectInRange(n, wide, size, "position_ids")))
    return failure();
  return table.with(n.builder().createOrFold<GatherOp>(
      n.loc(), table, wide.get(), ArrayRef<int64_t>{-1, 2}, ArrayRef<int64_t>{0, 1}));
}

FailureOr<Expr> gradc::sliceAngles(Node &n, unsigned i, int64_t first, int64_t count,
                                   int64_t batch) {
  if (failed(n.expectRank(i, 2)))
    return failure();
  if (first < 0 || first > n.shape(i)[0] - count)
    return n.error() << "expected positions " << first << " to " << first + count - 1 << " in "
                     << n.describeOperand(i);
  auto type = RankedTensorType::get({batch, count, n.shape(i)[1]}, n.element(i));
  return n.expr(i).slice(0, first, count).broadcast(type, {1, 2});
}

namespace {
struct Rotated {
  Expr x;        ///< operand 0 as [batch, heads, positions, size]
  int64_t width; ///< of `size` elements, so many are rotated
};
} // namespace

/// A `width` of 0 stands for all elements of a head.
static FailureOr<Rotated> readRotated(Node &n, int64_t heads, int64_t width) {
  if (n.rank(0) == 3 && failed(expectHeads(n, 0, heads)))
    return failure();
  Expr x = n.rank(0) == 3 ? splitHeads(n.expr(0u), heads) : n.expr(0u);
  int64_t size = x.shape()[3];
  width = width ? width : size;
  if (width >= 2 && width % 2 == 0 && width <= size)
    return Rotated{x, width};
  return n.error() << "expected an even number of at most " << size << " elements to rotate, found "
                   << width;
}

static LogicalResult setRotated(Node &n, Expr rotated) {
  return n.set(n.rank(0) == 3 ? mergeHeads(rotated) : rotated);
}

/// Position_ids for each row of the batch.
static FailureOr<Expr> readPositions(Node &n, unsigned i, int64_t batch, int64_t positions) {
  if (failed(n.expect(i, Kind::Int)))
    return failure();
  if (n.type(i).getNumElements() != batch * positions)
    return n.error() << "expected position_ids for " << batch << " rows of " << positions
                     << ", found " << n.describeOperand(i);
  return n.expr(i).reshape({batch, positions});
}

/// One half of the table, [batch, positions, size / 2], selected by position_ids if there are any.
static FailureOr<Expr> readAngles(Node &n, unsigned i, int64_t batch, int64_t positions,
                                  int64_t half) {
  FailureOr<Expr> table = n.expr(i);
  if (n.operand(3)) {
    FailureOr<Expr> ids = readPositions(n, 3, batch, positions);
    if (failed(ids))
      return failure();
    table = pickAngles(n, i, *ids);
  }
  if (failed(table))
    return failure();
  if (table->shape() != ArrayRef({batch, positions, half}))
    return n.error() << "expected a table of " << formatDims({batch, positions, half}) << ", found "
                     << n.describeOperand(i);
  return table;
}

/// Checks what is rotated and the tables of angles, which do not train by themselves.
static LogicalResult expectTables(Node &n, unsigned cosines, unsigned sines) {
  markTables(n, cosines, sines);
  for (unsigned i : {0u, cosines, sines})
    if (failed(n.expect(i, Kind::Float)) || failed(n.expectSameElement(0, i)))
      return failure();
  return success(n.rank(0) == 3 || succeeded(n.expectRank(0, 4)));
}

static LogicalResult importRotaryEmbedding(Node &n) {
  bool interleaved = n.integer("interleaved", 0);
  int64_t heads = n.integer("num_heads", 0), given = n.integer("rotary_embedding_dim", 0);
  if (failed(expectTables(n, 1, 2)))
    return failure();
  FailureOr<Rotated> rotated = readRotated(n, heads, given);
  if (failed(rotated))
    return failure();
  auto [x, width] = *rotated;
  ArrayRef<int64_t> shape = x.shape();
  FailureOr<Expr> cosine = readAngles(n, 1, shape[0], shape[2], width / 2),
                  sine = readAngles(n, 2, shape[0], shape[2], width / 2);
  if (failed(cosine) || failed(sine))
    return failure();
  return setRotated(n, rotate(x, *cosine, *sine, interleaved));
}

/// ONNX Runtime's operator: positions are operand 1, for each element or the first of all rows, and
/// the tables tell the size of a head without num_heads.
static LogicalResult importRuntimeRotaryEmbedding(Node &n) {
  constexpr unsigned ids = 1, cosines = 2, sines = 3;
  bool interleaved = n.integer("interleaved", 0);
  int64_t heads = n.integer("num_heads", 0), given = n.integer("rotary_embedding_dim", 0);
  n.ignore("is_packed_batching"); // ONNX Runtime's CPU code ignores these, too
  n.ignore("scale");
  if (failed(expectTables(n, cosines, sines)) || failed(n.expectRank(cosines, 2)) ||
      failed(n.expectRank(sines, 2)))
    return failure();
  int64_t half = n.shape(cosines)[1];
  if (heads == 0 && n.rank(0) == 3 && half > 0 && n.shape(0)[2] % (2 * half) == 0)
    heads = n.shape(0)[2] / (2 * half);
  FailureOr<Rotated> rotated = readRotated(n, heads, given);
  if (failed(rotated))
    return failure();
  auto [x, width] = *rotated;
  ArrayRef<int64_t> shape = x.shape();
  if (half != width / 2 || n.shape(sines)[1] != half)
    return n.error() << "expected tables with " << width / 2 << " columns, found "
                     << n.describeOperand(cosines) << " and " << n.describeOperand(sines);
  OpBuilder &b = n.builder();
  std::optional<Expr> positions;
  if (n.type(ids).getNumElements() == 1 && n.rank(ids) < 2) {
    if (failed(n.expect(ids, Kind::Int)))
      return failure();
    auto type = RankedTensorType::get({shape[0], shape[2]}, b.getI64Type());
    Expr first = n.expr(ids).cast(b.getI64Type()).reshape({}).broadcastScalar(type);
    positions = first + n.expr(IotaOp::create(b, n.loc(), type, 1));
  } else {
    FailureOr<Expr> each = readPositions(n, ids, shape[0], shape[2]);
    if (failed(each))
      return failure();
    positions = *each;
  }
  FailureOr<Expr> cosine = pickAngles(n, cosines, *positions),
                  sine = pickAngles(n, sines, *positions);
  if (failed(cosine) || failed(sine))
    return failure();
  return setRotated(n, rotate(x, *cosine, *sine, interleaved));
}

void gradc::addRotaryOps(OpTable &ops) {
  ops["RotaryEmbedding"] = {importRotaryEmbedding, 3, 4};
  ops["com.microsoft::RotaryEmbedding"] = {importRuntimeRotaryEmbedding, 4, 4};
}
