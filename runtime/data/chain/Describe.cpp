// Runs a `data` block through its source and stages without reading a row.
//
// The compiler calls this (include/gradc/data.h). The answer comes from the sources and stages that
// a run builds its data set from. Only a source that would read its rows has a separate function
// for descriptions, which reads only headers.
#include "runtime/base/Text.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/data/chain/StepTeller.h"
#include "runtime/data/image/Decode.h"
#include "runtime/data/load/LengthBuckets.h"
#include "runtime/data/source/Sources.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/include/gradc/data.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

struct DescribedSource {
  std::string_view name;
  Status (*describe)(Config, const DataContext &, Pipeline &);
  std::string_view example; ///< of its path; "": each field has one
};
#define GRADC_SOURCE(NAME, FUNCTION, EXAMPLE) {#NAME, describe##FUNCTION, EXAMPLE},
const DescribedSource describedSources[] = {GRADC_DATA_SOURCES(GRADC_SOURCE)};
#undef GRADC_SOURCE

/// Describes a block. A problem with a stage is reported, and the next stage sees the table as it
/// was before.
class Describer final : private ProblemSink, private MapSink {
public:
  Describer(const char *folder, const gradc_data_listener &listener) : listener(listener) {
    context.folders = {folder};
    context.problems = this;
    context.maps = this;
  }

  uint32_t describe(Config data);

private:
  void add(Config at, const std::string &message) override {
    ++problems;
    listener.problem(listener.self, at ? at.position() : 0, message.c_str());
  }
  bool mayUse(const std::string &field) const override {
    return !listener.uses || listener.uses(listener.self, field.c_str());
  }
  void add(Config map, const Field &before, const Transform &transform) override {
    if (listener.step)
      StepTeller(listener, map.position(), before, transform.result).tell(transform);
  }
  /// Reports a failure that was not reported at its own place. If the number of rows is unknown,
  /// nothing can be said about it.
  bool succeeds(Config at, uint32_t before, const Status &status) {
    if (status.ok() || (!knowsRows() && status.code() == Code::error))
      return status.ok();
    if (problems == before)
      add(at, status.message());
    return false;
  }
  bool knowsRows() const { return pipeline.unknownRows.empty(); }

  void describeSource(Config data);
  std::vector<std::string> findFiles(Config kind);
  Status describeFiles(const DescribedSource &source, Config kind,
                       const std::vector<std::string> &files);
  void describeStage(Config stage);
  void forgetClasses();
  bool hasField(Config stage, std::string_view name);
  void describeModel(Config map);
  void tellWindow(Config stage);
  template <typename Receiver> void tellShape(Receiver receiver);

  const gradc_data_listener &listener;
  DataContext context;
  Pipeline pipeline;
  std::string origin;
  bool knowsFields = false;
  int64_t batch = 0;
  uint32_t problems = 0;
};

/// The files that a source's paths match; none if one does not exist yet.
std::vector<std::string> Describer::findFiles(Config kind) {
  std::vector<Config> named = kind.children("path");
  if (Config list = kind.child("list"))
    named.push_back(list);
  for (Config field : kind.children("field"))
    if (Config path = field.child("path"))
      named.push_back(path);
  std::vector<std::string> files;
  for (Config path : named) {
    if (path.string().empty() || !expandPath(path.string(), context.folders, files).ok()) {
      origin = path.string();
      return {};
    }
    if (origin.empty())
      origin = path.string();
  }
  return files;
}

Status Describer::describeFiles(const DescribedSource &source, Config kind,
                                const std::vector<std::string> &files) {
  // First checks the block alone, so that its problems are reported once and not per file.
  context.hasFiles = false;
  Status status = source.describe(kind, context, pipeline);
  if (!status.ok() || files.empty())
    return status;
  context.hasFiles = true;
  bool isEach = !source.example.empty() && source.name != "folder";
  if (!isEach)
    return source.describe(kind, context, pipeline);
  std::vector<std::shared_ptr<const Table>> tables;
  for (const std::string &file : files) {
    context.file = file;
    if (status = source.describe(kind, context, pipeline); !status.ok())
      return status;
    tables.push_back(pipeline.table);
  }
  context.file.clear();
  return applyInterleave(kind, std::move(tables), pipeline);
}

