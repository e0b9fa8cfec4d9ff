// A session on any device: chooses the level, binds entries to memory, and runs them.
#include "runtime/core/Session.h"
#include "runtime/base/Text.h"
#include "runtime/core/Placement.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/core/artifact/Shards.h"
#include "runtime/core/entry/BoundEntry.h"
#include "runtime/core/entry/EachRow.h"
#include "runtime/core/entry/Program.h"
#include "runtime/core/entry/Replay.h"
#include "runtime/core/state/StateMemory.h"
#include "runtime/device/Device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

using namespace gradc::runtime;

namespace {

class DeviceSession final : public Session {
public:
  DeviceSession(std::shared_ptr<const Artifact> artifact, Placement place)
      : theArtifact(std::move(artifact)), device(std::move(place.device)), theLevel(*place.level),
        note(std::move(place.note)), states(*theArtifact, theLevel, *device,
                                            [this](auto &&...call) { return runOnce(call...); }) {}

  Status prepare(Communicator *all, bool onlyConstants = false);
  /// Whether `prepare` failed because required libraries are missing.
  bool lacksLibraries() const { return librariesAreMissing; }

  const Artifact &artifact() const override { return *theArtifact; }
  const gradc_artifact_level &level() const override { return theLevel; }
  std::string placement() const override;
  const gradc_artifact_entry *findEntry(std::string_view name) const override;

  Status start(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
               std::span<void *const> outputs, int64_t rows, PrefetchedInputs prefetched) override {
    Status derived = states.derive();
    return derived.ok() ? launch(entry, inputs, outputs, rows, prefetched) : derived;
  }
  Status finish() override;
  bool runsBeside() const override { return !device->sharesHostMemory(); }
  Result<PrefetchedInputs> prefetch(const gradc_artifact_entry &entry,
                                    std::span<const void *const> inputs, int64_t rows) override;
  bool hasEnded() override { return device->isIdle(); }
  std::shared_ptr<HostMemory> hostMemory() override { return device->hostMemory(); }
  void profile(bool on) override {
    profiled = on;
    profiledRun.clear();
  }
  const Profile &lastProfile() const override { return profiledRun; }
  Status setRanks(Communicator *all) override;
  Result<const Session *> onHost() override;
  std::unique_ptr<Program> bindBeside(const gradc_artifact_entry &entry,
                                      std::byte *arena) const override;
  uint64_t arenaBeside(const gradc_artifact_entry &entry) const override;
  uint64_t arenaOf(const gradc_artifact_entry &entry) const override;
  Status readState(uint32_t state, void *out) override { return states.read(state, out); }
  bool dividesStates() const override { return states.division(); }
  bool dividesState(uint32_t state) const override { return states.isDivided(state); }
  Status holdWholeStates(bool whole) override { return states.holdWhole(whole); }
  Status writeState(uint32_t state, const void *value) override {
    Status owned = ownStates();
    return owned.ok() ? states.write(state, value) : owned;
  }
  Status resetStates() override {
    Status owned = ownStates();
    return owned.ok() ? states.reset() : owned;
  }

  using Session::begin;
  Status begin(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
               int64_t rows) override;
  Result<std::optional<LaunchPath>> next() override { return replay.next(); }
  Status runLaunch(uint32_t node) override { return replay.run(node); }
  std::span<std::byte> slice(const gradc_artifact_slice &slice) override {
    return replay.slice(slice);
  }

private:
  Status loadKernels();
  Status prepareCalls(uint64_t maxWorkspace);
  Status allocateArena();
  Spaces spaces() const;
  Result<BoundEntry *> bind(const gradc_artifact_entry &entry);
  /// Binds an entry for a run; states that the entry writes become this session's own.
  Result<BoundEntry *> bindToRun(const gradc_artifact_entry &entry);
  Status launch(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                std::span<void *const> outputs, int64_t rows, PrefetchedInputs prefetched);
  Status runEachRow(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                    std::span<void *const> outputs, int64_t rows);
  Status ownStates();
  void unbind() {
    replay.end();
    programs.clear();
    separate.clear();
  }
  /// Runs an entry that converts or derives states, and drops its binding, which would occupy as
  /// much memory as a state.
  Status runOnce(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                 std::span<void *const> outputs);
  std::string_view string(gradc_string offset) const { return theArtifact->string(offset); }
  std::span<const gradc_artifact_entry> entries() const {
    return theArtifact->elements<gradc_artifact_entry>(theLevel.entries);
  }
  std::span<const gradc_artifact_port> ports(gradc_range range) const {
    return theArtifact->elements<gradc_artifact_port>(range);
  }

