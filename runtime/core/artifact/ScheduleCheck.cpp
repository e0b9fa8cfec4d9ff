// Walks the nodes from the outside in. Each body lies within its enclosing bodies, so no walk of a
// checked schedule can loop forever or leave it.
#include "runtime/core/artifact/ScheduleCheck.h"
#include "runtime/base/DataType.h"
#include "runtime/include/gradc/artifact.h"

#include <algorithm>

using namespace gradc::runtime;

namespace {

/// Trip counts of the loops around a node, outermost first.
struct Loops {
  int64_t trips[GRADC_MAX_LOOPS];
  unsigned count = 0;
  int64_t iterations = 1; ///< of all of them together that no condition ends
};

int64_t piecesOf(const gradc_artifact_cut &cut) {
  return int64_t((cut.elements - 1) / cut.unit + 1);
}

class ScheduleChecker {
public:
  ScheduleChecker(BlobView &view, const CheckedEntry &entry) : view(view), entry(entry) {}

  bool check() {
    return view.view(entry.entry.nodes, "nodes", nodes) &&
           checkBody(0, uint32_t(nodes.size()), Loops(), 0);
  }
  bool checkSlice(const gradc_artifact_slice &slice, const Loops &loops);

private:
  using Node = gradc_artifact_node;
  using Slices = std::span<const gradc_artifact_slice>;

  bool checkBody(uint64_t begin, uint64_t end, const Loops &loops, unsigned depth);
  bool checkNode(uint32_t index, uint64_t bodyEnd, const Loops &loops, unsigned depth);
  bool checkSlices(const Node &node, const Loops &loops, const char *what, Slices &slices);
  bool checkLaunch(const Node &node, const Loops &loops);
  bool checkCopy(const Node &node, const Loops &loops);
  bool checkCollective(const Node &node, const Loops &loops);
  bool checkCuts(const Node &node, Slices slices);
  bool checkTransfer(const Node &node, Slices slices);
  bool checkIf(uint32_t index, const Loops &loops, unsigned depth);
  bool checkLoop(uint32_t index, const Loops &loops, unsigned depth);
  bool checkCall(const gradc_artifact_kernel &kernel, Slices slices);
  bool isLeaf(uint32_t index) {
    return nodes[index].end == index + 1 ||
           view.fail("node ", index, " has a body, which nodes of kind ", nodes[index].kind,
                     " do not have");
  }

  BlobView &view;
  const CheckedEntry &entry;
  std::span<const Node> nodes;
};

bool ScheduleChecker::checkBody(uint64_t begin, uint64_t end, const Loops &loops, unsigned depth) {
  if (depth > GRADC_MAX_DEPTH)
    return view.failCount("bodies around a node at most", GRADC_MAX_DEPTH, depth);
  for (uint64_t i = begin; i < end; i = nodes[i].end)
    if (!checkNode(uint32_t(i), end, loops, depth))
      return false;
  return true;
}

bool ScheduleChecker::checkNode(uint32_t index, uint64_t bodyEnd, const Loops &loops,
                                unsigned depth) {
  const Node &node = nodes[index];
  if (!view.checkString(node.node, "source node"))
    return false;
  if (node.end <= index || node.end > bodyEnd)
    return view.fail("node ", index, " ends at ", node.end, ", outside the body around it");
  switch (node.kind) {
  case GRADC_NODE_LAUNCH:
    return isLeaf(index) && checkLaunch(node, loops);
  case GRADC_NODE_COPY:
    return isLeaf(index) && checkCopy(node, loops);
  case GRADC_NODE_COLLECTIVE:
    return isLeaf(index) && checkCollective(node, loops);
  case GRADC_NODE_IF:
    return checkIf(index, loops, depth);
  case GRADC_NODE_LOOP:
    return checkLoop(index, loops, depth);
  default:
    return view.fail("node ", index, " is of kind ", node.kind,
                     ", which this version does not run");
  }
}

bool ScheduleChecker::checkSlices(const Node &node, const Loops &loops, const char *what,
                                  Slices &slices) {
  if (!view.view(node.slices, "slices", slices))
    return false;
  if (node.operands > slices.size())
    return view.failCount("operands at most", slices.size(), node.operands);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!checkSlice(slices[i], loops))
      return false;
    if (slices[i].offset % 64 != 0)
      return view.fail(what, ": a slice at byte ", slices[i].offset, ", expected a multiple of 64");
    if (i >= node.operands && slices[i].space == GRADC_SPACE_INPUT)
      return view.fail(what, " writes an input");
  }
  return true;
}

