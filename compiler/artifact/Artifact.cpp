// Converts planned modules to the artifact's structs; one function per struct.
#include "compiler/artifact/Artifact.h"

#include "compiler/artifact/Blob.h"
#include "compiler/artifact/Job.h"
#include "compiler/artifact/Kinds.h"
#include "compiler/artifact/LibraryCall.h"
#include "compiler/artifact/StateCodes.h"
#include "compiler/codegen/Codegen.h"
#include "dialects/exec/Blocks.h"
#include "passes/distribution/Stages.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/entry/Ports.h"
#include "passes/layout/FactorPanels.h"
#include "passes/schedule/KernelScratch.h"
#include "passes/schedule/Tuning.h"
#include "passes/training/Averages.h"
#include "passes/training/TrainedStates.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/include/gradc/hash.h"

using namespace mlir;
using namespace mlir::grad;

static_assert(exec::maxDepth == GRADC_MAX_DEPTH && exec::maxLoops == GRADC_MAX_LOOPS &&
              exec::maxIterations == GRADC_MAX_ITERATIONS);
static_assert(std::string_view(gradc::averageSuffix) == GRADC_AVERAGE_SUFFIX);
static_assert(gradc::maxTransfers == GRADC_MAX_TRANSFERS);

namespace gradc {
namespace {

StringRef stringOf(DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary.getAs<StringAttr>(name);
  return value ? value.getValue() : StringRef();
}

class Writer {
public:
  Writer(const Imported &imported) : imported(imported) {
    for (const InitializerRange &range : imported.ranges)
      rangesOf[range.state].push_back(&range);
  }

  std::string write(ArrayRef<CompiledLevel> levels, StringRef directory) {
    gradc_artifact_header header{};
    header.model = blob.appendBytes(imported.modelBytes);
    for (const InitializerRange &range : imported.ranges)
      blob.offer(initializers.emplace_back(header.model.offset + range.offset, range.bytes));
    header.states = writeStates(levels.front().module);
    header.model_hash = gradc_hash_end(&modelHash);
    std::vector<gradc_artifact_level> written;
    for (const CompiledLevel &level : levels)
      written.push_back(writeLevel(level));
    header.levels = blob.append(ArrayRef(written));
    if (imported.spec)
      header.job = appendJob(blob, imported, directory);
    return blob.finish(header);
  }

private:
  gradc_artifact_tensor tensor(StringRef name, RankedTensorType type) {
    gradc_artifact_tensor t{};
    t.name = blob.intern(name);
    t.dtype = elementKind(type.getElementType());
    t.shape = blob.append(type.getShape());
    t.bytes = bytesOf(type);
    return t;
  }

  gradc_range writeStates(ModuleOp module) {
    std::vector<gradc_artifact_state> states;
    auto isDerived = [](StateOp op) { return op.getKind() == StateKind::derived; };
    auto ordered = llvm::to_vector(module.getOps<StateOp>());
    std::ranges::stable_partition(ordered, std::not_fn(isDerived));
    for (StateOp op : ordered) {
      gradc_artifact_state state{};
      state.tensor = tensor(op.getSymName(), op.getWholeType());
      if (auto shard = op.getShard()) {
        state.shards = uint64_t((*shard)[2]);
        state.runs = uint64_t(op.getShardRuns());
      }
      state.kind = stateKind(op.getKind());
      if (auto rule = op->getAttrOfType<StringAttr>(slotRuleName))
        state.rule = blob.intern(rule.getValue());
      writeInitial(op, state);
      std::vector<gradc_artifact_place> places;
      if (isExported(op))
        for (const InitializerRange *range : rangesOf.lookup(modelName(op))) {
          uint32_t type = narrowType(op);
          assert(range->bytes == (type ? state.tensor.bytes / 2 : state.tensor.bytes) &&
                 "a state is stored as its initializer is");
          places.push_back({range->offset, range->transposed, type});
        }
      state.places = blob.append(ArrayRef(places));
      stateIndex[op.getSymName()] = states.size();
      states.push_back(state);
      addToModelHash(op);
    }
    return blob.append(ArrayRef(states));
  }

