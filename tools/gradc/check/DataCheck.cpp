// Makes the batches of a job and discards them.
#include "tools/gradc/check/DataCheck.h"

#include "compiler/import/data/TrainingData.h"
#include "compiler/import/spec/SpecTree.h"
#include "dialects/grad/EntryAttributes.h"
#include "runtime/base/Text.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/data/image/Decode.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/train/loop/Phase.h"
#include "runtime/train/spec/JobFiles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>

namespace gradc {
using namespace runtime;

namespace {

using Clock = std::chrono::steady_clock;

/// Adds what an entry takes from the data.
void addDemands(mlir::func::FuncOp entry, std::vector<Demand> &demands) {
  auto textOf = [&](unsigned i, llvm::StringRef name) {
    auto text = entry.getArgAttrOfType<mlir::StringAttr>(i, name);
    return text ? text.str() : std::string();
  };
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    std::string field = textOf(i, mlir::grad::fieldName);
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(entry.getArgumentTypes()[i]);
    if (textOf(i, mlir::grad::roleName) != "data" || field.empty() || !type ||
        type.getRank() == 0 ||
        llvm::is_contained(llvm::map_range(demands, [](auto &one) { return one.field; }), field))
      continue;
    auto classes = entry.getArgAttrOfType<mlir::IntegerAttr>(i, "grad.classes");
    demands.push_back({field, textOf(i, mlir::grad::portName), dtypeOf(type.getElementType()),
                       type.getShape().drop_front().vec(), classes ? classes.getInt() : 0});
  }
}

/// The fields that a job's steps ("train"), its evaluation ("evaluate") or one of its sets
/// ("evaluate.NAME") read; empty if the job has none.
std::vector<Demand> demandsOf(mlir::ModuleOp module, llvm::StringRef kind) {
  std::vector<Demand> demands;
  for (auto entry : module.getOps<mlir::func::FuncOp>()) {
    llvm::SmallVector<llvm::StringRef> name;
    entry.getSymName().split(name, '.');
    bool isTwin = llvm::any_of(llvm::ArrayRef(name).drop_front(), [](llvm::StringRef part) {
      return part == "tail" || part == "length" || part == "watch";
    });
    bool isStep = kind == GRADC_TRAIN_ENTRY && name.front() == kind;
    if ((isStep || entry.getSymName() == kind) && !isTwin)
      addDemands(entry, demands);
  }
  return demands;
}

/// Whether a stage goes through all rows before the first batch.
bool readsAllFirst(Config data) {
  std::vector<Config> maps = data.children("map");
  return data.child("filter") || data.child("sampler") ||
         data.child("source").child("split").child("stratify") ||
         llvm::any_of(maps, [](Config map) { return bool(map.child("standardize")); });
}

/// Whether the block can be opened in a short time and without effects.
bool canBeRead(Config data, Config job, const std::string &folder) {
  // Rows that are files or compressed take long.
  llvm::StringRef kind = sourceKind(data).name();
  if ((kind == "folder" || kind == "tfrecord") && readsAllFirst(data))
    return false;
  constexpr uint64_t large = uint64_t(1) << 30, some = uint64_t(1) << 25; // of text: a second
  uint64_t most = kind == "csv" || readsAllFirst(data) ? some : large;
  std::string folders[] = {folder};
  uint64_t bytes = 0;
  for (const std::string &file : filesOfJob(job, folders))
    if (uint64_t size = 0; !llvm::sys::fs::file_size(file, size))
      bytes += size;
  return bytes <= most && !hasModels(data) && data.child("cache").string("path").empty();
}

Status checkBlock(Config data, DataContext context, std::vector<std::string> &notes) {
  auto dataset = makeDataset(data, std::move(context));
  if (!dataset)
    return dataset.status();
  auto iterator = (*dataset)->iterate();
  Batch batch = (*dataset)->allocate();
  int64_t rows = 0;
  bool isFinite = true;
  for (auto begin = Clock::now(); !batch.endsEpoch; rows += batch.rows) {
    if (Clock::now() - begin > std::chrono::seconds(1)) {
      notes.push_back(text("values were checked in ", rows, " of ", RowCount{(*dataset)->rows()},
                           ", which took a second"));
      break;
    }
    if (Status status = iterator->next(batch); !status.ok())
      return status;
    std::string bad = isFinite ? findNonFiniteData(**dataset, batch) : "";
    if (bad.empty())
      continue;
    notes.push_back(std::move(bad));
    isFinite = false; // one such note is enough
  }
  return {};
}

} // namespace

Status checkValues(Imported &imported, const std::string &folder) {
  if (!imported.spec || !imported.missingData.empty() ||
      (imported.decodesPictures() && !canDecodePictures()))
    return {};
  SpecTree tree(*imported.spec, "job", /*text=*/nullptr, imported.mapEntries);
  Config job(tree.values.data(), tree.strings.data());
  auto state = std::make_shared<DataState>();
  std::vector<Config> blocks = {job.child("data"), job.child("evaluation").child("data")};
  for (Config set : job.child("evaluation").children("set"))
    blocks.push_back(set.child("data"));
  for (auto [block, data] : llvm::zip(dataBlocks(*imported.spec), blocks)) {
    DataContext context;
    context.demands = demandsOf(*imported.module, block.entry);
    context.folders = {folder};
    context.seed = uint64_t(job.integer("seed", 0));
    context.state = state;
    if (context.demands.empty() || !data || !canBeRead(data, job, folder))
      continue;
    if (Status status = checkBlock(data, std::move(context), imported.notes); !status.ok())
      return status;
  }
  return {};
}

} // namespace gradc