  // Members are destroyed in reverse order: memory and image before their device.
  std::shared_ptr<const Artifact> theArtifact;
  std::unique_ptr<Device> device;
  const gradc_artifact_level &theLevel;
  std::string note;
  std::unique_ptr<Image> image;
  std::vector<void *> kernels;
  LibraryCalls libraries; // one call per kernel
  bool librariesAreMissing = false;
  StateMemory states;
  std::shared_ptr<std::byte> arena;
  uint64_t scratchAt = 0; ///< in the arena
  // Both are destroyed before `image`.
  std::map<const gradc_artifact_entry *, std::unique_ptr<BoundEntry>> programs;
  std::map<const gradc_artifact_entry *, EachRow> separate; // entries that run for each row
  const gradc_artifact_entry *running = nullptr;            // between `start` and `finish`
  uint64_t prefetches = 0;                                  // so far
  Replay replay;
  bool profiled = false;
  Profile profiledRun;
  Communicator *ranks = nullptr;           // null if there is a single rank
  std::unique_ptr<DeviceSession> hostSide; // created by `onHost`
  mutable std::mutex besideMutex;          // guards moving the states and binding to them
  mutable bool boundBeside = false;
  std::shared_ptr<std::byte> besideStates; // bound to by `bindBeside`, after the states have moved
};

std::string DeviceSession::placement() const {
  std::string all = note;
  for (const std::string &more : {libraries.note, device->note()})
    if (!more.empty())
      appendText(all, text(all.empty() ? "" : "; ", more));
  return all;
}

Status DeviceSession::prepare(Communicator *all, bool onlyConstants) {
  Status ready = setRanks(all);
  ready = ready.ok() ? loadKernels() : ready;
  ready = ready.ok() ? states.allocate() : ready;
  ready = ready.ok() ? allocateArena() : ready;
  return ready.ok() ? states.fill(onlyConstants) : ready;
}

Status DeviceSession::setRanks(Communicator *all) {
  ranks = all && all->size() > 1 ? all : nullptr;
  Status owned = expectShards(*theArtifact, all);
  if (owned.ok() && states.isDivisible(ranks))
    owned = ownStates();
  if (owned.ok() && states.setRanks(ranks))
    unbind(); // from other ranks' parts
  return owned;
}

Status DeviceSession::ownStates() {
  if (!states.isShared())
    return {};
  std::lock_guard lock(besideMutex);
  auto former = states.own();
  if (!former)
    return former.status();
  if (*former) {
    unbind(); // from memory shared with other sessions
    if (boundBeside)
      besideStates = std::move(*former);
  }
  return {};
}

Result<const Session *> DeviceSession::onHost() {
  if (device->sharesHostMemory())
    return this;
  if (!hostSide) {
    auto placed = placeOnHost(*theArtifact, {1, ""});
    if (!placed)
      return placed.status();
    auto made = std::make_unique<DeviceSession>(theArtifact, std::move(*placed));
    if (Status ready = made->prepare(nullptr, /*onlyConstants=*/true); !ready.ok())
      return ready;
    hostSide = std::move(made);
  }
  return hostSide.get();
}

/// The offset of scratch memory in an arena: after an entry's tensors.
static uint64_t scratchOffset(const gradc_artifact_entry &entry) {
  constexpr uint64_t line = 64;
  return (entry.arena + line - 1) / line * line;
}

uint64_t DeviceSession::arenaBeside(const gradc_artifact_entry &entry) const {
  return scratchOffset(entry) + theLevel.scratch;
}

uint64_t DeviceSession::arenaOf(const gradc_artifact_entry &entry) const {
  if (!entry.each_row)
    return entry.arena;
  auto workers = uint64_t(std::min<int64_t>(device->threads(), entry.batch));
  return workers * scheduleOf(*theArtifact, entries(), entry).arena;
}

std::unique_ptr<Program> DeviceSession::bindBeside(const gradc_artifact_entry &entry,
                                                   std::byte *arena) const {
  std::lock_guard lock(besideMutex);
  boundBeside = true;
  auto program = std::make_unique<Program>(
      *theArtifact, theLevel, entry,
      Spaces{arena, states.buffers(), kernels, {}, arena + scratchOffset(entry)}, *device);
  return program->ok() ? std::move(program) : nullptr;
}

Status DeviceSession::loadKernels() {
  auto loaded = device->load(theArtifact->bytes(theLevel.image));
  if (!loaded)
    return loaded.status();
  image = std::move(*loaded);
  for (const auto &kernel : theArtifact->elements<gradc_artifact_kernel>(theLevel.kernels)) {
    std::string symbol(string(kernel.symbol));
    void *address = image->findKernel(symbol.c_str());
    if (!address)
      return Status::invalid(text("corrupt artifact: the image of level ", string(theLevel.name),
                                  " lacks kernel ", symbol));
    kernels.push_back(address);
  }
  return prepareCalls(/*maxWorkspace=*/uint64_t(256) << 20);
}

Status DeviceSession::prepareCalls(uint64_t maxWorkspace) {
  std::vector<const gradc_artifact_call *> wanted;
  for (const auto &kernel : theArtifact->elements<gradc_artifact_kernel>(theLevel.kernels)) {
    auto call = theArtifact->elements<gradc_artifact_call>(kernel.call);
    wanted.push_back(call.empty() ? nullptr : call.data());
  }
  auto prepared = device->prepareCalls(wanted, maxWorkspace);
  librariesAreMissing = !prepared;
  if (prepared)
    libraries = std::move(*prepared);
  return prepared.status();
}

/// Allocates one arena for all entries, which run one at a time, and scratch memory after it.
Status DeviceSession::allocateArena() {
  constexpr uint64_t workspaceAlignment = 256;
  for (const gradc_artifact_entry &entry : entries())
    scratchAt = std::max(scratchAt, scratchOffset(entry));
  uint64_t bytes = scratchAt + device->threads() * theLevel.scratch;
  uint64_t begin = (bytes + workspaceAlignment - 1) / workspaceAlignment * workspaceAlignment;
  if (libraries.workspace) {
    arena = device->allocateShared(begin + libraries.workspace);
    if (arena) {
      device->setWorkspace(arena.get() + begin);
      return {};
    }
    std::string missing = text("no memory for the ", libraries.workspace,
                               " bytes that library calls work in: they do without");
    if (Status prepared = prepareCalls(0); !prepared.ok())
      return Status(Code::doesNotFit, text(missing, "; ", prepared.message()));
    libraries.note = text(missing, "; ", libraries.note);
  }
  arena = device->allocateShared(bytes);
  return arena ? Status()
               : Status(Code::doesNotFit, text("no memory for the arena (", bytes, " bytes)"));
}

const gradc_artifact_entry *DeviceSession::findEntry(std::string_view name) const {
  for (const gradc_artifact_entry &entry : entries())
    if (string(entry.name) == name)
      return &entry;
  return nullptr;
}

Spaces DeviceSession::spaces() const {
  return {arena.get(),     states.buffers(),        kernels,
          libraries.calls, arena.get() + scratchAt, states.division()};
}

Result<BoundEntry *> DeviceSession::bind(const gradc_artifact_entry &entry) {
  std::unique_ptr<BoundEntry> &bound = programs[&entry];
  if (!bound)
    bound = std::make_unique<BoundEntry>(*theArtifact, theLevel, entry, spaces(), *device);
  if (bound->ok())
    return bound.get();
  programs.erase(&entry);
  return Status(Code::doesNotFit, text("no memory for the outputs of entry ", string(entry.name)));
}

Result<BoundEntry *> DeviceSession::bindToRun(const gradc_artifact_entry &entry) {
  auto bound = bind(entry);
  if (!bound || !(*bound)->program().writesStates())
    return bound;
  Status owned = ownStates();
  return owned.ok() ? bind(entry) : owned;
}

Result<PrefetchedInputs> DeviceSession::prefetch(const gradc_artifact_entry &entry,
                                                 std::span<const void *const> inputs,
                                                 int64_t rows) {
  if (device->sharesHostMemory())
    return PrefetchedInputs();
  auto bound = bind(entry);
  if (!bound)
    return bound.status();
  PrefetchedInputs prefetched{++prefetches};
  Status copied = (*bound)->prefetch(inputs, rows, prefetched);
  return copied.ok() ? Result<PrefetchedInputs>(prefetched) : copied;
}

Status DeviceSession::launch(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                             std::span<void *const> outputs, int64_t rows,
                             PrefetchedInputs prefetched) {
  size_t results = countGiven(ports(entry.outputs));
  if (Status count = checkCount(*theArtifact, entry, "outputs", results, outputs.size());
      !count.ok())
    return count;
  if (entry.each_row)
    return runEachRow(entry, inputs, outputs, rows);
  auto bound = bindToRun(entry);
  if (!bound)
    return bound.status();
  const Program &program = (*bound)->program();
  bool isHere = device->sharesHostMemory();
  if (ranks && program.hasCollectives() && !isHere)
    return Status(Code::usage, text("entry ", string(entry.name), " is shared by ", ranks->size(),
                                    " ranks, which this version does on CPUs only; it runs on ",
                                    string(theLevel.name)));
  if (Status s = (*bound)->bindInputs(inputs, rows, prefetched, isHere, ranks); !s.ok())
    return s;
  if (isHere)
    (*bound)->bindOutputs(inputs, outputs, rows);
  profiledRun.clear();
  Schedule schedule = program.schedule();
  schedule.ranks = ranks;
  Status launched = device->launch(schedule, profiled ? &profiledRun : nullptr);
  if (launched.ok() && ranks && program.hasCollectives())
    launched = ranks->settle();
  Status copied = launched.ok() ? (*bound)->copyOutputs(outputs, rows) : launched;
  running = &entry;
  if (!copied.ok())
    (void)device->synchronize(); // outputs must outlive pending copies
  return copied;
}

Status DeviceSession::runEachRow(const gradc_artifact_entry &entry,
                                 std::span<const void *const> inputs,
                                 std::span<void *const> outputs, int64_t rows) {
  if (Status fits = checkRows(*theArtifact, entry, rows); !fits.ok())
    return fits;
  if (Status count = checkCount(*theArtifact, entry, "inputs", entry.inputs.count, inputs.size());
      !count.ok())
    return count;
  if (!device->sharesHostMemory())
    return Status::invalid(text("corrupt artifact: entry ", string(entry.name),
                                " runs for each row, which CPUs do, at level ",
                                string(theLevel.name)));
  const gradc_artifact_entry &oneRow = scheduleOf(*theArtifact, entries(), entry);
  EachRow &each = separate
                      .try_emplace(&entry, *theArtifact, theLevel, entry, oneRow, spaces(),
                                   arenaBeside(oneRow), scratchOffset(oneRow), *device)
                      .first->second;
  profiledRun.clear();
  running = nullptr; // indices have been checked
  return each.run(inputs, outputs, rows, profiled ? &profiledRun : nullptr);
}

Status DeviceSession::finish() {
  if (Status ended = device->synchronize(); !ended.ok())
    return ended;
  auto bound = running ? programs.find(running) : programs.end();
  return bound == programs.end() ? Status() : bound->second->checkIndices();
}

Status DeviceSession::runOnce(const gradc_artifact_entry &entry,
                              std::span<const void *const> inputs, std::span<void *const> outputs) {
  Status status = launch(entry, inputs, outputs, entry.batch, {});
  if (status.ok())
    status = finish();
  replay.end(); // the replay may be of this entry
  programs.erase(&entry);
  return status;
}

Status DeviceSession::begin(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                            int64_t rows) {
  if (entry.each_row)
    return Status(Code::usage,
                  text("entry ", string(entry.name), " runs entry ",
                       string(scheduleOf(*theArtifact, entries(), entry).name),
                       " for each row; expected that one, to run it launch by launch"));
  if (Status derived = states.derive(); !derived.ok())
    return derived;
  auto bound = bindToRun(entry);
  if (!bound)
    return bound.status();
  // Inputs are copied, so the caller may release them before the last launch.
  (*bound)->keepOutputs();
  Status begun = (*bound)->bindInputs(inputs, rows, {}, /*inPlace=*/false, ranks);
  if (begun.ok())
    replay.begin(*theArtifact, entry, (*bound)->program(), *device, rows < entry.batch);
  return begun;
}

} // namespace

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Artifact> artifact,
                                                 const SessionOptions &options) {
  auto placed = placeSession(*artifact, options);
  if (!placed)
    return placed.status();
  bool hasInstead = placed->hasInstead;
  auto session = std::make_unique<DeviceSession>(artifact, std::move(*placed));
  Status ready = session->prepare(options.ranks);
  if (ready.code() == Code::doesNotFit && hasInstead && !session->lacksLibraries()) {
    session.reset();
    placed = placeOnHost(*artifact, options, ready.message());
    if (!placed)
      return placed.status();
    session = std::make_unique<DeviceSession>(std::move(artifact), std::move(*placed));
    ready = session->prepare(options.ranks);
  }
  if (!ready.ok())
    return ready;
  return std::unique_ptr<Session>(std::move(session));
}
