// Einsum with any letters: diagonals, sums, and products of two tensors at a time, in the order
// that takes the fewest multiplications.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Products.h"
#include "compiler/import/onnx/ops/product/EinsumOrder.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// The name of a dim: a letter, or minus the position from the right for a dim of an ellipsis.
using Label = int;
using Labels = SmallVector<Label>;

/// A tensor with named dims.
struct Named {
  Expr value;
  Labels labels;

  int64_t find(Label label) const {
    auto found = llvm::find(labels, label);
    return found == labels.end() ? -1 : found - labels.begin();
  }
  int64_t size(Label label) const { return value.shape()[find(label)]; }
};

struct Equation {
  SmallVector<std::string> operands;
  std::optional<std::string> result;
};
} // namespace

static constexpr StringRef ellipsis = "...";

static FailureOr<Equation> readEquation(Node &n) {
  std::string text;
  for (char c : n.string("equation", ""))
    if (c != ' ')
      text += c;
  auto [left, right] = StringRef(text).split("->");
  Equation equation;
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  for (StringRef term : terms)
    equation.operands.push_back(term.str());
  if (StringRef(text).contains("->"))
    equation.result = right.str();
  if (terms.size() != n.operandCount())
    return n.error() << "expected an equation of " << n.operandCount() << " operands, found \""
                     << text << "\"";
  return equation;
}

/// The labels of a term over `rank` dims; without a rank, an ellipsis stands for `dots` dims.
static FailureOr<Labels> readLabels(Node &n, StringRef term, std::optional<int64_t> rank,
                                    int64_t dots) {
  size_t at = term.find(ellipsis);
  std::string letters = term.str();
  if (at != StringRef::npos)
    letters.erase(at, ellipsis.size());
  if (!llvm::all_of(letters, llvm::isAlpha))
    return n.error() << "expected letters, with at most one ellipsis a term, found \"" << term
                     << "\"";
  bool hasDots = at != StringRef::npos;
  if (rank)
    dots = hasDots ? *rank - int64_t(letters.size()) : 0;
  if (dots < 0 || (rank && dots + int64_t(letters.size()) != *rank))
    return n.error() << "expected a term for " << *rank << " dims, found \"" << term << "\"";
  Labels labels;
  for (size_t i = 0; i <= letters.size(); ++i) {
    if (hasDots && i == at)
      for (int64_t d = dots; d > 0; --d)
        labels.push_back(-int(d));
    if (i < letters.size())
      labels.push_back(letters[i]);
  }
  return labels;
}

/// Replaces two dims with equal labels by one dim, their diagonal.
static LogicalResult takeDiagonals(Node &n, Named &x, unsigned operand) {
  for (size_t j = 1; j < x.labels.size(); ++j) {
    size_t i = x.find(x.labels[j]);
    if (i == j)
      continue;
    int64_t rank = x.labels.size(), size = x.value.shape()[i];
    if (size != x.value.shape()[j])
      return n.error() << "expected dims " << i << " and " << j << " of "
                       << n.describeOperand(operand) << " to agree";
    SmallVector<int64_t> order = otherDims(rank, {int64_t(i), int64_t(j)});
    Labels labels;
    for (int64_t d : order)
      labels.push_back(x.labels[d]);
    labels.push_back(x.labels[j]);
    order.append({int64_t(i), int64_t(j)});
    Expr last = x.value.transpose(order);
    SmallVector<int64_t> shape(last.shape().drop_back(2));
    shape.push_back(size * size);
    x = {last.reshape(shape).slice(rank - 2, 0, size, size + 1), labels};
    j = 0; // positions have changed
  }
  return success();
}

/// Sums over dims whose labels are not in `keep`.
static void sumOthers(Named &x, const Labels &keep) {
  SmallVector<int64_t> dims;
  Labels labels;
  for (auto [d, label] : llvm::enumerate(x.labels))
    if (llvm::is_contained(keep, label))
      labels.push_back(label);
    else
      dims.push_back(d);
  x = {x.value.sum(dims), labels};
}

