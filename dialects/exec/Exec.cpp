// Verifiers, accessors and syntax of the exec dialect.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Blocks.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mlir::exec;

// [1, 16], and [] for a root space without dims.
static ParseResult parseDims(AsmParser &parser, SmallVector<int64_t> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(dims.emplace_back()); });
}
static void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << '[';
  llvm::interleaveComma(dims, printer);
  printer << ']';
}

#include "dialects/exec/ExecDialect.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/ExecOps.cpp.inc"
      >();
}

int64_t exec::layoutBytes(RankedTensorType type, PanelAttr layout) {
  int64_t elements = type.getNumElements();
  if (layout) {
    auto pad = [&](int64_t dim, int64_t multiple) {
      int64_t size = type.getDimSize(dim);
      elements = size == 0 ? 0 : elements / size * llvm::alignTo(size, multiple);
    };
    pad(layout.getDim(), layout.getWidth());
    if (layout.hasPairs())
      pad(layout.getPairs(), 2);
    if (layout.getWinograd())
      elements = elements / 9 * 16;
  }
  return elements * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

KernelOp exec::createKernel(MLIRContext *context, StringRef name, TypeRange arguments) {
  Location unknown = UnknownLoc::get(context);
  OperationState state(unknown, KernelOp::getOperationName());
  state.addRegion();
  auto kernel = cast<KernelOp>(Operation::create(state));
  kernel.setSymName(name);
  kernel.getBody().emplaceBlock().addArguments(arguments,
                                               SmallVector<Location>(arguments.size(), unknown));
  return kernel;
}

std::pair<int64_t, int64_t> exec::blockTile(KernelOp kernel) {
  constexpr int64_t mostColumns = 64;
  ArrayRef<int64_t> tile = kernel.getScheduleAttr().getTile();
  int64_t columns =
      std::min<int64_t>(mostColumns, llvm::PowerOf2Ceil(kernel.getRoot().getShape().back()));
  int64_t threadRows = kernel.getBlocksAttr().getThreads() / (columns / tile.back());
  return {threadRows * tile.drop_back().back(), columns};
}

int64_t exec::kernelUnits(KernelOp kernel) {
  ScheduleAttr schedule = kernel.getScheduleAttr();
  if (BlocksAttr blocks = kernel.getBlocksAttr()) {
    if (!schedule.getBlock().empty()) {
      auto [rows, columns] = blockTile(kernel);
      int64_t width = kernel.getRoot().getShape().back();
      return llvm::divideCeil(kernel.getRoot().getNumElements() / width, rows) *
             llvm::divideCeil(width, columns);
    }
    int64_t units = 1;
    for (int64_t d = 0; d < blocks.getRows(); ++d)
      units *= llvm::divideCeil(kernel.getRoot().getDimSize(d), schedule.getTile()[d]);
    return llvm::divideCeil(units, blocks.getUnits());
  }
  if (schedule.getOrder().empty())
    return 1;
  int64_t dim = schedule.getOrder().front();
  return llvm::divideCeil(kernel.getRoot().getDimSize(dim), schedule.getTile()[dim]);
}

PanelAttr KernelOp::getLayout(unsigned i) {
  return getLayouts() ? dyn_cast<PanelAttr>((*getLayouts())[i]) : PanelAttr();
}

void KernelOp::setLayout(unsigned i, PanelAttr layout) {
  unsigned count = getBlock().getNumArguments() + getYielded().size();
  SmallVector<Attribute> all(count, UnitAttr::get(getContext()));
  if (getLayouts())
    all.assign(getLayouts()->begin(), getLayouts()->end());
  all[i] = layout ? Attribute(layout) : UnitAttr::get(getContext());
  setLayoutsAttr(ArrayAttr::get(getContext(), all));
}

bool KernelOp::mayOverwrite(unsigned operand, unsigned result) {
  return llvm::is_contained(getInplace().value_or(ArrayRef<int64_t>()), int64_t(operand)) &&
         getBlock().getArgument(operand).getType() == getYielded()[result].getType() &&
         getLayout(operand) == getLayout(getBlock().getNumArguments() + result);
}

RankedTensorType KernelOp::getRoot() {
  RankedTensorType root;
  for (Value v : getYielded()) {
    auto t = cast<RankedTensorType>(v.getType());
    if (!root || t.getRank() > root.getRank() ||
        (t.getRank() == root.getRank() && t.getNumElements() > root.getNumElements()))
      root = t;
  }
  return root;
}

// exec.kernel @name(%a: tensor<..>, ...) -> (tensor<..>, ...) attributes {...} { ... }
ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, "sym_name", state.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  return parser.parseRegion(*state.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBlock().getArguments(), printer,
                        [&](BlockArgument a) { printer.printRegionArgument(a); });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verify() {
  size_t count = getBlock().getNumArguments() + getYielded().size();
  if (getLayouts() && getLayouts()->size() != count)
    return emitOpError("expected ")
           << count << " layouts (operands, then results), found " << getLayouts()->size();
  for (int64_t operand : getInplace().value_or(ArrayRef<int64_t>()))
    if (operand < 0 || operand >= int64_t(getBlock().getNumArguments()))
      return emitOpError("expected inplace operands below ")
             << getBlock().getNumArguments() << ", found " << operand;
  if (getYielded().empty())
    return emitOpError("expected at least one result");
  if (auto schedule = getScheduleAttr())
    if (schedule.getTile().size() != size_t(getRoot().getRank()) ||
        schedule.getOrder().size() != schedule.getTile().size())
      return emitOpError("expected tile and order of rank ") << getRoot().getRank();
  if (auto blocks = getBlocksAttr())
    if (blocks.getTeam() < 1 || blocks.getThreads() % blocks.getTeam() != 0 ||
        blocks.getRows() < 0 || blocks.getRows() > getRoot().getRank())
      return emitOpError("expected blocks of whole teams over at most ")
             << getRoot().getRank() << " dims, found " << blocks;
  if (LibraryAttr library = getLibraryAttr()) {
    if (library.getOperands().size() != (library.hasBias() ? 3 : 2) || getYielded().size() != 1)
      return emitOpError("expected ")
             << (library.hasBias() ? 3 : 2) << " operands and 1 result of a library call, found "
             << library.getOperands().size() << " and " << getYielded().size();
    for (int64_t operand : library.getOperands())
      if (operand < 0 || operand >= int64_t(getBlock().getNumArguments()))
        return emitOpError("expected operands of a library call below ")
               << getBlock().getNumArguments() << ", found " << operand;
  }
  return success();
}

static LogicalResult verifyKernelUse(Operation *op, FlatSymbolRefAttr kernel, size_t operands,
                                     size_t results, SymbolTableCollection &tables) {
  auto callee = tables.lookupNearestSymbolFrom<KernelOp>(op, kernel);
  if (!callee)
    return op->emitOpError("expected ") << kernel << " to be an exec.kernel";
  if (callee.getBlock().getNumArguments() != operands || callee.getYielded().size() != results)
    return op->emitOpError("expected ")
           << callee.getBlock().getNumArguments() << " operands and " << callee.getYielded().size()
           << " results, found " << operands << " and " << results;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyKernelUse(*this, getKernelAttr(), getOperands().size(), getNumResults(), tables);
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyKernelUse(*this, getKernelAttr(), getReads().size(), getWrites().size(), tables);
}
