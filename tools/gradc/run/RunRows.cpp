// Uses the artifact's own chunk size, so that no memory limit changes the order of sums.
#include "tools/gradc/run/RunRows.h"

#include "dialects/Pch.h"
#include "runtime/base/AtomicFile.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

using mlir::grad::bytesOf;
using mlir::grad::HostTensor;

namespace gradc {
namespace {

std::span<const std::byte> asBytes(llvm::ArrayRef<char> bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

/// The number that an entry's random ops draw by in one of several runs, counted from the given
/// one.
int32_t counterOf(const TensorView &given, int64_t run) {
  int32_t first;
  std::memcpy(&first, given.bytes.data(), sizeof first);
  return int32_t(first + run);
}

/// An output, collected from all runs for its file.
class OutputRows {
public:
  /// `port`: for a run of the whole batch. `type`: the type in the file.
  OutputRows(const Port &port, mlir::RankedTensorType type, const std::string &path)
      : port(port), type(type), file(path), chunk(port.type) {
    file.write(asBytes(npyHeader(type, port.isText)));
    if (isSum())
      sums.resize(port.type.getNumElements());
  }

  void *address() { return chunk.mutableBytes().data(); }

  /// Called after a run of `rows` rows of `batch`.
  void take(int64_t rows, int64_t batch, bool isFirst) {
    if (port.batched)
      file.write(asBytes(chunk.bytes().take_front(bytesOf(port.type) / batch * rows)));
    else if (isSum())
      for (int64_t i = 0; i < chunk.size(); ++i)
        sums[i] += chunk.getFloat(i);
    else if (isFirst)
      file.write(asBytes(chunk.bytes()));
  }

  Status finish() {
    for (size_t i = 0; i < sums.size(); ++i)
      chunk.setFloat(int64_t(i), sums[i]);
    if (isSum())
      file.write(asBytes(chunk.bytes()));
    return file.commit();
  }

private:
  bool isSum() const { return !port.batched && port.role == GRADC_ROLE_GRADIENT; }

  Port port;
  mlir::RankedTensorType type;
  runtime::AtomicFile file;
  HostTensor chunk;
  std::vector<double> sums;
};

} // namespace

int64_t memoryOfRun(mlir::MLIRContext &context, CompiledSession &session, uint32_t entry) {
  int64_t bytes = session.plannedBytes(entry);
  for (const Port &port : session.inputs(context, entry))
    bytes += bytesOf(port.type) + int64_t(runtime::lettingGoBytes);
  for (const Port &port : session.outputs(context, entry))
    bytes += bytesOf(port.type) + (port.batched ? 0 : port.type.getNumElements() * 8);
  return bytes;
}

Status runRows(mlir::MLIRContext &context, CompiledSession &session, uint32_t entry, int64_t rows,
               llvm::ArrayRef<TensorView> inputs, llvm::ArrayRef<std::string> paths) {
  int64_t batch = session.batch(entry);
  std::vector<Port> ports = session.inputs(context, entry);
  std::vector<Port> single = session.outputs(context, entry);
  std::vector<std::unique_ptr<OutputRows>> outputs;
  for (auto [i, whole] : llvm::enumerate(portsOfRows(single, batch, rows)))
    outputs.push_back(std::make_unique<OutputRows>(single[i], whole.type, paths[i]));
  int64_t seen = 0;
  int32_t counter = 0;
  for (int64_t begin = 0; begin < rows; begin += batch) {
    int64_t count = std::min(batch, rows - begin);
    llvm::SmallVector<const void *> from;
    llvm::SmallVector<void *> to;
    for (auto [port, input] : llvm::zip_equal(ports, inputs)) {
      int64_t row = port.batched ? bytesOf(port.type) / batch : 0;
      from.push_back(addressOf(input.bytes.drop_front(begin * row)));
      if (port.role == GRADC_ROLE_COUNTER) {
        counter = counterOf(input, begin / batch);
        from.back() = &counter;
      }
      seen += count * row;
    }
    for (auto &output : outputs)
      to.push_back(output->address());
    if (auto error = session.run(entry, count, from, to))
      return toStatus(std::move(error));
    for (auto &output : outputs)
      output->take(count, batch, begin == 0);
    if (seen < int64_t(runtime::lettingGoBytes))
      continue;
    seen = 0;
    for (const TensorView &input : inputs)
      if (input.file)
        input.file->letGo();
  }
  for (auto &output : outputs)
    if (Status status = output->finish(); !status.ok())
      return status;
  return {};
}

} // namespace gradc
