// Verifiers of the exec dialect.
#include "dialects/exec/Blocks.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::exec;

/// Whether the operand is stored in panels of values, or in rows, along another dim than the turned
/// one, whose columns are the outermost loop of direct sums. Of several matrices in rows, one is
/// turned at a time.
static LogicalResult verifyTurned(KernelOp kernel, ScheduleAttr schedule) {
  TurnedAttr turned = schedule.getTurned();
  int64_t operand = turned.getOperand(), dim = turned.getDim(), rank = kernel.getRoot().getRank();
  if (operand < 0 || operand >= int64_t(kernel.getBlock().getNumArguments()))
    return kernel.emitOpError("expected an operand to turn, found ") << turned;
  auto type = cast<RankedTensorType>(kernel.getBlock().getArgument(operand).getType());
  PanelAttr layout = kernel.getLayout(operand);
  int64_t along = layout ? layout.getDim() : type.getRank() - 1;
  bool areVectors =
      layout ? layout.getKind() == PanelKind::values && layout.getWidth() % schedule.getLanes() == 0
             : type.getRank() >= 2 && type.getShape().back() >= schedule.getLanes();
  bool hasMatrices = !layout && type.getRank() > 2;
  if (!areVectors || dim < 0 || dim >= type.getRank() || dim == along || turned.getTiles() < 1 ||
      rank == 0 || type.getDimSize(dim) != kernel.getRoot().getDimSize(rank - 1))
    return kernel.emitOpError("expected an operand in panels of whole vectors, or matrices of "
                              "rows of a vector, along another dim than the turned one, which "
                              "has the root's columns, found ")
           << turned;
  if (hasMatrices ? turned.getTiles() != 1 || schedule.getOrder().back() == rank - 1
                  : schedule.getOrder().front() != rank - 1)
    return kernel.emitOpError("expected column tiles as units, or one tile of a batch's matrix "
                              "outside its rows, where an operand is turned, found ")
           << schedule;
  if (!schedule.getBlock().empty() || !schedule.getPanels().empty() ||
      schedule.getAlgorithm() != Algorithm::direct)
    return kernel.emitOpError("expected direct, whole sums where an operand is turned, found ")
           << schedule;
  return success();
}

/// Whether tiles have spacing inside the outermost dim, and not along their vectors or the rows of
/// a run, whose last tiles are computed row by row.
static LogicalResult verifySpacing(KernelOp kernel, ScheduleAttr schedule) {
  ArrayRef<int64_t> spacing = schedule.getSpacing(), order = schedule.getOrder();
  auto isSpaced = [&](int64_t d) { return spacing[d] > 1; };
  auto holdsRows = [&](int64_t d) { return kernel.getRowsOf(d) > 0; };
  if (spacing.size() == order.size() && !order.empty() && isPermutationVector(order) &&
      llvm::all_of(spacing, [](int64_t n) { return n >= 1; }) && spacing[order.front()] == 1 &&
      llvm::none_of(order, [&](int64_t d) { return isSpaced(d) && holdsRows(d); }) &&
      spacing[laneDim(schedule.getTile(), schedule.getLanes())] == 1 &&
      schedule.getBlock().empty() && schedule.getPanels().empty() &&
      schedule.getAlgorithm() == Algorithm::direct && kernel.getThreads() == 0)
    return success();
  return kernel.emitOpError("expected a spacing of direct sums on a CPU, 1 along the outermost "
                            "dim, vectors and rows of a run, found ")
         << schedule;
}

