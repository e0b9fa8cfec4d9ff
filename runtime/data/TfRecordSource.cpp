// Features of tf.train.Examples in TFRecord files.
#include "runtime/core/Text.h"
#include "runtime/data/ArraySource.h"
#include "runtime/data/Example.h"
#include "runtime/data/TfRecord.h"

#include <algorithm>
#include <numeric>

namespace gradc {

namespace {

struct RecordFile {
  std::string path;
  std::shared_ptr<const MappedFile> file;
  std::vector<uint64_t> offsets;
  int64_t firstRow = 0;
};

/// What the spec says of a feature: its name in the examples, and the field that it becomes.
struct Feature {
  std::string name;
  Field field;
};

class TfRecordSource final : public Table {
public:
  TfRecordSource(std::vector<RecordFile> files, std::vector<Feature> features, size_t slot)
      : files(std::move(files)), features(std::move(features)), slot(slot) {
    for (const Feature &feature : this->features)
      fieldList.push_back(feature.field);
  }

  std::span<const Field> fields() const override { return fieldList; }
  int64_t rows() const override {
    return files.back().firstRow + int64_t(files.back().offsets.size());
  }
  std::string origin() const override {
    return files.size() == 1 ? text('\'', files.front().path, '\'')
                             : text(files.size(), " files from '", files.front().path, "' on");
  }
  std::string describeRow(int64_t row) const override {
    const RecordFile &file = fileOf(row);
    return text("record ", row - file.firstRow, " of '", file.path, '\'');
  }

  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.resize(size_t(this->rows()));
    std::iota(rows.begin(), rows.end(), 0);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    const RecordFile &file = fileOf(row.row);
    auto record = readTfRecord(file.file->bytes(), file.offsets[size_t(row.row - file.firstRow)]);
    if (!record)
      return Status(record.status().code(),
                    text(describeRow(row.row), ' ', record.status().message()));
    const Feature &feature = features[field];
    auto found = findFeature(*record, feature.name);
    if (!found)
      return Status(found.status().code(),
                    text(describeRow(row.row), ' ', found.status().message()));
    auto value = read(*found, feature.field, scratch.slot(slot + field));
    if (!value)
      return Status(value.status().code(), text(describeRow(row.row), ": feature '", feature.name,
                                                "' ", value.status().message()));
    return value;
  }

private:
  const RecordFile &fileOf(int64_t row) const {
    auto after =
        std::upper_bound(files.begin(), files.end(), row,
                         [](int64_t row, const RecordFile &f) { return row < f.firstRow; });
    return *(after - 1);
  }

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

  std::vector<RecordFile> files; ///< none is empty
  std::vector<Feature> features;
  std::vector<Field> fieldList;
  size_t slot; ///< one a field
};

Result<Feature> readFeature(Config config) {
  Feature feature;
  feature.name = config.string("name");
  feature.field.name = config.string("field", feature.name);
  std::string_view type = config.string("type", "BYTES");
  if (type != "BYTES" && type != "FLOAT" && type != "INT64")
    return Status::invalid(text("tfrecord feature '", feature.name, "' has type '", type,
                                "', expected BYTES, FLOAT or INT64"));
  feature.field.dtype = type == "BYTES" ? GRADC_U8 : type == "FLOAT" ? GRADC_F32 : GRADC_I64;
  int64_t elements = 1;
  for (Config dim : config.children("shape")) {
    feature.field.shape.push_back(dim.integer(0));
    int64_t size = feature.field.shape.back();
    if (size < 1 || size > (int64_t(1) << 30) / elements)
      return Status::invalid(text("tfrecord feature '", feature.name, "' has shape ",
                                  shapeText(feature.field.shape),
                                  ", expected dims of 1 or more, 2^30 values at most"));
    elements *= size;
  }
  if (feature.field.dtype == GRADC_U8 && feature.field.shape.empty())
    feature.field.shape = {Field::varying};
  return feature;
}

Result<std::vector<RecordFile>> openFiles(Config config, const DataContext &context) {
  std::vector<RecordFile> files;
  int64_t rows = 0;
  for (Config child : config.children("path")) {
    auto path = findFile(child.string(), context.folders);
    if (!path)
      return path.status();
    auto file = MappedFile::open(*path);
    if (!file)
      return file.status();
    auto offsets = indexTfRecords((*file)->bytes());
    if (offsets.empty())
      continue;
    auto count = int64_t(offsets.size());
    files.push_back({std::move(*path), std::move(*file), std::move(offsets), rows});
    rows += count;
  }
  if (files.empty())
    return Status::error("the data set is empty: the tfrecord files have no records");
  return files;
}

} // namespace

Status applyTfRecord(Config config, const DataContext &context, Pipeline &pipeline) {
  std::vector<Feature> features;
  std::vector<std::string> names;
  for (Config child : config.children("feature")) {
    auto feature = readFeature(child);
    if (!feature)
      return feature.status();
    names.push_back(feature->field.name);
    if (isDemanded(names.back(), context))
      features.push_back(std::move(*feature));
  }
  for (const FieldUse &use : context.uses)
    if (std::find(names.begin(), names.end(), use.field) == names.end())
      return missingField(use, "the tfrecord source", names);
  auto files = openFiles(config, context);
  if (!files)
    return files.status();
  size_t slots = pipeline.newSlots(features.size());
  pipeline.table = std::make_shared<TfRecordSource>(std::move(*files), std::move(features), slots);
  return {};
}

} // namespace gradc
