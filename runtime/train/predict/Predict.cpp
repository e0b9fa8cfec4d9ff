// Runs the entry of a model on any number of rows.
#include "runtime/train/predict/Predict.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Text.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/train/checkpoint/RunFolder.h"
#include "runtime/train/loop/Phase.h"
#include "runtime/train/predict/GivenData.h"
#include "runtime/train/predict/PredictionTable.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/Progress.h"
#include "runtime/train/spec/JobFiles.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace gradc::runtime {

Result<Checkpoint> openWeights(const std::string &path) {
  CheckpointFolder folder(path);
  if (!folder.exists())
    return Checkpoint::open(path);
  if (access(folder.best().c_str(), F_OK) == 0)
    return Checkpoint::open(folder.best());
  auto latest = folder.latest();
  return latest ? Checkpoint::open(*latest) : latest.status();
}

namespace {

/// A session with trained weights, and the matching knowledge of the data.
struct Trained {
  std::unique_ptr<Session> session;
  std::shared_ptr<DataState> state = std::make_shared<DataState>();
  std::string weights = {}; ///< their origin, for messages
  std::string file = {};    ///< the checkpoint; empty: none
};

Result<Trained> openTrained(const std::shared_ptr<const Artifact> &artifact,
                            const TrainOptions &options) {
  auto session = Session::create(artifact, {options.threads, options.level});
  if (!session)
    return session.status();
  Trained trained{std::move(*session)};
  std::string path = options.checkpoint, passedOver;
  Config spec = Config::job(*artifact);
  if (path.empty()) {
    auto folder = pathOfSpec(spec, spec.child("checkpoint").string("directory"), "--checkpoint");
    if (folder && !folder->empty())
      if (NewestRun run = newestRun(*folder, *artifact); CheckpointFolder(run.folder).holdsAny()) {
        path = std::move(run.folder);
        passedOver = std::move(run.passedOver);
      }
  }
  if (path.empty()) {
    trained.weights = spec ? "the weights that it was compiled with: --checkpoint takes those of a "
                             "training"
                           : "the model's weights";
    return trained;
  }
  auto checkpoint = openWeights(path);
  if (!checkpoint)
    return checkpoint.status();
  if (Status restored = checkpoint->restore(*trained.session, /*withSlots=*/false); !restored.ok())
    return restored;
  *trained.state = checkpoint->position().dataState;
  trained.file = checkpoint->file();
  trained.weights = text("the weights of '", trained.file, '\'');
  if (!passedOver.empty())
    trained.weights += text(" ('", passedOver, "' is of another model)");
  return trained;
}

/// Runs the rows of a data set through an entry, line by line.
class Predictions {
public:
  Predictions(Session &session, const gradc_artifact_entry &entry, PredictionTable &table,
              bool namesFiles)
      : session(session), entry(entry), table(table), namesFiles(namesFiles),
        ports(session.artifact().elements<gradc_artifact_port>(entry.inputs)) {}

  /// Passes the lines of each batch to `take`.
  template <typename Take>
  Status run(const Dataset &dataset, const std::atomic<int> *interrupt, Take &&take) {
    auto iterator = dataset.iterate();
    Batch batch = dataset.allocate();
    std::string lines = table.header();
    do {
      if (Status status = iterator->next(batch); !status.ok())
        return status;
      if (Status whole = MappedFile::expectWhole(); !whole.ok())
        return whole;
      if (Status status = runBatch(dataset, batch); !status.ok())
        return status;
      if (!table.isFinite(batch.rows))
        if (std::string bad = findNonFiniteData(dataset, batch); !bad.empty())
          return Status::error(text("cannot predict: ", bad, ", expected a finite number"));
      for (int64_t row = 0; row < batch.rows; ++row, ++done)
        table.addLine(lines, namesFiles ? fileOf(dataset, batch, row) : text(done), row);
      if (Status status = take(lines); !status.ok())
        return status;
      lines.clear();
      if (interrupt && interrupt->load())
        return Status::error(text("stopped after ", done, " of ", RowCount{dataset.rows()}));
    } while (!batch.endsEpoch);
    return {};
  }

private:
  Status runBatch(const Dataset &dataset, Batch &batch) {
    int64_t rows = batch.rows;
    scalars.set({.step = counter++});
    if (!entry.any_rows && entry.batch > rows) {
      pad(dataset, batch);
      rows = entry.batch;
    }
    std::vector<const void *> inputs;
    size_t field = 0;
    for (const gradc_artifact_port &port : ports)
      inputs.push_back(port.role == GRADC_ROLE_DATA
                           ? batch.field(field++)
                           : scalarInput(session.artifact(), entry, port, scalars));
    std::vector<void *> outputs = table.places();
    return session.run(entry, inputs, outputs, rows);
  }

