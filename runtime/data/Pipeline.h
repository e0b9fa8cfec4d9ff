// The context in which sources, stages, and transforms are built: the run, and the product of
// earlier ones.
#ifndef RUNTIME_DATA_PIPELINE_H
#define RUNTIME_DATA_PIPELINE_H

#include "runtime/core/artifact/Config.h"
#include "runtime/data/Dataset.h"

#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradc::runtime {

class MappedFile;
class Provenance;
class Session;

/// Rows that differ in the first dim of their shape, concatenated in one array.
struct RaggedRows {
  std::vector<size_t> begins;  ///< in bytes; one more than rows
  std::vector<int64_t> shapes; ///< [rows][dims of a row]
};

/// An array with its first dimension, the rows, split off.
struct SourceArray {
  Field field;
  int64_t rows = 0;
  const std::byte *data = nullptr;
  std::shared_ptr<const void> owner;                  ///< keeps `data` alive; null: the caller does
  std::shared_ptr<const MappedFile> file = nullptr;   ///< that it was read from, if any
  std::shared_ptr<const RaggedRows> ragged = nullptr; ///< null: rows of one size
};

/// A field that the source must provide, and its user: "model input 'x' is fed from", "filter
/// reads".
struct FieldUse {
  std::string field;
  std::string user;
};

/// A run's knowledge of its data besides the files: what stages have learned in a pass over the
/// training rows, keyed by the stage's name. It is stored in checkpoints.
using DataState = std::map<std::string, std::vector<double>>;

/// Receives the problems of a `data` block, located at values of its tree.
class ProblemSink {
public:
  virtual ~ProblemSink() = default;
  virtual void add(Config at, const std::string &message) = 0;
  /// Whether the job may use a field of that name; problems with others do not matter.
  virtual bool mayUse(const std::string &field) const = 0;
};

struct Categories;

/// Collects the values of table columns before their categories are numbered.
struct FittedColumns {
  /// Represents a cell without a value while columns are fitted; never a number of a table.
  static double markOf(gradc_dtype dtype) {
    return dtype == GRADC_F32 || dtype == GRADC_F64 ? std::numeric_limits<double>::quiet_NaN()
                                                    : -0x1p31;
  }
  std::map<std::string, std::shared_ptr<Categories>> categories; ///< by field
};

class Transform;

/// Receives a description of the maps of a `data` block.
class MapSink {
public:
  virtual void add(Config map, const Field &before, const Transform &transform) = 0;

protected:
  ~MapSink() = default;
};

/// Keeps the first of several failures.
inline void keepFirst(Status &first, Status next) {
  if (first.ok())
    first = std::move(next);
}

/// The run that stages are built for.
struct DataContext {
  /// Returns a status for a problem with a value of the block. The search may continue after it: a
  /// description lists all problems.
  Status wrong(Config at, std::string message) const {
    if (problems)
      problems->add(at, message);
    return Status::invalid(std::move(message));
  }

  /// Fails once a signal asks the run to end. `work` and `file`: what it cuts short, for example
  /// "writing cache".
  Status expectNoSignal(const char *work, const std::string &file) const {
    int signal = interrupt ? interrupt->load() : 0;
    if (!signal)
      return {};
    return {codeOfSignal(signal),
            std::string("stopped before the first step, ") + work + " '" + file + '\''};
  }

  std::vector<std::string> folders; ///< where relative paths are looked up, in this order
  std::vector<Demand> demands;      ///< of the model's data inputs, in their order
  uint64_t seed = 0;
  RankShare share = {};    ///< of each batch
  bool tailAllowed = true; ///< the model takes a smaller last batch
  /// The fields of the demands, and those that stages read in addition; filled by makeDataset.
  std::vector<FieldUse> uses;
  size_t memory = 0;                ///< for all buffers together; makeDataset fills it in
  std::vector<SourceArray> arrays;  ///< in place of the source's files; none: those
  std::string file;                 ///< one of several that a source is built for; "": all
  std::shared_ptr<DataState> state; ///< null: none is kept
  bool fits = true; ///< stages may find out what `state` does not have; else it is an error
  std::shared_ptr<HostMemory> hostMemory = std::make_shared<PageableMemory>(); ///< of batches
  int heldBatches = 1;                         ///< that the consumer holds at a time
  const std::atomic<int> *interrupt = nullptr; ///< holds the number of a signal that ends the run
  bool saysWaits = false;                      ///< tells the user what a run waits for
  /// Where sources tell what they read, if a stage asks; null: none does.
  std::shared_ptr<Provenance> provenance;
  const Session *models = nullptr; ///< runs map models, where hasModels says so; outlives the data
  std::vector<Config> behindBatch; ///< maps by models, last first; makeDataset fills it in
  /// Set if the data are only described (gradc/data.h): stages then read no row and write no file.
  /// Null in a run.
  ProblemSink *problems = nullptr;
  MapSink *maps = nullptr;      ///< null: not wanted
  FittedColumns *fit = nullptr; ///< the source is only read to fit its columns; null: for a run
  bool hasFiles = true; ///< what describes a source may open its files; else they are not there yet
  bool skips = false;   ///< rows that cannot be read; makeDataset fills it in
  /// The block batch if it makes batches of rows of about one length; makeDataset fills it in.
  Config byLength;
};

/// A padded field, and what is known about its rows.
struct PaddedField {
  std::string name, mask; ///< "": it has no mask
  std::string length;     ///< the field that says how long a row was
  int64_t longest;        ///< what it is padded to
};

/// The product of the stages so far: a table, and how to read it.
struct Pipeline {
  std::shared_ptr<const Table> table;
  std::shared_ptr<const Table> source; ///< before all stages; null in a description
  std::optional<BatchRule> rule;       ///< from the batch stage on
  std::optional<int> prefetch;         ///< depth; 0: to be found
  bool cached = false;                 ///< a cache holds most of the memory
  std::vector<std::string> stages;     ///< names of those that are metered
  bool joined = false;                 ///< the last map became a part of the one before it
  bool sampled = false;                ///< rows are drawn with replacement
  bool shuffled = false;
  bool chosenAnew = false;         ///< an epoch's rows are others than the last one's
  std::string_view scattered;      ///< what has changed the order of the source's rows; "": nothing
  std::vector<int64_t> fileBegins; ///< the first row number of each file; empty: there is one
  std::vector<PaddedField> padded; ///< where batches are made by length
  std::vector<size_t> standardized; ///< the field of each standardize stage
  bool rowByRow = false;            ///< all fields of a row are made before those of the next one
  std::shared_ptr<const BatchStage> batchStage; ///< behind batch; null: none
  /// The part of the source block that an error of `applySource` is about; absent: the source's
  /// kind.
  Config part;
  /// Why a description cannot know the number of rows; "" if it can.
  std::string unknownRows;

  /// Reserves `count` scratch slots for the caller; returns the number of the first.
  size_t newSlots(size_t count) {
    slots += count;
    return slots - count;
  }

private:
  size_t slots = 0;
};

} // namespace gradc::runtime

#endif
