// A session: an artifact's state buffers, arena and threads. The training loop, the input
// pipeline's feeder, checkpoints and the C ABI are built on it.
#ifndef RUNTIME_CORE_SESSION_H
#define RUNTIME_CORE_SESSION_H

#include "runtime/base/HostMemory.h"
#include "runtime/core/artifact/EntryRows.h"
#include "runtime/core/entry/PrefetchedInputs.h"
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
  int threads = 1;   ///< team size; any number gives the same bits; 0: one per CPU
  std::string level; ///< empty: a GPU level if there is a GPU, else the highest CPU level
  Communicator *ranks = nullptr; ///< as with setRanks, but states are divided from the start
};

/// One model's state on one device. Not thread-safe: one caller at a time.
class Session {
public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Artifact> artifact,
                                                 const SessionOptions &options);
  virtual ~Session() = default;

  virtual const Artifact &artifact() const = 0;
  virtual const gradc_artifact_level &level() const = 0;
  /// A note for the user on where the session runs: "runs on NVIDIA H200 (...)"; often empty.
  virtual std::string placement() const = 0;
  /// The entry of that name, or null.
  virtual const gradc_artifact_entry *findEntry(std::string_view name) const = 0;

  /// Runs an entry on `rows` rows, at most its batch. `inputs` and `outputs` point to one row-major
  /// host buffer per port, in the entry's order; a batched port's buffer holds these rows only.
  /// Outputs may be null, and so may the input of role ROWS, which the session sets. Inputs aligned
  /// to 64 bytes are read in place, others are copied. On CPUs large outputs that are aligned and
  /// overlap nothing are written in place, also by a run that fails; so is an output in the buffer
  /// of the input that it is with some rows replaced.
  Status run(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
             std::span<void *const> outputs, int64_t rows) {
    Status started = start(entry, inputs, outputs, rows, {});
    return started.ok() ? finish() : started;
  }
  Status run(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
             std::span<void *const> outputs) {
    return run(entry, inputs, outputs, entry.batch);
  }
  /// The two halves of `run`. Inputs must stay unchanged, and outputs are not available, until
  /// `finish` returns. On CPUs, `start` does all the work. The `prefetched` copies replace the
  /// inputs that they were made from, unless the entry has run since.
  virtual Status start(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                       std::span<void *const> outputs, int64_t rows,
                       PrefetchedInputs prefetched) = 0;
  virtual Status finish() = 0;

  /// Whether the session computes asynchronously to the host, in device memory.
  virtual bool runsBeside() const = 0;
  /// Called between `start` and `finish`: copies inputs of the entry's next run to the device
  /// meanwhile, except null and small inputs (at most 64 bytes). The next run is passed all inputs
  /// nevertheless. Inputs must stay unchanged until `finish` returns. Does nothing on CPUs.
  virtual Result<PrefetchedInputs> prefetch(const gradc_artifact_entry &entry,
                                            std::span<const void *const> inputs, int64_t rows) = 0;
  /// Whether `finish` would not have to wait.
  virtual bool hasEnded() = 0;
  /// The host memory that inputs are best kept in. The session must outlive it.
  virtual std::shared_ptr<HostMemory> hostMemory() = 0;

  /// Sets the ranks that share runs from the next run on; null: this process only. `ranks` must
  /// outlive the last run. If ranks divide states, each keeps its own parts of them.
  virtual Status setRanks(Communicator *ranks) = 0;

  /// Sets whether runs record the start and end of their launches; off by default.
  virtual void profile(bool on) = 0;
  /// The profile of the last run, if it was profiled.
  virtual const Profile &lastProfile() const = 0;

  /// Reads the logical (row-major) value of a state into `out`, which has room for tensor.bytes.
  /// For a divided state this is a collective call; `out` may be null on ranks that do not need it.
  virtual Status readState(uint32_t state, void *out) = 0;
  virtual Status writeState(uint32_t state, const void *value) = 0;
  /// Whether ranks divide any states.
  virtual bool dividesStates() const = 0;
  virtual bool dividesState(uint32_t state) const = 0;
  /// If ranks are the stages of a pipeline: between `true` and `false` every rank has all states
  /// but optimizer slots, so that it can run any entry. A collective call; does nothing otherwise.
  virtual Status holdWholeStates(bool whole) = 0;
  /// Resets every state to the artifact's initial value.
  virtual Status resetStates() = 0;

  /// This session if it runs on CPUs; otherwise a CPU session that this one owns. The latter is for
  /// entries that read only constants, such as those of map models.
  virtual Result<const Session *> onHost() = 0;
  /// Binds an entry of a CPU session to its own memory: `arena` has `arenaBeside` bytes and is
  /// aligned to 64. `launchHere` runs the program on any thread, concurrently with the session. The
  /// entry must not write states. Null: no memory for the outputs. Thread-safe.
  virtual std::unique_ptr<Program> bindBeside(const gradc_artifact_entry &entry,
                                              std::byte *arena) const = 0;
  virtual uint64_t arenaBeside(const gradc_artifact_entry &entry) const = 0;

  /// The bytes of intermediate values of a run; of all threads, if an entry runs for each row.
  virtual uint64_t arenaOf(const gradc_artifact_entry &entry) const = 0;

  /// Replays an entry launch by launch, for verify and for finding the first non-finite tensor.
  /// `begin` binds the inputs. Then `next` returns the next launch, following the conditions and
  /// counts that earlier launches computed, and `runLaunch` runs it, until `next` returns none. In
  /// between only `slice` may be called, since all runs of the session share one arena.
  virtual Status begin(const gradc_artifact_entry &entry, std::span<const void *const> inputs,
                       int64_t rows) = 0;
  Status begin(const gradc_artifact_entry &entry, std::span<const void *const> inputs) {
    return begin(entry, inputs, entry.batch);
  }
  virtual Result<std::optional<LaunchPath>> next() = 0;
  /// Runs the launch of a node in the replay's current iteration.
  virtual Status runLaunch(uint32_t node) = 0;
  /// The bytes of a slice of the replayed entry in the current iteration; valid until the next
  /// call.
  virtual std::span<std::byte> slice(const gradc_artifact_slice &slice) = 0;
};

} // namespace gradc::runtime

#endif