  /// Fills the batch by repeating its last row.
  void pad(const Dataset &dataset, Batch &batch) const {
    std::span<const Field> fields = dataset.fields();
    for (size_t i = 0; i < fields.size(); ++i)
      for (int64_t row = batch.rows; row < entry.batch; ++row)
        std::memcpy(batch.field(i) + size_t(row) * fields[i].bytes(),
                    batch.field(i) + size_t(batch.rows - 1) * fields[i].bytes(), fields[i].bytes());
  }

  /// The description of a picture is its path in quotes.
  static std::string fileOf(const Dataset &dataset, const Batch &batch, int64_t row) {
    std::string name = dataset.describeRow(batch, row);
    return name.size() > 2 ? name.substr(1, name.size() - 2) : name;
  }

  Session &session;
  const gradc_artifact_entry &entry;
  PredictionTable &table;
  bool namesFiles;
  std::span<const gradc_artifact_port> ports;
  StepPorts scalars;
  int64_t done = 0, counter = 0; ///< random ops draw other numbers for each batch
};

std::vector<Demand> demandsOfUser(const Artifact &artifact, const gradc_artifact_entry &entry) {
  std::vector<Demand> demands = demandsOf(artifact, entry);
  for (Demand &demand : demands)
    if (demand.field.empty()) // the model has no spec
      demand.field = demand.input;
  return demands;
}

/// The block that defines how rows are prepared for use: as for evaluation.
Config preparation(Config spec) {
  Config evaluation = spec.child("evaluation").child("data");
  return evaluation ? evaluation : spec.child("data");
}

} // namespace

/// Rows that are computed together must neither be split nor padded.
static Status expectUncoupled(const Artifact &artifact, const gradc_artifact_entry &entry,
                              int64_t rows) {
  std::string_view node = artifact.string(entry.coupling_node);
  if (node.empty() || rows == entry.batch || (entry.any_rows && rows < entry.batch))
    return {};
  return Status::error(text("cannot predict ", RowCount{rows}, ": node '", node,
                            "' couples rows, so they must be one batch of ", entry.batch));
}

static Status write(const std::string &lines, const std::string &output,
                    std::optional<AtomicFile> &file) {
  if (file) {
    file->write(std::as_bytes(std::span(lines)));
    return file->status(); // the other rows may take hours
  }
  if (std::fwrite(lines.data(), 1, lines.size(), stdout) != lines.size() || std::fflush(stdout))
    return Status::error(text("cannot write to standard output: ", std::strerror(errno)));
  return {};
}

/// Checks that the predictions overwrite no input file and can be written.
static Status expectOutput(const CommandLine &line, const Artifact &artifact,
                           const std::string &checkpoint) {
  if (line.output.empty())
    return {};
  Config spec = Config::job(artifact);
  std::string folders[] = {dataFolderOf(spec, line.options)};
  std::vector<std::string> inputs = filesToKeep(spec, folders, line.options.program);
  inputs.insert(inputs.end(), {line.data, checkpoint});
  if (Status status = expectNoInput(line.output, inputs); !status.ok())
    return status;
  return AtomicFile::check(line.output);
}

/// Fails if the name promises another format than that of predictions.
static Status expectCsv(const std::string &output) {
  for (const char *ending : {".npy", ".npz", ".parquet", ".json", ".jsonl"})
    if (output.ends_with(ending))
      return Status(Code::usage, text("predictions are written as CSV: expected a name such as "
                                      "predictions.csv, found '",
                                      output, '\''));
  return {};
}