/// x transposed to the order of `labels`, which contains all labels of x.
static Expr inOrder(const Named &x, const Labels &labels) {
  SmallVector<int64_t> order;
  for (Label label : labels)
    order.push_back(x.find(label));
  return x.value.transpose(order);
}

/// The product of a and b, summed over labels of both that are not in `keep`.
static FailureOr<Named> contract(Node &n, const Named &a, const Named &b, const Labels &keep) {
  Labels batch, summed, rows, columns, result;
  SmallVector<int64_t> shape;
  int64_t counts[4] = {1, 1, 1, 1}; // batch, rows, columns, summed
  for (Label label : a.labels) {
    bool both = b.find(label) >= 0, kept = llvm::is_contained(keep, label);
    (!both ? rows : kept ? batch : summed).push_back(label);
    counts[!both ? 1 : kept ? 0 : 3] *= a.size(label);
  }
  for (Label label : b.labels)
    if (a.find(label) < 0) {
      columns.push_back(label);
      counts[2] *= b.size(label);
    }
  for (const Labels *part : {&batch, &rows, &columns}) {
    llvm::append_range(result, *part);
    for (Label label : *part)
      shape.push_back(a.find(label) >= 0 ? a.size(label) : b.size(label));
  }
  if (failed(n.expectSensible(shape)))
    return failure();
  auto joined = [](std::initializer_list<const Labels *> parts) {
    Labels all;
    for (const Labels *part : parts)
      llvm::append_range(all, *part);
    return all;
  };
  if (summed.empty()) {
    RankedTensorType type = a.value.type().clone(shape);
    SmallVector<int64_t> lhsDims, rhsDims;
    for (auto [d, label] : llvm::enumerate(result)) {
      if (a.find(label) >= 0)
        lhsDims.push_back(d);
      if (b.find(label) >= 0)
        rhsDims.push_back(d);
    }
    Expr lhs = inOrder(a, joined({&batch, &rows})), rhs = inOrder(b, joined({&batch, &columns}));
    return Named{lhs.broadcast(type, lhsDims) * rhs.broadcast(type, rhsDims), result};
  }
  if (rows.empty() && columns.empty() && sumsProducts(a.value.element())) {
    Labels all = joined({&batch, &summed});
    auto dims = llvm::to_vector(llvm::seq<int64_t>(batch.size(), all.size()));
    return Named{(inOrder(a, all) * inOrder(b, all)).sum(dims), batch};
  }
  SmallVector<int64_t> lhsShape{counts[1], counts[3]}, rhsShape{counts[2], counts[3]};
  if (!batch.empty()) {
    lhsShape.insert(lhsShape.begin(), counts[0]);
    rhsShape.insert(rhsShape.begin(), counts[0]);
  }
  Expr lhs = inOrder(a, joined({&batch, &rows, &summed})).reshape(lhsShape);
  Expr rhs = inOrder(b, joined({&batch, &columns, &summed})).reshape(rhsShape);
  Value product =
      n.builder().createOrFold<MatmulOp>(n.loc(), lhs, rhs, UnitAttr(), n.builder().getUnitAttr());
  return Named{lhs.with(product).reshape(shape), result};
}

/// Operands with one label per dim; a dim of size 1 that broadcasts is removed.
static FailureOr<SmallVector<Named>> readOperands(Node &n, const Equation &equation,
                                                  int64_t &dots) {
  SmallVector<Named> operands;
  std::map<Label, int64_t> sizes;
  for (unsigned i = 0; i < n.operandCount(); ++i) {
    if (failed(n.expect(i, Kind::Number)) || failed(n.expectSameElement(0, i)))
      return failure();
    FailureOr<Labels> labels = readLabels(n, equation.operands[i], n.rank(i), 0);
    if (failed(labels))
      return failure();
    Named x{n.expr(i), *labels};
    if (failed(takeDiagonals(n, x, i)))
      return failure();
    for (Label label : x.labels) {
      int64_t &size = sizes.try_emplace(label, 1).first->second;
      if (size != 1 && x.size(label) != 1 && size != x.size(label))
        return n.error() << "expected one size for each letter, found " << size << " and "
                         << x.size(label) << " in " << n.describeOperand(i);
      size = size == 1 ? x.size(label) : size;
      dots = std::max<int64_t>(dots, -label);
    }
    operands.push_back(x);
  }
  for (Named &x : operands) {
    SmallVector<int64_t> shape;
    Labels labels;
    for (Label label : x.labels)
      if (x.size(label) == sizes[label]) {
        shape.push_back(sizes[label]);
        labels.push_back(label);
      }
    x = {x.value.reshape(shape), labels};
  }
  return operands;
}

