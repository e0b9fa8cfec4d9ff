// batch { bucket { length size } }: batches of rows of similar length.
#include "runtime/base/Text.h"
#include "runtime/data/load/LengthBuckets.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

namespace {

/// Padded fields are in the batch as they were read, each row as long as the longest.
struct CutToLength final : BatchStage {
  CutToLength(std::shared_ptr<const LengthBuckets> buckets, std::span<const Field> fields)
      : buckets(std::move(buckets)) {
    for (const Field &field : fields)
      rowBytes.push_back(field.bytes());
  }

  Status apply(Batch &batch, RowList rows, Scratch &) const override {
    if (rows.rows.empty()) // all its rows belong to other ranks
      return {};
    int64_t length = buckets->of(rows.rows.front()).length;
    for (size_t field = 0; field < rowBytes.size(); ++field) {
      if (!buckets->isCut[field])
        continue;
      size_t whole = rowBytes[field], cut = whole / size_t(buckets->longest()) * size_t(length);
      std::byte *values = batch.field(field);
      for (size_t row = 1; cut != whole && row < rows.rows.size(); ++row)
        std::memmove(values + row * cut, values + row * whole, cut);
    }
    return {};
  }

  std::shared_ptr<const LengthBuckets> buckets;
  std::vector<size_t> rowBytes; ///< [field]
};

/// Why batches cannot be made by length; "" if they can.
std::string obstacle(const DataContext &context, const Pipeline &pipeline) {
  std::span<const PaddedField> padded = pipeline.padded;
  // If the data do not exist yet, no field is known.
  if (padded.empty() && !pipeline.table->fields().empty())
    return "expected rows of varying length: add stage { map { field: \"tokens\" pad { shape: "
           "[128] } } } before batch";
  for (const PaddedField &field : padded)
    if (field.longest != padded.front().longest)
      return text("expected fields that are padded to one length, found '", padded.front().name,
                  "' of ", padded.front().longest, " and '", field.name, "' of ", field.longest,
                  "; by: \"", padded.front().name, "\" makes batches by the first alone");
  if (context.skips)
    return "expected on_error: FAIL: the length of a row that cannot be read is not known";
  if (pipeline.sampled || pipeline.chosenAnew)
    return text("expected the same rows in each epoch, but ",
                pipeline.sampled ? "sampler draws others"
                                 : "take, skip or shard behind shuffle chooses others");
  return {};
}

/// Finds the bucket of each row of an epoch.
Status sortRows(const Pipeline &pipeline, LengthBuckets &to) {
  const Table &table = *pipeline.table;
  std::vector<size_t> lengths;
  for (const PaddedField &field : pipeline.padded) {
    auto found = findField(table, field.length, "batch");
    if (!found)
      return found.status();
    lengths.push_back(*found);
  }
  std::vector<int64_t> order;
  table.order(0, order);
  to.ofRow.assign(size_t(table.numbers()), 0);
  Scratch scratch;
  for (int64_t row : order) {
    int64_t longest = 0;
    for (size_t field : lengths) {
      auto value = table.view(field, {0, row}, scratch);
      if (!value)
        return value.status();
      int64_t length = 0;
      std::memcpy(&length, value->data, sizeof length);
      longest = std::max(longest, length);
    }
    auto bucket = std::ranges::lower_bound(to.buckets, longest, {}, &LengthBuckets::Bucket::length);
    ++bucket->count;
    to.ofRow[size_t(row)] = uint8_t(bucket - to.buckets.begin());
  }
  return {};
}

} // namespace

Config batchByLength(Config data) {
  Config batch = data.child("batch");
  return batch.child("bucket") ? batch : Config();
}

bool countsLength(const DataContext &context, std::string_view field) {
  std::vector<Config> by = context.byLength.children("by");
  return context.byLength && (by.empty() || std::ranges::any_of(by, [&](Config name) {
                                return name.string() == field;
                              }));
}

Status checkBuckets(Config batch, const DataContext &context, const Pipeline &pipeline) {
  for (Config by : batch.children("by"))
    if (!pipeline.table->fields().empty() &&
        std::ranges::none_of(pipeline.padded,
                             [&](const PaddedField &field) { return field.name == by.string(); }))
      return context.wrong(by, text("batch { by } is '", by.string(),
                                    "', expected a field that map { pad } makes of one length"));
  if (std::string found = obstacle(context, pipeline); !found.empty())
    return context.wrong(batch.child("bucket"), text("batch makes batches by length, ", found));
  int64_t longest = pipeline.padded.empty() ? 0 : pipeline.padded.front().longest, before = 0;
  for (Config bucket : batch.children("bucket")) {
    int64_t length = bucket.integer("length", 0), size = bucket.integer("size", 1);
    if (!bucket.child("length"))
      return context.wrong(bucket, "bucket has no length: add length: 32");
    if (length <= before || (longest && length >= longest))
      return context.wrong(
          bucket.child("length"),
          text("bucket { length } is ", length, ", expected more than ", before,
               longest ? text(", and less than the ", longest, " of pad") : std::string()));
    if (size < 1)
      return context.wrong(bucket.child("size"),
                           text("bucket { size } is ", size, ", expected 1 or more"));
    before = length;
  }
  constexpr size_t most = 255; // bucket numbers are bytes
  if (size_t count = batch.children("bucket").size(); count > most)
    return context.wrong(batch, text("batch has ", count, " buckets, expected at most ", most));
  return {};
}

Status readBuckets(Config batch, const DataContext &context, Pipeline &pipeline, BatchRule &rule) {
  auto buckets = std::make_shared<LengthBuckets>();
  int64_t size = batch.integer("size", 0);
  for (Config bucket : batch.children("bucket"))
    buckets->buckets.push_back({bucket.integer("length", 0), bucket.integer("size", size)});
  buckets->buckets.push_back({pipeline.padded.empty() ? 0 : pipeline.padded.front().longest, size});
  if (!context.problems)
    if (Status status = sortRows(pipeline, *buckets); !status.ok())
      return status;
  rule.size = buckets->largestSize();
  rule.buckets = std::move(buckets);
  return {};
}

void cutToLength(Pipeline &pipeline, BatchRule &rule) {
  auto fields = pipeline.table->fields();
  for (const Field &field : fields)
    rule.buckets->isCut.push_back(isByLength(pipeline, field));
  pipeline.batchStage = std::make_shared<CutToLength>(rule.buckets, fields);
}

bool isByLength(const Pipeline &pipeline, const Field &field) {
  return std::ranges::any_of(pipeline.padded, [&](const PaddedField &padded) {
    return field.name == padded.name || (!padded.mask.empty() && field.name == padded.mask);
  });
}

} // namespace gradc::runtime
