// Accessors and syntax of the exec dialect.
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

// Nothing, ", pairs = 0", ", quads = 0", ", nibbles = 0" or ", winograd4x4".
static ParseResult parsePanelKind(AsmParser &parser, PanelKind &kind, int64_t &interleaved) {
  kind = PanelKind::values;
  interleaved = -1;
  if (failed(parser.parseOptionalComma()))
    return success();
  StringRef word;
  if (failed(parser.parseKeyword(&word)))
    return failure();
  std::optional<PanelKind> known = symbolizePanelKind(word);
  if (!known || *known == PanelKind::values)
    return parser.emitError(parser.getCurrentLocation())
           << "expected pairs, quads, nibbles, winograd2x2 or winograd4x4, found " << word;
  kind = *known;
  if (kind != PanelKind::pairs && kind != PanelKind::quads && kind != PanelKind::nibbles)
    return success();
  return failure(parser.parseEqual() || parser.parseInteger(interleaved));
}
static void printPanelKind(AsmPrinter &printer, PanelKind kind, int64_t interleaved) {
  if (kind == PanelKind::values)
    return;
  printer << ", " << stringifyPanelKind(kind);
  if (interleaved >= 0)
    printer << " = " << interleaved;
}

// Any of ", block = [1, 2]", ", panels = [0, 8]", ", turned = <..>" and the name of an algorithm.
static ParseResult parseWalk(AsmParser &parser, SmallVector<int64_t> &block,
                             SmallVector<int64_t> &panels, TurnedAttr &turned, Algorithm &algorithm,
                             SmallVector<int64_t> &spacing) {
  algorithm = Algorithm::direct;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    if (std::optional<Algorithm> named = symbolizeAlgorithm(word)) {
      algorithm = *named;
      continue;
    }
    auto *dims = word == "block"     ? &block
                 : word == "panels"  ? &panels
                 : word == "spacing" ? &spacing
                                     : nullptr;
    if (!dims && word != "turned")
      return parser.emitError(parser.getNameLoc(), "expected block, panels, spacing, turned or "
                                                   "algorithm");
    if (parser.parseEqual() ||
        (dims ? parseDims(parser, *dims) : parser.parseCustomAttributeWithFallback(turned)))
      return failure();
  }
  return success();
}
static void printWalk(AsmPrinter &printer, ArrayRef<int64_t> block, ArrayRef<int64_t> panels,
                      TurnedAttr turned, Algorithm algorithm, ArrayRef<int64_t> spacing) {
  for (auto [name, dims] : {std::pair("block", block), {"panels", panels}, {"spacing", spacing}})
    if (!dims.empty()) {
      printer << ", " << name << " = ";
      printDims(printer, dims);
    }
  if (turned) {
    printer << ", turned = ";
    printer.printStrippedAttrOrType(turned);
  }
  if (algorithm != Algorithm::direct)
    printer << ", " << stringifyAlgorithm(algorithm);
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
    if (layout.isInterleaved())
      pad(layout.getInterleaved(), layout.getTogether());
    if (layout.isWinograd())
      return elements / 9 * winogradSlots(layout.getWinogradOutputs()) * int64_t(sizeof(float));
  }
  int64_t bytes = elements * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return layout && layout.isOfNibbles() ? bytes / 2 : bytes;
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

int64_t exec::laneDim(ArrayRef<int64_t> tile, int64_t lanes) {
  for (int64_t dim = tile.size() - 1; dim >= 0; --dim)
    if (tile[dim] % lanes == 0)
      return dim;
  return tile.size() - 1;
}

int64_t exec::tilesAlong(KernelOp kernel, int64_t dim) {
  return llvm::divideCeil(kernel.getRoot().getDimSize(dim),
                          kernel.getScheduleAttr().getTile()[dim]);
}

int64_t exec::kernelUnits(KernelOp kernel) {
  ScheduleAttr schedule = kernel.getScheduleAttr();
  if (kernel.getThreads() > 0) {
    if (schedule && !schedule.getBlock().empty()) {
      auto [rows, columns] = blockTile(kernel);
      int64_t width = kernel.getRoot().getShape().back();
      return llvm::divideCeil(kernel.getRoot().getNumElements() / width, rows) *
             llvm::divideCeil(width, columns);
    }
    int64_t blocks = 0;
    for (const KernelPart &part : partsOf(kernel))
      blocks += part.blockCount();
    return blocks;
  }
  if (schedule.getOrder().empty())
    return 1;
  int64_t units = 1;
  for (int64_t dim : schedule.getOrder().take_front(schedule.getUnitDims()))
    units *= tilesAlong(kernel, dim);
  return units;
}

exec::KernelLaunches exec::launchesByKernel(ModuleOp module) {
  KernelLaunches launches;
  module.walk(
      [&](LaunchOp launch) { launches[launch.getKernelAttr().getAttr()].push_back(launch); });
  return launches;
}

void exec::eraseUnusedKernels(ModuleOp module) {
  KernelLaunches launches = launchesByKernel(module);
  for (auto kernel : llvm::to_vector(module.getOps<KernelOp>()))
    if (!launches.contains(kernel.getSymNameAttr()))
      kernel.erase();
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

bool KernelOp::readsPairs() {
  return llvm::any_of(llvm::seq(getBlock().getNumArguments()), [&](unsigned i) {
    PanelAttr layout = getLayout(i);
    return layout && layout.isOfPairs();
  });
}

/// Whether an operand is read only by the part that computes a result. Blocks of other parts are
/// not synchronized with it.
static bool inOnePart(ArrayAttr parts, int64_t operand, int64_t result) {
  if (!parts)
    return true;
  for (auto part : parts.getAsRange<PartAttr>()) {
    operand -= part.getOperands();
    result -= part.getResults();
    if (operand < 0 || result < 0)
      return operand < 0 && result < 0;
  }
  return false;
}

bool KernelOp::mayOverwrite(unsigned operand, unsigned result) {
  if (PatchAttr patch = getPatchAttr())
    return operand == patch.getTable() &&
           getLayout(operand) == getLayout(getBlock().getNumArguments() + result);
  // Libraries do not guarantee to read an operand before they overwrite it.
  return !getLibraryAttr() &&
         llvm::is_contained(getInplace().value_or(ArrayRef<int64_t>()), int64_t(operand)) &&
         getBlock().getArgument(operand).getType() == getYielded()[result].getType() &&
         getLayout(operand) == getLayout(getBlock().getNumArguments() + result) &&
         inOnePart(getPartsAttr(), operand, result);
}

RankedTensorType KernelOp::getRoot() {
  if (PatchAttr patch = getPatchAttr())
    return cast<RankedTensorType>(getBlock().getArgument(patch.getValues()).getType());
  return largestOf(getYielded());
}

int64_t KernelOp::getThreads() {
  if (getParts() && !getParts()->empty())
    return cast<PartAttr>((*getParts())[0]).getBlocks().getThreads();
  return getBlocksAttr() ? getBlocksAttr().getThreads() : 0;
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

SmallVector<int64_t> KernelOp::getExtentsOf(unsigned operand) {
  if (ArrayAttr extents = getExtentsAttr())
    return SmallVector<int64_t>(cast<DenseI64ArrayAttr>(extents[operand]).asArrayRef());
  Type type = getBlock().getArgument(operand).getType();
  return SmallVector<int64_t>(cast<RankedTensorType>(type).getRank(), 0);
}
