// The stages that a spec's `data` block may name, and how a chain of them becomes a data set.
#ifndef RUNTIME_DATA_STAGES_H
#define RUNTIME_DATA_STAGES_H

#include "runtime/core/Config.h"
#include "runtime/core/Session.h"
#include "runtime/data/load/Loader.h"
#include "runtime/data/source/MappedFile.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gradc::runtime {

/// An array with its first dimension, the rows, split off.
struct SourceArray {
  Field field;
  int64_t rows = 0;
  const std::byte *data = nullptr;
  std::shared_ptr<const void> owner;                ///< keeps `data` alive; null: the caller does
  std::shared_ptr<const MappedFile> file = nullptr; ///< that it was read from, if any
};

/// A field that the source has to give, and for whom: "model input 'x' is fed from", "filter
/// reads".
struct FieldUse {
  std::string field;
  std::string user;
};

/// What a run knows of its data beside the files: what stages have found out in a pass over the
/// training rows, by the stage's name. It goes into checkpoints.
using DataState = std::map<std::string, std::vector<double>>;

/// Is told what is wrong with a `data` block, value by value of its tree.
class ProblemSink {
public:
  virtual ~ProblemSink() = default;
  virtual void add(Config at, const std::string &message) = 0;
};

/// Of several failures the first is returned.
inline void keepFirst(Status &first, Status next) {
  if (first.ok())
    first = std::move(next);
}

/// What the stages are built for.
struct DataContext {
  /// A status that says what is wrong with a value of the block. It need not end the search for
  /// more: who describes data wants all of it.
  Status wrong(Config at, std::string message) const {
    if (problems)
      problems->add(at, message);
    return Status::invalid(std::move(message));
  }

  std::vector<std::string> folders; ///< where relative paths are looked up, in this order
  std::vector<Demand> demands;      ///< of the model's data inputs, in their order
  uint64_t seed = 0;
  bool tailAllowed = true; ///< the model takes a smaller last batch
  /// The demands' fields and those that stages read besides; makeDataset fills it in.
  std::vector<FieldUse> uses;
  size_t memory = size_t(256) << 20; ///< for all buffers together; makeDataset fills it in
  std::vector<SourceArray> arrays;   ///< in place of the source's files; none: those
  std::string file;                  ///< one of several that a source is built for; "": all
  std::shared_ptr<DataState> state;  ///< null: none is kept
  std::shared_ptr<HostMemory> hostMemory = std::make_shared<PageableMemory>(); ///< of batches
  int heldBatches = 1;             ///< that whoever asks for batches has at a time
  const Session *models = nullptr; ///< runs map models, where hasModels says so; outlives the data
  std::vector<Config> behindBatch; ///< maps by models, last first; makeDataset fills it in
  /// The data are only described (Describe.h): stages read no row and leave no file. Null in a run.
  ProblemSink *problems = nullptr;
  bool hasFiles = true; ///< what describes a source may open its files; else they are not there yet
  bool skips = false;   ///< rows that cannot be read; makeDataset fills it in
};

/// Whether stages of a `data` block are models, which a session has to run.
bool hasModels(Config data);

/// Builds the data set of a `data` block. Its fields are the demands, in their order.
Result<std::shared_ptr<const Dataset>> makeDataset(Config data, DataContext context);

/// What the stages so far have made: a table, and how it will be read.
struct Pipeline {
  std::shared_ptr<const Table> table;
  std::optional<BatchRule> rule;   ///< from the batch stage on
  std::optional<int> prefetch;     ///< depth; 0: to be found
  bool cached = false;             ///< a cache holds most of the memory
  std::vector<std::string> stages; ///< names of those that are metered
  bool joined = false;             ///< the last map became a part of the one before it
  bool rowByRow = false;           ///< all fields of a row are made before those of the next one
  std::shared_ptr<const BatchStage> batchStage; ///< behind batch; null: none
  std::string
      unknownRows; ///< why the data's description cannot know how many there are; "": it can

  /// The number of the first of `count` scratch slots that are the caller's alone.
  size_t newSlots(size_t count) {
    slots += count;
    return slots - count;
  }

private:
  size_t slots = 0;
};

/// Applies one stage of a `data` block; what it must not follow is an error.
Status applyStage(Config stage, const DataContext &context, Pipeline &pipeline);
/// What is said about the chain as a whole.
Status readSettings(Config data, const DataContext &context, BatchRule &rule,
                    LoaderOptions &options);
/// Whether a child of a `data` block is a stage: neither the source nor a setting.
bool isStage(Config child);

// A source's rows, as an artifact's run reads them.
Status applyNpz(Config config, const DataContext &context, Pipeline &pipeline);
Status applyNpy(Config config, const DataContext &context, Pipeline &pipeline);
Status applyCsv(Config config, const DataContext &context, Pipeline &pipeline);
Status applyIdx(Config config, const DataContext &context, Pipeline &pipeline);
/// Null in a program without decoders.
__attribute__((weak)) Status applyFolder(Config config, const DataContext &context,
                                         Pipeline &pipeline);
Status applyTfRecord(Config config, const DataContext &context, Pipeline &pipeline);
Status applyRows(Config config, const DataContext &context, Pipeline &pipeline);
Status applyMap(Config config, const DataContext &context, Pipeline &pipeline);
Status applyModel(Config map, const DataContext &context, Pipeline &pipeline);
Status applyShuffle(Config config, const DataContext &context, Pipeline &pipeline);
Status applyTokens(Config config, const DataContext &context, Pipeline &pipeline);
Status applyFilter(Config config, const DataContext &context, Pipeline &pipeline);
Status applyCache(Config config, const DataContext &context, Pipeline &pipeline);
Status applyTake(Config config, const DataContext &context, Pipeline &pipeline);
Status applySkip(Config config, const DataContext &context, Pipeline &pipeline);
Status applyRepeat(Config config, const DataContext &context, Pipeline &pipeline);
Status applyShard(Config config, const DataContext &context, Pipeline &pipeline);
Status applyFeed(const DataContext &context, Pipeline &pipeline, int64_t batch);
Status applyBatch(Config config, const DataContext &context, Pipeline &pipeline);
Status applyPrefetch(Config config, const DataContext &context, Pipeline &pipeline);

/// The field of that name; the failure says who reads it.
Result<size_t> findField(const Table &table, std::string_view name, std::string_view reader);

/// A data file of a source's block, found and mapped.
struct OpenFile {
  std::string path;
  std::shared_ptr<const MappedFile> file;
};
Result<OpenFile> openFile(std::string_view path, const DataContext &context);

/// A map stage that knows the whole data set: finds its statistics in a pass over the rows, unless
/// `context.state` has them, and puts them there. At `noField` the block alone is checked.
class Transform;
constexpr size_t noField = SIZE_MAX;
Result<std::unique_ptr<const Transform>> makeStandardize(Config config, const Table &table,
                                                         size_t field, const DataContext &context);

/// Rows of several tables, `block` from each in turn.
Result<std::shared_ptr<const Table>>
makeInterleave(std::vector<std::shared_ptr<const Table>> tables, int64_t block);

/// Sets the limits that follow from the budget.
Result<std::shared_ptr<const Dataset>> makeBatches(std::shared_ptr<const Table> table,
                                                   const BatchRule &rule, LoaderOptions options);

} // namespace gradc::runtime

#endif
