// Arithmetic of linear expressions and points.
#include "compiler/codegen/tile/Point.h"

#include <numeric>

using namespace mlir;
using namespace gradc::tile;

LinearExpr LinearExpr::variable(unsigned id, int64_t coefficient) {
  LinearExpr e;
  if (coefficient != 0)
    e.terms.push_back({id, coefficient});
  return e;
}

LinearExpr &LinearExpr::operator+=(const LinearExpr &other) {
  constant += other.constant;
  lane += other.lane;
  for (auto [id, coefficient] : other.terms) {
    auto *at = llvm::lower_bound(terms, std::pair<unsigned, int64_t>(id, INT64_MIN));
    if (at == terms.end() || at->first != id)
      terms.insert(at, {id, coefficient});
    else if ((at->second += coefficient) == 0)
      terms.erase(at);
  }
  return *this;
}

LinearExpr LinearExpr::operator*(int64_t factor) const {
  LinearExpr e(constant * factor);
  e.lane = lane * factor;
  if (factor != 0)
    for (auto [id, coefficient] : terms)
      e.terms.push_back({id, coefficient * factor});
  return e;
}

LinearExpr LinearExpr::inLane(int64_t l) const {
  LinearExpr e = *this;
  e.constant += e.lane * l;
  e.lane = 0;
  return e;
}

LinearExpr LinearExpr::variables() const {
  LinearExpr e = *this;
  e.constant = e.lane = 0;
  return e;
}

int64_t LinearExpr::stride() const {
  int64_t g = 0;
  for (auto [id, coefficient] : terms)
    g = std::gcd(g, coefficient);
  return g;
}

bool LinearExpr::operator<(const LinearExpr &other) const {
  return std::tie(constant, lane, terms) < std::tie(other.constant, other.lane, other.terms);
}

bool Point::hasLanes() const {
  return llvm::any_of(coordinates, [](const LinearExpr &e) { return e.lane != 0; });
}

Point Point::inLane(int64_t l) const {
  Point p;
  for (const LinearExpr &e : coordinates)
    p.coordinates.push_back(e.inLane(l));
  return p;
}

bool Point::operator<(const Point &other) const {
  return std::tie(valid, coordinates) < std::tie(other.valid, other.coordinates);
}

SmallVector<Point> gradc::tile::tilePoints(ArrayRef<int64_t> dims, ArrayRef<LinearExpr> coordinates,
                                           ArrayRef<int64_t> extents, int64_t laneDim,
                                           int64_t lanes, ArrayRef<int64_t> spacing) {
  SmallVector<Point> points{Point()};
  for (int64_t dim : dims) {
    bool hasLanes = dim >= 0 && dim == laneDim;
    SmallVector<Point> longer;
    for (const Point &p : points)
      for (int64_t at = 0; at < (dim < 0 ? 1 : extents[dim]); at += hasLanes ? lanes : 1) {
        Point next = p;
        int64_t apart = dim < 0 || spacing.empty() ? 1 : spacing[dim];
        next.coordinates.push_back(dim < 0 ? LinearExpr(0)
                                           : coordinates[dim] + LinearExpr(at * apart));
        if (hasLanes) {
          next.coordinates.back().lane = 1;
          next.valid = std::min(lanes, extents[dim] - at);
        }
        longer.push_back(next);
      }
    points = longer;
  }
  return points;
}

std::optional<LinearExpr> gradc::tile::evaluate(AffineExpr expr, ArrayRef<LinearExpr> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return LinearExpr(constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  // `d mod n` stands for the d of a part at the start of a dim of size n.
  if (expr.getKind() == AffineExprKind::Mod)
    return evaluate(binary.getLHS(), dims);
  auto lhs = evaluate(binary.getLHS(), dims), rhs = evaluate(binary.getRHS(), dims);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *lhs + *rhs;
  if (expr.getKind() == AffineExprKind::Mul && rhs->isConstant())
    return *lhs * rhs->constant;
  return std::nullopt;
}

std::optional<Point> gradc::tile::evaluate(AffineMap map, ArrayRef<LinearExpr> dims,
                                           int64_t valid) {
  Point p;
  for (AffineExpr e : map.getResults()) {
    auto linear = evaluate(e, dims);
    if (!linear)
      return std::nullopt;
    p.coordinates.push_back(*linear);
  }
  p.valid = p.hasLanes() ? valid : 0;
  return p;
}