bool ScheduleChecker::checkLaunch(const Node &node, const Loops &loops) {
  uint32_t number = node.as.launch.kernel;
  if (number >= entry.kernels.size())
    return view.fail("a launch of kernel ", number, " of ", entry.kernels.size());
  std::string what = text("kernel ", view.string(entry.kernels[number].symbol));
  Slices slices;
  if (!checkSlices(node, loops, what.c_str(), slices))
    return false;
  if (node.operands == slices.size())
    return view.fail(what, " writes nothing");
  if (uint32_t number = node.as.launch.cut) {
    if (number > entry.cuts.size())
      return view.fail(what, ": a launch of cut ", number, " of ", entry.cuts.size());
    const gradc_artifact_kernel &kernel = entry.kernels[node.as.launch.kernel];
    int64_t per = node.as.launch.per, pieces = piecesOf(entry.cuts[number - 1]);
    if (per < 1 || kernel.rows > 0 || (kernel.units - 1) / per + 1 != pieces)
      return view.fail(what, ": ", kernel.units, " units, expected ", pieces, " pieces of ", per);
  }
  return checkCall(entry.kernels[number], slices);
}

bool ScheduleChecker::checkCopy(const Node &node, const Loops &loops) {
  Slices slices;
  if (!checkSlices(node, loops, "a copy", slices))
    return false;
  if (slices.size() != 2 || node.operands != 1)
    return view.fail("expected a copy from one slice to one, found ", node.operands, " and ",
                     slices.size() - node.operands);
  return slices[0].bytes == slices[1].bytes ||
         view.failCount("a copy to a slice", slices[0].bytes, slices[1].bytes);
}

/// One half of a transfer between two ranks.
bool ScheduleChecker::checkTransfer(const Node &node, Slices slices) {
  const auto &record = node.as.collective;
  bool isSend = record.kind == GRADC_TRANSFER_SEND;
  if (slices.size() != 1 || node.operands != uint32_t(isSend))
    return view.fail("expected a transfer of one slice, found ", node.operands, " and ",
                     slices.size() - node.operands);
  if (record.wire != GRADC_WIRE_FULL || record.cuts.count || record.zeros.count)
    return view.fail("a transfer of cuts, with zeros or on wire ", record.wire);
  uint32_t peer = gradc_transfer_peer(record.transfer),
           number = gradc_transfer_number(record.transfer);
  return (peer < GRADC_MAX_RANKS && number < GRADC_MAX_TRANSFERS) ||
         view.fail("transfer ", number, " with rank ", peer);
}

bool ScheduleChecker::checkCollective(const Node &node, const Loops &loops) {
  Slices slices;
  if (!checkSlices(node, loops, "a collective", slices))
    return false;
  if (uint32_t kind = node.as.collective.kind;
      kind == GRADC_TRANSFER_SEND || kind == GRADC_TRANSFER_RECEIVE)
    return checkTransfer(node, slices);
  if (node.operands == 0 || slices.size() != 2 * size_t(node.operands))
    return view.fail("expected a collective to read and write the same slices, found ",
                     node.operands, " and ", slices.size() - node.operands);
  uint32_t type = slices[0].dtype;
  if (type != GRADC_F32 && type != GRADC_F64 && type != GRADC_I32 && type != GRADC_I64)
    return view.fail("a collective of element type ", type);
  for (size_t i = 0; i < slices.size(); ++i) {
    const gradc_artifact_slice &read = slices[i % node.operands], &slice = slices[i];
    if (slice.dtype != type || slice.space != read.space || slice.index != read.index ||
        slice.offset != read.offset || slice.bytes != read.bytes ||
        slice.strides.offset != read.strides.offset || slice.strides.count != read.strides.count)
      return view.fail("expected a collective to read and write the same slices of one type");
  }
  uint32_t wire = node.as.collective.wire;
  if (wire != GRADC_WIRE_FULL && (wire != GRADC_WIRE_BF16 || type != GRADC_F32))
    return view.fail("a collective of element type ", type, " on wire ", wire);
  return checkCuts(node, slices);
}