  /// The name of the model's tensor that a state holds or averages.
  static StringRef modelName(StateOp op) {
    StringRef name = op.getSymName();
    return op.getKind() == StateKind::average ? name.drop_back(strlen(averageSuffix)) : name;
  }

  /// The type of the weight of an average, if it is another one; 0.
  uint32_t narrowType(StateOp op) {
    auto name = StringAttr::get(op.getContext(), modelName(op));
    auto weight = symbols.lookupSymbolIn<StateOp>(op->getParentOfType<ModuleOp>(), name);
    Type element = weight ? weight.getWholeType().getElementType() : Type();
    return !weight || element == op.getWholeType().getElementType() ? 0 : elementKind(element);
  }

  /// An average is exported instead of its weight.
  bool isExported(StateOp op) {
    auto name = StringAttr::get(op.getContext(), op.getSymName() + averageSuffix);
    auto average = symbols.lookupSymbolIn<StateOp>(op->getParentOfType<ModuleOp>(), name);
    return !average || average.getKind() != StateKind::average;
  }

  /// The whole state's logical type: the order in which a pass stores it is not the model's, and
  /// neither are constants and derived states, which no checkpoint holds.
  void addToModelHash(StateOp op) {
    if (op.getKind() == StateKind::constant || op.getKind() == StateKind::derived)
      return;
    std::string signature;
    llvm::raw_string_ostream(signature) << op.getSymName() << ':' << op.getWholeType() << ';';
    gradc_hash_add(&modelHash, signature.data(), signature.size());
  }

  void writeInitial(StateOp op, gradc_artifact_state &state) {
    auto dense = dyn_cast<DenseElementsAttr>(op.getInitial());
    if (dense && dense.isSplat()) {
      auto one = RankedTensorType::get({1}, dense.getElementType());
      state.splat = 1;
      state.initial = blob.appendShared(HostTensor(ElementsAttr(dense.resizeSplat(one))).bytes());
    } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getInitial())) {
      writeElements(op, resource.getData().take_front(state.tensor.bytes), state);
    } else {
      writeElements(op, HostTensor(op.getInitial()).bytes(), state);
    }
  }

  void writeElements(StateOp op, ArrayRef<char> elements, gradc_artifact_state &state) {
    bool mayBeCodes = op.getWholeType().getElementType().isInteger(8) && !blob.holds(elements);
    if (!mayBeCodes || !placeCodes(blob, initializers, elements, state))
      state.initial = blob.appendShared(elements);
  }

  gradc_artifact_level writeLevel(const CompiledLevel &compiled) {
    ModuleOp module = compiled.module;
    gradc_artifact_level level{};
    StringRef name = levelNameOf(module).getValue();
    level.name = blob.intern(name);
    level.image = blob.appendBytes(compiled.image);

    bufferIndex.clear();
    kernelIndex.clear();
    cutIndex.clear();
    std::vector<gradc_artifact_cut> cuts;
    for (auto op : module.getOps<exec::CutOp>()) {
      cuts.push_back({op.getElements(), op.getUnit()});
      cutIndex[op.getSymName()] = uint32_t(cuts.size());
    }
    std::vector<gradc_artifact_buffer> buffers;
    for (auto op : module.getOps<exec::BufferOp>()) {
      auto state = symbols.lookupSymbolIn<StateOp>(module, op.getStateAttr());
      bool isPacked = op.getLayout() || state.getPermutation();
      gradc_buffer_kind kind = op.getKind() == exec::BufferKind::mirror ? GRADC_BUFFER_MIRROR
                               : isPacked                               ? GRADC_BUFFER_PACKED
                                                                        : GRADC_BUFFER_PLAIN;
      bufferIndex[op.getSymName()] = uint32_t(buffers.size());
      buffers.push_back({stateIndex.lookup(op.getState()), kind, uint64_t(op.getBytes()),
                         cutOf(op.getCutAttr()), 0});
    }
    std::vector<gradc_artifact_kernel> kernels;
    const exec::Level &row = *exec::findLevel(name);
    llvm::StringMap<llvm::BitVector> moving;
    if (row.isCuda())
      moving = exec::movingSlices(module);
    for (auto op : module.getOps<exec::KernelOp>()) {
      level.scratch = std::max(level.scratch, uint64_t(kernelScratch(op, row)));
      kernelIndex[op.getSymName()] = kernels.size();
      kernels.push_back(writeKernel(op));
      kernels.back().takes_offsets = moving.contains(op.getSymName());
    }
    std::vector<gradc_artifact_entry> entries;
    for (auto op : module.getOps<exec::EntryOp>())
      entries.push_back(writeEntry(op));
    writeBuckets(module, entries);
    level.buffers = blob.append(ArrayRef(buffers));
    level.kernels = blob.append(ArrayRef(kernels));
    level.entries = blob.append(ArrayRef(entries));
    level.cuts = blob.append(ArrayRef(cuts));
    if (auto hash = module->getAttrOfType<IntegerAttr>(tuningAttribute))
      level.tuning_hash = hash.getValue().getZExtValue();
    return level;
  }

