// Measures the steps of an artifact, and each kernel of a step.
#ifndef TOOLS_GRADC_BENCH_BENCH_H
#define TOOLS_GRADC_BENCH_BENCH_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/ranks/Communicator.h"
#include "tools/gradc/Inputs.h"
#include "tools/gradc/doctor/Peaks.h"

namespace gradc {

struct BenchOptions {
  int threads = 0; ///< 0: one per CPU
  double seconds = 2;
  std::string entry;                      ///< "": that of a step or, of a model, "forward"
  int64_t rows = 0;                       ///< of a step; 0: a whole batch
  runtime::Communicator *ranks = nullptr; ///< with which steps are run, or null
  std::string trace;                      ///< of the first profiled steps; "": none
  NamedTensors inputs;
};

struct KernelTime {
  std::string kernel, nodes;
  double seconds = 0; ///< of one launch, median
  uint64_t flops = 0, bytes = 0;
  int threads = 1;      ///< that share it
  bool ofInt8s = false; ///< multiplies 8-bit integers
  double roof = 0;      ///< fraction of the machine's limit
};

struct BenchResult {
  std::string entry, level, data;
  std::string placement; ///< as Session::placement, after the steps
  int threads = 1;
  int64_t batch = 0, steps = 0;
  double median = 0, p10 = 0, p90 = 0;    ///< seconds per step, without its input pipeline
  double open = 0, create = 0, first = 0; ///< seconds: artifact, session, first step
  int64_t peakBytes = 0;                  ///< of memory, beyond what was used before
  int64_t arenaBytes = 0, stateBytes = 0;
  double roof = 0; ///< fraction of the machine's limit of a step: its arithmetic at the peak, or
                   ///< one pass over states and inputs at the bandwidth
  std::vector<KernelTime> kernels; ///< longest first
  std::vector<double> nodeSeconds; ///< of each node of the entry, in all iterations
  Peaks peaks;
};

/// `open` returns the artifact; its time is part of the start-up. Measures the training step if
/// there is a job, on the job's data or, if the data is missing, on random inputs; otherwise the
/// forward pass.
runtime::Result<BenchResult>
measure(mlir::MLIRContext &context,
        std::function<runtime::Result<std::shared_ptr<runtime::Artifact>>()> open,
        const BenchOptions &options);

} // namespace gradc

#endif
