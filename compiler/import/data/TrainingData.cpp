// Follows a data set's fields and rows through its chain, as far as they can be known ahead of
// time.
#include "dialects/Pch.h"

#include "compiler/import/data/DataStages.h"
#include "compiler/import/data/MapModels.h"

using namespace mlir;
using namespace gradc;

FailureOr<const FieldType *> DataSet::find(StringRef field, Location where) const {
  if (!known)
    return static_cast<const FieldType *>(nullptr);
  auto found = fields.find(field.str());
  if (found != fields.end())
    return &found->second;
  std::vector<std::string> names;
  for (auto &entry : fields)
    names.push_back(entry.first);
  return emitError(where) << "no field \"" << field << "\" in \"" << file << "\"; it has "
                          << llvm::join(names, ", ");
}

/// Follows the chain: what each stage makes of the fields, and of the number of rows.
static LogicalResult followStages(DataSet &set, const SpecFile &spec, const spec::Data &data,
                                  MapModels *models) {
  bool ok = true, isBatched = false;
  for (const SpecFile::Step &stage : SpecFile::stagesOf(data)) {
    StringRef name = stage.name;
    SmallVector<SpecFile::Step> place(set.place);
    place.push_back(stage);
    Location where = spec.at(place);
    isBatched |= name == "batch";
    if (name == "map" && data.map(stage.index).has_model()) {
      ok &= models && succeeded(models->add(set, data, stage.index, isBatched));
      continue;
    }
    if (name == "map") {
      const spec::Map &map = data.map(stage.index);
      FailureOr<const FieldType *> before = set.find(map.field(), where);
      FailureOr<FieldType> after = failed(before) || !*before ? FailureOr<FieldType>(failure())
                                                              : mapped(where, map, **before);
      ok &= succeeded(before) && (!*before || succeeded(after));
      if (succeeded(after))
        set.fields[map.field()] = *after;
      continue;
    }
    if (name == "filter") {
      // Which rows it keeps is known once the run has read them.
      if (failed(set.find(data.filter(stage.index).field(), where)))
        ok = false;
      set.rows = DataSet::unknown;
      set.whyUnknown = "how many rows filter keeps is known when they are read";
    }
    if (set.rows == DataSet::unknown)
      continue;
    int64_t rows = set.rows;
    if (name == "take")
      set.rows = std::min(rows, data.take(stage.index).rows());
    else if (name == "skip")
      set.rows = std::max<int64_t>(rows - data.skip(stage.index).rows(), 0);
    else if (name == "repeat")
      set.rows *= data.repeat(stage.index).times();
    else if (name == "shard") {
      const spec::Shard &shard = data.shard(stage.index);
      set.rows = (rows + shard.count() - 1 - shard.index()) / shard.count();
    }
    if (set.rows == 0) {
      emitError(where) << "the data set is empty: " << name << " leaves none of " << rows
                       << " rows";
      return failure();
    }
  }
  return success(ok);
}

FailureOr<DataSet> gradc::describeData(MLIRContext &context, const SpecFile &spec,
                                       const spec::Data &data, ArrayRef<SpecFile::Step> place,
                                       MapModels *models) {
  DataSet set;
  set.place = SmallVector<SpecFile::Step>(place);
  SourceLook look{context, spec, set.place, set, data.on_error() == spec::SKIP};
  look.place.push_back("source");
  if (failed(describeSource(look, data.source())))
    return failure();
  if (set.rows != DataSet::unknown) {
    int64_t all = set.rows;
    set.rows = countRows(rowsOf(data.source()), all);
    if (set.rows == 0)
      return look.error() << "the data set is empty: none of the " << all << " rows of \""
                          << set.file << "\" is selected";
  } else if (set.whyUnknown.empty()) {
    set.whyUnknown = "\"" + set.file + "\" is not there yet";
  }
  if (failed(followStages(set, spec, data, models)))
    return failure();
  if (look.skipsBadRows) {
    set.rows = DataSet::unknown;
    set.whyUnknown = "rows that cannot be read are skipped";
  }
  return set;
}
