// An entry bound to memory, as a schedule that the device runs.
#ifndef RUNTIME_CORE_ENTRY_PROGRAM_H
#define RUNTIME_CORE_ENTRY_PROGRAM_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/core/state/Division.h"
#include "runtime/device/Device.h"

namespace gradc::runtime {

/// The addresses of an entry's spaces. Kernels and state buffers are in the level's order.
struct Spaces {
  std::byte *arena = nullptr;
  std::span<std::byte *const> buffers;
  std::span<void *const> kernels;
  std::span<const void *const> calls = {}; ///< library calls that replace kernels; null: none
  std::byte *scratch = nullptr;            ///< scratch of all threads, the level's size for each
  const Division *division = nullptr;      ///< of states among ranks; null for a single rank
};

/// Resolves slices to addresses once; only those of inputs and outputs change from run to run.
class Program {
public:
  Program(const Artifact &artifact, const gradc_artifact_level &level,
          const gradc_artifact_entry &entry, const Spaces &spaces, Device &device);

  Program(Program &&) = default;
  ~Program() {
    if (!launchList.empty())
      device.forget(schedule());
  }

  /// False: the device has no memory for the outputs.
  bool ok() const { return hasMemory; }
  Schedule schedule() const { return {steps, launchList, slices, movingSlices, sliceBytes}; }
  /// The launch of a node of the entry's schedule; null if the node is not a launch.
  const Launch *findLaunch(uint32_t node) const;
  /// Sets the rows of the next runs; initially the entry's largest batch.
  void setRows(int64_t rows);
  /// Whether the entry has collectives over ranks.
  bool hasCollectives() const { return !collectives.empty(); }
  /// Whether the entry writes buffers of states.
  bool writesStates() const { return writesBuffers; }
  /// The input whose memory an output may have, or noInput.
  uint32_t aliasOf(uint32_t output) const { return aliases[output]; }
  /// Points the slices of an input to `address` (aligned to 64 bytes, in device memory).
  void bindInput(uint32_t input, const void *address);
  /// Points the slices of an output to `address` (as above); null: to the program's own memory.
  void bindOutput(uint32_t output, void *address);
  /// The address of a slice in the first iteration of the loops around it.
  std::byte *resolve(const gradc_artifact_slice &slice) const;
  /// The block of device memory that holds the entry's own outputs; empty if all outputs lie in
  /// other spaces.
  std::span<std::byte> outputBlock() const { return {ownOutputs.data(), ownOutputs.size()}; }

private:
  struct PortSlice {
    uint32_t port;
    uint32_t slice; ///< index into slices
    uint64_t offset;
  };

  /// A launch whose number of units depends on the rows.
  struct RowUnits {
    size_t launch;
    const gradc_artifact_kernel *kernel;
  };

  static bool isLaunch(const gradc_artifact_node &node) {
    return node.kind != GRADC_NODE_IF && node.kind != GRADC_NODE_LOOP;
  }
  void allocateOutputs(std::span<const gradc_artifact_port> ports);
  void addBody(uint32_t begin, uint32_t end);
  void addPiece(uint32_t begin, uint32_t end, bool follows);
  void addLaunch(uint32_t index);
  void describeKernel(Launch &launch, uint32_t number);
  void takeOwnUnits(Launch &launch, const gradc_artifact_node &node);
  const Collective *addCollective(const gradc_artifact_node &node);
  void addControl(uint32_t index);
  void addSlices(const gradc_artifact_node &node);
  void bind(std::byte *&port, std::byte *address, std::span<const PortSlice> uses, uint32_t number);

  Device &device;
  std::vector<std::byte *> buffers; ///< of states, as they were when the entry was bound
  Spaces spaces;
  const Artifact &artifact;
  std::span<const gradc_artifact_kernel> kernels; ///< of the level
  std::span<const gradc_artifact_cut> cuts;       ///< of the level
  uint64_t scratchBytes;                          ///< of the level, per thread
  std::span<const gradc_artifact_node> nodes;     ///< of the entry
  std::vector<uint32_t> aliases;                  ///< of each output
  std::vector<std::byte *> inputs, outputs;       ///< where they are
  bool hasMemory = true; ///< whether memory for the outputs could be allocated
  bool writesBuffers = false;
  DeviceMemory ownOutputs; ///< holds the slices in the output space that are bound nowhere else
  std::vector<uint64_t> outputOffsets;
  std::vector<void *> slices;       ///< of all nodes
  std::vector<uint64_t> sliceBytes; ///< the size of each
  std::vector<PortSlice> inputSlices, outputSlices;
  std::vector<MovingSlice> movingSlices;
  std::vector<Launch> launchList;
  std::vector<Collective> collectives;
  std::vector<Step> steps;
  std::vector<RowUnits> rowUnits;
  std::vector<size_t> rowTransfers; ///< collectives that transfer the rows of the run alone
  int64_t rows = 0, mostRows;       ///< counted in rows of the schedule
};

} // namespace gradc::runtime

#endif
