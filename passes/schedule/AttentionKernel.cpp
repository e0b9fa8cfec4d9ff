// Block sizes, schedule, scratch and time of kernels that compute an attention or its gradient.
#include "passes/schedule/AttentionKernel.h"

#include "passes/kernel/CostModel.h"
#include "passes/schedule/KernelTime.h"
#include "passes/schedule/OneOpKernel.h"

#include <numeric>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// An attention, or its gradient, with enough queries and keys.
static bool suits(Operation *op, const exec::KernelLimits &limits) {
  AttentionForm form = cast<AttentionOpInterface>(op).getAttention();
  AttentionSizes sizes(form);
  return isa<Float32Type, Float64Type>(getElementTypeOrSelf(form.query.getType())) &&
         sizes.queries >= limits.minAttentionQueries && sizes.keys >= limits.minAttentionKeys;
}

AttentionOpInterface gradc::findAttention(exec::KernelOp kernel) {
  auto attentions = kernel.getBlock().getOps<AttentionOpInterface>();
  return attentions.empty() ? AttentionOpInterface() : *attentions.begin();
}

int64_t gradc::attentionStep(int64_t lanes, const exec::Level &level) {
  return std::lcm(lanes * level.tileVectors, level.tileRows);
}

/// At least `least`, but not much more than there are `available`.
static int64_t blockOf(int64_t least, int64_t available, int64_t lanes, const exec::Level &level) {
  return llvm::alignTo(std::max<int64_t>(std::min(least, available), 1),
                       attentionStep(lanes, level));
}

/// Keys of a gradient. Another block for less than a vector of them would add to memory once more.
static int64_t blockOfKeys(int64_t keys, int64_t lanes, const exec::Level &level) {
  int64_t block = blockOf(2 * lanes * level.tileVectors, keys, lanes, level), rest = keys % block;
  return keys > block && rest > 0 && rest < lanes ? block + attentionStep(lanes, level) : block;
}

// The side along the lanes is one register tile, or two for a gradient, so that adding to memory
// for each block of keys costs little compared with the products.
static AttentionBlock chooseBlock(const AttentionForm &form, int64_t lanes,
                                  const exec::Level &level) {
  AttentionSizes sizes(form);
  int64_t panel = lanes * level.tileVectors;
  auto rows = [&](int64_t most, int64_t available) {
    return int64_t(llvm::alignTo(std::min(most, available), level.tileRows));
  };
  if (form.isGradient())
    return {rows(level.blockSteps / 2, sizes.queries), blockOfKeys(sizes.keys, lanes, level)};
  return {blockOf(panel, sizes.queries, lanes, level), rows(level.blockSteps, sizes.keys)};
}

AttentionBlock gradc::attentionBlock(const AttentionForm &form, exec::ScheduleAttr schedule) {
  ArrayRef<int64_t> block = schedule.getBlock();
  if (form.isGradient())
    return {block[0], block[1]};
  return {schedule.getTile()[storedDim(form.order, /*dim=*/2)], block[0]};
}

/// A unit of an attention is a block of a head's queries; a unit of a gradient is a whole key head.
static exec::ScheduleAttr schedule(exec::KernelOp kernel, int64_t lanes, const exec::Level &level) {
  AttentionForm form = findAttention(kernel).getAttention();
  AttentionSizes sizes(form);
  AttentionBlock chosen = chooseBlock(form, lanes, level);
  ArrayRef<int64_t> root = kernel.getRoot().getShape();
  SmallVector<int64_t> tile(root), order;
  for (int64_t dim = 0; dim < 4; ++dim)
    order.push_back(storedDim(form.order, dim));
  tile[order[0]] = 1;
  tile[order[1]] = form.isGradient() ? root[order[1]] / sizes.keyHeads : 1;
  SmallVector<int64_t> block{chosen.queries, chosen.keys};
  if (!form.isGradient()) {
    tile[order[2]] = chosen.queries;
    block = {chosen.keys};
  }
  int64_t units = 1;
  for (auto [size, step] : llvm::zip(root, tile))
    units *= llvm::divideCeil(size, step);
  return exec::ScheduleAttr::get(kernel.getContext(), lanes, tile, order,
                                 CostModel(level).grain(kernel, units), block, /*panels=*/{},
                                 exec::Algorithm::attention);
}

bool gradc::masksQueries(const AttentionForm &form) {
  return form.mask &&
         cast<RankedTensorType>(form.mask.getType()).getDimSize(storedDim(form.order, /*dim=*/2)) >
             1;
}

AttentionScratch gradc::attentionScratch(const AttentionForm &form, const AttentionBlock &block,
                                         int64_t lanes) {
  AttentionSizes sizes(form);
  if (form.isGradient())
    return {{{sizes.size, block.keys},
             {sizes.width, block.keys},
             {block.queries, block.keys},
             {block.queries, block.keys},
             {1, sizes.queries}}};
  // The first of a mask's squares may begin before the block.
  int64_t masks = masksQueries(form) ? int64_t(llvm::alignTo(block.keys, lanes)) + lanes : 0;
  return {{{sizes.size, block.queries},
           {block.keys, block.queries},
           {masks, block.queries},
           {block.queries, int64_t(llvm::alignTo(sizes.width, lanes))},
           {3, block.queries}}};
}

int64_t gradc::scratchBytes(ArrayRef<int64_t> piece, int64_t elementBytes,
                            const exec::Level &level) {
  return llvm::alignTo(llvm::product_of(piece) * elementBytes, level.lineBytes);
}

static int64_t allScratchBytes(exec::KernelOp kernel, const exec::Level &level) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  AttentionForm form = findAttention(kernel).getAttention();
  int64_t bytes = 0, element = elementBytes(getElementTypeOrSelf(form.query.getType()));
  AttentionBlock block = attentionBlock(form, schedule);
  for (const auto &piece : attentionScratch(form, block, schedule.getLanes()))
    bytes += scratchBytes(piece, element, level);
  return bytes;
}

/// Products and exponentials of whole register tiles. Vectors are along queries, or along keys in
/// a gradient.
static double seconds(exec::KernelOp kernel, const exec::Level &core) {
  constexpr double exponential = 26; // instructions
  constexpr double reached = 0.8;    // of the peak
  AttentionOpInterface op = findAttention(kernel);
  AttentionForm form = op.getAttention();
  AttentionSizes sizes(form);
  int64_t lanes = kernel.getScheduleAttr().getLanes(), panel = lanes * core.tileVectors;
  auto [across, along] = form.isGradient() ? std::pair(sizes.queries, sizes.keys)
                                           : std::pair(sizes.keys, sizes.queries);
  double whole = double(llvm::alignTo(across, core.tileRows)) *
                 double(llvm::alignTo(along, panel)) / double(sizes.queries * sizes.keys);
  double flops = double(cast<CostOpInterface>(op.getOperation()).getFlops());
  return whole * (flops / (peakFlops(lanes, core) * reached) +
                  loopSeconds(double(sizes.pairs()) * exponential, core));
}

const OneOpKernel gradc::attentionKernel = {
    .isOf = [](Operation *op) { return isa<AttentionOpInterface>(op); },
    .suits = suits,
    .schedule = schedule,
    .seconds = seconds,
    .scratchBytes = allScratchBytes,
};