/// Whether every operand of a scatter or gather has a cut that says which elements each rank owns.
bool ScheduleChecker::checkCuts(const Node &node, Slices slices) {
  std::span<const uint32_t> cuts, zeros;
  if (!view.view(node.as.collective.cuts, "cuts", cuts) ||
      !view.view(node.as.collective.zeros, "zeros", zeros))
    return false;
  uint32_t kind = node.as.collective.kind;
  bool isSum = kind == GRADC_COLLECTIVE_SUM || kind == GRADC_COLLECTIVE_SUM_SHARDS;
  if (!isSum && kind > GRADC_COLLECTIVE_GATHER)
    return view.fail("a collective of unknown kind ", kind);
  size_t expected = isSum ? 0 : node.operands;
  if (cuts.size() != expected)
    return view.failCount("cuts of a collective", expected, cuts.size());
  for (size_t i = 0; i < cuts.size(); ++i)
    if (cuts[i] >= entry.cuts.size() ||
        entry.cuts[cuts[i]].elements != slices[i].bytes / findDataType(slices[i].dtype)->bytes)
      return view.fail("expected cut ", cuts[i],
                       " of a collective to have as many elements as its "
                       "operand");
  for (uint32_t operand : zeros)
    if (kind != GRADC_COLLECTIVE_SCATTER || operand >= node.operands)
      return view.fail("zeros in operand ", operand, " of a collective");
  return true;
}

bool ScheduleChecker::checkIf(uint32_t index, const Loops &loops, unsigned depth) {
  const Node &node = nodes[index];
  uint32_t otherwise = node.as.branch.otherwise;
  Slices slices;
  if (!checkSlices(node, loops, "an if", slices))
    return false;
  if (slices.size() != 1 || node.operands != 1 || slices[0].dtype != GRADC_BOOL ||
      slices[0].bytes != 1)
    return view.fail("expected an if to read one bool");
  if (otherwise <= index || otherwise > node.end)
    return view.fail("the else body of node ", index, " begins at ", otherwise, ", outside of it");
  return checkBody(index + 1, otherwise, loops, depth + 1) &&
         checkBody(otherwise, node.end, loops, depth + 1);
}

bool ScheduleChecker::checkLoop(uint32_t index, const Loops &loops, unsigned depth) {
  const Node &node = nodes[index];
  Slices slices;
  if (!checkSlices(node, loops, "a loop", slices))
    return false;
  bool isConditional = !slices.empty() && slices.back().dtype == GRADC_BOOL;
  Slices counts = slices.first(slices.size() - isConditional);
  if (counts.size() > 1 || node.operands != slices.size())
    return view.failCount("operands of a loop at most", 1 + isConditional, slices.size());
  if (isConditional && slices.back().bytes != 1)
    return view.fail("expected the condition of a loop to be one bool");
  for (const gradc_artifact_slice &count : counts)
    if ((count.dtype != GRADC_I32 && count.dtype != GRADC_I64) ||
        count.bytes != findDataType(count.dtype)->bytes)
      return view.fail("expected the count of a loop to be one i32 or i64");
  if (loops.count == GRADC_MAX_LOOPS)
    return view.failCount("loops in each other at most", GRADC_MAX_LOOPS, loops.count + 1);
  int64_t iterations = node.as.loop.trips;
  if (!isConditional && __builtin_mul_overflow(iterations, loops.iterations, &iterations))
    iterations = INT64_MAX;
  if (node.as.loop.trips < 0 || iterations > GRADC_MAX_ITERATIONS)
    return view.fail("a loop of ", node.as.loop.trips, " iterations, in all ", iterations);
  Loops inner = loops;
  inner.trips[inner.count++] = node.as.loop.trips;
  if (!isConditional)
    inner.iterations = std::max<int64_t>(iterations, 1);
  return checkBody(index + 1, node.end, inner, depth + 1);
}

/// Whether a library call only touches memory inside the launch's slices.
bool ScheduleChecker::checkCall(const gradc_artifact_kernel &kernel, Slices slices) {
  std::span<const gradc_artifact_call> calls;
  view.view(kernel.call, "library calls", calls);
  auto lies = [&](const gradc_library_tensor &tensor) {
    uint64_t bytes = sizeof(float);
    for (int d = 0; d < 4; ++d) {
      uint64_t reach = 0;
      if (tensor.sizes[d] < 1 || tensor.strides[d] < 0 ||
          __builtin_mul_overflow(uint64_t(tensor.sizes[d] - 1), uint64_t(tensor.strides[d]),
                                 &reach) ||
          __builtin_mul_overflow(reach, sizeof(float), &reach) ||
          __builtin_add_overflow(bytes, reach, &bytes))
        return false;
    }
    return tensor.slice < slices.size() && slices[tensor.slice].dtype == GRADC_F32 &&
           bytes <= slices[tensor.slice].bytes;
  };
  for (const gradc_artifact_call &call : calls) {
    gradc_library_tensor kept = call.result;
    kept.slice = call.kept;
    int64_t columns = call.result.sizes[call.role == GRADC_LIBRARY_MATMUL ? 3 : 1];
    gradc_library_tensor bias{call.bias, 0, {1, 1, 1, columns}, {0, 0, 0, 1}};
    if (!lies(call.lhs) || !lies(call.rhs) || !lies(call.result) ||
        (call.bias != GRADC_NONE && !lies(bias)) || (call.kept != GRADC_NONE && !lies(kept)))
      return view.fail("kernel ", view.string(kernel.symbol),
                       ": a library call touches more than the slices of its launch");
  }
  return true;
}