static LogicalResult verifySchedule(KernelOp kernel, ScheduleAttr schedule, BlocksAttr blocks,
                                    RankedTensorType root) {
  int64_t rank = root.getRank();
  if (schedule && (schedule.getTile().size() != size_t(rank) ||
                   schedule.getOrder().size() != schedule.getTile().size()))
    return kernel.emitOpError("expected tile and order of rank ") << rank;
  if (schedule && schedule.getLanes() < 1)
    return kernel.emitOpError("expected vectors of 1 lane or more, found ") << schedule;
  if (schedule && !schedule.getPanels().empty()) {
    ArrayRef<int64_t> panels = schedule.getPanels();
    if (rank != 2 || panels.size() != 2 || panels[0] < 0 || panels[1] < 0 ||
        !isPermutationVector(schedule.getOrder()) || panels[schedule.getOrder()[1]] > 1)
      return kernel.emitOpError("expected panels of two factors of a matrix, at most one of the "
                                "inner dim's, found ")
             << schedule << " and rank " << rank;
    if (blocks || schedule.getAlgorithm() != Algorithm::direct || kernel.getPatchAttr())
      return kernel.emitOpError("expected panels on a CPU, of a direct product");
  }
  if (schedule && schedule.getAlgorithm() == Algorithm::scatter &&
      (schedule.getBlock().size() != 1 || blocks || rank == 0 || kernel.getPatchAttr() ||
       schedule.getBlock()[0] < 1 || schedule.getBlock()[0] > UINT16_MAX))
    return kernel.emitOpError("expected a number of units of a scatter, found ") << schedule;
  if (schedule && schedule.getTurned() && failed(verifyTurned(kernel, schedule)))
    return failure();
  if (schedule && !schedule.getSpacing().empty() && failed(verifySpacing(kernel, schedule)))
    return failure();
  if (schedule && !isPermutationVector(schedule.getOrder()))
    return kernel.emitOpError("expected an order of all dims, found ") << schedule;
  if (schedule)
    for (auto [extent, size] : llvm::zip_equal(schedule.getTile(), root.getShape()))
      if (extent < 1 && size > 0)
        return kernel.emitOpError("expected tiles of 1 element or more, found ") << schedule;
  if (blocks && (blocks.getTeam() < 1 || blocks.getThreads() % blocks.getTeam() != 0 ||
                 blocks.getRows() < 0 || blocks.getRows() > rank))
    return kernel.emitOpError("expected blocks of whole teams over at most ")
           << rank << " dims, found " << blocks;
  return success();
}

static LogicalResult verifyLibrary(KernelOp kernel, LibraryAttr library) {
  size_t operands = 2 + (library.hasBias() || library.isGeluGrad()), results = 1 + library.keeps();
  if (library.getOperands().size() != operands || kernel.getYielded().size() != results)
    return kernel.emitOpError("expected ")
           << operands << " operands and " << results << " result" << (results > 1 ? "s" : "")
           << " of a library call, found " << library.getOperands().size() << " and "
           << kernel.getYielded().size();
  if (library.keeps() && (!library.hasGelu() || library.getKept() > 1))
    return kernel.emitOpError("expected a library call to keep result 0 or 1 of a GELU, found ")
           << library;
  for (int64_t operand : library.getOperands())
    if (operand < 0 || operand >= int64_t(kernel.getBlock().getNumArguments()))
      return kernel.emitOpError("expected operands of a library call below ")
             << kernel.getBlock().getNumArguments() << ", found " << operand;
  return success();
}

/// Parts run concurrently, so no part may read memory that another part may overwrite.
static LogicalResult verifyReads(KernelOp kernel) {
  for (auto [i, part] : llvm::enumerate(partsOf(kernel))) {
    llvm::SetVector<Value> values(part.results.begin(), part.results.end());
    for (size_t v = 0; v < values.size(); ++v) {
      if (Operation *op = values[v].getDefiningOp()) {
        values.insert(op->operand_begin(), op->operand_end());
        continue;
      }
      if (auto operand = cast<BlockArgument>(values[v]);
          !llvm::is_contained(part.operands, operand))
        return kernel.emitOpError("expected part ")
               << i << " to read operands of its own, found operand " << operand.getArgNumber();
    }
  }
  return success();
}