  /// The artifact numbers cuts from 1.
  uint32_t cutOf(FlatSymbolRefAttr name) const {
    return name ? cutIndex.lookup(name.getValue()) : 0;
  }

  /// Finds the entries named like another one with the suffix ".rows.N".
  void writeBuckets(ModuleOp module, MutableArrayRef<gradc_artifact_entry> entries) {
    SmallVector<StringRef> names;
    for (auto op : module.getOps<exec::EntryOp>())
      names.push_back(op.getSymName());
    for (auto [entry, name] : llvm::zip_equal(entries, names)) {
      std::vector<uint32_t> buckets;
      for (size_t i = 0; i < names.size() && entry.batch > 0; ++i) {
        StringRef other = names[i];
        if (uint64_t rows; other.consume_front(name) && other.consume_front(GRADC_ROWS_INFIX) &&
                           !other.getAsInteger(10, rows))
          buckets.push_back(uint32_t(i));
      }
      llvm::sort(buckets,
                 [&](uint32_t a, uint32_t b) { return entries[a].batch < entries[b].batch; });
      entry.buckets = blob.append(ArrayRef(buckets));
    }
  }

  gradc_range writeNames(ArrayAttr names) {
    std::vector<gradc_string> strings;
    if (names)
      for (auto name : names.getAsRange<StringAttr>())
        strings.push_back(blob.intern(name.getValue()));
    return blob.append(ArrayRef(strings));
  }

  gradc_artifact_kernel writeKernel(exec::KernelOp op) {
    gradc_artifact_kernel kernel{};
    kernel.symbol = blob.intern(kernelSymbol(op));
    kernel.title = blob.intern(op.getSymName());
    kernel.nodes = writeNames(op.getNodesAttr());
    kernel.flops = op.getFlops().value_or(0);
    kernel.bytes = op.getBytes().value_or(0);
    kernel.units = exec::kernelUnits(op);
    writeUnitsOfRows(op, kernel);
    kernel.grain = op.getParts() ? 1 : op.getScheduleAttr().getGrain();
    kernel.together = uint16_t(std::min<int64_t>(unitsTogether(op), UINT16_MAX));
    kernel.threads = op.getThreads();
    if (auto product = dyn_cast_or_null<ContractionOpInterface>(productOf(op)))
      kernel.factors = uint8_t(elementKind(getElementTypeOrSelf(product->getOperand(0).getType())));
    if (op.getLibraryAttr()) {
      gradc_artifact_call call = libraryCall(op);
      kernel.call = blob.append(ArrayRef(call));
    }
    return kernel;
  }

