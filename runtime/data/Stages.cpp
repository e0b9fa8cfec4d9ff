// Builds a data set by applying the stages of a `data` block in their order.
#include "runtime/data/Stages.h"

#include "runtime/core/Text.h"

#include <algorithm>
#include <iterator>

namespace gradc {

namespace {

struct Stage {
  std::string_view name;
  Status (*apply)(Config, const DataContext &, Pipeline &);
};

// The runtime is a static library, where a registration that nothing refers to would be dropped:
// so the table is written out.
constexpr Stage sources[] = {{"npz", applyNpz},       {"npy", applyNpy},
                             {"csv", applyCsv},       {"idx", applyIdx},
                             {"folder", applyFolder}, {"tfrecord", applyTfRecord}};
constexpr Stage rowStages[] = {{"map", applyMap},       {"shuffle", applyShuffle},
                               {"take", applyTake},     {"skip", applySkip},
                               {"repeat", applyRepeat}, {"shard", applyShard}};
// What is said about the chain as a whole.
constexpr std::string_view settings[] = {"source", "on_error"};
constexpr Stage batchStages[] = {{"batch", applyBatch}, {"prefetch", applyPrefetch}};

template <size_t N> const Stage *find(const Stage (&stages)[N], std::string_view name) {
  for (const Stage &stage : stages)
    if (stage.name == name)
      return &stage;
  return nullptr;
}

Status applySource(Config source, const DataContext &context, Pipeline &pipeline) {
  for (Config kind : source.children()) {
    const Stage *stage = find(sources, kind.name());
    if (!stage)
      return Status::invalid(text("data source '", kind.name(), "' is unknown to this runtime"));
    if (Status status = stage->apply(kind, context, pipeline); !status.ok())
      return status;
    if (Config rows = kind.child("rows"))
      return applyRows(rows, context, pipeline);
    return {};
  }
  return Status::invalid(
      "data { source } names no source, expected npz, npy, csv, idx, folder or tfrecord");
}

} // namespace

Result<std::shared_ptr<const Dataset>> makeDataset(Config data, DataContext context) {
  for (const Demand &demand : context.demands)
    context.uses.push_back({demand.field, text("model input '", demand.input, "' is fed from")});
  Pipeline pipeline;
  if (Status status = applySource(data.child("source"), context, pipeline); !status.ok())
    return status;

  for (Config child : data.children()) {
    if (std::find(std::begin(settings), std::end(settings), child.name()) != std::end(settings))
      continue;
    const Stage *stage = find(rowStages, child.name());
    bool takesBatches = !stage;
    if (takesBatches)
      stage = find(batchStages, child.name());
    if (!stage)
      return Status::invalid(text("data stage '", child.name(), "' is unknown to this runtime"));
    if (pipeline.dataset && !takesBatches)
      return Status::invalid(text("data stage '", child.name(), "' comes after batch"));
    if (!pipeline.dataset && child.name() == "batch")
      if (Status status = applyFeed(context, pipeline); !status.ok())
        return status;
    if (Status status = stage->apply(child, context, pipeline); !status.ok())
      return status;
  }
  if (!pipeline.dataset)
    return Status::invalid("data has no batch stage");
  return pipeline.dataset;
}

} // namespace gradc