static LogicalResult verifyParts(KernelOp kernel) {
  if (kernel.getScheduleAttr() || kernel.getBlocksAttr() || kernel.getLibraryAttr())
    return kernel.emitOpError("expected parts in the place of a schedule or a library call");
  int64_t operands = 0, results = 0;
  for (auto part : kernel.getPartsAttr().getAsRange<PartAttr>()) {
    if (part.getOperands() < 0 || part.getResults() < 1)
      return kernel.emitOpError("expected a part to have results, found ") << part;
    operands += part.getOperands();
    results += part.getResults();
  }
  if (operands != int64_t(kernel.getBlock().getNumArguments()) ||
      results != int64_t(kernel.getYielded().size()))
    return kernel.emitOpError("expected parts of ")
           << kernel.getBlock().getNumArguments() << " operands and of "
           << kernel.getYielded().size() << " results, found " << operands << " and " << results;
  for (const KernelPart &part : partsOf(kernel)) {
    if (failed(verifySchedule(kernel, part.schedule, part.blocks, part.getRoot())))
      return failure();
    if (part.blocks.getThreads() != kernel.getThreads())
      return kernel.emitOpError("expected parts with blocks of ")
             << kernel.getThreads() << " threads, found " << part.blocks.getThreads();
    if (!part.schedule.getBlock().empty())
      return kernel.emitOpError("expected parts without a contraction through shared memory");
  }
  return verifyReads(kernel);
}

static LogicalResult verifyExtents(KernelOp kernel) {
  ArrayAttr extents = kernel.getExtentsAttr();
  if (bool(extents) != kernel.getRows().has_value())
    return kernel.emitOpError("expected extents and rows together");
  if (!extents)
    return success();
  auto arguments = kernel.getBlock().getArguments();
  if (extents.size() != arguments.size())
    return kernel.emitOpError("expected ")
           << arguments.size() << " lists of extents, one an operand, found " << extents.size();
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (size_t rank = cast<RankedTensorType>(argument.getType()).getRank();
        kernel.getExtentsOf(i).size() != rank)
      return kernel.emitOpError("expected ")
             << rank << " extents of operand " << i << ", found " << kernel.getExtentsOf(i).size();
  if (size_t rank = kernel.getRoot().getRank(); kernel.getRows()->size() != rank)
    return kernel.emitOpError("expected ") << rank << " rows, found " << kernel.getRows()->size();
  return success();
}

static LogicalResult verifyPatch(KernelOp kernel) {
  PatchAttr patch = kernel.getPatchAttr();
  if (!patch)
    return success();
  int64_t operands = kernel.getBlock().getNumArguments();
  for (int64_t operand : {patch.getTable(), patch.getRows(), patch.getValues()})
    if (operand < 0 || operand >= operands)
      return kernel.emitOpError("expected operands of a patch below ")
             << operands << ", found " << operand;
  auto typeOf = [&](int64_t operand) {
    return cast<RankedTensorType>(kernel.getBlock().getArgument(operand).getType());
  };
  RankedTensorType table = typeOf(patch.getTable()), rows = typeOf(patch.getRows()),
                   values = typeOf(patch.getValues());
  if (kernel.getYielded().size() != 1 || kernel.getYielded()[0].getType() != table)
    return kernel.emitOpError("expected a patch to have one result, of type ") << table;
  if (table.getRank() == 0 || rows.getRank() != 1 || values.getRank() != table.getRank() ||
      values.getDimSize(0) != rows.getDimSize(0) ||
      values.getShape().drop_front() != table.getShape().drop_front())
    return kernel.emitOpError("expected a patch of rows of ")
           << table << ", found " << values << " at " << rows;
  if (kernel.getBlocksAttr() || kernel.getParts() || kernel.getLibraryAttr() || kernel.getRows())
    return kernel.emitOpError("expected a patch on a CPU, with a fixed number of rows");
  return success();
}

/// Whether the layout divides dims that a tensor of the type has.
static bool isLayoutOf(PanelAttr layout, RankedTensorType type) {
  auto isDim = [&](int64_t dim) { return dim >= 0 && dim < type.getRank(); };
  return isDim(layout.getDim()) && layout.getWidth() >= 1 &&
         (!layout.isInterleaved() ||
          (isDim(layout.getInterleaved()) && layout.getInterleaved() != layout.getDim())) &&
         (!layout.isOfNibbles() ||
          (type.getElementType().isSignlessInteger(8) &&
           type.getDimSize(layout.getInterleaved()) % layout.getTogether() == 0));
}

