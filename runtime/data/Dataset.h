// The input pipeline's contracts: tables of rows, batches, data sets and iterators.
//
// The chain from source to batch is a Table: rows by number, and the order in which each epoch
// visits them. The order is a function of seed and epoch; the result of a stage for a row is a
// function of seed, epoch, and row number. So the position is an iterator's entire state, a resume
// in the middle of an epoch is exact, and any number of threads makes the same batches.
#ifndef RUNTIME_DATA_DATASET_H
#define RUNTIME_DATA_DATASET_H

#include "runtime/base/HostMemory.h"
#include "runtime/base/Status.h"
#include "runtime/data/Row.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

constexpr size_t noField = SIZE_MAX;

/// Rows by number. Immutable: any thread may read, each with its own scratch.
class Table {
public:
  virtual ~Table() = default;

  /// The fields, which may have varying dims.
  virtual std::span<const Field> fields() const = 0;
  /// Number of rows that an epoch visits.
  virtual int64_t rows() const = 0;
  /// An upper bound of all row numbers.
  virtual int64_t numbers() const { return rows(); }
  /// The numbers of the rows that an epoch visits, in order.
  virtual void order(uint64_t epoch, std::vector<int64_t> &rows) const = 0;
  /// A field of one row. The value is valid until the same field is requested again.
  virtual Result<Value> view(size_t field, RowRef row, Scratch &scratch) const = 0;
  /// Writes a field of fixed size for the given rows, contiguously; by default the values of
  /// `view`.
  virtual Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const;
  /// A field of all rows by number, if it lies in memory without gaps (at any alignment); else
  /// null.
  virtual const std::byte *column(size_t field) const { return nullptr; }
  /// For messages, for example "field 'images' of 'digits.npz'".
  virtual std::string describe(size_t field) const;
  /// For messages: the origin of a row's field, or at `noField` of the row as a whole; for example
  /// "row 3 (from 0) of 'digits.npz'" or "'cats/7.jpg'".
  virtual std::string describeRow(int64_t row, size_t field) const;
  /// For messages: the origin of all rows, for example "'digits.npz'".
  virtual std::string origin() const = 0;
  /// The number of bytes of memory kept for rows.
  virtual size_t held() const { return 0; }
  /// Releases memory that only duplicates a file's content, if there is much of it.
  virtual void letGo() const {}
};

/// Finds a field by name; an error mentions `reader`.
Result<size_t> findField(const Table &table, std::string_view name, std::string_view reader);

/// A stage over another table; derived classes override their changes.
class TableStage : public Table {
public:
  explicit TableStage(std::shared_ptr<const Table> input) : input(std::move(input)) {}

  std::span<const Field> fields() const override { return input->fields(); }
  int64_t rows() const override { return input->rows(); }
  int64_t numbers() const override { return input->numbers(); }
  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    input->order(epoch, rows);
  }
  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    return input->view(field, row, scratch);
  }
  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    return input->read(field, rows, scratch, out);
  }
  const std::byte *column(size_t field) const override { return input->column(field); }
  std::string describe(size_t field) const override { return input->describe(field); }
  std::string describeRow(int64_t row, size_t field) const override {
    return input->describeRow(row, field);
  }
  std::string origin() const override { return input->origin(); }
  size_t held() const override { return input->held(); }
  void letGo() const override { input->letGo(); }

protected:
  std::shared_ptr<const Table> input;
};

/// The position of an iterator: `row` rows of epoch `epoch` (both from 0) have been given out.
struct Position {
  uint64_t epoch = 0;
  uint64_t row = 0;
  bool operator==(const Position &) const = default;
};

/// The rows of one step: one 64-byte aligned, row-major buffer per field.
class Batch {
public:
  Batch() = default;
  Batch(std::span<const Field> fields, int64_t capacity, std::shared_ptr<HostMemory> memory);

  std::byte *field(size_t index) { return buffers[index].get(); }
  const std::byte *field(size_t index) const { return buffers[index].get(); }
  size_t fieldCount() const { return buffers.size(); }

  int64_t rows = 0;
  int64_t allRows = 0;                 ///< of the step, over all ranks
  int64_t firstRow = 0;                ///< of ours among these
  Position begin;                      ///< of all its rows
  Position after;                      ///< where the next batch begins
  bool endsEpoch = false;              ///< after.row is 0
  uint8_t bucket = 0;                  ///< of its rows, where batches are made by length
  int64_t skipped = 0;                 ///< bad rows that were skipped on the way
  std::vector<std::string> complaints; ///< about rows found bad since the batch before
  size_t bytes() const { return totalBytes; }

private:
  /// Owns the memory, so that no buffer outlives the allocator that takes it back.
  struct Free {
    std::shared_ptr<HostMemory> memory;
    void operator()(std::byte *bytes) const { memory->release(bytes); }
  };
  std::vector<std::unique_ptr<std::byte[], Free>> buffers;
  size_t totalBytes = 0;
};

struct LengthBuckets;