  static void writeUnitsOfRows(exec::KernelOp op, gradc_artifact_kernel &kernel) {
    kernel.times = kernel.per = 1;
    if (op.getThreads() > 0) {
      exec::BlocksOfRows blocks = exec::blocksOfRows(op);
      kernel.rows = blocks.rows;
      kernel.tile = blocks.tile;
      kernel.times = blocks.times;
      kernel.per = blocks.per;
    } else if (op.getRows() && !op.getScheduleAttr().getOrder().empty()) {
      int64_t dim = op.getScheduleAttr().getOrder().front();
      kernel.rows = op.getRowsOf(dim);
      kernel.tile = op.getScheduleAttr().getTile()[dim];
      if (op.getScheduleAttr().isOfOneOp())
        kernel.times = kernel.units / exec::tilesAlong(op, dim);
    }
  }

  gradc_artifact_slice writeSlice(exec::SliceAttr slice, exec::PanelAttr layout) {
    gradc_artifact_slice s{};
    s.space = spaceOf(slice.getSpace());
    s.index = slice.getIndex();
    s.offset = slice.getOffset();
    s.bytes = exec::layoutBytes(slice.getType(), layout);
    s.dtype = elementKind(slice.getType().getElementType());
    s.packed = bool(layout);
    s.strides = blob.append(slice.getStrides());
    if (slice.getSpace() == exec::Space::buffer)
      s.index = bufferIndex.lookup(slice.getBuffer().getValue());
    return s;
  }

