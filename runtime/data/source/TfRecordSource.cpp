// Features of tf.train.Examples in a TFRecord file.
#include "runtime/base/Text.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/Example.h"
#include "runtime/data/source/Inflate.h"
#include "runtime/data/source/SourceMemory.h"
#include "runtime/data/source/TfRecord.h"

#include <algorithm>
#include <numeric>

namespace gradc::runtime {

namespace {

/// A feature in the spec: its name in the examples, and the field that it becomes.
struct Feature {
  std::string name;
  Field field;
};

/// A file of records, inflated if it is compressed with gzip.
struct RecordFile {
  OpenFile file;
  Inflated inflated;

  std::span<const std::byte> bytes() const {
    return inflated.bytes ? std::span<const std::byte>(inflated.bytes.get(), inflated.size)
                          : file.file->bytes();
  }
};

Result<RecordFile> openRecords(std::string_view path, const DataContext &context) {
  auto opened = openFile(path, context);
  if (!opened)
    return opened.status();
  RecordFile records = {std::move(*opened), {}};
  // The length of a first record may begin like a gzip file, but its checksum then fits.
  if (!isGzip(records.bytes()) || readTfRecord(records.bytes(), 0).ok())
    return records;
  auto inflated = inflateGzip(records.bytes(), records.file.path, threeQuartersOfMemory());
  if (!inflated)
    return inflated.status();
  records.inflated = std::move(*inflated);
  return records;
}

class TfRecordSource final : public Table {
public:
  TfRecordSource(RecordFile file, std::vector<uint64_t> offsets, std::vector<Feature> features,
                 size_t slot)
      : file(std::move(file)), offsets(std::move(offsets)), features(std::move(features)),
        slot(slot) {
    for (const Feature &feature : this->features)
      fieldList.push_back(feature.field);
  }

  std::span<const Field> fields() const override { return fieldList; }
  int64_t rows() const override { return int64_t(offsets.size()); }
  std::string origin() const override { return text('\'', file.file.path, '\''); }
  void letGo() const override { file.file.file->letGo(); }
  std::string describeRow(int64_t row, size_t) const override {
    return text("record ", row, " of ", origin());
  }

  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.resize(offsets.size());
    std::iota(rows.begin(), rows.end(), 0);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    auto wrong = [&](const Status &status, const auto &...what) {
      return Status(status.code(),
                    text(describeRow(row.row, field), what..., ' ', status.message()));
    };
    auto record = readTfRecord(file.bytes(), offsets[size_t(row.row)]);
    if (!record)
      return wrong(record.status());
    const Feature &feature = features[field];
    auto found = findFeature(*record, feature.name);
    if (!found)
      return wrong(found.status());
    auto value = read(*found, feature.field, scratch.slot(slot + field));
    if (!value)
      return wrong(value.status(), ": feature '", feature.name, '\'');
    return value;
  }

private:
  static Result<Value> read(const ExampleFeature &feature, const Field &field, ScratchSlot &slot) {
    if (field.dtype == GRADC_U8) {
      auto bytes = readBytes(feature);
      if (!bytes)
        return bytes.status();
      if (field.isFixed() && bytes->size() != field.bytes())
        return Status::error(text("has ", bytes->size(), " bytes, expected ", field.bytes(),
                                  " for shape ", shapeText(field.shape)));
      slot.shape = field.isFixed() ? field.shape : std::vector{int64_t(bytes->size())};
      return Value{bytes->data(), slot.shape, bytes->size()};
    }
    std::byte *out = slot.reserve(std::max<size_t>(field.bytes(), 1));
    Status status =
        field.dtype == GRADC_F32
            ? readFloats(feature, {reinterpret_cast<float *>(out), field.elements()})
            : readIntegers(feature, {reinterpret_cast<int64_t *>(out), field.elements()});
    if (!status.ok())
      return status;
    return Value{out, field.shape, field.bytes()};
  }

