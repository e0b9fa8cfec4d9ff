// Fields from .npy files, one array each.
#include "runtime/core/Text.h"
#include "runtime/data/ArraySource.h"
#include "runtime/data/MappedFile.h"
#include "runtime/data/Stages.h"

namespace gradc {

static bool isDemanded(std::string_view name, const DataContext &context) {
  for (const Demand &demand : context.demands)
    if (demand.field == name)
      return true;
  return false;
}

Status applyNpy(Config config, const DataContext &context, Pipeline &pipeline) {
  std::vector<SourceArray> arrays;
  std::vector<std::string> names, paths;
  for (Config field : config.children("field")) {
    names.emplace_back(field.string("name"));
    if (!isDemanded(names.back(), context))
      continue;
    auto path = findFile(field.string("path"), context.folders);
    if (!path)
      return path.status();
    auto file = MappedFile::open(*path);
    if (!file)
      return file.status();
    auto array = makeSourceArray(names.back(), (*file)->bytes(), *file,
                                 text("field '", names.back(), "' of '", *path, '\''));
    if (!array)
      return array.status();
    arrays.push_back(std::move(*array));
    paths.push_back(std::move(*path));
  }
  std::string origin = quotedList(paths);
  for (const Demand &demand : context.demands) {
    bool found = false;
    for (const SourceArray &array : arrays)
      found |= array.field.name == demand.field;
    if (!found)
      return missingField(demand, "the npy source", names);
  }
  auto table = makeArraySource(std::move(arrays), std::move(origin));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

} // namespace gradc