void Describer::describeSource(Config data) {
  Config kind = sourceKind(data);
  if (!kind)
    return add(data, "data has no source: add source { npz { path: \"data.npz\" } }");
  auto source = std::find_if(std::begin(describedSources), std::end(describedSources),
                             [&](const DescribedSource &one) { return one.name == kind.name(); });
  if (source == std::end(describedSources))
    return add(kind, text("data source '", kind.name(), "' is unknown"));
  if (!source->describe)
    return add(kind, text("data source '", kind.name(), "': ", withoutDecoders));
  if (!source->example.empty() && kind.string("path").empty())
    add(kind, text(kind.name(), " has no path: add path: \"", source->example, '"'));

  std::vector<std::string> files = findFiles(kind);
  if (!source->example.empty() && kind.string("path").empty())
    files.clear();
  uint32_t before = problems;
  bool isGood = succeeds(kind, before, describeFiles(*source, kind, files));
  if (files.empty())
    pipeline.unknownRows = text('\'', origin, "' is not there yet");
  else if (!isGood)
    pipeline.unknownRows = text('\'', origin, "' cannot be read");
  knowsFields = isGood && pipeline.table;
  if (!knowsFields)
    pipeline.table = makeDescribed({}, 1, text('\'', origin, '\''));
  before = problems;
  if (Config rows = kind.child("rows")) {
    succeeds(rows, before, applyRows(rows, context, pipeline));
    forgetClasses();
  }
  before = problems;
  if (Config split = data.child("source").child("split"))
    succeeds(split, before, applySplit(split, context, pipeline));
}

/// If rows are left out, a class may lose all its rows.
void Describer::forgetClasses() {
  auto before = pipeline.table->fields();
  std::vector<Field> fields(before.begin(), before.end());
  for (Field &field : fields)
    field.classes = 0;
  pipeline.table =
      makeDescribed(std::move(fields), pipeline.table->rows(), pipeline.table->origin());
}

/// Whether a stage's field exists; if fields are not known, any field may.
bool Describer::hasField(Config stage, std::string_view name) {
  std::vector<std::string> names;
  for (const Field &field : pipeline.table->fields())
    names.push_back(field.name);
  if (name.empty() || !knowsFields || std::find(names.begin(), names.end(), name) != names.end())
    return true;
  std::string near = nearest(name, names);
  add(stage, text("no field '", name, "' in '", origin, "'; it has ", quotedList(names),
                  near.empty() ? "" : text("; did you mean '", near, "'?")));
  return false;
}

template <typename Receiver> void Describer::tellShape(Receiver receiver) {
  auto table = pipeline.table->fields();
  std::vector<gradc_data_field> fields;
  for (const Field &field : table)
    fields.push_back({field.name.c_str(), field.dtype, uint32_t(field.shape.size()),
                      field.shape.data(), std::max(field.classes, field.categories),
                      isByLength(pipeline, field)});
  std::vector<gradc_data_bucket> buckets;
  if (pipeline.rule && pipeline.rule->buckets)
    for (const LengthBuckets::Bucket &bucket : pipeline.rule->buckets->buckets)
      buckets.push_back({bucket.length, bucket.size});
  gradc_data_shape shape = {origin.c_str(),
                            knowsFields,
                            fields.data(),
                            uint32_t(fields.size()),
                            knowsRows() ? pipeline.table->rows() : -1,
                            pipeline.unknownRows.c_str(),
                            batch,
                            buckets.data(),
                            uint32_t(buckets.size())};
  receiver(shape);
}

void Describer::describeModel(Config map) {
  if (pipeline.rule && pipeline.rule->buckets)
    add(map, "map by a model comes after batch { bucket }, expected before it");
  if (pipeline.rule && pipeline.rule->mixes)
    add(map, "map by a model comes after mix, expected before it");
  if (map.child("field"))
    add(map, text("map by a model names field '", map.string("field"),
                  "' beside it, expected the names of fields in the model's input and output: "
                  "model { input { field: \"",
                  map.string("field"), "\" } }"));
  gradc_data_made made = {};
  bool isGood = false;
  if (listener.model)
    tellShape([&](const gradc_data_shape &before) {
      isGood = listener.model(listener.self, map.position(), &before, &made) != 0;
    });
  auto before = pipeline.table->fields();
  std::vector<Field> fields(before.begin(), before.end());
  for (const gradc_data_field &one : std::span(made.fields, made.field_count)) {
    std::erase_if(fields, [&](const Field &field) { return field.name == one.name; });
    fields.push_back({one.name, one.dtype, {one.shape, one.shape + one.rank}, one.classes});
  }
  knowsFields &= isGood;
  if (!knowsFields)
    fields.clear();
  pipeline.table =
      makeDescribed(std::move(fields), pipeline.table->rows(), pipeline.table->origin());
}

