// Facts that ranks must agree on before the first step, and workers that step independently.
#include "runtime/train/loop/Loop.h"

#include "runtime/base/Text.h"
#include "runtime/include/gradc/hash.h"
#include "runtime/train/spec/JobFiles.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

/// A hash of the files' sizes, beginnings, and ends; folders are only distinguished by their number
/// of rows.
static uint64_t fingerprint(std::span<const std::string> files) {
  constexpr size_t ends = 1 << 16;
  gradc_hasher hasher = gradc_hash_begin();
  std::vector<char> bytes(ends);
  for (const std::string &file : files) {
    int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
      int64_t size = status.st_size;
      gradc_hash_add(&hasher, &size, sizeof size);
      for (off_t from : {off_t(0), std::max<off_t>(0, size - off_t(ends))})
        if (ssize_t count = pread(descriptor, bytes.data(), ends, from); count > 0)
          gradc_hash_add(&hasher, bytes.data(), size_t(count));
    }
    if (descriptor >= 0)
      close(descriptor);
  }
  return gradc_hash_end(&hasher);
}

std::vector<Communicator::Fact> Loop::commonFacts() const {
  const Artifact &artifact = session.artifact();
  auto rowsOf = [](const Phase &phase) { return text(phase.dataset->rows()); };
  std::string evaluated;
  for (const Evaluated &one : evaluations)
    evaluated += text(evaluated.empty() ? "" : " and ", rowsOf(one.phase));
  return {{"the artifact (its hash)", text(artifact.header().hash)},
          {"gradc's version", GRADC_VERSION},
          {"the CPU level", std::string(artifact.string(session.level().name))},
          {"the number of steps", text(lastStep)},
          {"the number of epochs", text(job.epochs)},
          {"the seed", text(job.seed)},
          {"the learning rate", text(job.learningRate)},
          {"the step to go on from", text(done)},
          {"the number of training rows", rowsOf(training)},
          {"the number of evaluation rows", evaluated},
          // Found only now, because the first run of a job makes its cache files.
          {"the content of the data files (a hash)",
           text(fingerprint(filesOfJob(Config::job(artifact), job.dataFolders)))},
          {"the log", options.log},
          {"whether checkpoints are written", job.keepsCheckpoints ? "yes" : "no"},
          {"the trace", options.trace}};
}

/// Without rows, a worker's loss and gradient are undefined, because no sum includes other workers.
Status Loop::expectRowsForAll() const {
  int64_t whole = training.dataset->batchSize(), tail = training.dataset->tailSize();
  bool isTail = tail && job.share.least(whole) > 0;
  int64_t fewest = isTail ? tail : whole;
  if (job.share.least(fewest) > 0)
    return {};
  std::string found = text(isTail ? "last batch of " : "batch of ", fewest,
                           fewest == 1 ? " row" : " rows"),
              remedy = isTail ? ", which batch { drop_remainder: true } leaves out" : "";
  return Status::error(text("expected each batch to have at least ", job.share.unit,
                            job.share.unit == 1 ? " row" : " rows", " for each of ",
                            job.share.ranks, " workers beside distribution { staleness }, found a ",
                            found, remedy));
}

/// A server runs the step once per worker.
Status Loop::runApart(const StepScalars &scalars, bool goesOn) {
  for (int run = 0; run < options.ranks->runsPerStep(); ++run) {
    Status status = options.ranks->beginRun(done, vote.asks());
    if (status.ok())
      status = run == 0 ? walk->run(scalars, goesOn) : walk->call().run(walk->batch(), scalars);
    if (status.ok())
      status = options.ranks->endRun(walk->call().proceeded());
    if (!status.ok())
      return status;
  }
  return {};
}

/// All ranks continue with the server's states.
Status Loop::takeServersStates() {
  auto states = session.artifact().states();
  for (uint32_t i = 0; i < states.size(); ++i) {
    if (states[i].kind == GRADC_STATE_CONSTANT || session.dividesState(i))
      continue;
    std::string value(servesWorkers() ? size_t(states[i].tensor.bytes) : 0, '\0');
    if (servesWorkers())
      if (Status read = session.readState(i, value.data()); !read.ok())
        return read;
    auto all = options.ranks->share(value);
    if (!all)
      return all.status();
    if (!servesWorkers())
      if (Status written = session.writeState(i, all->back().data()); !written.ok())
        return written;
  }
  return {};
}

} // namespace gradc::runtime