/// Operands are static tensors, and layouts are those of their types. (The body has verified the
/// types of results.)
static LogicalResult verifyOperands(KernelOp kernel) {
  for (BlockArgument operand : kernel.getBlock().getArguments())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()); !type || !type.hasStaticShape())
      return kernel.emitOpError("expected operands to be static tensors, found ")
             << operand.getType();
  size_t operands = kernel.getBlock().getNumArguments(), results = kernel.getYielded().size();
  if (!kernel.getLayouts())
    return success();
  if (kernel.getLayouts()->size() != operands + results)
    return kernel.emitOpError("expected ")
           << operands + results << " layouts (operands, then results), found "
           << kernel.getLayouts()->size();
  for (unsigned i = 0; i < operands + results; ++i) {
    Type type = i < operands ? kernel.getBlock().getArgument(i).getType()
                             : kernel.getYielded()[i - operands].getType();
    PanelAttr layout = kernel.getLayout(i);
    if (layout && !isLayoutOf(layout, cast<RankedTensorType>(type)))
      return kernel.emitOpError("expected a layout of ") << type << ", found " << layout;
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (failed(verifyOperands(*this)))
    return failure();
  for (int64_t operand : getInplace().value_or(ArrayRef<int64_t>()))
    if (operand < 0 || operand >= int64_t(getBlock().getNumArguments()))
      return emitOpError("expected inplace operands below ")
             << getBlock().getNumArguments() << ", found " << operand;
  if (getYielded().empty())
    return emitOpError("expected at least one result");
  if (failed(verifyPatch(*this)) || failed(verifyExtents(*this)))
    return failure();
  if (getParts())
    return verifyParts(*this);
  if (failed(verifySchedule(*this, getScheduleAttr(), getBlocksAttr(), getRoot())))
    return failure();
  return getLibraryAttr() ? verifyLibrary(*this, getLibraryAttr()) : success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("expected ") << getKernelAttr() << " to be an exec.kernel";
  size_t operands = kernel.getBlock().getNumArguments(), results = kernel.getYielded().size();
  if (operands != getOperands().size() || results != getNumResults())
    return emitOpError("expected ") << operands << " operands and " << results << " results, found "
                                    << getOperands().size() << " and " << getNumResults();
  return success();
}

/// The type of a state, which is the only kind of symbol that the grad dialect has.
static FailureOr<RankedTensorType> findStateType(Operation *user, FlatSymbolRefAttr name,
                                                 SymbolTableCollection &tables) {
  Operation *state = tables.lookupNearestSymbolFrom(user, name);
  if (state && state->getName().getDialectNamespace() == "grad")
    if (auto type = state->getAttrOfType<TypeAttr>("type"))
      return cast<RankedTensorType>(type.getValue());
  return user->emitOpError("expected ") << name << " to be a state";
}

static LogicalResult verifyBuffer(Operation *user, FlatSymbolRefAttr name,
                                  SymbolTableCollection &tables) {
  if (tables.lookupNearestSymbolFrom<BufferOp>(user, name))
    return success();
  return user->emitOpError("expected ") << name << " to be an exec.buffer";
}

LogicalResult LoadOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyBuffer(*this, getBufferAttr(), tables);
}
LogicalResult StoreOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyBuffer(*this, getBufferAttr(), tables);
}
LogicalResult BufferOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (getCutAttr() && !tables.lookupNearestSymbolFrom<CutOp>(*this, getCutAttr()))
    return emitOpError("expected ") << getCutAttr() << " to be an exec.cut";
  FailureOr<RankedTensorType> type = findStateType(*this, getStateAttr(), tables);
  if (failed(type))
    return failure();
  if (getLayout() && !isLayoutOf(*getLayout(), *type))
    return emitOpError("expected a layout of ") << *type << ", found " << *getLayout();
  return success();
}
LogicalResult CutOp::verifySymbolUses(SymbolTableCollection &tables) {
  return findStateType(*this, getStateAttr(), tables);
}

LogicalResult CutOp::verify() {
  if (int64_t(getElements()) < 1 || int64_t(getUnit()) < 1 || getUnit() > getElements())
    return emitOpError("expected 1 element or more by units of at most as many, found ")
           << getElements() << " by " << getUnit();
  return success();
}
