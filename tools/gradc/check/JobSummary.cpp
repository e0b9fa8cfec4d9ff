// Collects the figures of a job from its spec, its data's description, and its plan.
#include "tools/gradc/check/JobSummary.h"

#include "compiler/Plan.h"
#include "compiler/import/spec/RunLength.h"
#include "compiler/import/spec/TrainingSpec.h"
#include "dialects/grad/Grad.h"
#include "tools/gradc/Console.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <fmt/core.h>

namespace gradc {
namespace {

std::string counted(int64_t count, const char *what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// For example "1438 rows of 'digits.npz'".
std::string rowsText(const DataSummary &data) {
  return data.rows < 0
             ? fmt::format("rows of '{}', how many is not known: {}", data.origin, data.whyUnknown)
             : fmt::format("{} of '{}'", counted(data.rows, "row"), data.origin);
}

/// For example " without its last 8 rows".
std::string leftOutText(const spec::Batch &batch, const DataSummary &data) {
  bool isKnown = data.rows >= 0 && batch.size() > 0 && !batch.bucket_size();
  int64_t rest = isKnown ? data.rows % batch.size() : 0;
  return rest && batch.drop_remainder() ? " without its last " + counted(rest, "row") : "";
}

std::string stepsLine(const spec::Training &spec, const DataSummary &data) {
  const spec::Batch &batch = SpecFile::batchOf(spec.data());
  std::string line = "batches of ";
  for (const spec::Bucket &bucket : batch.bucket())
    line += fmt::format("{} up to {} long, ",
                        counted(bucket.has_size() ? bucket.size() : batch.size(), "row"),
                        bucket.length());
  line += counted(batch.size(), "row") + (batch.bucket_size() ? " of other lengths" : "");
  RunLength length(spec, data.rows);
  if (!length.perEpoch)
    return line + (length.epochs ? ", " + counted(length.epochs, "epoch") : "") +
           (spec.has_steps() ? ", at most " + counted(spec.steps(), "step") : "");
  int64_t rest = data.rows % batch.size();
  line += fmt::format(", {} an epoch", counted(*length.perEpoch, "step"));
  if (rest)
    line += batch.drop_remainder() ? leftOutText(batch, data)
                                   : fmt::format(", the last of {}", counted(rest, "row"));
  if (*length.steps != length.epochs * *length.perEpoch)
    return line + fmt::format("; {} in all", counted(*length.steps, "step"));
  return line +
         fmt::format("; {} in {}", counted(*length.steps, "step"), counted(length.epochs, "epoch"));
}

std::string resultsLine(const spec::Training &spec) {
  std::string line;
  if (spec.checkpoint().has_directory())
    line = "checkpoints in '" + spec.checkpoint().directory() + "'";
  if (spec.export_().has_onnx())
    line += (line.empty() ? "" : ", ") + ("the trained model in '" + spec.export_().onnx()) + "'";
  return line.empty() ? "none are kept; add checkpoint { directory: \"run\" } or export { onnx: "
                        "\"trained.onnx\" }"
                      : line;
}

} // namespace

JobSummary::JobSummary(Imported &imported) {
  for (auto entry : imported.module->getOps<mlir::func::FuncOp>())
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      // A single score has two classes.
      if (auto count = entry.getArgAttrOfType<mlir::IntegerAttr>(i, "grad.classes"))
        classes = std::max({classes, count.getInt(), int64_t(2)});
  for (auto state : imported.module->getOps<mlir::grad::StateOp>())
    if (state.getKind() == mlir::grad::StateKind::parameter)
      parameters += mlir::cast<mlir::ShapedType>(state.getInitial().getType()).getNumElements();
}

std::vector<std::string> JobSummary::lines(const PlannedProgram &program) const {
  const Imported &imported = program.imported;
  const spec::Training &spec = *imported.spec;
  std::string data = "data: " + rowsText(imported.data.front());
  if (classes)
    data += fmt::format(", {} classes", classes);
  llvm::SmallVector<DataBlock> blocks = dataBlocks(spec);
  for (size_t i = 1; i < imported.data.size(); ++i) {
    std::string set = i > 1 ? " of '" + spec.evaluation().set(int(i) - 2).name() + "'" : "";
    data += "; evaluation" + set + " on " + rowsText(imported.data[i]) +
            leftOutText(SpecFile::batchOf(*blocks[i].data), imported.data[i]);
  }

  auto trains = llvm::count_if(imported.verdicts, [](const Verdict &v) { return v.trains; });
  ProgramPlan plan = describePlan(*llvm::ArrayRef(program.levels).front());
  int64_t arena = 0;
  for (const EntryPlan &entry : plan.entries)
    arena = std::max(arena, entry.arenaBytes);
  return {
      data, "steps: " + stepsLine(spec, imported.data.front()),
      fmt::format("parameters: {} in {}", parameters, counted(trains, "initializer")),
      fmt::format("memory: {} for weights and what the optimizer keeps{}, {} for a step's values",
                  bytesText(plan.stateBytes),
                  plan.dividedBytes
                      ? fmt::format(" (of {} each rank has its part)", bytesText(plan.dividedBytes))
                  : plan.shardedBytes ? fmt::format(" of each of {} ranks ({} of it in shards)",
                                                    plan.shards, bytesText(plan.shardedBytes))
                                      : "",
                  bytesText(arena)),
      "results: " + resultsLine(spec)};
}

} // namespace gradc