/// The result without an arrow: the ellipsis, then the letters that occur once, in alphabetical
/// order.
static Labels implicitResult(const Equation &equation, int64_t dots) {
  std::map<char, int> times;
  for (const std::string &term : equation.operands)
    for (char c : term)
      times[c] += c != '.';
  Labels labels;
  for (int64_t d = dots; d > 0; --d)
    labels.push_back(-int(d));
  for (auto [letter, count] : times)
    if (count == 1)
      labels.push_back(letter);
  return labels;
}

static SmallVector<std::pair<unsigned, unsigned>> orderOf(ArrayRef<Named> operands,
                                                          const Labels &result) {
  std::map<Label, unsigned> dims;
  EinsumFactors of;
  for (const Named &x : operands)
    for (Label label : x.labels)
      if (dims.try_emplace(label, dims.size()).second)
        of.sizes.push_back(x.size(label));
  auto dimsOf = [&](const Labels &labels) {
    llvm::SmallBitVector set(dims.size());
    for (Label label : labels)
      set.set(dims[label]);
    return set;
  };
  for (const Named &x : operands)
    of.factors.push_back(dimsOf(x.labels));
  of.result = dimsOf(result);
  return einsumOrder(of);
}

/// The product of all operands, summed over labels that are not in `result`.
static FailureOr<Named> multiplyAll(Node &n, SmallVector<Named> operands, const Labels &result) {
  SmallVector<bool> isUsed(operands.size());
  // The labels of the result and of tensors that are still to be multiplied.
  auto wanted = [&] {
    Labels labels(result);
    for (auto [x, used] : llvm::zip_equal(operands, isUsed))
      if (!used)
        llvm::append_range(labels, x.labels);
    return labels;
  };
  auto pairs = orderOf(operands, result);
  for (size_t i = 0; i < operands.size(); ++i) {
    isUsed[i] = true;
    sumOthers(operands[i], wanted());
    isUsed[i] = false;
  }
  for (auto [left, right] : pairs) {
    isUsed[left] = isUsed[right] = true;
    FailureOr<Named> product = contract(n, operands[left], operands[right], wanted());
    if (failed(product))
      return failure();
    operands.push_back(*product);
    isUsed.push_back(false);
  }
  return operands.back();
}

static LogicalResult importEinsum(Node &n) {
  FailureOr<Equation> equation = readEquation(n);
  int64_t dots = 0;
  if (failed(equation))
    return failure();
  auto operands = readOperands(n, *equation, dots);
  if (failed(operands))
    return failure();
  Labels result = implicitResult(*equation, dots);
  if (equation->result) {
    auto labels = readLabels(n, *equation->result, std::nullopt, dots);
    if (failed(labels))
      return failure();
    result = *labels;
  }
  Labels all;
  for (const Named &x : *operands)
    llvm::append_range(all, x.labels);
  for (auto [i, label] : llvm::enumerate(result))
    if (!llvm::is_contained(all, label) ||
        llvm::is_contained(ArrayRef(result).drop_front(i + 1), label))
      return n.error() << "expected distinct letters of operands in the result, found \""
                       << (equation->result ? *equation->result : "") << "\"";
  auto product = multiplyAll(n, std::move(*operands), result);
  if (failed(product))
    return failure();
  return n.set(inOrder(*product, result));
}

void gradc::addEinsumOps(OpTable &ops) { ops["Einsum"] = {importEinsum, 1, OnnxOp::any}; }
