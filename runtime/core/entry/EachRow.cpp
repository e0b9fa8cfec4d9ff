// Shares rows among threads.
#include "runtime/core/entry/EachRow.h"

#include "runtime/base/Text.h"
#include "runtime/core/artifact/IndexCheck.h"

#include <new>

using namespace gradc::runtime;

Status EachRow::addWorkers(unsigned count) {
  while (workers.size() < count) {
    Spaces own = spaces;
    DeviceMemory memory;
    if (!workers.empty()) {
      memory = DeviceMemory(device, arenaBytes);
      own.arena = memory.data();
      own.scratch = memory.data() + scratchAt;
    }
    std::unique_ptr<Worker> worker;
    if (own.arena)
      worker = std::make_unique<Worker>(std::move(memory),
                                        BoundEntry(artifact, level, oneRow, own, device));
    if (!worker || !worker->bound.ok())
      return Status(Code::doesNotFit,
                    text("no memory for the rows of entry ", artifact.string(entry.name), " on ",
                         count, " threads (", arenaBytes, " bytes each)"));
    workers.push_back(std::move(worker));
  }
  return {};
}

/// Whether a row's outputs may lie where other rows have yet to read the input.
bool EachRow::isWrittenOver(size_t input, const void *from, std::span<void *const> outputs,
                            int64_t rows) const {
  const auto &port = artifact.elements<gradc_artifact_port>(entry.inputs)[input];
  auto results = artifact.elements<gradc_artifact_port>(entry.outputs);
  auto begin = reinterpret_cast<uintptr_t>(from);
  uint64_t bytes = bytesOfRows(entry, port, rows);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const gradc_artifact_port &result = *findGiven(results, i);
    uint64_t written = bytesOfRows(entry, result, rows);
    auto to = reinterpret_cast<uintptr_t>(outputs[i]);
    bool isRowForRow = to == begin && written == bytes && port.batched && result.batched;
    if (to && !isRowForRow && to < begin + bytes && begin < to + written)
      return true;
  }
  return false;
}

/// Copies inputs that outputs lie over. The rows also share copies of inputs that are not aligned,
/// which workers would copy for each row.
Status EachRow::copyInputs(std::vector<const void *> &inputs, std::span<void *const> outputs,
                           int64_t rows) {
  auto ports = artifact.elements<gradc_artifact_port>(entry.inputs);
  inputCopies.resize(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    bool isAligned = ports[i].batched || reinterpret_cast<uintptr_t>(inputs[i]) % 64 == 0;
    if (!inputs[i] || (isAligned && !isWrittenOver(i, inputs[i], outputs, rows)))
      continue;
    if (!inputCopies[i].data())
      inputCopies[i] = DeviceMemory(device, ports[i].tensor.bytes);
    if (!inputCopies[i].data())
      return Status(Code::doesNotFit,
                    text("no memory for input ", artifact.string(ports[i].tensor.name)));
    if (Status copied =
            device.copyIn(inputCopies[i].data(), inputs[i], bytesOfRows(entry, ports[i], rows));
        !copied.ok())
      return copied;
    inputs[i] = inputCopies[i].data();
  }
  return {};
}

template <typename Launch>
Status EachRow::tryRow(Worker &worker, int64_t row, std::span<const void *const> inputs,
                       std::span<void *const> outputs, Launch &&launch) {
  auto offset = [&](const gradc_artifact_port &port) {
    return port.batched ? bytesOfRows(entry, port, row) : 0;
  };
  auto ports = artifact.elements<gradc_artifact_port>(entry.inputs);
  worker.inputs.assign(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i])
      worker.inputs[i] = static_cast<const std::byte *>(inputs[i]) + offset(ports[i]);
  auto results = artifact.elements<gradc_artifact_port>(entry.outputs);
  worker.outputs.assign(outputs.begin(), outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i])
      worker.outputs[i] = static_cast<std::byte *>(outputs[i]) + offset(*findGiven(results, i));
  Status status = worker.bound.bindInputs(worker.inputs, /*rows=*/1, {}, /*inPlace=*/true,
                                          /*ranks=*/nullptr);
  status = status.ok() ? launch(worker.bound.program().schedule()) : status;
  status = status.ok() ? worker.bound.copyOutputs(worker.outputs, 1) : status;
  return status.ok() ? worker.bound.checkIndices() : status;
}

/// Threads of the team must not end by an exception.
template <typename Launch>
void EachRow::runRow(Worker &worker, int64_t row, std::span<const void *const> inputs,
                     std::span<void *const> outputs, Launch &&launch) {
  Status status;
  try {
    status = tryRow(worker, row, inputs, outputs, launch);
  } catch (const std::bad_alloc &) {
    status = Status(Code::doesNotFit, "out of memory");
  }
  if (!status.ok() && (worker.failure.ok() || row < worker.failedRow)) {
    worker.failedRow = row;
    worker.failure = std::move(status);
  }
}

/// Adds what a thread did for one row.
static void append(Profile &ofRow, Profile &all) {
  ofRow.rows = 1;
  all.append(ofRow);
}

Status EachRow::run(std::span<const void *const> inputs, std::span<void *const> outputs,
                    int64_t rows, Profile *profile) {
  // A team of many threads shares a row less well than a team of few: by Amdahl's law, with a tenth
  // of a row's work on one thread. It is worth its barriers only if it ends all rows that are left
  // before a thread with a row of its own would.
  int64_t threads = std::max(device.threads(), 1u), shared = rows % threads;
  if (10 * threads <= shared * (threads + 9))
    shared = 0;
  int64_t alone = rows - shared;
  std::vector<const void *> given(inputs.begin(), inputs.end());
  Status ready = addWorkers(unsigned(std::clamp<int64_t>(alone, 1, threads)));
  ready = ready.ok() ? copyInputs(given, outputs, rows) : ready;
  if (!ready.ok())
    return ready;
  for (auto &worker : workers)
    worker->failure = {};
  if (alone > 0)
    device.forEach(alone, [&](unsigned thread, int64_t row) {
      Worker &worker = *workers[thread];
      runRow(worker, row, given, outputs, [&](const Schedule &schedule) {
        Profile *noted = profile && thread == 0 ? &worker.profile : nullptr;
        Status launched = launchHere(schedule, noted);
        if (noted)
          append(*noted, *profile);
        return launched;
      });
    });
  Worker &first = *workers.front();
  for (int64_t row = alone; row < rows; ++row)
    runRow(first, row, given, outputs, [&](const Schedule &schedule) {
      Status launched = device.launch(schedule, profile ? &first.profile : nullptr);
      if (profile)
        append(first.profile, *profile);
      return launched;
    });
  const Worker *failed = nullptr;
  for (const auto &worker : workers)
    if (!worker->failure.ok() && (!failed || worker->failedRow < failed->failedRow))
      failed = worker.get();
  return failed ? failed->failure : Status();
}
