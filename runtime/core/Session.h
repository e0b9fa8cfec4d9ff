// A session: an artifact's state buffers, arena and threads. What the training loop, the input
// pipeline's feeder, checkpoints and the C ABI are built on.
#ifndef RUNTIME_CORE_SESSION_H
#define RUNTIME_CORE_SESSION_H

#include "runtime/base/HostMemory.h"
#include "runtime/core/EntryRows.h"
#include "runtime/core/PrefetchedInputs.h"
#include "runtime/device/Schedule.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradc::runtime {

class Device;
class Program;
struct Profile;

struct SessionOptions {
  int threads = 1;   ///< of the team; the same bits for any number; 0: one a CPU
  std::string level; ///< empty: a GPU's level where there is one, else the CPUs' highest
  Communicator *ranks = nullptr; ///< as by setRanks, but states are divided from the beginning
};

/// One model's state on one device. Not thread-safe: one caller at a time.
class Session {
public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Artifact> artifact,
                                                 const SessionOptions &options);
  virtual ~Session() = default;

  virtual const Artifact &artifact() const = 0;
  virtual const gradc_artifact_level &level() const = 0;
  /// A note for people on where it runs: "runs on NVIDIA H200 (...)"; often empty.
  virtual std::string placement() const = 0;
  /// The entry of that name, or null.
  virtual const gradc_artifact_entry *findEntry(std::string_view name) const = 0;

  /// Runs an entry on `rows` rows, at most its batch. `inputs` and `outputs` point to one row-major
  /// host buffer per port, in the entry's order; a batched port's buffer holds these rows only. An
  /// output may be null, and so may the input of role ROWS, which the session sets. Inputs aligned
  /// to 64 bytes are read in place, others are copied.
  Status run(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
             std::span<void *const> outputs, int64_t rows) {
    Status started = start(entry, inputs, outputs, rows, {});
    return started.ok() ? finish() : started;
  }
  Status run(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
             std::span<void *const> outputs) {
    return run(entry, inputs, outputs, entry.batch);
  }
  /// The two halves of `run`. Inputs stay as they are until `finish` has returned, which is when
  /// outputs are there. On the host's CPUs the first half is all of it. What was `prefetched` takes
  /// the place of the inputs that it was made of, unless the entry has run since.
  virtual Status start(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                       std::span<void *const> outputs, int64_t rows,
                       PrefetchedInputs prefetched) = 0;
  virtual Status finish() = 0;

  /// Whether it computes in memory of its own, beside the host.
  virtual bool runsBeside() const = 0;
  /// Between `start` and `finish`: brings inputs of the entry's next run to the device meanwhile;
  /// null and small ones (of 64 bytes at most) come with that run, which is passed all of them all
  /// the same. They stay as they are until `finish` has returned. Does nothing on the host's CPUs.
  virtual Result<PrefetchedInputs> prefetch(const gradc_artifact_entry &entry,
                                            std::span<const void *const> inputs, int64_t rows) = 0;
  /// Whether `finish` would not have to wait.
  virtual bool hasEnded() = 0;
  /// Memory that inputs are best kept in. The session outlives it.
  virtual std::shared_ptr<HostMemory> hostMemory() = 0;

  /// The ranks that share runs, from the next run on; null: this process is the only one. Stays
  /// until the last run has ended. Where ranks divide states, each keeps its own parts of them.
  virtual Status setRanks(Communicator *ranks) = 0;

  /// Whether runs write down when their launches begin and end; off at first.
  virtual void profile(bool on) = 0;
  /// Of the last run, when it was profiled.
  virtual const Profile &lastProfile() const = 0;

  /// The logical (row-major) bytes of a state: `out` has tensor.bytes of it. A state that ranks
  /// divide is read by all of them at once; null: this one needs no bytes.
  virtual Status readState(uint32_t state, void *out) = 0;
  virtual Status writeState(uint32_t state, const void *value) = 0;
  /// Whether ranks divide some states.
  virtual bool dividesStates() const = 0;
  /// Every state back to the artifact's initial values.
  virtual Status resetStates() = 0;

  /// This session where it runs on CPUs; else one that does, made for entries that read
  /// constants alone, as those of map models do, and kept by this one.
  virtual Result<const Session *> onHost() = 0;
  /// An entry of a session on CPUs, bound to memory of its own: `arena` has `arenaBeside` bytes at
  /// a multiple of 64. `launchHere` runs it, on any thread and beside the session. The entry must
  /// not write states. Null: there is no memory for its outputs. Thread-safe.
  virtual std::unique_ptr<Program> bindBeside(const gradc_artifact_entry &entry,
                                              std::byte *arena) const = 0;
  virtual uint64_t arenaBeside(const gradc_artifact_entry &entry) const = 0;

  /// Launch by launch, for verify and finding the first non-finite tensor. `begin` binds the
  /// inputs; then `next` tells which launch comes, by the conditions and counts that earlier ones
  /// have computed, until there is none, and `runLaunch` runs it. Slices may be looked at in
  /// between, but nothing else of the session be called: the arena is one.
  virtual Status begin(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                       int64_t rows) = 0;
  Status begin(const gradc_artifact_entry &entry, std::span<const void *const> inputs) {
    return begin(entry, inputs, entry.batch);
  }
  virtual Result<std::optional<LaunchPath>> next() = 0;
  /// Runs the launch of a node, in the iteration where the replay stands.
  virtual Status runLaunch(uint32_t node) = 0;
  /// The bytes behind a slice of the entry that was begun, in that iteration (valid until the next
  /// call).
  virtual std::span<std::byte> slice(const gradc_artifact_slice &slice) = 0;
};

} // namespace gradc::runtime

#endif
