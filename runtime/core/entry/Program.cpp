// Resolves an entry's slices to addresses, and converts its nodes to the steps that a device walks.
#include "runtime/core/entry/Program.h"
#include "runtime/base/DataType.h"
#include "runtime/core/artifact/EntryRows.h"
#include "runtime/core/entry/Aliases.h"
#include "runtime/core/entry/Waits.h"
#include "runtime/include/gradc/artifact.h"

#include <algorithm>
#include <utility>

using namespace gradc::runtime;

namespace {

constexpr uint64_t absent = UINT64_MAX; // the offset of an output that is stored elsewhere

constexpr uint64_t alignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t sharesOf(const gradc_artifact_kernel &kernel, int64_t units) {
  return std::max<int64_t>(kernel.grain > 0 ? units / kernel.grain : units, 1);
}

/// The communicator's name for a collective of the artifact, and the ranks that take part in it.
std::pair<Communicator::Kind, Communicator::Group> operationOf(gradc_collective_kind kind) {
  using Kind = Communicator::Kind;
  using Group = Communicator::Group;
  switch (kind) {
  case GRADC_COLLECTIVE_SUM:
    return {Kind::sum, Group::data};
  case GRADC_COLLECTIVE_SCATTER:
    return {Kind::scatter, Group::data};
  case GRADC_COLLECTIVE_GATHER:
    return {Kind::gather, Group::data};
  case GRADC_TRANSFER_SEND:
    return {Kind::send, Group::model};
  case GRADC_TRANSFER_RECEIVE:
    return {Kind::receive, Group::model};
  case GRADC_COLLECTIVE_SUM_SHARDS:
    return {Kind::sum, Group::model};
  }
  return {}; // never: artifacts are checked when they are opened
}

} // namespace

Program::Program(const Artifact &artifact, const gradc_artifact_level &level,
                 const gradc_artifact_entry &entry, const Spaces &spaces, Device &device)
    : device(device), buffers(spaces.buffers.begin(), spaces.buffers.end()), spaces(spaces),
      artifact(artifact), kernels(artifact.elements<gradc_artifact_kernel>(level.kernels)),
      cuts(artifact.elements<gradc_artifact_cut>(level.cuts)), scratchBytes(level.scratch),
      nodes(artifact.elements<gradc_artifact_node>(entry.nodes)),
      aliases(findAliases(artifact, entry)), rows(entry.batch),
      mostRows(entry.batch / unitOf(entry)) {
  this->spaces.buffers = buffers;
  inputs.resize(entry.inputs.count);
  allocateOutputs(artifact.elements<gradc_artifact_port>(entry.outputs));

  // Steps keep pointers into these vectors, so they must not grow later.
  size_t sliceCount = 0;
  for (const gradc_artifact_node &node : nodes)
    sliceCount += node.slices.count;
  slices.reserve(sliceCount);
  movingSlices.reserve(sliceCount);
  launchList.reserve(nodes.size());
  steps.reserve(nodes.size());
  collectives.reserve(size_t(std::count_if(nodes.begin(), nodes.end(), [](const auto &node) {
    return node.kind == GRADC_NODE_COLLECTIVE;
  })));
  addBody(0, uint32_t(nodes.size()));
}

/// Allocates one block for all outputs that nodes write. Outputs stored elsewhere take no room in
/// it.
void Program::allocateOutputs(std::span<const gradc_artifact_port> ports) {
  outputs.resize(ports.size());
  outputOffsets.assign(ports.size(), absent);
  uint64_t bytes = 0;
  auto need = [&](const gradc_artifact_slice &slice) {
    if (slice.space != GRADC_SPACE_OUTPUT || outputOffsets[slice.index] != absent)
      return;
    outputOffsets[slice.index] = bytes;
    bytes += alignUp(ports[slice.index].tensor.bytes);
  };
  for (const gradc_artifact_port &port : ports)
    need(port.slice);
  for (const gradc_artifact_node &node : nodes)
    for (const auto &slice : artifact.elements<gradc_artifact_slice>(node.slices))
      need(slice);
  if (bytes == 0)
    return;
  ownOutputs = DeviceMemory(device, bytes);
  hasMemory = ownOutputs.data() != nullptr;
  for (uint32_t i = 0; i < ports.size(); ++i)
    bindOutput(i, nullptr);
}

/// Consecutive launches become one piece.
void Program::addBody(uint32_t begin, uint32_t end) {
  for (uint32_t node = begin; node < end;) {
    uint32_t next = node;
    while (next < end && isLaunch(nodes[next]))
      ++next;
    if (next > node) {
      addPiece(node, next, /*follows=*/node > begin);
      node = next;
    } else {
      addControl(node);
      node = nodes[node].end;
    }
  }
}