  gradc_artifact_node writeNode(Operation *op) {
    gradc_artifact_node node{};
    std::vector<gradc_artifact_slice> slices;
    for (const exec::Access &access : exec::accessesOf(op, symbols)) {
      node.operands += !access.isWrite;
      slices.push_back(writeSlice(access.slice, access.layout));
    }
    node.slices = blob.append(ArrayRef(slices));
    node.node = blob.intern(exec::nodesText(op));
    if (auto dispatch = dyn_cast<exec::DispatchOp>(op)) {
      node.kind = GRADC_NODE_LAUNCH;
      node.as.launch = {kernelIndex.lookup(dispatch.getKernel()), cutOf(dispatch.getCutAttr()),
                        int64_t(dispatch.getPer().value_or(1))};
    } else if (auto loop = dyn_cast<exec::LoopOp>(op)) {
      node.kind = GRADC_NODE_LOOP;
      node.as.loop.trips = int64_t(loop.getTrips());
    } else if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
      node.kind = GRADC_NODE_COLLECTIVE;
      std::vector<uint32_t> cuts;
      if (ArrayAttr names = collective.getCutsAttr())
        for (auto name : names.getAsRange<FlatSymbolRefAttr>())
          cuts.push_back(cutOf(name) - 1);
      std::vector<uint32_t> zeros(collective.getZeros().begin(), collective.getZeros().end());
      node.as.collective = {collective.getBf16() ? uint32_t(GRADC_WIRE_BF16) : GRADC_WIRE_FULL,
                            collectiveKind(collective), /*transfer=*/0, blob.append(ArrayRef(cuts)),
                            blob.append(ArrayRef(zeros))};
    } else if (auto transfer = dyn_cast<exec::TransferOp>(op)) {
      node.kind = GRADC_NODE_COLLECTIVE;
      node.as.collective.kind = transfer.getSend() ? GRADC_TRANSFER_SEND : GRADC_TRANSFER_RECEIVE;
      node.as.collective.transfer =
          gradc_transfer(transfer.getPeer(), transfer.getNumber(), transfer.getRows());
    } else {
      node.kind = isa<exec::CopyOp>(op) ? GRADC_NODE_COPY : GRADC_NODE_IF;
    }
    return node;
  }

  /// Writes nodes in preorder: a node is followed by the nodes of its bodies.
  void writeBody(Region &body, std::vector<gradc_artifact_node> &nodes) {
    if (body.empty())
      return;
    for (Operation &op : body.front()) {
      size_t index = nodes.size();
      nodes.push_back(writeNode(&op));
      for (Region &region : op.getRegions()) {
        if (region.getRegionNumber() == 1)
          nodes[index].as.branch.otherwise = nodes.size();
        writeBody(region, nodes);
      }
      nodes[index].end = nodes.size();
    }
  }

  gradc_artifact_port writePort(DictionaryAttr attributes, bool isBatched) {
    gradc_artifact_port port{};
    auto type = cast<RankedTensorType>(attributes.getAs<TypeAttr>("type").getValue());
    if (auto element = attributes.getAs<TypeAttr>("element"))
      type = type.clone(element.getValue());
    port.tensor = tensor(stringOf(attributes, "name"), type);
    port.role = roleOf(stringOf(attributes, "role"));
    port.field = blob.intern(stringOf(attributes, "field"));
    if (auto classes = attributes.getAs<IntegerAttr>("classes"))
      port.classes = classes.getInt();
    port.batched = isBatched && attributes.contains("batched");
    port.text = attributes.contains("text");
    if (auto slice = attributes.getAs<exec::SliceAttr>("slice"))
      port.slice = writeSlice(slice, nullptr);
    return port;
  }

  gradc_range writePorts(ArrayAttr list, bool isBatched) {
    std::vector<gradc_artifact_port> ports;
    for (auto attributes : list.getAsRange<DictionaryAttr>())
      ports.push_back(writePort(attributes, isBatched));
    return blob.append(ArrayRef(ports));
  }

  /// The outputs of the entry "merged", which exports read.
  gradc_range writeMerged(ArrayAttr list) {
    std::vector<gradc_artifact_port> ports;
    for (auto attributes : list.getAsRange<DictionaryAttr>()) {
      gradc_artifact_port port = writePort(attributes, /*isBatched=*/false);
      StringRef name = stringOf(attributes, "name");
      std::vector<uint64_t> offsets;
      if (!stateIndex.contains(name)) // the places of a state are its own
        for (const InitializerRange *range : rangesOf.lookup(name)) {
          assert(range->bytes == port.tensor.bytes && "of the type of its initializer");
          offsets.push_back(range->offset);
        }
      port.places = blob.append(ArrayRef(offsets));
      ports.push_back(port);
    }
    return blob.append(ArrayRef(ports));
  }

  gradc_artifact_entry writeEntry(exec::EntryOp op) {
    gradc_artifact_entry entry{};
    entry.name = blob.intern(op.getSymName());
    if (auto batch = op->getAttrOfType<IntegerAttr>("batch"))
      entry.batch = batch.getInt();
    if (op->hasAttr("any_rows")) {
      auto least = op->getAttrOfType<IntegerAttr>("least_rows");
      entry.any_rows = 1;
      entry.least_rows = least ? least.getInt() : 0;
      if (auto unit = op->getAttrOfType<IntegerAttr>("row_unit"))
        entry.row_unit = uint32_t(unit.getInt());
      if (auto node = op->getAttrOfType<StringAttr>("least_rows_node"))
        entry.least_rows_node = blob.intern(node.getValue());
    }
    if (auto node = op->getAttrOfType<StringAttr>("coupling_node"))
      entry.coupling_node = blob.intern(node.getValue());
    bool isBatched = entry.any_rows || entry.batch == 1;
    entry.inputs = writePorts(op.getInputs(), isBatched);
    entry.outputs = op.getSymName() == GRADC_MERGED_ENTRY ? writeMerged(op.getOutputs())
                                                          : writePorts(op.getOutputs(), isBatched);
    std::vector<gradc_artifact_node> nodes;
    writeBody(op.getBody(), nodes);
    entry.nodes = blob.append(ArrayRef(nodes));
    entry.arena = op.getArena();
    entry.each_row = op.getEachRowAttr() != nullptr;
    return entry;
  }

  const Imported &imported;
  Blob blob;
  gradc_hasher modelHash = gradc_hash_begin();
  std::vector<gradc_range> initializers; ///< of the model
  /// They by the state that they became.
  llvm::StringMap<SmallVector<const InitializerRange *>> rangesOf;
  llvm::StringMap<uint32_t> stateIndex, kernelIndex, bufferIndex, cutIndex;
  SymbolTableCollection symbols;
};

} // namespace

std::string writeArtifact(ArrayRef<CompiledLevel> levels, const Imported &imported,
                          StringRef directory) {
  return Writer(imported).write(levels, directory);
}

} // namespace gradc