/// The rows of each batch that a rank takes: a contiguous range, divided as evenly as possible.
/// Ranks past those that share a batch take none.
struct RankShare {
  int rank = 0, ranks = 1;
  int64_t unit = 1; ///< that batches are multiples of, and so are shares
  /// Whether this rank takes less than a whole batch.
  bool isPart() const { return ranks > 1 || rank > 0; }
  int64_t begin(int64_t rows) const { return upTo(rank, rows); }
  int64_t end(int64_t rows) const { return upTo(rank + 1, rows); }
  /// The minimum and maximum number of rows that a rank takes.
  int64_t least(int64_t rows) const { return rows / unit / ranks * unit; }
  int64_t most(int64_t rows) const { return (rows / unit + ranks - 1) / ranks * unit; }

private:
  int64_t upTo(int end, int64_t rows) const {
    return rows / unit * std::min(end, ranks) / ranks * unit;
  }
};

/// How a table's rows are combined into batches.
struct BatchRule {
  int64_t size = 1; ///< of the largest batches, over all ranks
  RankShare share = {};
  /// Each rank makes all rows of a batch and keeps its own, because it must know which rows are
  /// bad, or because a model follows batch.
  bool makesAll = false;
  bool dropRemainder = false;
  bool skips = false; ///< rows that cannot be read; then the remainder is dropped
  /// Each row is mixed with the row before it, the first with the last. A rank that takes a part of
  /// a batch then also makes the row before its own.
  bool mixes = false;
  std::shared_ptr<LengthBuckets> buckets = nullptr; ///< null: rows of any length together

  bool dropsRest() const { return dropRemainder || skips; }
  /// The maximum number of rows of a batch that are made here.
  int64_t capacity() const {
    return makesAll ? size : share.most(size) + (mixes && share.isPart());
  }
};

/// Work on a batch after all its rows are made. Immutable: any thread may apply it, each with its
/// own scratch.
class BatchStage {
public:
  virtual ~BatchStage() = default;
  /// The batch knows its position and its number of rows. `rows` may have one more, which the first
  /// row is mixed with (BatchRule::mixes); that row comes last.
  virtual Status apply(Batch &batch, RowList rows, Scratch &scratch) const = 0;
};

/// The time that a stage takes on the threads that make batches.
struct StageTime {
  std::string name;
  double seconds = 0; ///< without the stages before it
  int64_t rows = 0;
};

/// An iterator's settings, and its measurements so far.
struct InputReport {
  int workers = 0;               ///< threads beside the caller
  bool isFixed = false;          ///< by the spec
  bool prefetches = false;       ///< batches may be made ahead
  int depth = 0;                 ///< batches ahead
  size_t bytes = 0;              ///< of all buffers
  size_t budget = 0;             ///< that they may take
  double ready = 0;              ///< batches that were ready when one was requested, on average
  double workSeconds = 0;        ///< making batches, over all threads
  int64_t batches = 0;           ///< given out
  std::vector<StageTime> stages; ///< sampled: shares are right, sums are of the samples
};

/// A piece of a thread's work, for the trace; times of steady_clock.
struct InputSpan {
  std::string_view stage;
  int thread = 0; ///< 0: the caller
  int64_t begin = 0, end = 0;
};

/// Returns batches in endless epochs. Supports one caller at a time.
class Iterator {
public:
  virtual ~Iterator() = default;
  /// Fills a batch that the data set allocated. Its buffers may be swapped with others of the same
  /// kind.
  virtual Status next(Batch &batch) = 0;
  /// The position after the last batch returned, from which an iterator can continue exactly.
  virtual Position position() const = 0;
  virtual Status restore(Position position) = 0;

  virtual InputReport report() { return {}; }
  /// Records the threads' work from now on.
  virtual void trace() {}
  /// Hands over the records since the last call.
  virtual void takeSpans(std::vector<InputSpan> &spans) {}
};

/// The number of rows of full batches, and of the smaller batch after them; 0 if there is none.
struct BatchSizes {
  int64_t full, rest;
};

/// Batches of rows. Immutable; outlives its iterators.
class Dataset {
public:
  virtual ~Dataset() = default;

  /// The fields of batches: the requested ones, then those that stages add for their own use.
  virtual std::span<const Field> fields() const = 0;
  /// The number of rows returned per epoch.
  virtual int64_t rows() const = 0;
  virtual int64_t batchSize() const = 0;
  /// The number of rows of the last, smaller batch; 0 if there is none.
  virtual int64_t tailSize() const = 0;
  /// The same for the batches of a bucket, if batches are made by length.
  virtual BatchSizes sizesOf(size_t bucket) const = 0;
  virtual int64_t batchesPerEpoch() const = 0;
  /// The number of batches of its epoch that precede a position.
  virtual int64_t batchesBefore(Position position) const = 0;
  /// The number of batches of its epoch from a position on, or fewer if bad rows are skipped.
  virtual int64_t batchesLeft(Position position) const = 0;
  /// The number of rows per epoch that are left out because they do not fill a batch.
  virtual int64_t droppedRows() const = 0;
  /// The number of values of a field in a row of the batch.
  virtual size_t rowElements(const Batch &batch, size_t field) const = 0;
  virtual std::unique_ptr<Iterator> iterate() const = 0;
  virtual Batch allocate() const = 0;
  /// For messages: the origin of row `row` of a batch.
  virtual std::string describeRow(const Batch &batch, int64_t row) const = 0;
};

} // namespace gradc::runtime

#endif