/// `follows`: the piece comes after a branch or a loop, whose launches may still run on other
/// threads.
void Program::addPiece(uint32_t begin, uint32_t end, bool follows) {
  Step step;
  size_t first = launchList.size(), moving = movingSlices.size();
  for (uint32_t node = begin; node < end; ++node)
    addLaunch(node);
  std::span<Launch> piece(&launchList[first], launchList.size() - first);
  planWaits(artifact, nodes, aliases, piece);
  piece.front().waits |= follows;
  step.launches = piece;
  step.moves = movingSlices.size() > moving;
  steps.push_back(step);
  steps.back().end = uint32_t(steps.size());
}

void Program::addLaunch(uint32_t index) {
  const gradc_artifact_node &node = nodes[index];
  Launch launch;
  launch.node = index;
  launch.slices = slices.data() + slices.size();
  launch.sliceCount = node.slices.count;
  launch.operandCount = node.operands;
  launch.rows = rows;
  addSlices(node);
  if (node.kind == GRADC_NODE_COPY) {
    constexpr int64_t bytesPerShare = 1 << 16;
    launch.kind = Launch::Kind::copy;
    launch.units = int64_t(artifact.elements<gradc_artifact_slice>(node.slices)[0].bytes);
    launch.shares = std::max<int64_t>(launch.units / bytesPerShare, 1);
  } else if (node.kind == GRADC_NODE_COLLECTIVE) {
    launch.kind = Launch::Kind::collective;
    launch.collective = addCollective(node);
  } else {
    describeKernel(launch, node.as.launch.kernel);
    takeOwnUnits(launch, node);
  }
  launchList.push_back(launch);
}

void Program::describeKernel(Launch &launch, uint32_t number) {
  const gradc_artifact_kernel &kernel = kernels[number];
  launch.kernel = spaces.kernels[number];
  launch.scratch = spaces.scratch;
  launch.scratchBytes = scratchBytes;
  launch.call = spaces.calls.empty() ? nullptr : spaces.calls[number];
  launch.kind = launch.call ? Launch::Kind::call : Launch::Kind::kernel;
  launch.threads = kernel.threads;
  launch.takesOffsets = kernel.takes_offsets != 0;
  launch.units = kernel.units;
  launch.together = kernel.together;
  launch.shares = sharesOf(kernel, kernel.units);
  if (kernel.rows > 0)
    rowUnits.push_back({launchList.size(), &kernel});
}

/// Restricts a cut launch to the units of this rank's pieces.
void Program::takeOwnUnits(Launch &launch, const gradc_artifact_node &node) {
  if (node.as.launch.cut == 0 || !spaces.division)
    return;
  uint32_t cut = node.as.launch.cut - 1;
  auto unitAt = [&](int rank) {
    int64_t element = spaces.division->begin(cut, rank), unit = int64_t(cuts[cut].unit);
    return std::min((element + unit - 1) / unit * node.as.launch.per, launch.units);
  };
  launch.first = unitAt(spaces.division->rank);
  launch.units = unitAt(spaces.division->rank + 1) - launch.first;
  launch.shares = sharesOf(kernels[node.as.launch.kernel], launch.units);
}

const Collective *Program::addCollective(const gradc_artifact_node &node) {
  const auto &record = node.as.collective;
  bool isTransfer = record.kind == GRADC_TRANSFER_SEND || record.kind == GRADC_TRANSFER_RECEIVE;
  bool isNarrow = record.wire == GRADC_WIRE_BF16;
  auto slices = artifact.elements<gradc_artifact_slice>(node.slices)
                    .first(isTransfer ? node.slices.count : node.operands);
  auto ofSlices = artifact.elements<uint32_t>(record.cuts);
  auto type = gradc_dtype(slices.front().dtype);
  uint64_t width = findDataType(type)->bytes;
  Collective &made = collectives.emplace_back();
  auto [kind, group] = operationOf(gradc_collective_kind(record.kind));
  made.exchange = {kind, type, isNarrow ? Communicator::Wire::bf16 : Communicator::Wire::full};
  made.exchange.group = group;
  if (isTransfer) {
    made.exchange.peer = int(gradc_transfer_peer(record.transfer));
    made.exchange.number = int(gradc_transfer_number(record.transfer));
    if (gradc_transfer_rows(record.transfer) && mostRows > 0)
      rowTransfers.push_back(collectives.size() - 1);
  }
  std::vector<bool> leavesZeros(slices.size());
  for (uint32_t operand : artifact.elements<uint32_t>(record.zeros))
    leavesZeros[operand] = true;
  bool isDivided = made.exchange.kind != Communicator::Kind::sum && !isTransfer && spaces.division;
  int64_t total = 0;
  for (int rank = 0; rank < (isDivided ? spaces.division->ranks : 1); ++rank) {
    made.begins.push_back(total);
    for (size_t i = 0; i < slices.size(); ++i) {
      int64_t begin = 0, end = int64_t(slices[i].bytes / width);
      if (isDivided) {
        begin = spaces.division->begin(ofSlices[i], rank);
        end = spaces.division->begin(ofSlices[i], rank + 1);
      }
      if (begin < end)
        made.pieces.push_back({i, uint64_t(begin) * width, end - begin, leavesZeros[i]});
      total += end - begin;
    }
  }
  made.begins.push_back(total);
  if (isDivided)
    made.exchange.begins = made.begins;
  return &made;
}