Status predict(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line) {
  if (line.data.empty())
    return Status(Code::usage, "expected --data FILE: what to predict for");
  auto trained = openTrained(artifact, line.options);
  if (!trained)
    return trained.status();
  if (Status status = expectOutput(line, *artifact, trained->file); !status.ok())
    return status;
  Session &session = *trained->session;
  const gradc_artifact_entry *entry = session.findEntry(GRADC_PREDICT_ENTRY);
  if (!entry)
    entry = session.findEntry(GRADC_FORWARD_ENTRY);
  if (!entry || !entry->batch)
    return Status::invalid(entry ? "cannot predict: the model has no rows, whose number a run may "
                                   "choose: export it with "
                                   "a dynamic batch"
                                 : "cannot predict: the artifact has no entry 'forward'");

  DataContext context;
  context.folders = {""};
  context.demands = demandsOfUser(*artifact, *entry);
  context.state = trained->state;
  context.fits = false;
  auto given = dataOfFile(preparation(Config::job(*artifact)), line.data, context.demands, &session,
                          entry->batch, /*filters=*/false);
  if (!given)
    return given.status();
  for (Config field : sourceKind(given->block.root()).children("field")) {
    std::string file(field.string("path")); // in a folder
    if (Status status = expectNoInput(line.output, {&file, 1}); !file.empty() && !status.ok())
      return status;
  }
  if (Status status = expectCsv(line.output); !status.ok())
    return status;
  auto dataset = makeData(session, given->block.root(), std::move(context));
  if (!dataset)
    return dataset.status();
  if (Status status = expectUncoupled(*artifact, *entry, (*dataset)->rows()); !status.ok())
    return status;

  bool namesFiles = given->kind == "folder";
  PredictionTable table(*artifact, *entry, *trained->state, namesFiles ? "file" : "row");
  std::optional<AtomicFile> file;
  if (!line.output.empty())
    file.emplace(line.output);
  Predictions predictions(session, *entry, table, namesFiles);
  auto take = [&](const std::string &lines) { return write(lines, line.output, file); };
  if (Status status = predictions.run(**dataset, line.options.interrupt, take); !status.ok())
    return status;
  if (file)
    if (Status status = file->commit(); !status.ok())
      return status;
  Progress(file ? 1 : 2, line.options.quiet, 1, 1)
      .print(text("predicted ", RowCount{(*dataset)->rows()}, " (", table.content(), ") with ",
                  trained->weights, file ? text("; wrote '", line.output, '\'') : ""));
  return {};
}

/// Why the rows at the end were no batch; "": the spec asks for that.
static std::string whyLeftOut(const gradc_artifact_entry &entry, Config data,
                              const Dataset &dataset) {
  if (entry.any_rows || data.child("batch").child("bucket"))
    return {};
  return text(", and the artifact takes no last batch of ", dataset.droppedRows());
}

/// Prints the metrics over a data block. `set`: the set of the evaluation that has it; "": none.
static Status evaluateBlock(const Trained &trained, const Job &job, Config data,
                            const std::string &set) {
  std::string name = GRADC_EVALUATE_ENTRY;
  auto phase = Phase::make(*trained.session, {&name, 1}, data, job, set);
  if (!phase)
    return phase.status();
  auto metrics = evaluate(*phase, job.seed, nullptr, job.interrupt);
  if (Status whole = MappedFile::expectWhole(); !whole.ok())
    return whole;
  if (!metrics)
    return metrics.status();
  if (metrics->empty())
    return Status::error("stopped before the end of the data");
  const Dataset &dataset = *phase->dataset;
  auto say = [](const std::string &line) { std::puts(printable(line).c_str()); };
  std::string of = set.empty() ? "" : text(" '", set, '\'');
  if (std::string rest = rowsLeftOut(dataset, data); !rest.empty())
    say(text("the evaluation", of, " leaves out ", rest,
             whyLeftOut(phase->entries.front().whole->calledEntry(), data, dataset)));
  say(text("evaluation", of, " of ", RowCount{dataset.rows()}, " with ", trained.weights, ": ",
           metricsText(*metrics)));
  return {};
}

Status evaluateOn(const std::shared_ptr<const Artifact> &artifact, const CommandLine &line) {
  auto job = Job::read(*artifact, line.options, /*writes=*/false);
  if (!job)
    return job.status();
  auto trained = openTrained(artifact, line.options);
  if (!trained)
    return trained.status();
  Session &session = *trained->session;
  const gradc_artifact_entry *entry = session.findEntry(GRADC_EVALUATE_ENTRY);
  if (!entry)
    return Status::invalid("cannot evaluate: the spec has no evaluation block, which says how data "
                           "are prepared and measured");
  job->dataState = trained->state;
  job->fitsData = false;
  job->leavesOutRest = true;
  std::optional<GivenData> given;
  if (!line.data.empty()) {
    auto found = dataOfFile(job->evaluationData, line.data, demandsOf(*artifact, *entry), &session,
                            entry->batch, /*filters=*/true);
    if (!found)
      return found.status();
    given = std::move(*found);
    job->evaluationData = given->block.root();
    job->dataFolders = {""};
    job->evaluationSets.clear();
  }
  Status status = evaluateBlock(*trained, *job, job->evaluationData, "");
  for (const EvaluationSet &set : job->evaluationSets)
    if (status.ok())
      status = evaluateBlock(*trained, *job, set.data, set.name);
  return status;
}

} // namespace gradc::runtime
