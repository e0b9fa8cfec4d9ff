// Builds a data set by applying the stages of a `data` block in order.
#include "runtime/data/chain/Chain.h"

#include "runtime/base/Text.h"
#include "runtime/base/ThreadTeam.h"
#include "runtime/data/Meter.h"
#include "runtime/data/Provenance.h"
#include "runtime/data/image/Decode.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/data/transform/MapModel.h"

#include <algorithm>
#include <iterator>

namespace gradc::runtime {

namespace {

struct Stage {
  std::string_view name;
  Status (*apply)(Config, const DataContext &, Pipeline &);
};

// The runtime is a static library, from which the linker would drop a registration that nothing
// refers to. Therefore the table is written out.
#define GRADC_SOURCE(NAME, FUNCTION, EXAMPLE) {#NAME, apply##FUNCTION},
const Stage sources[] = {GRADC_DATA_SOURCES(GRADC_SOURCE)};
#undef GRADC_SOURCE
const Stage rowStages[] = {{"map", applyMap},         {"shuffle", applyShuffle},
                           {"filter", applyFilter},   {"cache", applyCache},
                           {"take", applyTake},       {"skip", applySkip},
                           {"repeat", applyRepeat},   {"shard", applyShard},
                           {"sampler", applySampler}, {"window", applyWindow}};
// Reports problems of the chain as a whole.
constexpr std::string_view notStages[] = {"source", "on_error", "parallelism", "memory_mb"};
const Stage batchStages[] = {{"batch", applyBatch}, {"prefetch", applyPrefetch}, {"mix", applyMix}};

template <size_t N> const Stage *find(const Stage (&stages)[N], std::string_view name) {
  for (const Stage &stage : stages)
    if (stage.name == name)
      return &stage;
  return nullptr;
}

/// Applies the source once per file that its paths match, and interleaves their rows.
Status applyEach(const Stage &stage, Config kind, const DataContext &context, Pipeline &pipeline) {
  std::vector<Config> paths = kind.children("path");
  if (paths.size() < 2 && kind.string("path").find('*') == std::string_view::npos)
    return stage.apply(kind, context, pipeline);
  std::vector<std::string> files;
  for (Config path : paths)
    if (Status status = expandPath(path.string(), context.folders, files); !status.ok())
      return status;
  std::vector<std::shared_ptr<const Table>> tables;
  DataContext one = context;
  for (std::string &file : files) {
    one.file = std::move(file);
    if (Status status = stage.apply(kind, one, pipeline); !status.ok())
      return status;
    tables.push_back(pipeline.table);
  }
  return applyInterleave(kind, std::move(tables), pipeline);
}

/// The name of a map stage in reports, for example "decode 'image'", "flip 'image' and 'mask'".
std::string mapName(Config map) {
  if (Config model = map.child("model"))
    return text("model '", model.string("file"), '\'');
  std::string_view kind = "cast";
  for (Config child : map.children())
    if (child.name() != "field" && child.name() != "cast" && child.name() != "scale" &&
        child.name() != "offset")
      kind = child.name();
  return text(kind, ' ', quotedList(mappedFields(map)));
}

void meter(Pipeline &pipeline, std::string name) {
  if (pipeline.joined) {
    name = text(pipeline.stages.back(), " + ", name);
    pipeline.stages.pop_back();
    pipeline.joined = false;
  }
  pipeline.table = makeMetered(pipeline.table, uint32_t(pipeline.stages.size()));
  pipeline.stages.push_back(std::move(name));
}

/// Finds the fields that the source must provide: the model's demands and those that stages read,
/// except fields made by models of stages. Also finds the fields read after batch.
Status findUses(Config data, DataContext &context) {
  for (const Demand &demand : context.demands)
    context.uses.push_back({demand.field, text("model input '", demand.input, "' is fed from")});
  std::vector<Config> stages = data.children();
  bool isBehind = true;
  for (size_t i = stages.size(); i-- > 0;) {
    Config stage = stages[i];
    isBehind &= stage.name() != "batch";
    if (std::string_view read = fieldRead(stage); !read.empty())
      context.uses.push_back({std::string(read), text(stage.name(), " reads")});
    for (Config ahead : stage.children("ahead")) {
      std::erase_if(context.uses,
                    [&](const FieldUse &use) { return use.field == ahead.string("name"); });
      if (ahead.child("field"))
        context.uses.push_back({std::string(ahead.string("field")), "window reads"});
    }
    if (Config pad = stage.child("pad"))
      if (std::erase_if(context.uses, [&](const FieldUse &use) {
            return use.field == pad.string("mask") || use.field == pad.string("length");
          }))
        context.uses.push_back({std::string(stage.string("field")), "pad reads"});
    if (!stage.child("model"))
      continue;
    if (isBehind)
      context.behindBatch.push_back(stage);
    auto model = MapModel::find(stage, context.models, /*tail=*/false);
    if (!model)
      return model.status();
    for (const Field &made : (*model)->outputs)
      std::erase_if(context.uses, [&](const FieldUse &use) { return use.field == made.name; });
    for (const Field &read : (*model)->inputs)
      context.uses.push_back({read.name, text((*model)->name, " reads")});
  }
  if (Config by = data.child("source").child("split").child("stratify"))
    context.uses.push_back({std::string(by.string()), "split { stratify } reads"});
  return {};
}

/// Where some rows go to a file, sources and stages tell what they make rows from.
std::shared_ptr<Provenance> provenanceOf(Config data) {
  for (Config cache : data.children("cache"))
    if (!cache.string("path").empty())
      return std::make_shared<Provenance>();
  return nullptr;
}

void tellStage(Config stage, const DataContext &context) {
  if (context.provenance)
    context.provenance->addStage(stage);
}

} // namespace

Status applySource(Config source, const DataContext &context, Pipeline &pipeline) {
  for (Config kind : source.children()) {
    const Stage *stage = find(sources, kind.name());
    bool isFolder = kind.name() == "folder";
    if (!stage || (!stage->apply && !isFolder))
      return Status::invalid(text("data source '", kind.name(), "' is unknown to this runtime"));
    if (!stage->apply)
      return Status::invalid(text("data source '", kind.name(), "': ", withoutDecoders));
    Status status = context.arrays.empty() ? applyEach(*stage, kind, context, pipeline)
                                           : applyMemory(context, pipeline);
    if (!status.ok())
      return status;
    pipeline.part = kind.child("rows");
    if (pipeline.part)
      if (status = applyRows(pipeline.part, context, pipeline); !status.ok())
        return status;
    pipeline.part = source.child("split");
    return pipeline.part ? applySplit(pipeline.part, context, pipeline) : Status();
  }
  return Status::invalid(
      "data { source } names no source, expected npz, npy, csv, idx, tokens, folder or tfrecord");
}

Config sourceKind(Config data) {
  Config found;
  for (Config child : data.child("source").children())
    if (child.name() != "split")
      found = child;
  return found;
}

bool isStage(Config child) {
  return std::find(std::begin(notStages), std::end(notStages), child.name()) == std::end(notStages);
}

Status readSettings(Config data, const DataContext &context, BatchRule &rule,
                    LoaderOptions &options) {
  Status first;
  auto wrong = [&](std::string_view name, const auto &...expected) {
    keepFirst(first, context.wrong(data.child(name), text("data { ", name, " } is ", expected...)));
  };
  std::string_view onError = data.string("on_error", "FAIL");
  if (onError != "FAIL" && onError != "SKIP")
    wrong("on_error", '\'', onError, "', expected FAIL or SKIP");
  rule.skips = onError == "SKIP";
  int64_t threads = data.integer("parallelism", 0), budget = data.integer("memory_mb", 256);
  if (threads < 0 || threads > ThreadTeam::maxThreads)
    wrong("parallelism", threads, ", expected 0 (found by measuring) to ", ThreadTeam::maxThreads);
  if (budget < 1 || budget > int64_t(1) << 24)
    wrong("memory_mb", budget, ", expected 1 to ", int64_t(1) << 24);
  options.limits.workers = int(threads);
  options.budget = size_t(budget) << 20;
  return first;
}

Status applyStage(Config stage, const DataContext &context, Pipeline &pipeline) {
  std::string_view name = stage.name();
  const Stage *found = find(rowStages, name);
  bool takesBatches = !found;
  if (takesBatches)
    found = find(batchStages, name);
  if (!found || !found->apply)
    return Status::invalid(text("data stage '", name, "' is unknown to this runtime"));
  if (pipeline.rule && !takesBatches)
    return Status::invalid(text("data stage '", name, "' comes after batch",
                                name == "map" ? ", where only a map by a model is expected" : ""));
  // Rows that are drawn anew in each epoch are too many to keep data about each.
  bool keeps = name == "filter" || name == "cache" || name == "repeat" || name == "sampler" ||
               (name == "map" && stage.child("standardize"));
  if (pipeline.sampled && keeps)
    return Status::invalid(text("data stage '", name == "map" ? "standardize" : name,
                                "' comes after sampler, expected before it"));
  // A filter reads the rows of the first epoch, and counts those that it keeps.
  if (pipeline.chosenAnew && name == "filter")
    return Status::invalid("filter comes after a take, skip or shard behind shuffle, which chooses "
                           "other rows in each epoch: put it before that stage");
  pipeline.chosenAnew |= pipeline.shuffled && (name == "take" || name == "skip" || name == "shard");
  pipeline.shuffled |= name == "shuffle";
  if (name == "shuffle" || name == "repeat" || name == "sampler")
    pipeline.scattered = name;
  return found->apply(stage, context, pipeline);
}

std::string_view fieldRead(Config stage) {
  if (stage.name() == "filter")
    return stage.string("field");
  return stage.name() == "sampler" ? stage.string(stage.child("weight") ? "weight" : "by_class")
                                   : "";
}

bool hasModels(Config data) {
  for (Config map : data.children("map"))
    if (map.child("model"))
      return true;
  return false;
}

Result<std::shared_ptr<const Dataset>> makeDataset(Config data, DataContext context) {
  if (Status status = findUses(data, context); !status.ok())
    return status;
  BatchRule settings;
  LoaderOptions options;
  if (Status status = readSettings(data, context, settings, options); !status.ok())
    return status;

  context.memory = options.budget;
  context.skips = settings.skips;
  context.byLength = batchByLength(data);
  context.provenance = provenanceOf(data);
  Pipeline pipeline;
  Config source = data.child("source");
  if (Status status = applySource(source, context, pipeline); !status.ok())
    return status;
  pipeline.source = pipeline.table;
  tellStage(source, context);
  meter(pipeline, text("source ", source.children().front().name()));

  for (Config child : data.children()) {
    if (!isStage(child) || (pipeline.rule && child.name() == "map" && child.child("model")))
      continue; // stages after batch are planned with it
    if (Status status = applyStage(child, context, pipeline); !status.ok())
      return status;
    tellStage(child, context);
    if (child.name() == "map")
      meter(pipeline, mapName(child));
    else if (child.name() == "cache")
      meter(pipeline, "cache");
  }
  if (!pipeline.rule)
    return Status::invalid("data has no batch stage");
  options.stages = std::move(pipeline.stages);
  options.rowByRow = pipeline.rowByRow;
  options.batchStage = std::move(pipeline.batchStage);
  pipeline.rule->share = context.share;
  pipeline.rule->makesAll = settings.skips || !context.behindBatch.empty();
  options.hostMemory = context.hostMemory;
  options.heldBatches = context.heldBatches;
  options.memory = options.budget;
  if (pipeline.cached)
    options.budget /= 4;
  // On a single CPU, a thread would only alternate with the step.
  int cpus = int(ThreadTeam::availableCpus());
  options.limits.depth = pipeline.prefetch.value_or(1);
  options.limits.maxWorkers = pipeline.prefetch && cpus > 1 ? cpus : 0;
  return makeBatches(std::move(pipeline.table), *pipeline.rule, std::move(options));
}

} // namespace gradc::runtime
