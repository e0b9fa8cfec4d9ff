// Decides by shapes, so that scratch memory and code agree.
#include "passes/support/PackedBlocks.h"

using namespace mlir;

/// The units whose results fit in `bytes`, or one.
static int64_t unitsWithin(exec::KernelOp kernel, int64_t bytes) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  RankedTensorType root = kernel.getRoot();
  int64_t outer = schedule.getOrder().front(), rows = schedule.getTile()[outer];
  int64_t unit = rows * root.getDimSize(1 - outer) * (root.getElementTypeBitWidth() / 8);
  return std::max<int64_t>(bytes / unit, 1);
}

int64_t gradc::unitsPerWalk(exec::KernelOp kernel, const exec::Level &level) {
  return kernel.getRoot().getRank() == 2 ? unitsWithin(kernel, level.cachedBytes() * 2 / 5) : 0;
}

/// Whether the rows of a factor are pages apart, or many of their lines share a cache set.
static bool readsBadly(exec::KernelOp kernel, int64_t dim) {
  constexpr int64_t wide = 2048, aliasing = 1024;
  RankedTensorType root = kernel.getRoot();
  int64_t rowBytes = root.getDimSize(dim) * root.getElementTypeBitWidth() / 8;
  return rowBytes >= wide || rowBytes % aliasing == 0;
}

/// Whether the operand is row-major, of full precision, with the sum along its first dim and a dim
/// of the root along its second.
static bool runsAcross(exec::KernelOp kernel, unsigned operand) {
  auto type = cast<RankedTensorType>(kernel.getBlock().getArgument(operand).getType());
  return type.getRank() == 2 && !kernel.getLayout(operand) &&
         isa<Float32Type, Float64Type>(type.getElementType()) &&
         type.getElementType() == kernel.getRoot().getElementType() &&
         type.getDimSize(1) == kernel.getRoot().getDimSize(operand);
}

std::optional<gradc::PackedBlocks> gradc::packedBlocks(exec::KernelOp kernel,
                                                       const exec::Level &level) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (level.isCuda() || !schedule || schedule.isWinograd() || schedule.isAttention() ||
      schedule.getBlock().size() != 1 || kernel.getRoot().getRank() != 2 ||
      kernel.getYielded().size() != 1 || kernel.getBlock().getNumArguments() != 2 ||
      !runsAcross(kernel, 0) || !runsAcross(kernel, 1))
    return std::nullopt;
  if (auto rows = kernel.getRows(); rows && llvm::any_of(*rows, [](int64_t n) { return n != 0; }))
    return std::nullopt;

  const int64_t outer = schedule.getOrder().front(), inner = 1 - outer;
  const int64_t most = level.cachedBytes() / 2; // bytes of a factor's copies
  auto tilesOf = [&](int64_t dim) {
    return llvm::divideCeil(kernel.getRoot().getDimSize(dim), schedule.getTile()[dim]);
  };
  auto bytesOf = [&](int64_t dim, int64_t tiles) -> int64_t {
    int64_t row = tiles * schedule.getTile()[dim] * (kernel.getRoot().getElementTypeBitWidth() / 8);
    return llvm::alignTo(row * schedule.getBlock()[0], level.lineBytes);
  };
  // Units share the copies of the other factor, so results get more of the cache than in place.
  int64_t units = std::min<int64_t>(unitsWithin(kernel, level.cachedBytes()), tilesOf(outer));
  PackedBlocks packs{outer, units, {0, 0}};
  if (int64_t all = bytesOf(inner, tilesOf(inner)); readsBadly(kernel, inner) && all <= most)
    packs.bytes[inner] = all;
  if (readsBadly(kernel, outer)) {
    packs.units = std::clamp<int64_t>(most / bytesOf(outer, 1), 1, units);
    packs.bytes[outer] = bytesOf(outer, packs.units);
  }
  if (packs.scratch() == 0)
    return std::nullopt;
  return packs;
}