/// A slice reaches its first and last place in iteration 0 or trips - 1 of each loop.
bool ScheduleChecker::checkSlice(const gradc_artifact_slice &slice, const Loops &loops) {
  std::span<const int64_t> strides;
  if (!view.view(slice.strides, "strides", strides))
    return false;
  if (strides.size() > loops.count)
    return view.fail("a slice with strides of ", strides.size(), " loops, of which ", loops.count,
                     " are around it");
  uint64_t below = 0, above = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    uint64_t size = strides[i] < 0 ? -uint64_t(strides[i]) : uint64_t(strides[i]), reach = 0;
    if (size % 64 != 0)
      return view.fail("a slice with a stride of ", strides[i], ", expected a multiple of 64");
    uint64_t last = uint64_t(std::max<int64_t>(loops.trips[i], 1) - 1);
    uint64_t &side = strides[i] < 0 ? below : above;
    if (__builtin_mul_overflow(size, last, &reach) || __builtin_add_overflow(side, reach, &side))
      return view.fail("a slice with an impossible stride of ", strides[i]);
  }
  auto within = [&](const char *what, size_t count, auto bytesOf) {
    if (slice.index >= count)
      return view.fail("a slice of ", what, " ", slice.index, " of ", count);
    uint64_t limit = bytesOf(slice.index);
    bool fits = slice.offset >= below && slice.offset <= limit &&
                slice.bytes <= limit - slice.offset && above <= limit - slice.offset - slice.bytes;
    return fits || view.fail("a slice lies outside ", what, " ", slice.index, " (", slice.bytes,
                             " bytes at ", slice.offset, strides.empty() ? "" : " and further",
                             " of ", limit, ")");
  };
  const DataType *type = findDataType(slice.dtype);
  if (!type)
    return view.fail("a slice of unknown element type ", slice.dtype);
  if (slice.bytes % type->bytes != 0)
    return view.fail("a slice of ", type->name, " of ", slice.bytes, " bytes");
  switch (slice.space) {
  case GRADC_SPACE_ARENA:
    return within("arena", 1, [&](uint32_t) { return entry.entry.arena; });
  case GRADC_SPACE_BUFFER:
    return within("buffer", entry.buffers.size(),
                  [&](uint32_t i) { return entry.buffers[i].bytes; });
  case GRADC_SPACE_INPUT:
    return within("input", entry.inputs.size(),
                  [&](uint32_t i) { return entry.inputs[i].tensor.bytes; });
  case GRADC_SPACE_OUTPUT:
    return within("output", entry.outputs.size(),
                  [&](uint32_t i) { return entry.outputs[i].tensor.bytes; });
  default:
    return view.fail("a slice of unknown space ", slice.space);
  }
}

} // namespace

bool gradc::runtime::checkSlice(BlobView &view, const CheckedEntry &entry,
                                const gradc_artifact_slice &slice) {
  return ScheduleChecker(view, entry).checkSlice(slice, Loops());
}

bool gradc::runtime::checkSchedule(BlobView &view, const CheckedEntry &entry) {
  return ScheduleChecker(view, entry).check();
}

bool gradc::runtime::keepsToItself(BlobView &view, const gradc_artifact_entry &entry) {
  std::span<const gradc_artifact_node> nodes;
  auto isPrivate = [&](const gradc_artifact_node &node) {
    std::span<const gradc_artifact_slice> slices;
    return node.kind != GRADC_NODE_COLLECTIVE && view.view(node.slices, "slices", slices) &&
           node.operands <= slices.size() &&
           std::ranges::none_of(slices.subspan(node.operands), [](const auto &slice) {
             return slice.space == GRADC_SPACE_BUFFER;
           });
  };
  return view.view(entry.nodes, "nodes", nodes) && std::ranges::all_of(nodes, isPrivate);
}