void Program::addControl(uint32_t index) {
  const gradc_artifact_node &node = nodes[index];
  bool isLoop = node.kind == GRADC_NODE_LOOP;
  size_t at = steps.size(), launch = launchList.size();
  Step step;
  step.kind = isLoop ? Step::Kind::loop : Step::Kind::branch;
  step.node = artifact.string(node.node);
  step.trips = isLoop ? node.as.loop.trips : 0;
  auto number = uint32_t(slices.size());
  for (const auto &slice : artifact.elements<gradc_artifact_slice>(node.slices)) {
    if (isLoop && slice.dtype == GRADC_BOOL) {
      step.condition = number++;
      continue;
    }
    step.value = number++;
    step.valueBytes = uint32_t(slice.bytes);
  }
  addSlices(node);
  steps.push_back(step);
  size_t moving = movingSlices.size();
  uint32_t otherwise = isLoop ? node.end : node.as.branch.otherwise;
  addBody(index + 1, otherwise);
  steps[at].otherwise = uint32_t(steps.size());
  addBody(otherwise, node.end);
  steps[at].end = uint32_t(steps.size());
  steps[at].launches = {launchList.data() + launch, launchList.size() - launch};
  steps[at].moving = {movingSlices.data() + moving, movingSlices.size() - moving};
}

void Program::addSlices(const gradc_artifact_node &node) {
  auto all = artifact.elements<gradc_artifact_slice>(node.slices);
  for (const auto &slice : all.subspan(node.operands))
    writesBuffers |= slice.space == GRADC_SPACE_BUFFER;
  for (const auto &slice : all) {
    bool isInput = slice.space == GRADC_SPACE_INPUT;
    if (isInput || slice.space == GRADC_SPACE_OUTPUT)
      (isInput ? inputSlices : outputSlices)
          .push_back({slice.index, uint32_t(slices.size()), slice.offset});
    if (slice.strides.count)
      movingSlices.push_back({uint32_t(slices.size()), artifact.elements<int64_t>(slice.strides)});
    slices.push_back(isInput ? nullptr : resolve(slice));
    sliceBytes.push_back(slice.bytes);
  }
}

const Launch *Program::findLaunch(uint32_t node) const {
  auto found = std::lower_bound(launchList.begin(), launchList.end(), node,
                                [](const Launch &launch, uint32_t n) { return launch.node < n; });
  return found != launchList.end() && found->node == node ? &*found : nullptr;
}

/// Waits remain those planned for the largest batch. They suffice for fewer rows, whose launches
/// are split less.
void Program::setRows(int64_t count) {
  if (rows == count)
    return;
  rows = count;
  for (Launch &launch : launchList)
    launch.rows = rows;
  for (auto [launch, kernel] : rowUnits) {
    int64_t tiles = (kernel->rows * rows + kernel->tile - 1) / kernel->tile;
    int64_t units = (tiles * kernel->times + kernel->per - 1) / kernel->per;
    launchList[launch].units = std::max<int64_t>(units, 1);
    launchList[launch].shares = sharesOf(*kernel, launchList[launch].units);
  }
  for (size_t transfer : rowTransfers)
    collectives[transfer].pieces[0].count = collectives[transfer].begins.back() / mostRows * rows;
}

void Program::bind(std::byte *&port, std::byte *address, std::span<const PortSlice> uses,
                   uint32_t number) {
  if (port == address)
    return;
  port = address;
  for (const PortSlice &use : uses)
    if (use.port == number)
      slices[use.slice] = address + use.offset;
}

void Program::bindInput(uint32_t input, const void *address) {
  bind(inputs[input], static_cast<std::byte *>(const_cast<void *>(address)), inputSlices, input);
}

void Program::bindOutput(uint32_t output, void *address) {
  std::byte *own =
      outputOffsets[output] == absent ? nullptr : ownOutputs.data() + outputOffsets[output];
  bind(outputs[output], address ? static_cast<std::byte *>(address) : own, outputSlices, output);
}

std::byte *Program::resolve(const gradc_artifact_slice &slice) const {
  switch (slice.space) {
  case GRADC_SPACE_ARENA:
    return spaces.arena + slice.offset;
  case GRADC_SPACE_BUFFER:
    return spaces.buffers[slice.index] + slice.offset;
  case GRADC_SPACE_INPUT:
    return inputs[slice.index] + slice.offset;
  default:
    return outputs[slice.index] + slice.offset;
  }
}