/// No model that takes one row can apply what precedes a window.
void Describer::tellWindow(Config stage) {
  gradc_data_step step = {};
  step.op = GRADC_DATA_OTHER;
  for (const Field &one : pipeline.table->fields()) {
    gradc_data_field field = {one.name.c_str(), one.dtype, uint32_t(one.shape.size()),
                              one.shape.data(), 0,         0};
    if (listener.step)
      listener.step(listener.self, stage.position(), &field, &step);
  }
}

void Describer::describeStage(Config stage) {
  if (stage.name() == "map" && stage.child("model"))
    return describeModel(stage);
  bool reads = stage.name() == "map" || stage.name() == "filter";
  if (reads && !stage.child("field"))
    return add(stage, text(stage.name(), " has no field: add field: \"images\""));
  bool isMap = stage.name() == "map";
  if (!isMap && !hasField(stage, fieldRead(stage)))
    return;
  std::vector<std::string> mapped = isMap ? mappedFields(stage) : std::vector<std::string>();
  for (const std::string &name : mapped)
    hasField(stage, name);
  for (Config ahead : stage.children("ahead"))
    if (!hasField(ahead, ahead.string("field")))
      return;
  for (const char *mixed : {"field", "label"})
    for (Config name : stage.children(mixed))
      if (stage.name() == "mix" && !hasField(stage, name.string()))
        return;
  if (stage.name() == "window")
    tellWindow(stage);
  uint32_t before = problems;
  bool isBatch = stage.name() == "batch";
  if (!isBatch || !stage.child("bucket") ||
      succeeds(stage, before, checkBuckets(stage, context, pipeline)))
    succeeds(stage, before, applyStage(stage, context, pipeline));
  if (isBatch && !pipeline.rule)
    pipeline.rule.emplace(); // stages after a wrong batch still come after it
  for (size_t i = 0; i < mapped.size() && !knowsFields && listener.step; ++i) {
    gradc_data_field field = {mapped[i].c_str(), GRADC_F32, 0, nullptr, 0, 0};
    gradc_data_step step = {};
    step.op = GRADC_DATA_OTHER;
    listener.step(listener.self, stage.position(), &field, &step);
  }
  for (std::string_view selects : {"filter", "take", "skip", "shard", "sampler", "window"})
    if (stage.name() == selects)
      forgetClasses();
  if (pipeline.rule && batch == 0)
    batch = pipeline.rule->size;
}

uint32_t Describer::describe(Config data) {
  BatchRule rule;
  LoaderOptions options;
  (void)readSettings(data, context, rule, options);
  context.skips = rule.skips;
  context.byLength = batchByLength(data);
  describeSource(data);
  if (!pipeline.table) {
    pipeline.table = makeDescribed({}, 1, "no source");
    pipeline.unknownRows = "there is no source";
  }
  bool hasBatch = false;
  for (Config child : data.children())
    if (isStage(child)) {
      describeStage(child);
      hasBatch |= child.name() == "batch";
    }
  if (!hasBatch)
    add(data, "data has no batch stage: add stage { batch { size: 32 } }");
  if (rule.skips)
    pipeline.unknownRows = "rows that cannot be read are skipped";
  tellShape([&](const gradc_data_shape &shape) { listener.described(listener.self, &shape); });
  return problems;
}

} // namespace

} // namespace gradc::runtime

uint32_t gradc_data_describe(const gradc_artifact_value *values, const char *strings,
                             const char *folder, const gradc_data_listener *listener) {
  using namespace gradc::runtime;
  return Describer(folder, *listener).describe(Config(values, strings));
}
