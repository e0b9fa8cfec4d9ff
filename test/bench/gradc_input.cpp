// Measures gradc's input pipeline alone and prints one JSON line, as peers/pipeline.py does for its
// peers: images per second in each of three epochs. The first epoch reads the files from disk.
//
//   gradc-input ARTIFACT DATA_DIR [--epochs 3] [--dump FILE --batches 2]     dumps field 0
#include "runtime/core/Session.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/train/entry/EntryCall.h"
#include "runtime/train/job/Job.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace gradc::runtime;

namespace {

using Clock = std::chrono::steady_clock;

void check(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "gradc-input: %s\n", status.message().c_str());
  std::exit(int(status.code()));
}

template <typename T> T take(Result<T> result) {
  check(result.status());
  return std::move(*result);
}

std::shared_ptr<const Dataset> openData(const std::string &path, const std::string &folder) {
  auto artifact = take(Artifact::open(path));
  TrainOptions options;
  options.dataFolder = folder;
  Job job = take(Job::read(*artifact, options));
  auto session = take(Session::create(artifact, {1, ""}));
  const gradc_artifact_entry *entry = session->findEntry("train");
  DataContext context;
  context.folders = job.dataFolders;
  context.demands = demandsOf(*artifact, *entry);
  context.seed = job.seed;
  return take(makeDataset(job.data, context));
}

/// Images per second of one epoch; writes the first `dumped` batches to the file.
double runEpoch(Iterator &iterator, Batch &batch, const Dataset &dataset, std::FILE *dump,
                int dumped) {
  int64_t images = 0;
  auto begin = Clock::now();
  do {
    check(iterator.next(batch));
    images += batch.rows;
    if (dump && dumped-- > 0)
      std::fwrite(batch.field(0), 1, size_t(batch.rows) * dataset.fields()[0].bytes(), dump);
  } while (!batch.endsEpoch);
  return double(images) / std::chrono::duration<double>(Clock::now() - begin).count();
}

} // namespace

int main(int argc, char **argv) {
  int epochs = 3, batches = 2;
  const char *dumpPath = nullptr;
  for (int i = 3; i + 1 < argc; i += 2)
    if (!std::strcmp(argv[i], "--epochs"))
      epochs = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--batches"))
      batches = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--dump"))
      dumpPath = argv[i + 1];
  if (argc < 3 || argc % 2 == 0) {
    std::fprintf(stderr,
                 "usage: gradc-input ARTIFACT DATA_DIR [--epochs N] [--dump FILE --batches N]\n");
    return 2;
  }
  auto dataset = openData(argv[1], argv[2]);
  std::FILE *dump = dumpPath ? std::fopen(dumpPath, "wb") : nullptr;
  auto iterator = dataset->iterate();
  Batch batch = dataset->allocate();
  std::string rates;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%s%.1f", epoch ? ", " : "",
                  runEpoch(*iterator, batch, *dataset, epoch == 0 ? dump : nullptr, batches));
    rates += rate;
  }
  if (dump)
    std::fclose(dump);
  InputReport report = iterator->report();
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"peer\": \"gradc\", \"images_per_s\": [%s], \"rss_mb\": %ld, \"workers\": %d, "
              "\"depth\": %d, \"buffers_mb\": %.1f}\n",
              rates.c_str(), usage.ru_maxrss / 1024, report.workers, report.depth,
              double(report.bytes) / 1e6);
}