  RecordFile file;
  std::vector<uint64_t> offsets;
  std::vector<Feature> features;
  std::vector<Field> fieldList;
  size_t slot; ///< one per field
};

/// Reads a feature's block. Reports all its problems; returns the first one.
Status readFeature(Config config, const DataContext &context, Feature &feature) {
  Status first;
  auto wrong = [&](const auto &...parts) {
    keepFirst(first,
              context.wrong(config, text("tfrecord feature '", feature.name, "' ", parts...)));
  };
  feature.name = config.string("name");
  if (feature.name.empty())
    wrong("has no name: add name: \"image\"");
  feature.field.name = config.string("field", feature.name);
  std::string_view type = config.string("type", "BYTES");
  if (type != "BYTES" && type != "FLOAT" && type != "INT64")
    wrong("has type '", type, "', expected BYTES, FLOAT or INT64");
  feature.field.dtype = type == "BYTES" ? GRADC_U8 : type == "FLOAT" ? GRADC_F32 : GRADC_I64;
  int64_t elements = 1;
  bool fits = true;
  for (Config dim : config.children("shape")) {
    int64_t size = dim.integer(0);
    feature.field.shape.push_back(size);
    fits = fits && size >= 1 && size <= (int64_t(1) << 30) / elements;
    elements *= fits ? size : 1;
  }
  if (!fits)
    wrong("has shape ", shapeText(feature.field.shape),
          ", expected dims of 1 or more, 2^30 values at most");
  if (feature.field.dtype == GRADC_U8 && feature.field.shape.empty())
    feature.field.shape = {Field::varying};
  return first;
}

Status readFeatures(Config config, const DataContext &context, std::vector<Feature> &features) {
  Status first;
  for (Config child : config.children("feature")) {
    Feature feature;
    keepFirst(first, readFeature(child, context, feature));
    for (const Feature &other : features)
      if (other.field.name == feature.field.name && !feature.field.name.empty())
        keepFirst(first,
                  context.wrong(child, text("field '", feature.field.name, "' is declared twice")));
    features.push_back(std::move(feature));
  }
  if (features.empty())
    keepFirst(first, context.wrong(config, "tfrecord has no feature: add feature { name: "
                                           "\"image\" type: BYTES }"));
  return first;
}

} // namespace

Status describeTfRecord(Config config, const DataContext &context, Pipeline &pipeline) {
  std::vector<Feature> features;
  if (Status status = readFeatures(config, context, features); !status.ok())
    return status;
  if (!context.hasFiles) {
    std::vector<Field> fields;
    for (const Feature &feature : features)
      fields.push_back(feature.field);
    pipeline.table = makeDescribed(std::move(fields), 1, text('\'', config.string("path"), '\''));
    return {};
  }
  if (Status status = applyTfRecord(config, context, pipeline); !status.ok() || context.skips)
    return status;
  // If a header leads nowhere, the run would end at the last record.
  auto file = openRecords({}, context);
  if (!file)
    return file.status();
  int64_t last = pipeline.table->rows() - 1;
  Status status = checkTfRecords(file->bytes());
  return status.ok() ? status
                     : Status(status.code(), text(pipeline.table->describeRow(last, noField), ' ',
                                                  status.message()));
}

Status applyTfRecord(Config config, const DataContext &context, Pipeline &pipeline) {
  std::vector<Feature> all, features;
  if (Status status = readFeatures(config, context, all); !status.ok())
    return status;
  std::vector<std::string> names;
  for (Feature &feature : all) {
    names.push_back(feature.field.name);
    if (isDemanded(names.back(), context))
      features.push_back(std::move(feature));
  }
  for (const FieldUse &use : context.uses)
    if (std::find(names.begin(), names.end(), use.field) == names.end())
      return missingField(use, "the tfrecord source", names);
  auto file = openRecords(config.string("path"), context);
  if (!file)
    return file.status();
  auto offsets = indexTfRecords(file->bytes());
  if (offsets.empty() && context.file.empty()) // of several files, the others may have records
    return Status::error(text("the data set is empty: '", file->file.path, "' has no records"));
  size_t slots = pipeline.newSlots(features.size());
  pipeline.table = std::make_shared<TfRecordSource>(std::move(*file), std::move(offsets),
                                                    std::move(features), slots);
  return {};
}

} // namespace gradc::runtime
